"""The typed part of a prompt, and its needs: code, logs, quotations and addresses are removed, and their error is kept.

Every step is linear in the text that is read: its head and tail, and a count of the fences between them. No regular
expressions: importing them would take longer than the whole detection.
"""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.text.pasted import DIFFS, continues_pasted, find_failures, is_command, is_output, is_pasted, is_prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LATIN_END = "\u0250"  # the first letter behind Latin Extended-B
EMOJI = "\ufe0f"  # the mark that turns the sign before it into an emoji
MAX_TYPED_END = 2_000  # characters of a long prompt's head, and of its tail
_MAX_KEPT = 2 * MAX_TYPED_END + 1  # with the line break between them
MIN_OUTPUT = 4  # lines in a row without prose that are output, although none shows it
MAX_ALONE = 200  # characters of a prompt's only line; a longer line that looks pasted is data

NOT_TYPED = (  # beginnings of the client's messages in the user's name
    *("<task-notification", "<command-name", "<command-message", "<local-command", "<system-reminder", "<session-start-hook"),
    *("<user-prompt-submit-hook", "<teammate-message", "<bash-input", "<bash-stdout", "<bash-stderr", "<tick>", "<goal>"),
    *("[request interrupted", "this session is being continued from a previous conversation", "caveat: the messages below"),
)
# A header of the client names a program that writes, and its kind of message, in capitals: no "[BUG]", no "[WIP]".
_WRITERS = frozenset("AGENT AUTOMATED AUTOMATIC BACKGROUND CLIENT HARNESS HOOK SCHEDULED SUBAGENT SYSTEM".split())
_MESSAGES = frozenset("EVENT FEEDBACK INPUT MESSAGE NOTICE NOTIFICATION OUTPUT PROMPT REMINDER RESULT UPDATE".split())
_MAX_HEADER = 120  # characters
ADDED = ("ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder")  # elements that editors put before a prompt
CONTEXT, REQUEST = "# Context from my IDE setup", "## My request for Codex:"  # an editor's preface, and its end
STAND_INS = ("[image #", "[image: ", "[pasted text #")  # a terminal's placeholders for pasted content

FENCES = ("```", "~~~")

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        "\u00a0": " ",
        "\u2026": "...",
        # In Chinese and Japanese no blank follows them.
        **{sign: f"{plain} " for sign, plain in zip("\uff1f\uff01\uff1a\uff0c\u3001\u3002", "?!:,,.", strict=True)},
    }
)


@record
class Prompt:
    """A prepared prompt.

    text: the typed text, with plain quotes, line by line. failures: the messages by which pasted lines say what failed, the
    likeliest first. pasted: the number of removed lines of code, logs and quotations.
    """

    text: str
    failures: Sequence[str] = ()
    pasted: int = 0


def ends_of(prompt: str) -> str:
    """Return the prompt, or head and tail of a long one; detection and recall read no more of it.

    >>> len(ends_of("x" * 10_000)), ends_of("short")
    (4001, 'short')
    """
    if len(prompt) > _MAX_KEPT:
        prompt = prompt.strip()
    return prompt if len(prompt) <= _MAX_KEPT else prompt[:MAX_TYPED_END] + "\n" + prompt[-MAX_TYPED_END:]


def query_text(prompt: str, prepared: Prompt | None = None) -> str:
    """Return the text to compare memories with: the typed text, else the line that names the failure, else all.

    A memory need not cover pasted text. prepared: the result of `prepare_prompt`, if the caller has it.

    >>> query_text("It fails:\\n```\\nTypeError: x is undefined\\n```"), query_text("```\\nTypeError: x is undefined\\n```")
    ('It fails:', 'TypeError: x is undefined')
    """
    prepared = prepared or prepare_prompt(prompt)
    return prepared.text or next(iter(prepared.failures), ends_of(prompt))


def is_typed(prompt: str) -> bool:
    """Return whether a person asks the model something: no client's command or shell line.

    >>> is_typed("/usr/lib is full"), is_typed("/compact"), is_typed("!ls"), is_typed("# Why does it fail?")
    (True, False, False, True)
    """
    bare = prompt.strip()
    if bare.startswith("<"):
        bare = without_added(bare).strip()
    if not bare or is_from_client(bare):
        return False
    head = bare[:80].split(None, 1)[0]
    is_command = head[0] == "/" and "/" not in head[1:]
    is_shell = head[0] == "!" and not head.startswith("!!")
    return not (is_command or is_shell)


def is_from_client(text: str) -> bool:
    """Return whether the client wrote a text in the person's name: it begins as the client's messages do.

    A header in brackets stands on a line of its own, or says that no user wrote.

    >>> is_from_client("Stop hook feedback:\\nrun the tests"), is_from_client("[SYSTEM NOTIFICATION - NOT USER INPUT]\\njob 7")
    (True, True)
    >>> [is_from_client(text) for text in ("[BUG] login fails", "[WIP]\\nadd a cache", "[SYSTEM MESSAGE] shows twice")]
    [False, False, False]
    """
    bare = text.lstrip()
    start = bare[:80].lower()
    event, sign, _ = start.partition(" hook feedback:")
    if start.startswith(NOT_TYPED) or (sign != "" and " " not in event):
        return True
    label, closed, behind = bare[1:_MAX_HEADER].partition("\n")[0].partition("]")
    if start[:1] != "[" or not (closed and label.isupper()):
        return False
    words = {word.strip("-:,.") for word in label.split()}
    is_header = not (_WRITERS.isdisjoint(words) or _MESSAGES.isdisjoint(words) or behind.strip())
    return is_header or "NOT USER" in label


def runs_between_signs(text: str) -> list[str]:
    """Return the texts between a text's signs, in one case. Letters, their marks, digits and blanks are no signs.

    >>> runs_between_signs("Да, Спасибо!"), runs_between_signs("好的、继续"), runs_between_signs("...")
    (['да', 'спасибо'], ['好的', '继续'], [])
    """
    import unicodedata  # .2 ms, for texts beyond ASCII

    signs = {ord(sign): "\n" for sign in {*text} if unicodedata.category(sign)[0] not in "LMN" and not sign.isspace()}
    signs[ord(EMOJI)] = "\n"
    parts = (part.strip() for part in text.casefold().translate(signs).split("\n"))
    return [part for part in parts if any(map(str.isalnum, part))]


def prepare_prompt(prompt: str) -> Prompt:
    """Split a prompt into its typed text and the error of its pasted lines. Never fails.

    If all lines look pasted and none has an error, a single line was typed, and so was prose behind an open fence.

    >>> read = prepare_prompt("It fails\\u2019 with\\n```\\nTypeError: x is undefined\\n```\\nsee https://example.org/x")
    >>> read.text, read.failures, read.pasted
    ("It fails' with\\nsee", ['TypeError: x is undefined'], 1)
    """
    text = _head_and_tail(prompt)
    if not text.isascii():
        import unicodedata  # .2 ms, for texts beyond ASCII

        text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    rows: list[tuple[str, str]] = []  # each line with its typed text, "" if pasted
    fenced: list[str] = []  # lines behind the last fence
    others: list[str] = []  # lines pasted without a fence
    fence = before = ""  # before: the line above, if it was pasted
    in_diff = in_output = False  # in_output: from a shell's command to the next empty line
    for line in without_added(text).split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence):
                fence = before = ""
                fenced = []
                continue
            taken = True
            fenced.append(bare)
        elif bare.startswith(FENCES) and "^" not in bare:  # Python's mark in a trace has ^.
            if bare.count(bare[:3]) == 1:  # Otherwise the fence closes on the same line.
                fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            else:
                others.append(bare.strip(bare[0]).strip())
            continue
        else:
            while bare[:1] == "[" and "]" in bare and bare[:20].lower().startswith(STAND_INS):
                bare = bare.partition("]")[2].lstrip()
            in_diff = bare.startswith(DIFFS) or (in_diff and line.startswith(("+", "-", " ", "index ")))
            taken = in_diff or (
                bool(bare) and (is_pasted(line, bare) or (before != "" and continues_pasted(before, line, bare)))
            )
            taken = taken or (in_output and is_output(bare))
            in_output = taken and bool(bare) and (in_output or is_command(bare))
        before = line if taken else ""
        if taken and not fence:
            others.append(bare)
        rows.append((line, "" if taken else _without_links(bare)))
    _take_output(rows)
    typed = [text for _, text in rows if text]
    pasted = sum(not text and bool(line.strip()) for line, text in rows)
    failures = find_failures(["" if text else line for line, text in rows])  # A typed line keeps what it parts apart.
    if not typed and not failures:
        after_all = _recover_typed(fenced, others, pasted)
        typed = list(filter(None, map(_without_links, after_all)))
        pasted -= min(pasted, len(after_all))
    return Prompt("\n".join(typed), failures, pasted)


def _take_output(rows: list[tuple[str, str]]) -> None:
    """Take the typed text from lines that are output, although none shows it: MIN_OUTPUT and more of a paragraph, no prose."""
    run: list[int] = []
    for position, (line, text) in enumerate((*rows, ("", ""))):
        if text and not is_prose(text):
            run.append(position)
        elif text or not line.strip():
            for taken in run if len(run) >= MIN_OUTPUT else ():
                rows[taken] = (rows[taken][0], "")
            run = []


def _recover_typed(fenced: list[str], others: list[str], pasted: int) -> list[str]:
    """Return the lines that were typed although all look pasted.

    fenced: lines behind an open fence; others: lines without a fence; pasted: the number of pasted lines.
    """
    if fenced:
        return [line for line in fenced if line and is_prose(line)]
    return others if len(others) == 1 and pasted < 2 and len(others[0]) <= MAX_ALONE else []


def _head_and_tail(prompt: str) -> str:
    """Return the part of a prompt that is read. A fence that opens or closes in the part between is added at its place."""
    text = ends_of(prompt)
    if text is prompt or FENCES[0] not in prompt:
        return text
    whole = prompt.strip()
    between = whole.count(FENCES[0], MAX_TYPED_END, len(whole) - MAX_TYPED_END)
    return f"{text[:MAX_TYPED_END]}\n{FENCES[0]}{text[MAX_TYPED_END:]}" if between % 2 else text


def without_added(text: str) -> str:
    """Return `text` without the elements that an editor or a client has added."""
    if text.startswith(CONTEXT):
        text = text.partition(REQUEST)[2] or text
    if "<" not in text:
        return text
    for name in ADDED:
        kept: list[str] = []
        begin, close, position = f"<{name}", f"</{name}>", 0
        while (start := text.find(begin, position)) >= 0 and (end := text.find(close, start)) >= 0:
            kept.append(text[position:start])
            position = end + len(close)
        text = "".join((*kept, text[position:]))
    return text


def _without_links(bare: str) -> str:
    """Return a line without addresses; the text before one in scripts without blanks stays."""
    if "://" not in bare and "www." not in bare:
        return bare
    words = []
    for word in bare.split():
        before, sign, _ = word.partition("://")
        if not (word.startswith("www.") or (sign and before.isascii())):
            words.append(before.rstrip("abcdefghijklmnopqrstuvwxyz") if sign else word)
    return " ".join(filter(None, words))


# Opening marks with their closing marks; an apostrophe is mostly no quote.
QUOTES = {'"': '"', "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\u300c": "\u300d", "\u300e": "\u300f"}
_MARKS = frozenset(QUOTES) | frozenset("".join(QUOTES.values()))
_JSON_VALUE = tuple('"[{0123456789-')
_FENCE = "```"


def quoted_phrases(text: str) -> list[str]:
    """Return the texts in balanced double quotes, straight or typographic, that have a word of two letters, in order.

    A pair is balanced within its line; of nested ones the outer counts. A straight mark opens only where a word begins and
    closes only where one ends, so an inch is no quote. Strings of code are syntax and no phrases: fences, backticks, arguments
    directly behind `(` or `=`, and JSON have none.

    >>> quoted_phrases('who said "not a conventional company" of the 27" screen?')
    ['not a conventional company']
    >>> quoted_phrases("don't; 'single'; “typographic ones”"), quoted_phrases('printf("hello there"); name = "Ada"')
    (['typographic ones'], [])
    """
    if text.isascii() and '"' not in text:
        return []
    return [phrase for line in lines_outside_code(text) for phrase in _phrases_of(line)]


def lines_outside_code(text: str) -> list[str]:
    """Return the lines of a text outside fences of code."""
    lines = text.splitlines()
    if _FENCE not in text:
        return lines
    outside = []
    fenced = False
    for line in lines:
        if line.lstrip().startswith(_FENCE):
            fenced ^= line.count(_FENCE) % 2 == 1  # A fence that closes in its own line opens nothing.
        elif not fenced:
            outside.append(line)
    return outside


def _phrases_of(line: str) -> list[str]:
    if _MARKS.isdisjoint(line):
        return []
    pairs: list[tuple[int, int]] = []
    opened: dict[str, int] = {}  # opening mark -> its latest position
    position = -1
    while (position := position + 1) < len(line):
        mark = line[position]
        if mark == "`":
            position = max(position, line.find("`", position + 1))
        if mark not in _MARKS:
            continue
        before, after = line[position - 1 : position], line[position + 1 : position + 2]
        straight = mark == '"'
        start = max([opened_at for opener, opened_at in opened.items() if mark in QUOTES[opener]], default=-1)
        if start >= 0 and not (straight and (before.isspace() or before == "\\" or after.isalnum())):
            opened = {opener: opened_at for opener, opened_at in opened.items() if opened_at < start}
            while pairs and pairs[-1][0] > start:  # They are nested in this pair.
                pairs.pop()
            pairs.append((start, position))
        elif mark in QUOTES and not (straight and (before.isalnum() or before == "\\" or after.isspace())):
            opened[mark] = position
    return [line[start + 1 : end].strip() for start, end in pairs if _is_phrase(line, start, end)]


def _is_phrase(line: str, start: int, end: int) -> bool:
    letters = "".join([c if c.isalpha() else " " for c in line[start + 1 : end]])
    if not any(len(word) > 1 for word in letters.split()):
        return False
    before, after = line[max(0, start - 3) : start].rstrip(), line[end + 1 : end + 4]
    if before.endswith("(") and (before[-2:-1].isalnum() or before[-2:-1] == "_"):
        return False
    if before.endswith(("=", "{", "[", '":')) or after.startswith(("}", "]")):
        return False
    return not (after.startswith(":") and after[1:].lstrip().startswith(_JSON_VALUE))


# Each need is searched by itself, at the cost of the whole prompt. With two, three or four needs, as many development prompts
# are answered (with two, one of 96 more, and one more wrongly), and as many of people's histories.
MAX_PARTS = 1
FEW_SENTENCES = 3  # up to here, sentences that are no questions count
MIN_PART_WORDS = 4  # words; "right?" is no question
_ENDS = (".", "?", "!")
_CLOSING = "\"')]"
_ASKING = frozenset(
    "how what why where when which who whose is are was were do does did has have can could should would will any".split()
)


def needs_of(prepared: Prompt) -> list[str]:
    """Return the parts of a prompt that are needs by themselves: the messages of a failure, else a sentence."""
    return list(prepared.failures or separate_needs(prepared.text))


def separate_needs(typed: str) -> list[str]:
    """Return the typed sentence that is a need by itself: a question before any other, then the longest.

    >>> separate_needs("I am at the ticket again. How are the keys rotated? Thanks!")
    ['How are the keys rotated?']
    >>> separate_needs("How are the keys rotated?"), separate_needs("Rename it. Thanks.")
    ([], [])
    """
    every = split_sentences(typed)
    if len(every) < 2:
        return []
    long = [part for part in every if len(part.split()) >= MIN_PART_WORDS]
    candidates = long if len(every) <= FEW_SENTENCES else [part for part in long if is_question(part)]
    return sorted(candidates, key=lambda part: (not is_question(part), -len(part.split())))[:MAX_PARTS]


def split_sentences(typed: str) -> list[str]:
    """Return the typed sentences, line by line.

    >>> split_sentences("See a.py. It fails?\\nYes, in v1.2")
    ['See a.py.', 'It fails?', 'Yes, in v1.2']
    """
    sentences = []
    for line in typed.split("\n"):
        begun: list[str] = []
        for word in line.split():
            begun.append(word)
            if word.rstrip(_CLOSING).endswith(_ENDS):
                sentences.append(" ".join(begun))
                begun = []
        if begun:
            sentences.append(" ".join(begun))
    return sentences


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question, with or without its mark.

    >>> is_question("is there a lint rule"), is_question("Rename it.")
    (True, False)
    """
    return sentence.rstrip(_CLOSING).endswith("?") or sentence.split(None, 1)[0].lower().strip(",") in _ASKING
