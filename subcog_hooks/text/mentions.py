"""Names in a text of files, identifiers and commands; and the names by which a tool's file, command or pattern is looked up.

The names of both sides must be the same texts, so both are made here. Plain words, addresses and versions are none.
"""

from __future__ import annotations

from subcog_hooks.text.familiar import (
    BUILTINS,
    COMMONPLACE,
    ENDINGS,
    EVERYDAY,
    FILES,
    HIDDEN,
    HOSTS,
    INTERPRETERS,
    KEYWORDS,
    LAUNCHERS,
    LEADS,
    OF_THREE,
    PRODUCTS,
    SCRIPTS,
    SHELLS,
    STANDARDS,
    VALUED,
    WRAPPED,
    WRAPPERS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

MAX_MENTIONS = 50  # of one memory; a row of the store each
MAX_COMMAND = 4_000  # characters of a command that are read
MAX_NAMES = 100  # that one command is looked up by
MAX_WORD = 1_000  # characters without a blank; beyond it is data
MAX_PARTS = 6  # of a name with its owners
MAX_FOLDERS = 12  # of a path: nobody writes longer ends of it


_MARKS = str.maketrans(dict.fromkeys("()[]{}<>\"'`,;:!?*=|#$%&^\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb", " "))
_SIGNS = str.maketrans(dict.fromkeys("()[]{}<>\"'`,;:!?*=|#$%&^+-/\\~@", " "))  # that part the names of code
_CALL = "\1"  # in place of (), which says that a word is a function
_OPENING = "*_([{<\"'\u2018\u201c"
_EDGES = "*_.,;:!?)]}>\"'\u2019\u201d"
_NO_OWNERS = frozenset(("self", "this", "cls", "etc", "www", "vs"))  # before a dot, in code or at the end of a sentence
_DEFINING = (
    "def ",
    "class ",
    "function ",
    "func ",
    "fn ",
    "struct ",
    "interface ",
    "type ",
    "const ",
    "let ",
    "var ",
    "import ",
)


def mentions(text: str) -> tuple[str, ...]:
    """Return the files, identifiers and commands that `text` names, as it writes them, each once, at most 50, in order.

    A command is the first two words of a line of code, three for `npm run build` and `python manage.py migrate`. Code is
    `inline code`, or a fenced block that is in a shell's language or none; in prose only what is clearly a command is one. A
    file is named with its ending, `./` before it is left out. Linear in the text: about 0.1 µs a character.

    >>> mentions("Run `make lint` before you touch src/db/pool.py:42, parse_args there raises E0308 (see HttpClient).")
    ('make lint', 'src/db/pool.py', 'parse_args', 'E0308', 'HttpClient')
    >>> mentions("After a new route run make openapi, and make sure that it is committed.")
    ('make openapi',)
    >>> mentions("Node.js 3.11 and/or https://a.io/x_y.py on GitHub, e.g. `latency`")
    ()
    """
    from subcog_hooks.text.prose_commands import commands_in_prose  # only writers come here; its tables are 1 ms

    found: dict[str, None] = {}
    for prose, code in _passages(text):
        for command in commands_of(code[:MAX_COMMAND]) if code else commands_in_prose(prose):
            name = _command_name(command)
            if name:
                found[name] = None
        found.update(dict.fromkeys(_names(prose or code)))
        if len(found) >= MAX_MENTIONS:
            break
    return tuple(found)[:MAX_MENTIONS]


def names_of_file(path: str) -> tuple[str, ...]:
    """Return the names by which a file is looked up.

    They are its path from the project's root, with slashes, and the ends of that path.

    The bare name is among them unless files of many folders have it, such as README.md.

    >>> names_of_file("src/db/pool.py"), names_of_file("src/db/__init__.py")
    (('src/db/pool.py', 'db/pool.py', 'pool.py'), ('src/db/__init__.py', 'db/__init__.py'))
    """
    parts = [part for part in path.split("/") if part]
    whole = "/".join(parts)
    ends = ["/".join(parts[start:]) for start in range(max(1, len(parts) - MAX_FOLDERS), len(parts))]
    names = dict.fromkeys([whole, *ends])
    if parts and parts[-1] in COMMONPLACE:
        names.pop(parts[-1], None)
    return tuple(names) if parts else ()


def names_of_command(command: str) -> tuple[str, ...]:
    """Return the names by which a shell's command is looked up.

    They are the first two words of each of its parts, and the files and identifiers in it.

    Settings of variables and `sudo` before a part are skipped. Of what stands in quotes only a single word may be a file or an
    identifier, the rest is said to somebody. 4,000 characters are read, at most 100 names given.

    >>> names_of_command("cd app && RUST_LOG=debug sudo kubectl -n prod apply -f k8s/web.yaml | tee log")
    ('kubectl apply', 'RUST_LOG', 'k8s/web.yaml', 'web.yaml')
    """
    command = command[:MAX_COMMAND].replace('\\"', " ")
    names: dict[str, None] = {}
    for part in commands_of(command.replace("(", "\n").replace(")", "\n")):
        name = _command_name(part, LEADS)
        if name:
            names[name] = None
    for name in _names(_without_quotes(command, has_words=True)):
        names.update(dict.fromkeys(names_of_file(name) if _is_file(name) else (name,)))
        if len(names) >= MAX_NAMES:
            break
    return tuple(names)[:MAX_NAMES]


def names_written(text: str, before: str = "") -> tuple[str, ...]:
    """Return the identifiers of what is about to be written, without those that stood there before.

    4,000 characters are read, at most 100 names given. Files are looked up by what is touched, not by what is written.

    >>> names_written("price = MoneyField(total_of(order))", "price = total_of(order)"), names_written("x = 1")
    (('MoneyField',), ())
    """
    return tuple([name for name in dict.fromkeys(_symbols(text[:MAX_COMMAND])) if name not in before])[:MAX_NAMES]


def _symbols(code: str) -> Iterator[str]:
    """Yield the identifiers of code, and names with their owners: stylex.props. Quick, since it is read at every edit."""
    for word in dict.fromkeys(code.translate(_SIGNS).split()):
        if word.isalpha() and (word.islower() or word[1:].islower()):
            continue  # most words
        if "." not in word:
            if _is_identifier(word):
                yield word
            continue
        parts = word.strip(".").split(".")[:MAX_PARTS]
        yield from filter(_is_identifier, parts)
        yield from filter(_is_attribute, (".".join(parts[:count]) for count in range(2, len(parts) + 1)))


def names_of_symbol(pattern: str) -> tuple[str, ...]:
    """Return the names by which a search's pattern is looked up.

    It is itself one where it is one identifier, also between anchors and behind `def`.

    >>> names_of_symbol("parse_args"), names_of_symbol("\\\\bHttpClient\\\\b")
    (('parse_args',), ('HttpClient',))
    >>> names_of_symbol("def connect\\\\("), names_of_symbol("foo.*bar")
    (('connect',), ())
    """
    plain = pattern[:200].replace("\\b", "").replace("\\s+", " ").replace("\\(", "").strip("^$( ")
    for word in _DEFINING:
        plain = plain.removeprefix(word)
    plain = plain.strip()
    return (plain,) if len(pattern) <= 200 and len(plain) > 2 and plain.isidentifier() else ()


def _passages(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text's passages as pairs: prose and nothing, or nothing and code."""
    if "`" not in text:
        yield text, ""
        return
    for number, block in enumerate(text.split("```")):
        if number % 2:
            language, line_break, code = block.partition("\n")
            if line_break and language.strip().lower() in SHELLS:
                yield "", code
            else:
                yield block, ""
            continue
        for place, piece in enumerate(block.replace("``", "`").split("`")):
            if piece and not piece.isspace():
                yield ("", piece) if place % 2 else (piece, "")


def commands_of(command: str) -> Iterator[str]:
    """Yield the commands of a line or of several, what stands in quotes left out of them.

    They stand between `&&`, `||`, `;`, `|` and line breaks outside of quotes.
    """
    if '"' in command or "'" in command:
        command = _without_quotes(command)
    for sign in ("|", ";", "&"):
        command = command.replace(sign, "\n")
    for line in command.replace("\\\n", " ").split("\n"):
        if line and not line.isspace():
            yield line


def _without_quotes(command: str, has_words: bool = False) -> str:
    """Return a command whose quoted texts are dots, so that nothing in them is taken for a sign or a word.

    has_words: but a quoted text of one word is that word.
    """
    kept: list[str] = []
    quote = ""
    start = 0
    while True:
        ends = [at for at in (command.find(sign, start) for sign in (quote or "\"'")) if at >= 0]
        if not ends:
            kept.append("" if quote else command[start:])
            return "".join(kept)
        at = min(ends)
        text = command[start:at]
        kept.append("." if quote and not (has_words and len(text.split(None, 1)) == 1) else text)
        quote = "" if quote else command[at]
        start = at + 1


def _command_name(part: str, leads: Collection[str] = ()) -> str:
    """Return a command's first word and the next that is no option; empty where that names none.

    leads: words that are left out.
    """
    words = part.split(None, 40)[:40]
    at = 0
    if words and words[0] in {"$", "%", ">", "#", "-"}:  # a prompt, a list's bullet
        at = 1
    while at < len(words) and (words[at] in WRAPPERS or words[at] in leads or _is_setting(words[at])):
        at = _behind(words, at)
    if " ".join(words[at : at + 2]) in LAUNCHERS:
        at += 2
    if words[at + 1 : at + 2] == ["-m"] and words[at].startswith("python"):  # python -m pytest: pytest
        at += 2
    if at >= len(words) or not _is_word(words[at]) or words[at] in EVERYDAY or words[at] in KEYWORDS:
        return ""
    name = words[at]
    second = _next_argument(words, at)
    if not second:
        return ""
    runs_file = name in INTERPRETERS and _is_file(words[second].removeprefix("./"))
    name = f"{name} {words[second].removeprefix('./')}"
    third = _next_argument(words, second) if runs_file or name in OF_THREE else 0
    if third:
        return f"{name} {words[third]}"
    return "" if runs_file else name


def _behind(words: list[str], at: int) -> int:
    """Return where a command goes on behind the word at this place.

    Skipped are a wrapper's options, and how long it may take.
    """
    wrapper = words[at]
    at += 1
    if wrapper in WRAPPERS:
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in WRAPPED else 1
        at += wrapper == "timeout"
    return at


def _next_argument(words: list[str], at: int) -> int:
    """Return the place of the next word after `at` that is no option and no option's value; 0 where it is no plain word."""
    at += 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in VALUED or "".join(words[at + 1 : at + 2]).isdigit() else 1
    return at if at < len(words) and _is_argument(words[at]) else 0


def _is_setting(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _is_word(word: str) -> bool:
    """Return whether a word may be a program's name."""
    plain = word.removeprefix("./").replace("-", "").replace("_", "").replace(".", "").replace("/", "").replace("+", "")
    return word.isascii() and plain.isalnum() and plain.islower() and len(word) <= 60 and (word[0].isalpha() or word[0] == ".")


def _is_argument(word: str) -> bool:
    plain = word.replace("-", "").replace("_", "").replace(".", "").replace("/", "").replace(":", "").replace("@", "")
    return word.isascii() and plain.isalnum() and len(word) <= 100 and word[0] != ":"


def _names(text: str) -> Iterator[str]:
    """Yield the files and identifiers of a text, in order."""
    for word in text.split():
        if word.isalpha():
            if not word.islower() and (
                word in FILES and word not in COMMONPLACE if word[1:].islower() else _is_identifier(word)
            ):
                yield word
            continue
        plain = word.lstrip(_OPENING).rstrip(_EDGES)  # a dot may begin a name
        if plain.isalpha() and plain[1:].islower() and plain not in FILES and not word.endswith("()"):
            continue
        yield from _names_of_word(word)


def _names_of_word(word: str) -> Iterator[str]:
    """Yield the names in a text without blanks: punctuation of prose and code sets them apart, an address has none."""
    if len(word) > MAX_WORD:
        return
    at = word.find("://")
    if at >= 0:
        word = word[: max(word.rfind(sign, 0, at) for sign in "(<[=\"'") + 1]
    for piece in word.replace("()", _CALL).replace("\\", "/").translate(_MARKS).split():
        yield from _names_of_piece(piece)


def _names_of_piece(piece: str) -> Iterator[str]:
    called = piece.endswith(_CALL)
    plain = piece.replace(_CALL, "").rstrip("./-").lstrip("-+")
    if "@" in plain and "/" not in plain:
        return
    plain = _without_lead(plain)
    if plain.startswith("_") and plain.endswith("_") and "." in plain:  # emphasis
        plain = plain.strip("_")
    if plain.partition("/")[0].endswith(HOSTS) and "/" in plain:
        return
    if not called and _is_file(plain):
        if plain not in COMMONPLACE:
            yield plain
        return
    if _is_attribute(plain):
        yield plain
    for name in _split(plain):
        if _is_identifier(name):
            yield name
    if called:
        last = plain.rpartition(".")[2]
        if len(last) > 3 and last.isidentifier() and last not in BUILTINS:
            yield last


def _without_lead(plain: str) -> str:
    """Return a path or a name without what leads to it: `./`, `~/`, and the dots by which code spreads something."""
    for start in ("~/", "./", "../"):
        while plain.startswith(start):
            plain = plain[len(start) :]
    return plain.lstrip("/").removeprefix("...")


def _is_attribute(text: str) -> bool:
    """Return whether a text is a name of something in something, as code writes it: stylex.props, df.iloc.

    >>> [_is_attribute(text) for text in ("stylex.props", "session.query", "app.state.pool")]
    [True, True, True]
    >>> [_is_attribute(text) for text in ("e.g", "Node.js", "v1.2", "end.The", "self.x", "example.com", "etc.and")]
    [False, False, False, False, False, False, False]
    """
    owner, dot, name = text.rpartition(".")
    if not dot or len(name) < 3 or len(text) > 100 or not text.isascii() or not text.replace(".", "").isidentifier():
        return False
    owners = owner.split(".")
    return (
        name[0].islower()
        and all(len(one) > 1 and one.isidentifier() and one not in _NO_OWNERS for one in owners)
        and name not in BUILTINS
        and f".{name}" not in HOSTS
        and (name not in ENDINGS or text == "process.env")
    )


def _split(text: str) -> Iterable[str]:
    """Return the names between the dots and slashes of a text."""
    return text.replace("/", ".").split(".") if "." in text or "/" in text else (text,)


def _is_file(text: str) -> bool:
    """Return whether a text without blanks is a file's name or path.

    >>> [_is_file(text) for text in ("a/b.py", "pool.py", ".bashrc", "Dockerfile", ".env.example", "k8s/Dockerfile")]
    [True, True, True, True, True, True]
    >>> [_is_file(text) for text in ("and/or", "Node.js", ".py", "e.g", "3.11", "self.pool", "v1.2", "a.b/c", ".NET")]
    [False, False, False, False, False, False, False, False, False]
    """
    folder, slash, name = text.rpartition("/")
    if name in FILES:
        return True
    if text.startswith("process.env"):  # of Node
        return False
    stem, dot, ending = name.rpartition(".")
    if not dot or not ending or len(text) > 250 or not _is_of_paths(text):
        return False
    if not stem:
        return bool(slash) or ending in {"env", "envrc"} or (ending.islower() and len(ending) > 4 and ending.endswith(HIDDEN))
    if stem.startswith(".env"):
        return True
    if slash:
        return len(ending) <= 10 and ending.isalnum() and ending[0].isalpha() and not (folder.endswith(":") or stem.isdigit())
    return ending.lower() in ENDINGS and (len(stem) > 1 or len(ending) > 1) and not (ending == "js" and stem.lower() in SCRIPTS)


def _is_of_paths(text: str) -> bool:
    plain = text
    for sign in "/._-@+~":
        plain = plain.replace(sign, "")
    return plain.isalnum()


def _is_identifier(text: str) -> bool:
    """Return whether a text is written as only code is: parse_args, parseArgs, HTTPClient, MAX_SIZE, _cache, E0308.

    >>> [_is_identifier(text) for text in ("parse_args", "parseArgs", "HTTPClient", "E0308", "OPS-123", "_cache")]
    [True, True, True, True, True, True]
    >>> [_is_identifier(text) for text in ("word", "Word", "APIs", "GitHub", "SHA-256", "2_000", "kebab-case", "_word_")]
    [False, False, False, False, False, False, False, False]
    """
    if not 3 < len(text) <= 100 or text in PRODUCTS or text in BUILTINS:
        return False
    if text.isidentifier():
        core = text.strip("_")
        if "_" in core:
            return not core[0].isdigit()
        if core != text:
            return len(core) > 2 and text[0] == "_" and text[-1] != "_"
        if not text.isascii() or text.islower():
            return False
        return _has_hump(text) or _is_code(text)
    return _is_code(text)


def _has_hump(text: str) -> bool:
    """Return whether a capital follows a small letter, or a word follows capitals: parseArgs, HTTPClient; not APIs, DDoS."""
    if len(text) < 5:
        return False
    capitals = [at for at, char in enumerate(text) if char.isupper()]
    if any(at and text[at - 1].islower() for at in capitals):
        return True
    last = capitals[-1] if capitals else 0
    return last > 0 and text[last + 1 :].isalpha() and len(text) - last > 3


def _is_code(text: str) -> bool:
    """Return whether a text is the code of an error or a ticket: capitals, then at least three digits, as in CVE-2024-1234."""
    letters = text.rstrip("0123456789-")
    digits = len(text) - len(letters) - text.count("-")
    return digits > 2 and letters.isascii() and letters.isalpha() and letters.isupper() and letters not in STANDARDS
