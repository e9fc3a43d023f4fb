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
    import re

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
_NOT_SPELLED_OUT = frozenset("*?[]{},/")
# a class, which has no slash and may begin with a bracket; then a brace with no other in it
_CLASS = r"\[[!^]?[^/][^]/]*\]"
_INNER_BRACE = rf"{_CLASS}|\{{((?:{_CLASS}|[^{{}}\[])*)\}}"
_TOKEN = rf"(?s){_CLASS}|\*+|."
_OPEN = rf"{_CLASS}|([\[{{])"


def check_glob(glob: str) -> None:
    """Raise InvalidMemory unless `glob` is a glob."""
    if not glob.strip() or not glob.strip("/"):
        raise _invalid(glob, "it names no file", _HINT)
    if len(glob) > MAX_GLOB:
        raise _invalid(glob, f"{len(glob):,} characters, at most {MAX_GLOB} are taken", _HINT)
    if "\\" in glob:
        raise _invalid(glob, "it has a backslash", "use / between folders, on Windows too")
    if "\0" in glob:
        raise _invalid(glob, "it has a NUL", _HINT)
    if glob.startswith("!"):
        raise _invalid(glob, "it begins with !, which takes nothing away here", "name the files that are meant")
    import re

    alternatives = _expand_braces(glob)
    if len(alternatives) > MAX_ALTERNATIVES:
        raise _invalid(glob, f"its braces give more than {MAX_ALTERNATIVES} globs", "write several globs")
    for alternative in alternatives:
        unclosed = next(filter(None, (match[1] for match in re.finditer(_OPEN, alternative))), None)
        if unclosed:
            raise _invalid(glob, f"unclosed {unclosed}", "close it, or write [[] or [{] for the sign itself")
        if ".." in alternative.split("/"):
            raise _invalid(glob, "it goes up by ..", "write it from the project's root, or beginning with / or ~/")
        try:
            _compile_glob(_whole_path_glob(alternative))
        except re.error as error:
            raise _invalid(glob, f"{error}", _HINT) from error


def is_absolute(glob: str) -> bool:
    """Return whether `glob` is compared with absolute paths.

    >>> is_absolute("/etc/*.conf"), is_absolute("~/notes/**"), is_absolute("C:/work/**"), is_absolute("src/**")
    (True, True, True, False)
    """
    return glob.startswith(("/", "~/")) or (glob[1:3] == ":/" and glob[0].isalpha())


def expand_home(glob: str, home: str = "") -> str:
    """Return `glob` with a home folder in place of `~`. home: the folder, by default the user's own.

    >>> expand_home("~/notes/*.md", "/home/ann/"), expand_home("src/*.py", "/home/ann")
    ('/home/ann/notes/*.md', 'src/*.py')
    """
    if not glob.startswith("~/"):
        return glob
    home = home or os.path.expanduser("~")
    plain = home.replace("\\", "/") if _is_windows(home) else home
    escaped = "".join([f"[{char}]" if char in "*?[{" else char for char in plain.rstrip("/")])
    return escaped + glob[1:]


def matches(glob: str, path: str) -> bool:
    """Return whether `glob` matches the file `path`.

    path: with slashes, absolute if the glob is. A text that is no glob matches nothing.

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
    shared_keys: dict[str, None] | None = None
    for whole_glob in _normalise(glob):
        keys = _keys_of_normalised(whole_glob)
        shared_keys = dict.fromkeys(keys) if shared_keys is None else {key: None for key in shared_keys if key in keys}
    parts = [key for key in shared_keys or () if not key.startswith("/")]
    if parts:
        return max(reversed(parts), key=len)
    return max(shared_keys or ("",), key=len).strip("/")


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
        if not _is_windows(path) and not path.startswith("//"):
            return None
    elif not path.startswith("/"):
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
    import re  # No hook loads it for a call that no glob is near to.

    expanded: list[str] = []
    waiting = [glob]
    while waiting and len(expanded) + len(waiting) <= MAX_ALTERNATIVES:
        pattern = waiting.pop()
        brace = next((match for match in re.finditer(_INNER_BRACE, pattern) if match[1] is not None), None)
        if brace:
            start, end = brace.span()
            waiting += [pattern[:start] + text + pattern[end:] for text in reversed(brace[1].split(","))]
        else:
            expanded.append(pattern)
    return expanded + waiting


def _normalise(glob: str) -> list[str]:
    """Return the glob's alternatives as globs for whole paths, without redundant parts."""
    if len(glob) > MAX_GLOB or "\\" in glob:
        return []
    glob = _compose(glob)
    alternatives = _expand_braces(glob) if "{" in glob else [glob]
    return [_whole_path_glob(alternative) for alternative in alternatives] if len(alternatives) <= MAX_ALTERNATIVES else []


def _compose(text: str) -> str:
    """Return a text in Unicode's composed form (NFC)."""
    if text.isascii():
        return text
    from unicodedata import normalize  # .2 ms, and most paths are ASCII

    return normalize("NFC", text)


def _whole_path_glob(glob: str) -> str:
    parts = [part for part in glob.split("/") if part and part != "."]
    if glob.endswith("/"):
        parts.append("**")
    if len(parts) == 1 or (len(parts) == 2 and glob.endswith("/")):
        is_anywhere = not glob.startswith(("/", "./"))
        parts[:0] = ["**"] * is_anywhere
    needed = [part for part, before in zip(parts, ("", *parts), strict=False) if part != "**" or before != "**"]
    return "/" * glob.startswith("/") + "/".join(needed)


def _matches_whole(glob: str, path: str) -> bool:
    """Return whether a normalised glob matches a whole path. Most need no pattern, which takes .2 ms to compile."""
    first = next((index for index, char in enumerate(glob) if char in _WILD), len(glob))
    if not path.startswith(glob[:first]):
        return False
    if first == len(glob):
        return path[first : first + 1] in ("", "/")
    if glob[first:] == "**":
        return glob[first - 1 : first] in ("", "/")
    import re

    try:
        return _compile_glob(glob).fullmatch(path) is not None
    except re.error:
        return False


def _compile_glob(glob: str) -> re.Pattern[str]:
    """Return a normalised glob as a pattern. Each wildcard takes as little as it can and gives nothing back: (?>...).

    So the time grows with the path, not with the number of ways to match it.
    """
    import re

    groups = re.split(r"(?:^|/)\*\*(?=/|$)", glob)
    patterns = ["/".join(map(_pattern_of_part, group.strip("/").split("/"))) if group.strip("/") else "" for group in groups]
    patterns[0] = "/" * glob.startswith("/") + patterns[0]
    if len(groups) == 1:
        last = glob.rpartition("/")[2]
        return re.compile(patterns[0] + ("" if _is_file_alone(last) else "(?:/.+)?"), re.DOTALL)
    beginning = patterns[0] + "/" * bool(patterns[0].strip("/"))
    middle = "".join(f"(?>(?:[^/]+/)*?{pattern}/)" for pattern in patterns[1:-1] if pattern)
    end = f"(?:[^/]+/)*{patterns[-1]}" if patterns[-1] else ".+"
    last = groups[-1].rpartition("/")[2]
    below = "(?:/.+)?" if patterns[-1] and not _is_file_alone(last) else ""
    return re.compile(beginning + middle + end + below, re.DOTALL)


def _is_file_alone(name: str) -> bool:
    """Return whether the last part of a glob means files alone, not all files below a folder."""
    return not {"*", "?"}.isdisjoint(name)


def _pattern_of_part(part: str) -> str:
    """Return the name of a file or folder as a pattern."""
    import re

    chunks = [""]
    for token in re.findall(_TOKEN, part):
        if token[0] == "*":
            chunks.append("")
        elif token == "?":  # noqa: S105 - no password
            chunks[-1] += "[^/]"
        elif len(token) > 1:
            sign = "^/" if token[1] in "!^" else ""
            members = re.escape(token[1 + bool(sign) : -1]).replace("\\-", "-")
            chunks[-1] += f"(?:[{sign}{members}]|{re.escape(token)})"
        else:
            chunks[-1] += re.escape(token)
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1])
    return chunks[0] + middle + (f"[^/]*{chunks[-1]}" if chunks[1:] else "")


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
    tail = name[max(name.rfind("*"), name.rfind("?"), name.rfind("]")) + 1 :] if _is_file_alone(name) else ""
    return keys + ["/" + ending for ending in _name_endings(tail)]
