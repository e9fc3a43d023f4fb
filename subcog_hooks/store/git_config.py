"""Git's configuration by its full grammar, and the URL of a remote as git and SSH understand it.

Loaded only where the configuration has a comment, an included file, `url.*.insteadOf` or the like, or a host may be an alias.
"""

from __future__ import annotations

import os

from subcog_hooks.core.files import read_regular
from subcog_hooks.core.repository_variables import is_users_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_FILE = 1_000_000  # bytes that are read of a file; `project` reads as many
MAX_FILES = 10  # files that a configuration may include; git allows as many levels
MAX_VALUE = 4_096  # characters; a longer value is cut

SYSTEM_CONFIG = "/etc/gitconfig"
_USUAL_FILES = ((".gitconfig",), (".config", "git", "config"), (".ssh", "config"))
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def remote_url(config: str, user_configs: Sequence[str], names: Sequence[str] = ()) -> str | None:
    """Return the URL of the first of these remotes; without names of `origin`, else of the first remote.

    config: the repository's file.
    """
    entries = list(_read_config(config, []))
    urls: dict[str, str] = {}
    for section, name, key, value in entries:
        if (section, key) == ("remote", "url") and value:
            urls.setdefault(name, value)
    url = next((urls[name] for name in names or ("origin", *urls) if name in urls), None)
    if url is None:
        return None
    entries += [entry for path in user_configs if _is_trusted(path) for entry in _read_config(path, [])]
    return _rewrite_url(url, entries)


def is_safe(root: str, user_configs: Sequence[str]) -> bool:
    """Return whether the user's `safe.directory` allows another user's repository. An empty value takes earlier ones back."""
    allowed: list[str] = []
    for path in user_configs:
        for section, name, key, value in _read_config(path, []) if _is_trusted(path) else ():
            if (section, name, key) == ("safe", "", "directory"):
                allowed = [*allowed, os.path.expanduser(value)] if value else []
    return any(name in ("*", root) or (name.endswith("/*") and root.startswith(name[:-1])) for name in allowed)


def resolve_alias(url: str) -> str:
    """Return a URL for SSH with the host's name in place of an alias of the user's `~/.ssh/config`."""
    scheme, marker, after = url.partition("://")
    if marker and scheme.lower() != "ssh":
        return url
    start = (after if marker else url).partition("/")[0]
    login, at_sign, host_and_port = start.rpartition("@")
    host, colon, port = host_and_port.partition(":")
    if not marker and (not colon or len(host) == 1):  # a path, or a Windows drive
        return url
    name = _find_host_name(host)
    return url.replace(start, f"{login}{at_sign}{name}{colon}{port}", 1) if name else url


def _find_host_name(alias: str) -> str:
    """Return the `HostName` of an alias, "" for none, or for an address in numbers. Patterns are no aliases."""
    path = os.path.join(os.path.expanduser("~"), ".ssh", "config")
    is_meant = False
    for line in _read_text(path).split("\n") if _is_trusted(path) else ():
        words = line.replace("=", " ", 1).replace('"', "").split()
        key = words[0].lower() if words else ""
        if key in ("host", "match"):
            is_meant = key == "host" and alias in words[1:]
        elif is_meant and key == "hostname" and len(words) == 2:
            return words[1] if words[1].strip("0123456789.:") and "%" not in words[1] else ""
    return ""


def _is_trusted(path: str) -> bool:
    """Return whether a file of the user's is no repository's: a repository can set variables that name the home folder."""
    home = os.path.expanduser("~")
    if path in [os.path.join(home, *parts) for parts in _USUAL_FILES]:
        return is_users_own(home)
    return path == SYSTEM_CONFIG or is_users_own(os.path.dirname(path), "XDG_CONFIG_HOME")


def _rewrite_url(url: str, entries: Sequence[tuple[str, str, str, str]]) -> str:
    """Return a URL with the longest of its beginnings that `url.*.insteadOf` names replaced."""
    matching = [
        (len(value), name)
        for section, name, key, value in entries
        if (section, key) == ("url", "insteadof") and value and url.startswith(value)
    ]
    if not matching:
        return url
    length, base = max(matching, key=lambda match: match[0])
    return base + url[length:]


def _read_config(path: str, seen: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, subsection, key and value of each entry, with the entries of included files in their place."""
    if path in seen or len(seen) > MAX_FILES:
        return
    seen.append(path)
    for entry in parse_config(_read_text(path)):
        yield entry
        if entry[:3] == ("include", "", "path"):
            yield from _read_config(os.path.normpath(os.path.join(os.path.dirname(path), os.path.expanduser(entry[3]))), seen)


def _read_text(path: str) -> str:
    try:
        return read_regular(path, MAX_FILE).decode("utf-8", "replace").removeprefix("\ufeff")
    except (OSError, ValueError):
        return ""


def parse_config(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, subsection, key and value of each entry of a file. Sections and keys are in small letters.

    >>> list(parse_config('[remote "origin"] ; ours\\n\\tURL = "gh:acme" # x\\n\\tfetch = +a:\\\\\\n b'))
    [('remote', 'origin', 'url', 'gh:acme'), ('remote', 'origin', 'fetch', '+a: b')]
    """
    section = name = ""
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for raw in lines:
        line = raw.strip()
        while line.startswith("["):
            section, name, line = _split_header(line)
        key, equals, value = line.partition("=")
        if equals and not key.startswith(("#", ";")):
            yield section, name, key.strip().lower(), _read_value(value.lstrip(), lines)


def _split_header(line: str) -> tuple[str, str, str]:
    """Return section, subsection and rest of a line such as `[remote "origin"] url = x`."""
    section, quote, after = line[1:].partition('"')
    if not quote or "]" in section:
        header, _, rest = line[1:].partition("]")
        section, _, dotted_name = header.strip().lower().partition(".")
        return section, dotted_name, rest.strip()
    name: list[str] = []
    position = 0
    while position < len(after) and after[position] != '"':
        position += after[position] == "\\"
        name.append(after[position : position + 1])
        position += 1
    return section.strip().lower(), "".join(name), after[position:].partition("]")[2].strip()


def _read_value(text: str, lines: Iterator[str]) -> str:
    """Return a value without quotes, escapes, comment and blanks at its end. A backslash at a line's end joins the next one."""
    value: list[str] = []
    is_quoted = False
    position = length = 0  # length: of the value without blanks at its end
    while position < len(text) and len(value) < MAX_VALUE:
        char = text[position]
        position += 1
        if char == "\\" and position == len(text):
            text, position = next(lines, ""), 0
            continue
        if char == '"':
            is_quoted = not is_quoted
            continue
        if char in "#;" and not is_quoted:
            break
        if char == "\\":
            char = _ESCAPES.get(text[position], text[position])
            position += 1
        value.append(char)
        if is_quoted or not char.isspace():
            length = len(value)
    return "".join(value[:length])
