"""Names of files, identifiers and commands in a text; and the names for looking up a tool's file, command or pattern.

The names of both sides must be equal texts, so both are made here. Plain words, addresses and versions are no names.
"""

from __future__ import annotations

from subcog_hooks.text.familiar_names import (
    BUILTINS,
    COMMONPLACE,
    ENDINGS,
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
from subcog_hooks.text.familiar_names import EVERYDAY as EVERYDAY_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

MAX_MENTIONS = 50  # mentions of a memory, each a row of the store
MAX_COMMAND = 4_000  # characters of a command
MAX_NAMES = 100  # names for the lookup of a command
MAX_WORD = 1_000  # characters without a blank; a longer word is data
MAX_PARTS = 6  # parts of a dotted name
MAX_FOLDERS = 12  # folders of a path; nobody writes longer ends


_MARKS = str.maketrans(dict.fromkeys("()[]{}<>\"'`,;:!?*=|#$%&^\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb", " "))
_SIGNS = str.maketrans(dict.fromkeys("()[]{}<>\"'`,;:!?*=|#$%&^+-/\\~@", " "))  # They separate the names in code.
_CALL = "\1"  # It replaces (), which marks a function.
_OPENING = "*_([{<\"'\u2018\u201c"
_EDGES = "*_.,;:!?)]}>\"'\u2019\u201d"
_NO_OWNERS = frozenset(("self", "this", "cls", "etc", "www", "vs"))  # Before a dot they are code or end a sentence.
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
    """Return the files, identifiers and commands that `text` names, literally, each once, at most 50, in order.

    A command is the first two words of a line of code, three for `npm run build` and `python manage.py migrate`. Code is
    `inline code`, or a fenced block in a shell's language or none; in prose only clear commands count. A file has its
    ending, without `./` before it. Linear in the text: about 0.1 µs a character.

    >>> mentions("Run `make lint` before you touch src/db/pool.py:42, parse_args there raises E0308 (see HttpClient).")
    ('make lint', 'src/db/pool.py', 'parse_args', 'E0308', 'HttpClient')
    >>> mentions("After a new route run make openapi, and make sure that it is committed.")
    ('make openapi',)
    >>> mentions("Node.js 3.11 and/or https://a.io/x_y.py on GitHub, e.g. `latency`")
    ()
    """
    from subcog_hooks.text.prose_commands import commands_in_prose  # Only writers come here; its tables take 1 ms.

    names: dict[str, None] = {}
    for prose, code in _passages(text):
        for command in commands_of(code[:MAX_COMMAND]) if code else commands_in_prose(prose):
            name = _command_name(command)
            if name:
                names[name] = None
        names.update(dict.fromkeys(_names_in_text(prose or code)))
        if len(names) >= MAX_MENTIONS:
            break
    return tuple(names)[:MAX_MENTIONS]


def names_of_file(path: str) -> tuple[str, ...]:
    """Return the names for looking up a file.

    They are its path from the project's root, with slashes, and the ends of that path.

    The bare name is among them unless many folders have such a file, as README.md.

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
    """Return the names for looking up a shell's command.

    They are the first two words of each of its parts, and the files and identifiers in it.

    Settings of variables and `sudo` before a part are skipped. In quotes only a single word may be a file or an identifier;
    longer quoted texts are messages. 4,000 characters are read, and at most 100 names returned.

    >>> names_of_command("cd app && RUST_LOG=debug sudo kubectl -n prod apply -f k8s/web.yaml | tee log")
    ('kubectl apply', 'RUST_LOG', 'k8s/web.yaml', 'web.yaml')
    """
    command = command[:MAX_COMMAND].replace('\\"', " ")
    names: dict[str, None] = {}
    for part in commands_of(command.replace("(", "\n").replace(")", "\n")):
        name = _command_name(part, LEADS)
        if name:
            names[name] = None
    for name in _names_in_text(_without_quotes(command, has_words=True)):
        names.update(dict.fromkeys(names_of_file(name) if _is_file(name) else (name,)))
        if len(names) >= MAX_NAMES:
            break
    return tuple(names)[:MAX_NAMES]


def names_in_edit(text: str, before: str = "") -> tuple[str, ...]:
    """Return the identifiers of a text to be written that the text before did not have.

    4,000 characters are read, and at most 100 names returned. Files are looked up by their path, not by their text.

    >>> names_in_edit("price = MoneyField(total_of(order))", "price = total_of(order)"), names_in_edit("x = 1")
    (('MoneyField',), ())
    """
    return tuple([name for name in dict.fromkeys(_symbols(text[:MAX_COMMAND])) if name not in before])[:MAX_NAMES]


def _symbols(code: str) -> Iterator[str]:
    """Yield the identifiers of code, and dotted names: stylex.props. Quick, since every edit needs it."""
    for word in dict.fromkeys(code.translate(_SIGNS).split()):
        if word.isalpha() and (word.islower() or word[1:].islower()):
            continue  # Most words end here.
        if "." not in word:
            if _is_identifier(word):
                yield word
            continue
        parts = word.strip(".").split(".")[:MAX_PARTS]
        yield from filter(_is_identifier, parts)
        yield from filter(_is_attribute, (".".join(parts[:count]) for count in range(2, len(parts) + 1)))


def names_of_symbol(pattern: str) -> tuple[str, ...]:
    """Return the names for looking up a search's pattern.

    The pattern is a name if it is a single identifier, also between anchors and behind `def`.

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
    """Yield the text's passages as pairs of prose and code, one of them empty."""
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
        for index, piece in enumerate(block.replace("``", "`").split("`")):
            if piece and not piece.isspace():
                yield ("", piece) if index % 2 else (piece, "")


def commands_of(command: str) -> Iterator[str]:
    """Yield the commands of one or several lines, with quoted texts left out.

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
    """Return a command with dots in place of quoted texts, so that no sign or word in them counts.

    has_words: quoted texts of one word stay.
    """
    pieces: list[str] = []
    quote = ""
    start = 0
    while True:
        ends = [position for position in (command.find(sign, start) for sign in (quote or "\"'")) if position >= 0]
        if not ends:
            pieces.append("" if quote else command[start:])
            return "".join(pieces)
        position = min(ends)
        text = command[start:position]
        pieces.append("." if quote and not (has_words and len(text.split(None, 1)) == 1) else text)
        quote = "" if quote else command[position]
        start = position + 1


def _command_name(part: str, leads: Collection[str] = ()) -> str:
    """Return a command's first word and its first argument; empty if that is no name.

    leads: words to leave out.
    """
    words = part.split(None, 40)[:40]
    index = 0
    if words and words[0] in {"$", "%", ">", "#", "-"}:  # a prompt or a bullet
        index = 1
    while index < len(words) and (words[index] in WRAPPERS or words[index] in leads or _is_setting(words[index])):
        index = _skip_wrapper(words, index)
    if " ".join(words[index : index + 2]) in LAUNCHERS:
        index += 2
    if words[index + 1 : index + 2] == ["-m"] and words[index].startswith("python"):  # python -m pytest: pytest
        index += 2
    if index >= len(words) or not _is_program_name(words[index]) or words[index] in EVERYDAY_NAMES or words[index] in KEYWORDS:
        return ""
    name = words[index]
    second = _next_argument(words, index)
    if not second:
        return ""
    runs_file = name in INTERPRETERS and _is_file(words[second].removeprefix("./"))
    name = f"{name} {words[second].removeprefix('./')}"
    third = _next_argument(words, second) if runs_file or name in OF_THREE else 0
    if third:
        return f"{name} {words[third]}"
    return "" if runs_file else name


def _skip_wrapper(words: list[str], index: int) -> int:
    """Return the index at which a command goes on behind the word at `index`.

    A wrapper's options, and the duration of `timeout`, are skipped.
    """
    wrapper = words[index]
    index += 1
    if wrapper in WRAPPERS:
        while index < len(words) and words[index].startswith("-"):
            index += 2 if words[index] in WRAPPED else 1
        index += wrapper == "timeout"
    return index


def _next_argument(words: list[str], index: int) -> int:
    """Return the index of the next word after `index` that is no option and no option's value; 0 if it is no plain word."""
    index += 1
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in VALUED or "".join(words[index + 1 : index + 2]).isdigit() else 1
    return index if index < len(words) and _is_argument(words[index]) else 0


def _is_setting(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _is_program_name(word: str) -> bool:
    plain = word.removeprefix("./").replace("-", "").replace("_", "").replace(".", "").replace("/", "").replace("+", "")
    return word.isascii() and plain.isalnum() and plain.islower() and len(word) <= 60 and (word[0].isalpha() or word[0] == ".")


def _is_argument(word: str) -> bool:
    plain = word.replace("-", "").replace("_", "").replace(".", "").replace("/", "").replace(":", "").replace("@", "")
    return word.isascii() and plain.isalnum() and len(word) <= 100 and word[0] != ":"


def _names_in_text(text: str) -> Iterator[str]:
    for word in text.split():
        if word.isalpha():
            if not word.islower() and (
                word in FILES and word not in COMMONPLACE if word[1:].islower() else _is_identifier(word)
            ):
                yield word
            continue
        plain = word.lstrip(_OPENING).rstrip(_EDGES)  # A dot may begin a name.
        if plain.isalpha() and plain[1:].islower() and plain not in FILES and not word.endswith("()"):
            continue
        yield from _names_of_word(word)


def _names_of_word(word: str) -> Iterator[str]:
    """Yield the names in a text without blanks, split at punctuation of prose and code; an address has none."""
    if len(word) > MAX_WORD:
        return
    position = word.find("://")
    if position >= 0:
        word = word[: max(word.rfind(sign, 0, position) for sign in "(<[=\"'") + 1]
    for piece in word.replace("()", _CALL).replace("\\", "/").translate(_MARKS).split():
        yield from _names_of_piece(piece)


def _names_of_piece(piece: str) -> Iterator[str]:
    called = piece.endswith(_CALL)
    plain = piece.replace(_CALL, "").rstrip("./-").lstrip("-+")
    if "@" in plain and "/" not in plain:
        return
    plain = _without_lead(plain)
    if plain.startswith("_") and plain.endswith("_") and "." in plain:  # It is emphasis.
        plain = plain.strip("_")
    if plain.partition("/")[0].endswith(HOSTS) and "/" in plain:
        return
    if not called and _is_file(plain):
        if plain not in COMMONPLACE:
            yield plain
        return
    if _is_attribute(plain):
        yield plain
    for name in _split_names(plain):
        if _is_identifier(name):
            yield name
    if called:
        last = plain.rpartition(".")[2]
        if len(last) > 3 and last.isidentifier() and last not in BUILTINS:
            yield last


def _without_lead(plain: str) -> str:
    """Return a path or a name without leading `./`, `~/`, and spread dots."""
    for start in ("~/", "./", "../"):
        while plain.startswith(start):
            plain = plain[len(start) :]
    return plain.lstrip("/").removeprefix("...")


def _is_attribute(text: str) -> bool:
    """Return whether a text is a dotted name in code: stylex.props, df.iloc.

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
        and all(len(owner_name) > 1 and owner_name.isidentifier() and owner_name not in _NO_OWNERS for owner_name in owners)
        and name not in BUILTINS
        and f".{name}" not in HOSTS
        and (name not in ENDINGS or text == "process.env")
    )


def _split_names(text: str) -> Iterable[str]:
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
    if text.startswith("process.env"):  # It is Node's.
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
    capitals = [index for index, char in enumerate(text) if char.isupper()]
    if any(index and text[index - 1].islower() for index in capitals):
        return True
    last = capitals[-1] if capitals else 0
    return last > 0 and text[last + 1 :].isalpha() and len(text) - last > 3


def _is_code(text: str) -> bool:
    """Return whether a text is an error's or a ticket's code: capitals, then at least three digits, as in CVE-2024-1234."""
    letters = text.rstrip("0123456789-")
    digits = len(text) - len(letters) - text.count("-")
    return digits > 2 and letters.isascii() and letters.isalpha() and letters.isupper() and letters not in STANDARDS
