"""The log that hooks write to, since they may say nothing, and escapes for characters that would act on a terminal.

The log holds facts only: never a prompt, a memory or the environment."""

import os
import time

from subcog_hooks.core.files import make_private_folder
from subcog_hooks.core.paths import Home

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


MAX_MESSAGE = 500  # characters
MAX_BYTES = 1_000_000  # then the file becomes hook.log.1 and a new one begins


def log_path(home: Home) -> str:
    return os.path.join(home.log, "hook.log")


def write_line(home: Home, message: str) -> None:
    """Write a line to the log. Failures are ignored."""
    try:
        make_private_folder(home.log)
        file = log_path(home)
        try:
            if os.stat(file).st_size > MAX_BYTES:
                os.replace(file, file + ".1")
        except FileNotFoundError:
            pass
        text = escape_controls(" ".join(message.split()))[:MAX_MESSAGE]
        line = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text + "\n"
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except Exception:  # noqa: BLE001, S110 - the log is the last resort; there is nowhere left to report to
        pass
