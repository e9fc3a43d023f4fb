"""Globs: the files of a memory's `paths`, and keys by which a store finds globs that may match a file. Reads no file.

`*` and `?` stay within a folder, `**` crosses folders, `[abc]`, `[a-z]` and `[!abc]` are one character, `{sql,py}` is one of
several texts. As in a .gitignore a glob without a slash is a name in any folder. A glob that ends in a name is this file, or
all files below the folder; a glob that ends in a slash means the folder alone. Case counts. A glob that begins with `/` or
`~/` is compared with absolute paths, others with paths from the project's root. The time is linear in the path for any glob:
all states of the automaton are one number.

Next.js and SvelteKit name folders `[slug]` and `[...rest]`: brackets stand for themselves where the path has their very text.
Letters with accents are equal in both of Unicode's forms; macOS writes paths in the decomposed one.
"""

import os

from subcog_hooks.core.errors import InvalidMemory

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


def check_glob(glob: str) -> None:
    """Raise InvalidMemory unless `glob` is a glob. The message has the fault's position in characters from 1."""
    if not glob.strip() or not glob.strip("/"):
        raise _invalid(glob, "it names no file", _HINT)
    if len(glob) > MAX_GLOB:
        raise _invalid(glob, f"{len(glob):,} characters, at most {MAX_GLOB} are taken", _HINT)
    if "\\" in glob:
        raise _invalid(glob, f"a backslash at character {glob.index(chr(92)) + 1}", "use / between folders, on Windows too")
    if "\0" in glob:
        raise _invalid(glob, f"a NUL at character {glob.index(chr(0)) + 1}", _HINT)
    if glob.startswith("!"):
        raise _invalid(glob, "it begins with !, which takes nothing away here", "name the files that are meant")
    opened, bracket = _unclosed_brackets(glob)
    if bracket or opened:
        position = bracket or opened
        reason = f"unclosed {glob[position - 1]} at character {position}"
        raise _invalid(glob, reason, "close it, or write [[] or [{] for the sign itself")
    alternatives = _expand_braces(glob)
    if len(alternatives) > MAX_ALTERNATIVES:
        raise _invalid(glob, f"its braces give more than {MAX_ALTERNATIVES} globs", "write several globs")
    if any(".." in alternative.split("/") for alternative in alternatives):
        raise _invalid(glob, "it goes up by ..", "write it from the project's root, or beginning with / or ~/")


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
    >>> matches("app/[slug]/*.[jt]s", "app/[slug]/a.ts"), matches("app/[slug]/*.ts", "app/s/a.ts")
    (True, True)
    """
    if len(path) > MAX_PATH or not path or path.endswith("/"):
        return False
    path = _compose(path)
    if any(_matches_whole(whole_glob, path) for whole_glob in _normalise(glob)):
        return True
    has_brackets = "[" in path and "[" in glob
    return has_brackets and any(_matches_whole(whole_glob, path) for whole_glob in _normalise(glob, path))


def matched_length(glob: str, path: str) -> int | None:
    """Return how many characters of the file `path` a glob spells out, without slashes; None if it does not match.

    >>> matched_length("src/**/*.py", "src/a.py"), matched_length("**/*.{tsx,py}", "src/a.py"), matched_length("*.go", "a.py")
    (6, 3, None)
    """
    if not matches(glob, path):
        return None
    alternatives = [whole_glob for whole_glob in _normalise(glob) if _matches_whole(whole_glob, path)]
    return max([sum(sign not in _NOT_SPELLED_OUT for sign in alternative) for alternative in alternatives or (glob,)])


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


def _bracket_end(glob: str, start: int) -> int:
    """Return the end of the class that begins at `start`; 0 if none begins there.

    Its first character may be a bracket; no class contains a slash.
    """
    end = glob.find("]", start + 2 + glob.startswith(("!", "^"), start + 1))
    return end + 1 if "/" not in glob[start:end] else 0


def _unclosed_brackets(glob: str) -> tuple[int, int]:
    """Return the positions, from 1, of an unclosed brace and an unclosed bracket; 0 for none."""
    braces: list[int] = []
    position = 0
    while position < len(glob):
        if glob[position] == "[":
            end = _bracket_end(glob, position)
            if not end:
                return 0, position + 1
            position = end
            continue
        if glob[position] == "{":
            braces.append(position + 1)
        elif glob[position] == "}" and braces:
            braces.pop()
        position += 1
    return (braces[-1] if braces else 0), 0


def _expand_braces(glob: str) -> list[str]:
    """Return the glob's alternatives without braces; a few more than MAX_ALTERNATIVES at most."""
    expanded: list[str] = []
    waiting = [glob]
    while waiting and len(expanded) + len(waiting) <= MAX_ALTERNATIVES:
        pattern = waiting.pop()
        commas = _first_brace_positions(pattern)
        if commas:
            start, end = commas[0], commas[-1]
            cuts = [pattern[commas[n] + 1 : commas[n + 1]] for n in range(len(commas) - 1)]
            waiting += [pattern[:start] + cut + pattern[end + 1 :] for cut in reversed(cuts)]
        else:
            expanded.append(pattern)
    return expanded + waiting


def _first_brace_positions(glob: str) -> list[int]:
    """Return the positions of the first brace, its commas and its end; empty without a complete brace."""
    positions: list[int] = []
    depth = position = 0
    while position < len(glob):
        char = glob[position]
        if char == "[":
            position = max(_bracket_end(glob, position) - 1, position)
        elif char == "{":
            depth += 1
            if depth == 1:
                positions.append(position)
        elif depth and (char == "}" or (char == "," and depth == 1)):
            depth -= char == "}"
            if depth == 0 or char == ",":
                positions.append(position)
            if depth == 0:
                return positions
        position += 1
    return []


def _normalise(glob: str, literal_in: str = "") -> list[str]:
    """Return the glob's alternatives as globs for whole paths, without redundant parts.

    A glob that ends in a name may mean a folder's files, too. literal_in: the path whose brackets stand for themselves.
    """
    if len(glob) > MAX_GLOB or "\\" in glob:
        return []
    glob = _escape_brackets(_compose(glob), literal_in) if literal_in else _compose(glob)
    alternatives = _expand_braces(glob) if "{" in glob else [glob]
    wholes = [_whole_path_glob(alternative) for alternative in alternatives] if len(alternatives) <= MAX_ALTERNATIVES else []
    return wholes + [whole + "/**" for whole in wholes if _is_name(whole[whole.rfind("/") + 1 :])]


def _is_name(part: str) -> bool:
    """Return whether the last part of a glob is a name without wildcards, or ends in an escaped bracket as `[[]slug]`."""
    return _WILD.isdisjoint(part) or (part.endswith("]") and _WILD.isdisjoint(part.replace("[[]", "")))


def _escape_brackets(glob: str, path: str) -> str:
    """Return a glob with each bracket escaped where `path` has the very text of its class.

    >>> _escape_brackets("app/[[...slug]]/*.[jt]s", "app/[[...slug]]/a.ts")
    'app/[[][[]...slug]]/*.[jt]s'
    """
    parts, position = [], 0
    while (start := glob.find("[", position)) >= 0:
        end = _bracket_end(glob, start) or start + 1
        text = glob[start:end]
        parts += [glob[position:start], text.replace("[", "[[]") if text in path else text]
        position = end
    return "".join(parts) + glob[position:]


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
    """Return whether a normalised glob matches a whole path. Its literal beginning and end refuse most paths at once."""
    first = next((index for index, char in enumerate(glob) if char in _WILD), -1)
    if first < 0:
        return glob == path
    if not path.startswith(glob[:first]):
        return False
    last = max(glob.rfind("*"), glob.rfind("?"), glob.rfind("]"))
    if not path.endswith(glob[last + 1 :].lstrip("/")):
        return False
    return _GlobAutomaton(glob).accepts(path)


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
    tail = name[max(name.rfind("*"), name.rfind("?"), name.rfind("]")) + 1 :]
    return keys + ["/" + ending for ending in _name_endings(tail)]


class _GlobAutomaton:
    """A normalised glob as an automaton whose states are bits of a number: bit n is set after n matched elements.

    An element is a character, a class, a `*`, or a `**`, which has two: before a folder and within it.
    """

    __slots__ = ("_any", "_before", "_chars", "_classes", "_end", "_stars", "_within")

    def __init__(self, glob: str) -> None:
        self._chars: dict[str, int] = {}
        self._classes: list[tuple[str, int]] = []
        self._any = self._stars = self._before = self._within = 0
        position, bit = 0, 1
        while position < len(glob):
            char, start = glob[position], position
            position += 1
            if char == "*":
                while glob.startswith("*", position):
                    position += 1
                whole = position - start == 2 and (start == 0 or glob[start - 1] == "/")
                if whole and (position == len(glob) or glob[position] == "/"):
                    self._before |= bit
                    self._within |= bit << 1
                    bit <<= 1
                    if position == len(glob):  # The file's name still has to follow.
                        bit <<= 1
                        self._any |= bit
                        self._stars |= bit << 1
                        bit <<= 1
                    position += 1
                else:
                    self._stars |= bit
            elif char == "?":
                self._any |= bit
            elif char == "[" and _bracket_end(glob, start):
                position = _bracket_end(glob, start)
                self._classes.append((glob[start + 1 : position - 1], bit))
            else:
                self._chars[char] = self._chars.get(char, 0) | bit
            bit <<= 1
        self._end = bit

    def accepts(self, path: str) -> bool:
        steps = dict.fromkeys(path, self._any)
        steps["/"] = 0
        for char in steps:
            steps[char] |= self._chars.get(char, 0)
            if char != "/":
                for members, bit in self._classes:
                    if _class_has(members, char):
                        steps[char] |= bit
        stars, before, within = self._stars, self._before, self._within
        states = self._skip_stars(1)
        for char in path:
            moved = (states & steps[char]) << 1
            if char == "/":
                moved |= (states & within) >> 1
            else:
                moved |= (states & (stars | within)) | (states & before) << 1
            if not moved:
                return False
            states = self._skip_stars(moved)
        return states & self._end != 0

    def _skip_stars(self, states: int) -> int:
        """Add the states that follow without a character: behind `**`, then behind `*`."""
        states |= (states & self._before) << 2
        return states | (states & self._stars) << 1


def _class_has(members: str, char: str) -> bool:
    """Return whether a class has a character.

    >>> _class_has("a-c_", "b"), _class_has("!a-c", "b"), _class_has("]-", "-")
    (True, False, True)
    """
    negated = members[:1] in {"!", "^"}
    index = int(negated)
    while index < len(members):
        if members[index + 1 : index + 2] == "-" and index + 2 < len(members):
            if members[index] <= char <= members[index + 2]:
                return not negated
            index += 3
        else:
            if members[index] == char:
                return not negated
            index += 1
    return negated
