"""Editing a JSON file as text, so that everything else in it stays byte for byte: order, indentation, line ends.

What `insert` adds begins right behind the value (or the bracket) before it, and `remove` takes exactly that away again.
"""

import json

_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n"


class Member:
    """One member of an object or array: its key (None in an array), and the spans of the member and of its value."""

    __slots__ = ("end", "key", "start", "value", "value_start")

    def __init__(self, key: str | None, start: int, value_start: int, end: int, value: object) -> None:
        self.key = key
        self.start = start
        self.value_start = value_start
        self.end = end
        self.value = value


def members(text: str, at: int) -> list[Member]:
    """Return the members of the object or array that begins at `text[at]`. Raises ValueError when it is not JSON."""
    is_object = text[at] == "{"
    closing = "}" if is_object else "]"
    found: list[Member] = []
    position = _skip(text, at + 1)
    while position < len(text) and text[position] != closing:
        start, key = position, None
        if is_object:
            if text[position] != '"':
                raise ValueError(f"expected a key at character {position + 1}")
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        value, end = _DECODER.raw_decode(text, position)
        found.append(Member(key, start, position, end, value))
        position = _skip(text, end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return found


def start_of(text: str) -> int:
    """Return where the document's one object begins. Raises ValueError when the text is something else."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    value, end = _DECODER.raw_decode(text, at)
    if not isinstance(value, dict) or text[end:].strip(_BLANK):
        raise ValueError("expected one JSON object")
    return at


def member(text: str, at: int, key: str) -> Member | None:
    """Return the member `key` of the object at `text[at]`, the last one when it is there twice, as JSON readers take it."""
    found = [entry for entry in members(text, at) if entry.key == key]
    return found[-1] if found else None


def insert(text: str, at: int, added: str) -> str:
    """Return `text` with `added` (a member, without a comma) as the last one of the object or array at `text[at]`.

    Into an empty bracket it goes without a new line: that is how `remove` knows that the bracket was there before.
    """
    there = members(text, at)
    if not there:
        return text[: at + 1] + added + text[at + 1 :]
    line = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text, there[-1].start)
    separator = f",{line}{indent}" if indent is not None else ", "
    end = there[-1].end
    return text[:end] + separator + added.replace("\n", line + (indent or "")) + text[end:]


def remove(text: str, at: int, which: Member) -> str:
    """Return `text` without one member of the object or array at `text[at]`."""
    there = members(text, at)
    place = next(i for i, entry in enumerate(there) if entry.start == which.start)
    if place:
        return text[: there[place - 1].end] + text[which.end :]
    if len(there) > 1:
        return text[: which.start] + text[there[1].start :]
    return text[: at + 1] + text[which.end :]


def _indent(text: str, position: int) -> str | None:
    """Return the blanks before `position` on its line, None when something else stands there."""
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return before if not before.strip(" \t") and "\n" in text[:position] else None


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position
