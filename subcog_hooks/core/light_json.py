"""JSON on the hook's path, by the interpreter's own C codec.

`import json` costs 4 ms in a fresh process, nearly all of it for `re` (20 % of a whole hook run); its C parser and string
encoder can be had without it.
"""

from __future__ import annotations

from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Json: TypeAlias = "str | int | float | Mapping[str, Json] | Sequence[Json] | None"


class _Options:
    """The options that the C scanner reads from a json.JSONDecoder."""

    strict = False  # raw control characters inside strings are let through: a payload is read if at all possible
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan = make_scanner(_Options)  # type: ignore[arg-type]  # it duck-types json.JSONDecoder
_BLANK = " \t\n\r"


def loads(text: str) -> object:
    """Return the value of the JSON document `text`. Raises ValueError when it is not one.

    >>> loads(' {"a": [1, 2.5, null, "\\\\u00e9"]} ')
    {'a': [1, 2.5, None, 'é']}
    """
    text = text.strip(_BLANK)
    try:
        value, end = _scan(text, 0)
    except (StopIteration, RecursionError, SystemError) as error:  # SystemError: the module json is not loaded
        raise ValueError("not a JSON document") from error
    if end != len(text):
        raise ValueError("text after the JSON document")
    return value


quote = encode_basestring_ascii  # a text to an ASCII JSON string, quotes included


def _refuse_value(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


# Arguments: no cycle check, no indent, no sorting; keys are texts, none is skipped, and NaN is refused.
_encode = make_encoder(None, _refuse_value, encode_basestring_ascii, None, ":", ",", False, False, False)


def dumps(value: Json) -> str:
    """Return `value` as an ASCII JSON document without blanks. Raises ValueError for a number that JSON does not have.

    >>> dumps({"a": (1, 2.5, None, "é", True)})
    '{"a":[1,2.5,null,"\\\\u00e9",true]}'
    """
    return "".join(_encode(value, 0))
