"""Characters that would act on a terminal or a log instead of being visible: written as escapes.

They are controls (of ASCII, and U+0080 to U+009F, which some terminals obey) and marks that turn the direction of writing. Line
separators that are no line ends belong to them, too. The hook removes others from memories on their way to the model.
"""

_CODES = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x2070),
)
_SEEN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CODES}
_LINES = {code: text for code, text in _SEEN.items() if chr(code) not in "\t\n"}
_JSON = {code: f"\\u{code:04x}" for code in _CODES if code >= 0x7F}  # below it JSON has escaped them


def escape_controls(text: str, *, keep_lines: bool = False) -> str:
    """Return `text` with every control character as an escape. keep_lines: except line ends and tabs.

    >>> escape_controls("red\\x1b[31m\\nkey"), escape_controls("a\\n\\x9b", keep_lines=True)
    ('red\\\\x1b[31m\\\\x0akey', 'a\\n\\\\x9b')
    """
    return text if text.isprintable() else text.translate(_LINES if keep_lines else _SEEN)


def to_json(value: object, indent: int | None = None) -> str:
    """Return `value` as JSON, its texts readable in any script, control characters as escapes. Reading it gives `value` again.

    >>> to_json({"é": "\\x9b31m\\u202e"})
    '{"é": "\\\\u009b31m\\\\u202e"}'
    """
    import json  # not for the hook, whose log needs the rest of this module

    return json.dumps(value, ensure_ascii=False, indent=indent).translate(_JSON)
