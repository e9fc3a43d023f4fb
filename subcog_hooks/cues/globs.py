"""Globs: the files of a memory's `paths`, and keys by which a store finds globs that may match a file. Reads no file.

`*` and `?` stay within a folder, `**` crosses folders, `[abc]`, `[a-z]` and `[!abc]` are one character, `{sql,py}` is one of
several texts. As in a .gitignore a glob without a slash is a name in any folder. A glob that ends in a name is this file, or
all files below the folder; a glob that ends in a slash means the folder alone. Case counts. A glob that begins with `/` or
`~/` is compared with absolute paths, others with paths from the project's root.

Next.js and SvelteKit name folders `[slug]` and `[...rest]`: brackets stand for their very text, too. Letters with accents are
equal in both of Unicode's forms; macOS writes paths in the decomposed one.
"""

from __future__ import annotations

import os

from subcog_hooks.core.errors import InvalidMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_GLOB = 500  # characters
MAX_PATH = 4_096  # characters, Linux' PATH_MAX; a longer path matches nothing
MAX_ALTERNATIVES = 64  # globs after the expansion of braces

# Sample files of many kinds, in folders of many names.
_ANY_FILES = (
    *("README.md", "src/app/main.py", "lib/net/http/client.ts", "docs/guide/intro.html", "tests/unit/cart_test.go", "Makefile"),
    *("config/prod/settings.yaml", "web/public/css/site.css", "api/v1/Order.java", "db/migrations/0001_init.sql", "go.mod"),
    *("crates/core/src/lib.rs", "packages/ui/package.json"),
)
_HINT = "for instance src/db/**, *.sql or docs/*.md"
_WILD = frozenset("*?[")
_STARS = frozenset("*?")  # A last part with one means files alone, not all files below a folder.
_NOT_SPELLED_OUT = frozenset("*?[]{},/")


def check_glob(glob: str) -> None:
    """Raise InvalidMemory unless `glob` is a glob."""
    if not glob.strip() or not glob.strip("/"):
        raise _invalid(glob, "it names no file", _HINT)
    if len(glob) > MAX_GLOB:
        raise _invalid(glob, f"{len(glob):,} characters, at most {MAX_GLOB} are taken", _HINT)
    if "\\" in glob:
        raise _invalid(glob, "it has a backslash", "use / between folders, on Windows too")
    if glob.startswith("!"):
        raise _invalid(glob, "it begins with !, which takes nothing away here", "name the files that are meant")
    alternatives = _expand_braces(glob)
    if len(alternatives) > MAX_ALTERNATIVES:
        raise _invalid(glob, f"its braces give more than {MAX_ALTERNATIVES} globs", "write several globs")
    for parts in (alternative.split("/") for alternative in alternatives):
        tokens = [token for part in parts for token in _tokens_of(part)]
        if unclosed := next((sign for sign in "[{" if sign in tokens), ""):
            raise _invalid(glob, f"unclosed {unclosed}", "close it, or write [[] or [{] for the sign itself")
        if ".." in parts:
            raise _invalid(glob, "it goes up by ..", "write it from the project's root, or beginning with / or ~/")


def is_absolute(glob: str) -> bool:
    """Return whether `glob` is compared with absolute paths.

    >>> is_absolute("/etc/*.conf"), is_absolute("~/notes/**"), is_absolute("C:/work/**"), is_absolute("src/**")
    (True, True, True, False)
    """
    return glob.startswith(("/", "~/")) or (glob[1:3] == ":/" and glob[0].isalpha())


def expand_home(glob: str) -> str:
    """Return `glob` with the user's home folder in place of `~`.

    >>> expand_home("src/~/*.py")
    'src/~/*.py'
    """
    if not glob.startswith("~/"):
        return glob
    home = os.path.expanduser("~")
    plain = home.replace("\\", "/") if _is_windows(home) else home
    escaped = "".join([f"[{char}]" if char in "*?[{" else char for char in plain.rstrip("/")])
    return escaped + glob[1:]


def matches(glob: str, path: str) -> bool:
    """Return whether `glob` matches the file `path`.

    path: with slashes, absolute if the glob is.

    >>> matches("src/db/**", "src/db/a/pool.py"), matches("src/**/x.py", "src/x.py"), matches("src/*", "src/a/b")
    (True, True, False)
    >>> matches("*.{sql,py}", "a/b/c.sql"), matches("pool.py", "src/pool.py"), matches("src/db", "src/db/pool.py")
    (True, True, True)
    >>> matches("app/[slug]/*.[jt]s", "app/[slug]/a.ts"), matches("app/[slug]/*.ts", "app/slug/a.ts")
    (True, False)
    """
    return matched_length(glob, path) is not None


def matched_length(glob: str, path: str) -> int | None:
    """Return how many characters of the file `path` a glob spells out, without slashes; None if it does not match.

    >>> matched_length("src/**/*.py", "src/a.py"), matched_length("**/*.{tsx,py}", "src/a.py"), matched_length("*.go", "a.py")
    (6, 3, None)
    """
    if len(path) > MAX_PATH or not path or path.endswith("/"):
        return None
    path = _compose(path)
    spelled_out = [
        sum(sign not in _NOT_SPELLED_OUT for sign in whole) for whole in _normalise(glob) if _matches_whole(whole, path)
    ]
    return max(spelled_out, default=None)


def matches_most_files(glob: str) -> bool:
    """Return whether `glob` matches most files of any project, so that it is no cue.

    >>> [matches_most_files(glob) for glob in ("**", "*", "**/*", "*.*", "*/**", "{**,x}", "**/[!x]*", "/**", "~/**")]
    [True, True, True, True, True, True, True, True, True]
    >>> [matches_most_files(glob) for glob in ("src/**", "*.py", "**/test_*", "{src,lib}/**", "/etc/*.conf")]
    [False, False, False, False, False]
    """
    folder = os.path.expanduser("~").replace("\\", "/") + "/work/shop/" if is_absolute(glob) else ""
    expanded = expand_home(glob)
    return sum(matches(expanded, folder + path) for path in _ANY_FILES) * 2 > len(_ANY_FILES)


def key_of_glob(glob: str) -> str:
    """Return a name that is part of every path that `glob` matches.

    It is a folder's or the file's name, else the name's ending, else an empty text.

    >>> key_of_glob("src/database/*.py"), key_of_glob("**/*.test.ts"), key_of_glob("*_test.go"), key_of_glob("**")
    ('database', '.test.ts', '.go', '')
    """
    keys_of_each = [_keys_of_normalised(whole_glob) for whole_glob in _normalise(glob)]
    shared_keys = [key for key in dict.fromkeys(keys_of_each[0]) if all(key in keys for keys in keys_of_each)]
    parts = [key for key in shared_keys if not key.startswith("/")]
    return max(reversed(parts), key=len) if parts else max(shared_keys, key=len, default="").strip("/")


def keys_of_path(path: str) -> list[str]:
    """Return the keys of all globs that may match `path`: its parts, its name's endings, and the empty text last.

    >>> keys_of_path("src/app/page.test.ts")
    ['src', 'app', 'page.test.ts', '.test.ts', '.ts', '']
    """
    if len(path) > MAX_PATH:
        return [""]
    parts = [part for part in _compose(path).split("/") if part]
    return list(dict.fromkeys((*parts, *(_name_endings(parts[-1]) if parts else ()), "")))


def relative_path(path: str, root: str) -> str | None:
    """Return the absolute `path` relative to the folder `root`, with slashes; None if it is not below.

    Windows' separators are accepted, too.

    >>> relative_path("/w/shop/src/a.py", "/w/shop"), relative_path("/w/shopping/a.py", "/w/shop")
    ('src/a.py', None)
    >>> relative_path("/w/shop/../a", "/w/shop") is None
    True
    >>> relative_path("c:\\\\w\\\\Shop\\\\src\\\\A.py", "C:/w/shop")
    'src/A.py'
    """
    windows = _is_windows(root)
    parts, root_parts = _parts_of_absolute(path, windows), _parts_of_absolute(root, windows)
    if parts is None or root_parts is None or len(parts) <= len(root_parts):
        return None
    start = parts[: len(root_parts)]
    if start != root_parts and not (windows and [part.lower() for part in start] == [part.lower() for part in root_parts]):
        return None
    return "/".join(parts[len(root_parts) :])


def _invalid(glob: str, reason: str, hint: str) -> InvalidMemory:
    return InvalidMemory(f"paths has {glob[:80]!r}: {reason}", hint)


def _is_windows(path: str) -> bool:
    return path[1:2] == ":" or path.startswith("\\\\")


def _parts_of_absolute(path: str, windows: bool) -> list[str] | None:
    """Return the parts of an absolute path without `.` and `..`; None for any other path."""
    if windows:
        path = path.replace("\\", "/")
    if not path.startswith("//" if windows else "/") and not (windows and _is_windows(path)):
        return None
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part and part != ".":
            parts.append(part)
    return parts


def _expand_braces(glob: str) -> list[str]:
    """Return the glob's alternatives without braces; a few more than MAX_ALTERNATIVES at most."""
    expanded: list[str] = []
    waiting = [glob.replace("[{]", "\1").replace("[}]", "\2")]
    while waiting and len(expanded) + len(waiting) <= MAX_ALTERNATIVES:
        pattern = waiting.pop()
        end = pattern.find("}", pattern.find("{") + 1) if "{" in pattern else -1
        if end < 0:
            expanded.append(pattern)
            continue
        start = pattern.rfind("{", 0, end)  # of the innermost brace
        waiting += [pattern[:start] + text + pattern[end + 1 :] for text in reversed(pattern[start + 1 : end].split(","))]
    return [pattern.replace("\1", "[{]").replace("\2", "[}]") for pattern in expanded + waiting]


def _normalise(glob: str) -> list[str]:
    """Return the glob's alternatives as globs for whole paths, without redundant parts."""
    wholes = []
    for alternative in _expand_braces(_compose(glob)):
        parts = [part for part in alternative.split("/") if part and part != "."]
        if alternative.endswith("/"):
            parts.append("**")
        if len(parts) == 1 + alternative.endswith("/") and not alternative.startswith(("/", "./")):
            parts.insert(0, "**")
        needed = [part for part, before in zip(parts, ("", *parts), strict=False) if part != "**" or before != "**"]
        wholes.append("/" * alternative.startswith("/") + "/".join(needed))
    return wholes


def _compose(text: str) -> str:
    """Return a text in Unicode's composed form (NFC)."""
    if text.isascii():
        return text
    from unicodedata import normalize  # .2 ms, and most paths are ASCII

    return normalize("NFC", text)


def _matches_whole(glob: str, path: str) -> bool:
    """Return whether a normalised glob matches a whole path. Its literal beginning refuses most paths at once."""
    first = next((index for index, char in enumerate(glob) if char in _WILD), len(glob))
    if not path.startswith(glob[:first]):
        return False
    parts, names = glob.split("/"), path.split("/")
    if parts[-1] == "**":
        parts.append("*")  # The file's name still has to follow.
    if _match_in_order(parts, names, "**", _matches_name):
        return True
    return _STARS.isdisjoint(parts[-1]) and _match_in_order([*parts, "**", "*"], names, "**", _matches_name)


def _match_in_order(pattern: Sequence[str], items: Sequence[str], star: str, matches_one: Callable[[str, str], bool]) -> bool:
    """Return whether a pattern matches all items. A star stands for any number of them.

    It goes back to the last star only, so the time is at most that of comparing each part of the pattern with each item.
    """
    position = index = 0
    last_star = -1  # position behind it
    retry = 0  # index of the first item that the last star does not match
    while index < len(items):
        if position < len(pattern) and pattern[position] == star:
            last_star, retry = position + 1, index
            position += 1
        elif position < len(pattern) and matches_one(pattern[position], items[index]):
            position, index = position + 1, index + 1
        elif last_star >= 0:
            retry += 1
            position, index = last_star, retry
        else:
            return False
    return all(part == star for part in pattern[position:])


def _matches_name(part: str, name: str) -> bool:
    """Return whether a part of a glob matches the name of a file or folder."""
    if _WILD.isdisjoint(part):
        return part == name
    return bool(name) and _match_in_order(_tokens_of(part, name), name, "*", _matches_character)


def _tokens_of(part: str, name: str = "") -> list[str]:
    """Return the characters and classes of a part. A class that the name has as written is plain text."""
    tokens: list[str] = []
    position = 0
    while position < len(part):
        end = position + 1
        if part[position] == "[":  # A bracket that begins a class is in it.
            end = part.find("]", position + 2 + part.startswith(("!", "^"), position + 1)) + 1 or end
        text = part[position:end]
        tokens += text if text in name else [text]
        position = end
    return tokens


def _matches_character(token: str, char: str) -> bool:
    """Return whether a character, a `?` or a class has a character.

    >>> [_matches_character(token, "b") for token in ("[a-c_]", "[!a-c]", "[]b]", "?", "b")]
    [True, False, True, True, True]
    """
    if len(token) == 1:
        return token in ("?", char)
    negated = token[1] in "!^"
    members = token[1 + negated : -1]
    while members:
        is_range = members[1:2] == "-" and len(members) > 2
        if members[0] <= char <= members[2 if is_range else 0]:
            return not negated
        members = members[3 if is_range else 1 :]
    return negated


def _name_endings(name: str) -> list[str]:
    """Return a name's last suffix and its last two, the longer first."""
    last = name.rfind(".")
    before = name.rfind(".", 0, max(last, 0))
    return [name[start:] for start in (before, last) if start >= 0]


def _keys_of_normalised(glob: str) -> list[str]:
    """Return the keys of a normalised glob. A slash marks endings, so that no part equals them."""
    parts = [part for part in glob.split("/") if part]
    keys = [part for part in parts if _WILD.isdisjoint(part)]
    name = parts[-1] if parts else ""
    tail = name[max(name.rfind("*"), name.rfind("?"), name.rfind("]")) + 1 :] if not _STARS.isdisjoint(name) else ""
    return keys + ["/" + ending for ending in _name_endings(tail)]
