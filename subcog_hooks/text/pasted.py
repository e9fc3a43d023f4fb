"""Lines that nobody typed: logs, programs, shells, quotations; and the failures that they name, with their messages. Pure."""

from __future__ import annotations

from subcog_hooks.text import CLASSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# FAILURE_WORDS show a failure in a pasted line, and SUCCESS_WORDS that there is none.
FAILURE_WORDS = (
    *("error", "exception", "traceback", "fatal", "panic", "failed", "failure", "err!", "enoent", "segmentation fault"),
    *("exit code", "exited with", "cannot ", "can't ", "could not ", "not found", "undefined", "denied", "refused"),
    *("timed out", "timeout", "unexpected", "fail ", "<err>", "unable to ", "no such ", "too large", "too long", "too many"),
    *("took too", "deadline exceeded", "invalid ", "unknown field", "unknown option", "killed", "overflow", "rejected"),
    *("missing ", "mismatch", "unsupported", "conflict"),
)
SUCCESS_WORDS = ("no errors", " 0 errors", " 0 failed", " 0 failures", "without error")
ERROR_NAMES = ("error: ", "exception: ", "error]: ", "errno ", "panic: ", "fatal: ", "exit code ")
MESSAGE_KEYS = ('"msg":', '"message":', '"error":', '"err":', "msg=", "message=", "err=", "error=")  # keys of structured logs
LEVELS = frozenset("debug info notice warn warning error err inf wrn dbg fatal critical crit severe trace".split())
MAX_CODE_DIGITS = 5  # digits of a status or a code; longer numbers are sizes and times
MIN_HASH_DIGITS = 7  # hexadecimal digits of a commit or an address
_FAILURE_EDGES = "[](){}<>:,;|-*#\"'`="
_HEX = frozenset("0123456789abcdef-")
MAX_FAILURES = 2  # messages of one output; four found no more notes
MAX_COMPARED = 10  # lines of a kind, at each end of an output, whose messages are compared
MAX_LINE = 1_000  # characters of a line that are read
FEW_WORDS = 4  # words; a shorter message is read with the lines below it
MAX_BELOW = 2  # lines below a short message
_WRAPPING = frozenset("error errors failed failure build test tests exit code exception with for the and passed total".split())
_POSITIONS = ("at ", "file ", "-->", "|", "^", "~", "...")  # beginnings of lines that say where, not what


def find_failures(lines: Sequence[str]) -> list[str]:
    """Return the messages of the failures in an output, the likeliest first, at most MAX_FAILURES.

    These are the first and the last line that names an error, then the fullest lines with a word such as "failed"; without any,
    the fullest warnings.

    >>> find_failures(["3 items", "FAIL src/Basket.test.tsx", "  expected 3 items in the basket", "  at Basket.tsx:13"])
    ['FAIL src/Basket.test.tsx expected 3 items in the basket']
    """
    named: list[int] = []
    shown: list[int] = []
    warned: list[int] = []
    in_trace = False
    for position, line in enumerate(lines):
        bare = line.strip()[:MAX_LINE]
        lowered = bare.lower()
        is_end = in_trace and bool(bare) and not line[0].isspace()  # The exception stands below its trace.
        in_trace = lowered.startswith("traceback (") or (in_trace and not is_end)
        if not bare or lowered.startswith("exit code ") or any(word in lowered for word in SUCCESS_WORDS):
            continue  # The client's own first line says "Exit code 1".
        if is_end or any(name in lowered for name in ERROR_NAMES):
            named.append(position)
        elif any(word in lowered for word in FAILURE_WORDS) and (bare[:3] != "===" or any(map(str.isdigit, bare))):
            shown.append(position)
        elif "warning: " in lowered or "warn]" in lowered:
            warned.append(position)
    shown = shown if named or shown else warned
    messages = {
        position: _message_at(position, lines)
        for positions in (named, shown)
        for position in (*positions[:MAX_COMPARED], *positions[-MAX_COMPARED:])
    }
    said = {position: len(_telling_words(message)) for position, message in messages.items()}
    named = [position for position in named if said.get(position)]
    shown = sorted([position for position in shown if said.get(position, 0) > 1], key=lambda position: -said[position])
    chosen = dict.fromkeys((*named[:1], *named[-1:], *shown)) or dict.fromkeys(list(messages)[:1])
    return list(dict.fromkeys(messages[position] for position in chosen))[:MAX_FAILURES]


def _message_at(position: int, lines: Sequence[str]) -> str:
    """Return the message of a line; a short one with the lines below it that have words."""
    message = error_message(lines[position].strip()[:MAX_LINE])
    below = 0
    for line in lines[position + 1 : position + 2 + 2 * MAX_BELOW]:
        if below == MAX_BELOW or len(_telling_words(message)) >= FEW_WORDS:
            break
        bare = line.strip()[:MAX_LINE]
        if len(_telling_words(bare)) > 1 and not bare.lower().startswith(_POSITIONS):
            message += " " + error_message(bare)
            below += 1
    return message


def _telling_words(message: str) -> set[str]:
    """Return the words of a message, without the common words of failures."""
    words = {word.strip(_FAILURE_EDGES + ".!?").lower() for word in message.split()}
    return {word for word in words if len(word) > 2 and word.isalpha() and word not in _WRAPPING}


def error_message(line: str) -> str:
    """Return the message of a log's line, without times, levels, addresses, sizes and names of processes.

    >>> error_message("2026/03/12 08:41:02 [error] 31#31: *1822 client sent too large body: 2811904 bytes")
    'client sent too large body: bytes'
    >>> error_message('{"level":"warn","msg":"apply request took too long","took":"1.204s"}')
    'apply request took too long'
    >>> error_message('level=error msg="capture failed" err="dial tcp 203.0.113.20:443: connection timed out" attempt=1')
    'capture failed dial tcp connection timed out'
    >>> error_message("TypeError: x is undefined"), error_message("12 345678")
    ('TypeError: x is undefined', '12 345678')
    """
    rests = [
        line[position + len(key) :].lstrip()
        for position, key in sorted((line.find(key), key) for key in MESSAGE_KEYS)
        if position >= 0
    ]
    values = [rest[1:].partition('"')[0] for rest in rests if rest.startswith('"')]  # the quoted values, in their order
    words = (" ".join(values) or line).split()
    while len(words) > 1:  # A log's line begins with its time, its level or its source.
        bare = words[0].strip(_FAILURE_EDGES).lower()
        if any(map(str.isalpha, bare)) and bare not in LEVELS and not (bare[0].isdigit() and ":" in bare):
            break
        words = words[1:]
    return " ".join([word for word in words if not _is_datum(word)]) or line


def _is_datum(word: str) -> bool:
    """Return whether a word is a number, an address or a hash without meaning elsewhere."""
    bare = word.strip(_FAILURE_EDGES + ".").lower()
    if not any(map(str.isdigit, bare)):
        return False
    if not any(map(str.isalpha, bare)):
        return not (bare.isdigit() and len(bare) <= MAX_CODE_DIGITS)
    return bare.startswith("0x") or (len(bare) >= MIN_HASH_DIGITS and _HEX.issuperset(bare))


_EDGES = "\"'`()[],.:;!?*"
_PERSONAL = frozenset("i'm i've i'd i'll we we're my our me why please should let's lets don't do".split())
_ASKING = _PERSONAL.union("you your how what which who can could would want need".split())  # Programs write these, too.
_SPOKEN = frozenset("the an of instead too very it its there should must missing wrong slow".split())  # Programs write none.
_LINKING = _SPOKEN.union("is are was has in on for to with and or not from as".split())  # No command has them.
_WISHES = frozenset("should must need needs want wants please".split())
_ORDERS = frozenset().union(*(CLASSES[name] for name in ("build", "change", "review", "small", "fix")))
_VALUES = frozenset(("true", "false", "null", "none"))
_OF_OTHERS = (">", "|", "\u276f", "\u279c", "ps c:\\", "ps d:\\", "root@")  # quotations, tables, shells
_SHELLS = ("$ ", "% ")
_TOOLS = (  # beginnings of tools' output
    *("error:", "warning:", "info:", "debug:", "fatal:", "panic:", "error[", "warning[", "uncaught ", "caused by", "e   "),
    *("npm error", "npm err!", "npm warn", "npm notice", "traceback (", "during handling of the above", "exception in thread "),
    *("thread '", "panicked at", "goroutine ", "exit status ", "note: run with ", "diff --git ", "@@ ", "docker: "),
    *("[error]", "[warn]", "[warning]", "[info]", "[debug]", "[trace]", "[fatal]", "[notice]", "[critical]"),
    *("---> ", "##[", "segmentation fault (", "hint: ", "conflict ("),
    *("\u2502", "\u250c", "\u2514", "\u251c", "\u256d", "\u2570"),  # frames
    *("\u2713", "\u2714", "\u2716", "\u2717", "\u25cf"),  # ticks
)
_LEVELS = ("INFO ", "DEBUG ", "TRACE ", "WARN ", "WARNING ", "ERROR ", "FATAL ", "FAILED ")
_VERDICTS = ("FAIL ", "PASS ")  # a test runner's, before a file's name
_COMMENTS = ("//", "/*", "#!")
_SIGNS = ("[", "{", "}", "<", "+++", "---", "===", "***", "...", "=>", "-->", "\u2014>", *_COMMENTS)
DIFFS = ("diff --git ", "@@ ")
_STATEMENTS = frozenset("import from const let var def class return export function func fn public private".split())
_CODE_ENDS = ("{", "}", ";", ");", "})", "],", "},", "/>", "\\", "=>", "->", "(")
_CODE_LETTERS = frozenset("{}()[]<>=;|&$\\^~+*_#")
_OPENINGS = ("{", "(", "=>", "->", "\\")
MIN_ORDER = 3  # words
LONG_NUMBER = 10  # characters of an address in memory
_TIME_LETTERS = "[](){}<>0123456789:.,-/+tz"


def is_pasted(line: str, stripped: str) -> bool:
    """Return whether a line is of a log, a program, a shell or a quotation. stripped: without its edges, not empty."""
    if stripped.isalnum():
        return stripped.endswith(("Error", "Exception"))
    bare = stripped.lower()
    if bare.startswith(_OF_OTHERS) or (bare.startswith(_SHELLS) and not _is_talk(bare[2:])):
        return True
    if _is_import(bare) or _is_element(bare) or _is_json(bare):
        return True
    if _is_logged(stripped, bare):
        return not (_addresses_reader(bare) or (stripped.startswith(_LEVELS) and _states_wish(bare)))
    return _is_code(line, bare) and not _is_sentence(bare)


def continues_pasted(before: str, line: str, bare: str) -> bool:
    """Return whether a line continues the pasted line before it: by its indent, behind a colon, or without plain words."""
    if _addresses_reader(bare):
        return False
    if line.startswith(("  ", "\t")):
        return True
    words = bare.lower().split()
    if before.rstrip().endswith(":"):
        return len(words) < MIN_ORDER or words[0].rstrip(",") not in _ORDERS  # A program announces no order.
    return not any(map(_is_plain, words))


def is_command(bare: str) -> bool:
    """Return whether a line is a command behind a shell's prompt, so that its output follows.

    >>> is_command("$ make proto"), is_command("admin@hub:~$ which go"), is_command("$ is the dollar here")
    (True, True, False)
    """
    lowered = bare.lower()
    if lowered.startswith(_SHELLS):
        return not _is_talk(lowered[2:])
    first = lowered.partition(" ")[0]
    return lowered.startswith("root@") or ("@" in first and first[-1:] in "$#%")


def is_output(bare: str) -> bool:
    """Return whether a line below a command may be its output: it asks nobody anything."""
    lowered = bare.lower()
    first = lowered.partition(" ")[0].rstrip(",")
    return bool(bare) and not _addresses_reader(lowered) and (first not in _ORDERS or first.endswith("ing"))


def is_prose(stripped: str) -> bool:
    """Return whether a line without its edges is a sentence, or has plain words only."""
    bare = stripped.lower()
    return not is_pasted(stripped, stripped) and (all(map(_is_plain, bare.split())) or _is_sentence(bare))


def _is_import(bare: str) -> bool:
    """Return whether a line is a Python import: behind `import` stand single names, or names with `as`."""
    words = bare.split(None, 3)
    if words[0] != "from" or words[2:3] != ["import"]:
        return False
    names = words[3].partition("#")[0].strip("();, ") if len(words) > 3 else ""
    return all(len(parts) < 2 or parts[1] == "as" for parts in map(str.split, names.split(",")))


def _is_element(bare: str) -> bool:
    """Return whether a line is HTML: its last tag closes, or no plain word follows the first: `<Nav> overlaps the <Map>`."""
    if bare[0] != "<" or bare[-1] != ">":
        return False
    last = bare[bare.rfind("<") :]
    return last.startswith("</") or last.endswith("/>") or not _is_plain(bare.partition("> ")[2].partition(" ")[0])


def _is_json(bare: str) -> bool:
    """Return whether a line is JSON: no word stands between its strings."""
    if '":' not in bare or bare[0] not in '"[{' or (bare[0] == '"' and '": ' not in bare):
        return False
    words = " ".join(bare.replace('\\"', "").split('"')[::2]).split()
    return not any(_is_plain(word) and word.strip(_EDGES) not in _VALUES for word in words)


def _is_logged(stripped: str, bare: str) -> bool:
    if bare.startswith(_TOOLS) or stripped.startswith(_LEVELS) or bare == "require stack:":
        return True
    words = bare.split(None, 2)
    first = words[0]
    if first.endswith(("error:", "exception:")):
        return len(words) > 1
    if len(words) == 1:
        return first.endswith(("error", "exception")) and any(map(str.isupper, stripped[1:]))
    if stripped.startswith(_VERDICTS):
        return ("/" in words[1] or "." in words[1]) and not _is_sentence(bare)
    if "@" in first and first[-1] in "$#%":  # It is a shell's prompt.
        return True
    if first == "at":
        return not _is_sentence(bare) and ("(" in bare or "/" in bare or (":" in bare and "." in bare))
    if any(map(str.isdigit, bare)) and (_is_time(words, bare) or _is_code_position(words, bare)):
        return True
    return (bare.count(" | ") > 1 or bare.count("  ") > 2) and not _is_sentence(bare)


def _is_time(words: list[str], bare: str) -> bool:
    """Return whether a line begins with a time or its number: `12:05:01 x`, `[2026-03-02 04:12] x`, `88 | x`, `12:5  x`."""
    first, second = words[:2]
    if second.isdigit() and words[-1][:8].count(":") == 2:  # It is syslog's.
        return True
    digits = sum(map(str.isdigit, first))
    if not digits or first.strip(_TIME_LETTERS):
        return False
    is_clock = ":" in first or (":" in second and not second.strip(_TIME_LETTERS))
    return (second == "|" and not _addresses_reader(bare, _ASKING)) or (
        is_clock and (digits > 5 or bare.startswith(f"{first}  "))
    )


def _is_code_position(words: list[str], bare: str) -> bool:
    """Return whether a line begins with a position in code: `File "a.py", line 3`, `#3 0x55d0c8 in f`, `a.go:3:7: x`."""
    first, second = words[:2]
    if first[0] == "#":
        return first[1:].isdigit() and (second[0] in "[0123456789" or second == "error:" or bare.startswith(f"{first}  "))
    if first == "step":
        return "/" in second and " : " in bare
    if first == "file":
        number, comma, _ = bare.partition('", line ')[2].partition(",")
        return second[0] == '"' and (number.isdigit() or (bool(comma) and number[:1].isdigit() and " " not in number))
    if any(word.startswith("0x") and len(word) >= LONG_NUMBER for word in bare.split()):
        return True
    return (first[-1] == ":" or (":" in first and second == "-")) and "." in first and any(map(str.isdigit, first))


def _is_code(line: str, bare: str) -> bool:
    if line.startswith(("    ", "\t")) and bare.endswith(_CODE_ENDS):
        return True
    unmarked = bare.lstrip("#*-+ ").removeprefix("[ ] ").removeprefix("[x] ").rstrip("*_ ")  # marks
    number, _, behind = unmarked.partition(" ")
    if behind and number[-1] in ".)" and number[:-1].isdigit():  # It is a list's number.
        unmarked = behind
    letters = sum(map(unmarked.count, _CODE_LETTERS))
    if bare.startswith(_SIGNS) and (letters > 1 or ":" in bare[:40] or bare.startswith(_COMMENTS)):
        return True
    if bare[-1] == "{" or (letters > 2 and bare.endswith(_CODE_ENDS)):
        return True
    if not unmarked:
        return len(bare) > 3  # It is a ruler.
    words = unmarked.split(None, 3)
    if words[0] in ("const", "let", "var") and words[2:3] == ["="]:
        return True
    is_item = unmarked != bare and bare[0] != "#"  # In code, no line but a list's has such a mark.
    if words[0] in _STATEMENTS and not (is_item and bare[-1] != ";"):
        return letters > 1 or bare[-1] in ":;" or words[2:3] == ["import"] or (words[0] == "import" and len(words) == 2)
    return (letters * 5 > len(unmarked) or (letters > 2 and bare[-1] == ")")) and not _is_plain(words[0])


def _is_sentence(bare: str) -> bool:
    """Return whether a line is a sentence.

    It addresses somebody, three of four words are plain, or words link others as in no code. Linking words in quotes, behind a
    comment's sign, or in a line that opens a block do not count.
    """
    words = bare.split()
    if _addresses_reader(bare, _ASKING):
        return True
    plain = sum(map(_is_plain, words))
    if len(words) > 3 and plain * 4 > len(words) * 3:
        return True
    if bare.endswith(_OPENINGS) or bare.startswith(_COMMENTS):
        return False
    spoken = " ".join(bare.split('"')[::2]).partition(" // ")[0].partition(" # ")[0].split()
    links = any(word.strip(_EDGES) in _SPOKEN for word in spoken) or _states_quality(spoken)
    return links and len(words) > 2 and plain * 2 >= len(words)


def _states_quality(words: list[str]) -> bool:
    """Return whether the words say how something is: `is` before a plain word that is no value, as in no language."""
    if "is" not in words[:-1]:
        return False
    quality = words[words.index("is") + 1]
    return quality[0].isalpha() and _is_plain(quality) and quality.strip(_EDGES) not in _VALUES and quality != "not"


def _is_talk(bare: str) -> bool:
    """Return whether all words of a line are plain, and one links others: then no command stands behind a shell's sign."""
    words = bare.split()
    return len(words) > 2 and all(map(_is_plain, words)) and any(word.strip(_EDGES) in _LINKING for word in words)


def _states_wish(bare: str) -> bool:
    """Return whether a line of plain words has a wish, or an order behind a comma: `, add it`."""
    words = bare.split()
    if not all(map(_is_plain, words)):
        return False
    orders = (words[index] for index in range(1, len(words)) if words[index - 1][-1] in ",;")
    return any(word in _WISHES for word in words) or any(word in _ORDERS for word in orders)


def _addresses_reader(bare: str, address_words: frozenset[str] = _PERSONAL) -> bool:
    """Return whether a line is a question, or has a word by which people address each other."""
    return bare[-1] == "?" or any(word.strip(_EDGES) in address_words for word in bare.split())


def _is_plain(word: str) -> bool:
    """Return whether a word of a line, in lower case, is a word of prose.

    >>> [_is_plain(word) for word in ("(again),", "it's", "x", "f()", "a.b", "well-known")]
    [True, True, False, False, False, True]
    """
    bare = word.lstrip("\"'`(*").rstrip("\"'`).,:;!?*")
    return bare.replace("'", "").replace("-", "").isalpha() and (len(bare) > 1 or bare in {"a", "i"} or not bare.isascii())
