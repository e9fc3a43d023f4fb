"""Text files as other programs write them: of a bounded size, in UTF-8, UTF-16 or Windows-1252."""

import codecs
import os
import re

from subcog_hooks.core.regular_files import NotRegular, read_regular

MAX_MARKDOWN = 4_000_000  # bytes of a Markdown file; the longest changelogs have one million
MAX_MARKDOWN_LINES = 100_000  # lines of a Markdown file; its parser takes 2 KB a line
MAX_NULS = 0.1  # of the characters of a text in UTF-8; a binary file has more, or is no UTF-8

UTF16_MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\0-\x7f\udc80-\udcff]")
_OTHER_ALPHABET = re.compile(rb"[\x80-\xff]{6}")  # No western word has six such letters in a row.


def read_text_file(path: str) -> tuple[str, int, str] | str:
    """Return a Markdown file's text, the time of its last change in milliseconds since the epoch, and a remark on its encoding.

    Return the reason if it cannot be read.
    """
    try:
        raw = read_regular(path, MAX_MARKDOWN + 1)
        changed_ms = int(os.stat(path).st_mtime * 1000)
        if len(raw) > MAX_MARKDOWN:
            return f"has more than {MAX_MARKDOWN:,} bytes; split it"
        text, remark = decode_text(raw)
    except NotRegular:
        return "is no regular file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError as error:
        return str(error)
    if text.count("\n") > MAX_MARKDOWN_LINES:
        return f"has more than {MAX_MARKDOWN_LINES:,} lines; split it"
    return text, changed_ms, remark


def decode_text(raw: bytes) -> tuple[str, str]:
    """Return the text of a file, and a remark unless it is UTF-8. Raises ValueError for a binary file and other encodings.

    >>> decode_text("Grüße".encode("utf-16")), decode_text("Grüße".encode("cp1252"))
    (('Grüße', 'is read as UTF-16'), ('Grüße', 'is read as Windows-1252'))
    """
    remark = ""
    if encoding := _find_utf16(raw):
        text, remark = raw.decode(encoding, "replace").removeprefix("\ufeff"), "is read as UTF-16"
    else:
        text = raw.decode("utf-8-sig", "surrogateescape")
        bad_bytes = len(_BAD_BYTE.findall(text))
        if bad_bytes > len(_BEYOND_ASCII.findall(text)) and not raw.startswith(codecs.BOM_UTF8):
            text, remark = raw.decode("cp1252", "replace"), "is read as Windows-1252"
        elif bad_bytes:
            text, remark = _BAD_BYTE.sub("\ufffd", text), f"has bytes that are not UTF-8: {bad_bytes}, shown as U+FFFD"
    if text.count("\0") > (0 if remark else MAX_NULS * len(text)):
        raise ValueError("is a binary file")
    if "1252" in remark and _OTHER_ALPHABET.search(raw):
        raise ValueError("is neither UTF-8 nor UTF-16 nor Windows-1252; save it as UTF-8")
    return text, remark


def _find_utf16(raw: bytes) -> str:
    """Return the byte order of UTF-16, from its mark or because nearly every second byte is NUL; "" if it is something else."""
    for encoding, mark in UTF16_MARKS.items():
        if raw.startswith(mark):
            return encoding
    nuls = {"utf-16-le": raw[1::2].count(0), "utf-16-be": raw[::2].count(0)}
    encoding = max(nuls, key=nuls.__getitem__)
    return encoding if nuls[encoding] > len(raw) / 3 and min(nuls.values()) <= MAX_NULS * len(raw) else ""
