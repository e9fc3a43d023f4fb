"""Scripts that are written without spaces between words: their characters, and pairs of these in place of words."""

from __future__ import annotations

from itertools import groupby

from subcog_hooks.core.tables import read_words

_UNSPACED = (  # code points of scripts without spaces between words
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # CJK radicals
    (0x3005, 0x3007),
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x318F),  # Bopomofo, Hangul compatibility
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # CJK ideographs
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),  # Hangul
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_function_words: dict[str, frozenset[str]] = {}  # read for the first text without spaces


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of characters of scripts written without spaces.

    >>> unspaced_runs("use 東京都 and かな")
    ['東京都', 'かな']
    """
    if text.isascii():
        return []
    runs: list[str] = []
    current = ""
    for c in text:
        if c > "\u0dff" and is_unspaced(ord(c)):
            current += c
        elif current:
            runs.append(current)
            current = ""
    return [*runs, current] if current else runs


def is_unspaced(code_point: int) -> bool:
    """Return whether a character belongs to a script without spaces between words."""
    return any(low <= code_point <= high for low, high in _UNSPACED)


def bigrams(run: str) -> list[str]:
    """Return each character with the next, and the last alone.

    Every substring of two is a term, every character begins one.

    >>> bigrams("東京都")
    ['東京', '京都', '都']
    """
    return [run[i : i + 2] for i in range(len(run))]


def is_function_pair(pair: str) -> bool:
    """Return whether two characters say little about a text's subject.

    >>> [pair for pair in ("です", "我们", "습니", "署名") if is_function_pair(pair)]
    ['です', '我们', '습니']
    """
    if not _function_words:
        _function_words.update(read_words(__file__, "unspaced_words.tsv"))
    if pair in _function_words["pairs"] or not _function_words["characters"].isdisjoint(pair):
        return True
    return all("\u3041" <= c <= "\u309f" for c in pair)  # hiragana


def count_words(text: str) -> int:
    """Return about how many words a text has, where some are written without spaces.

    >>> [count_words(text) for text in ("how are keys made", "CIの署名鍵はどうやって更新しますか", "키는 자주 갱신하나요")]
    [4, 7, 4]
    """
    unspaced = [c for run in unspaced_runs(text) for c in run]
    hangul = sum(["\uac00" <= c <= "\ud7af" for c in unspaced])  # It has spaces, but fewer than others.
    return len(text.split()) + (2 * len(unspaced) - hangul) // 5


def telling_words(run: str) -> list[str]:
    """Return the words of a run without spaces as far as its function words and changes of script tell.

    >>> telling_words("署名鍵はどうやって更新しますか"), telling_words("我们的签名密钥怎么更新")
    (['署名鍵', '更新'], ['签名密钥', '更新'])
    """
    words, begun = [], ""
    for c in run:
        is_end = is_function_pair(c) or (bool(begun) and _is_katakana(c) != _is_katakana(begun[-1]))
        if is_end and begun:
            words.append(begun)
            begun = ""
        if not is_function_pair(c):
            begun += c
    return [*words, begun] if begun else words


def spread_telling_words(text: str) -> str:
    """Return a text with blanks between the telling words of its runs without spaces.

    >>> spread_telling_words("CIの署名鍵はどこ?"), spread_telling_words("the signing key")
    ('CI 署名鍵 ?', 'the signing key')
    """
    pieces = []
    for is_run, characters in groupby(text, lambda c: c > "\u0dff" and is_unspaced(ord(c))):
        piece = "".join(characters)
        pieces.append(f" {' '.join(telling_words(piece))} " if is_run else piece)
    return "\n".join(" ".join(line.split()) for line in "".join(pieces).split("\n"))


def _is_katakana(c: str) -> bool:
    return "\u30a0" <= c <= "\u30ff"
