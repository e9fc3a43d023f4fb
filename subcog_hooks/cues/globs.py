"""Globs: which files a memory's `paths` mean, and by which keys a store finds those that may match a file. Reads no file.

`*` and `?` stay within a folder, `**` crosses folders, `[abc]`, `[a-z]` and `[!abc]` are one character, `{sql,py}` is one of
several texts. As in a .gitignore a glob without a slash is a name in any folder, one that ends in a name is this file, or all
that lies below the folder, and one that ends in a slash is the latter alone. Case counts. Beginning with `/` or `~/` a glob is
held against absolute paths, else against those from the project's root. The time is linear in the path, whatever the glob: all
its states are one number.
"""

import os

from subcog_hooks.core.errors import InvalidMemory

MAX_GLOB = 500  # characters
MAX_PATH = 4_096  # characters, Linux' PATH_MAX; what is longer matches nothing
MAX_ALTERNATIVES = 64  # that braces give

# files of many kinds, in folders of many names
_ANY_FILES = (
    *("README.md", "src/app/main.py", "lib/net/http/client.ts", "docs/guide/intro.html", "tests/unit/cart_test.go", "Makefile"),
    *("config/prod/settings.yaml", "web/public/css/site.css", "api/v1/Order.java", "db/migrations/0001_init.sql", "go.mod"),
    *("crates/core/src/lib.rs", "packages/ui/package.json"),
)
_HINT = "for instance src/db/**, *.sql or docs/*.md"
_WILD = frozenset("*?[")


def check(glob: str) -> None:
    """Raise InvalidMemory unless `glob` is a glob; the message has the place of a fault, counted in characters from 1."""
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
    opened, bracket = _unclosed(glob)
    if bracket or opened:
        at = bracket or opened
        raise _invalid(glob, f"unclosed {glob[at - 1]} at character {at}", "close it, or write [[] or [{] for the sign itself")
    alternatives = _alternatives(glob)
    if len(alternatives) > MAX_ALTERNATIVES:
        raise _invalid(glob, f"its braces give more than {MAX_ALTERNATIVES} globs", "write several globs")
    if any(".." in one.split("/") for one in alternatives):
        raise _invalid(glob, "it goes up by ..", "write it from the project's root, or beginning with / or ~/")


def is_absolute(glob: str) -> bool:
    """Return whether `glob` is held against absolute paths.

    >>> is_absolute("/etc/*.conf"), is_absolute("~/notes/**"), is_absolute("C:/work/**"), is_absolute("src/**")
    (True, True, True, False)
    """
    return glob.startswith(("/", "~/")) or (glob[1:3] == ":/" and glob[0].isalpha())


def absolute(glob: str, home: str = "") -> str:
    """Return `glob` with a home folder in place of `~`. home: that folder, the user's own if there is none.

    >>> absolute("~/notes/*.md", "/home/ann/"), absolute("src/*.py", "/home/ann")
    ('/home/ann/notes/*.md', 'src/*.py')
    """
    if not glob.startswith("~/"):
        return glob
    home = home or os.path.expanduser("~")
    plain = home.replace("\\", "/") if _is_windows(home) else home
    escaped = "".join([f"[{char}]" if char in "*?[{" else char for char in plain.rstrip("/")])
    return escaped + glob[1:]


def matches(glob: str, path: str) -> bool:
    """Return whether `glob` means the file `path`.

    path: with slashes, absolute where the glob is. False for a text that is no glob.

    >>> matches("src/db/**", "src/db/a/pool.py"), matches("src/**/x.py", "src/x.py"), matches("src/*", "src/a/b")
    (True, True, False)
    >>> matches("*.{sql,py}", "a/b/c.sql"), matches("pool.py", "src/pool.py"), matches("src/db", "src/db/pool.py")
    (True, True, True)
    """
    if len(path) > MAX_PATH or not path or path.endswith("/"):
        return False
    return any(_is_met(one, path) for one in _normalised(glob))


def means_everything(glob: str) -> bool:
    """Return whether `glob` matches most files of any project, so that it is no cue.

    >>> [means_everything(glob) for glob in ("**", "*", "**/*", "*.*", "*/**", "{**,x}", "**/[!x]*", "/**", "~/**")]
    [True, True, True, True, True, True, True, True, True]
    >>> [means_everything(glob) for glob in ("src/**", "*.py", "**/test_*", "{src,lib}/**", "/etc/*.conf")]
    [False, False, False, False, False]
    """
    folder = os.path.expanduser("~").replace("\\", "/") + "/work/shop/" if is_absolute(glob) else ""
    expanded = absolute(glob)
    return sum(matches(expanded, folder + path) for path in _ANY_FILES) * 2 > len(_ANY_FILES)


def key_of(glob: str) -> str:
    """Return the name that every path which `glob` matches has.

    It is a folder's or the file's name, else the name's ending, else an empty text.

    >>> key_of("src/database/*.py"), key_of("**/*.test.ts"), key_of("*_test.go"), key_of("**")
    ('database', '.test.ts', '.go', '')
    """
    found: dict[str, None] | None = None
    for one in _normalised(glob):
        keys = _keys_of_one(one)
        found = dict.fromkeys(keys) if found is None else {key: None for key in found if key in keys}
    parts = [key for key in found or () if not key.startswith("/")]
    if parts:
        return max(reversed(parts), key=len)
    return max(found or ("",), key=len).strip("/")


def keys_of(path: str) -> list[str]:
    """Return the keys of all globs that may match `path`: its parts, its name's endings, and the empty text last.

    >>> keys_of("src/app/page.test.ts")
    ['src', 'app', 'page.test.ts', '.test.ts', '.ts', '']
    """
    if len(path) > MAX_PATH:
        return [""]
    parts = [part for part in path.split("/") if part]
    return list(dict.fromkeys((*parts, *(_endings(parts[-1]) if parts else ()), "")))


def relative(path: str, root: str) -> str | None:
    """Return the absolute `path` from the folder `root`, with slashes; None where it does not lie below.

    Windows' separators are read too.

    >>> relative("/w/shop/src/a.py", "/w/shop"), relative("/w/shopping/a.py", "/w/shop"), relative("/w/shop/../a", "/w/shop")
    ('src/a.py', None, None)
    >>> relative("c:\\\\w\\\\Shop\\\\src\\\\A.py", "C:/w/shop")
    'src/A.py'
    """
    windows = _is_windows(root)
    one, other = _parts_of_absolute(path, windows), _parts_of_absolute(root, windows)
    if one is None or other is None or len(one) <= len(other):
        return None
    start = one[: len(other)]
    if start != other and not (windows and [part.lower() for part in start] == [part.lower() for part in other]):
        return None
    return "/".join(one[len(other) :])


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


def _bracket_end(glob: str, at: int) -> int:
    """Return where the class ends that begins at `at`; 0 where none does.

    Its first character may be a bracket; no class contains a slash.
    """
    end = glob.find("]", at + 2 + glob.startswith(("!", "^"), at + 1))
    return end + 1 if "/" not in glob[at:end] else 0


def _unclosed(glob: str) -> tuple[int, int]:
    """Return the places of an unclosed brace and of an unclosed bracket, from 1; 0 where there is none."""
    braces: list[int] = []
    at = 0
    while at < len(glob):
        if glob[at] == "[":
            end = _bracket_end(glob, at)
            if not end:
                return 0, at + 1
            at = end
            continue
        if glob[at] == "{":
            braces.append(at + 1)
        elif glob[at] == "}" and braces:
            braces.pop()
        at += 1
    return (braces[-1] if braces else 0), 0


def _alternatives(glob: str) -> list[str]:
    """Return the globs without braces that a glob stands for; a few more than MAX_ALTERNATIVES at most."""
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= MAX_ALTERNATIVES:
        one = waiting.pop()
        commas = _first_brace(one)
        if commas:
            start, end = commas[0], commas[-1]
            cuts = [one[commas[n] + 1 : commas[n + 1]] for n in range(len(commas) - 1)]
            waiting += [one[:start] + cut + one[end + 1 :] for cut in reversed(cuts)]
        else:
            done.append(one)
    return done + waiting


def _first_brace(glob: str) -> list[int]:
    """Return the places of the first brace, of its commas and of its end; none where there is no whole one."""
    places: list[int] = []
    depth = at = 0
    while at < len(glob):
        char = glob[at]
        if char == "[":
            at = max(_bracket_end(glob, at) - 1, at)
        elif char == "{":
            depth += 1
            if depth == 1:
                places.append(at)
        elif depth and (char == "}" or (char == "," and depth == 1)):
            depth -= char == "}"
            if depth == 0 or char == ",":
                places.append(at)
            if depth == 0:
                return places
        at += 1
    return []


def _normalised(glob: str) -> list[str]:
    """Return the globs without braces that a glob stands for, each for a whole path, with no needless part.

    A glob that ends in a name may mean a folder's files, too.
    """
    if len(glob) > MAX_GLOB or "\\" in glob:
        return []
    found = _alternatives(glob) if "{" in glob else [glob]
    wholes = [_whole(one) for one in found] if len(found) <= MAX_ALTERNATIVES else []
    return wholes + [one + "/**" for one in wholes if _WILD.isdisjoint(one[one.rfind("/") + 1 :])]


def _whole(glob: str) -> str:
    parts = [part for part in glob.split("/") if part and part != "."]
    if glob.endswith("/"):
        parts.append("**")
    if len(parts) == 1 or (len(parts) == 2 and glob.endswith("/")):
        free = not glob.startswith(("/", "./"))
        parts[:0] = ["**"] * free
    kept = [part for part, before in zip(parts, ("", *parts), strict=False) if part != "**" or before != "**"]
    return "/" * glob.startswith("/") + "/".join(kept)


def _is_met(glob: str, path: str) -> bool:
    """Return whether a normalised glob matches all of a path. Its plain beginning and end refuse most paths at once."""
    first = next((at for at, char in enumerate(glob) if char in _WILD), -1)
    if first < 0:
        return glob == path
    if not path.startswith(glob[:first]):
        return False
    last = max(glob.rfind("*"), glob.rfind("?"), glob.rfind("]"))
    if not path.endswith(glob[last + 1 :].lstrip("/")):
        return False
    return _Machine(glob).runs(path)


def _endings(name: str) -> list[str]:
    """Return a name's last suffix and its last two, the longer one first."""
    last = name.rfind(".")
    before = name.rfind(".", 0, max(last, 0))
    return [name[at:] for at in (before, last) if at >= 0]


def _keys_of_one(glob: str) -> list[str]:
    """Return the keys of a normalised glob; endings are marked by a slash, which sets them apart from parts."""
    parts = [part for part in glob.split("/") if part]
    keys = [part for part in parts if _WILD.isdisjoint(part)]
    name = parts[-1] if parts else ""
    tail = name[max(name.rfind("*"), name.rfind("?"), name.rfind("]")) + 1 :]
    return keys + ["/" + ending for ending in _endings(tail)]


class _Machine:
    """A normalised glob as an automaton whose states are the bits of a number: bit n is set where n elements are met.

    An element is a character, a class, a `*`, or a `**`, which has two: before a folder and within it.
    """

    __slots__ = ("_any", "_before", "_chars", "_classes", "_end", "_stars", "_within")

    def __init__(self, glob: str) -> None:
        self._chars: dict[str, int] = {}
        self._classes: list[tuple[str, int]] = []
        self._any = self._stars = self._before = self._within = 0
        at, bit = 0, 1
        while at < len(glob):
            char, start = glob[at], at
            at += 1
            if char == "*":
                while glob.startswith("*", at):
                    at += 1
                whole = at - start == 2 and (start == 0 or glob[start - 1] == "/")
                if whole and (at == len(glob) or glob[at] == "/"):
                    self._before |= bit
                    self._within |= bit << 1
                    bit <<= 1
                    if at == len(glob):  # a name is left to be had
                        bit <<= 1
                        self._any |= bit
                        self._stars |= bit << 1
                        bit <<= 1
                    at += 1
                else:
                    self._stars |= bit
            elif char == "?":
                self._any |= bit
            elif char == "[" and _bracket_end(glob, start):
                at = _bracket_end(glob, start)
                self._classes.append((glob[start + 1 : at - 1], bit))
            else:
                self._chars[char] = self._chars.get(char, 0) | bit
            bit <<= 1
        self._end = bit

    def runs(self, path: str) -> bool:
        """Return whether all of `path` leads to the last state."""
        steps = dict.fromkeys(path, self._any)
        steps["/"] = 0
        for char in steps:
            steps[char] |= self._chars.get(char, 0)
            if char != "/":
                for members, bit in self._classes:
                    if _has(members, char):
                        steps[char] |= bit
        stars, before, within = self._stars, self._before, self._within
        states = self._opened(1)
        for char in path:
            moved = (states & steps[char]) << 1
            if char == "/":
                moved |= (states & within) >> 1
            else:
                moved |= (states & (stars | within)) | (states & before) << 1
            if not moved:
                return False
            states = self._opened(moved)
        return states & self._end != 0

    def _opened(self, states: int) -> int:
        """Return the states and those that follow them without a character: behind `**`, then behind `*`."""
        states |= (states & self._before) << 2
        return states | (states & self._stars) << 1


def _has(members: str, char: str) -> bool:
    """Return whether a class's text has a character.

    >>> _has("a-c_", "b"), _has("!a-c", "b"), _has("]-", "-")
    (True, False, True)
    """
    negated = members[:1] in {"!", "^"}
    at = int(negated)
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            if members[at] <= char <= members[at + 2]:
                return not negated
            at += 3
        else:
            if members[at] == char:
                return not negated
            at += 1
    return negated
