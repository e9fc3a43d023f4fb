"""Failures in the output of a program: the lines of a log or a trace that name the problem, and their messages. Pure."""

from __future__ import annotations

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
MAX_COMPARED = 10  # first lines of a kind, and last ones, whose messages are compared
MAX_LINE = 1_000  # characters of a line that are read
FEW_WORDS = 4  # words; a shorter message is read with the lines below it
MAX_BELOW = 2  # lines below a short message
_WRAPPING = frozenset("error errors failed failure build test tests exit code exception with for the and passed total".split())
_POSITIONS = ("at ", "file ", "-->", "|", "^", "~", "...")  # beginnings of lines that say where, not what


def find_failures(lines: Sequence[str]) -> list[str]:
    """Return the messages by which an output says what failed, the likeliest first, at most MAX_FAILURES.

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
    """Return the words of a message, without the ones that every failure has."""
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
    while len(words) > 1 and _is_record(words[0]):
        words = words[1:]
    return " ".join([word for word in words if not _is_datum(word)]) or line


def _is_record(word: str) -> bool:
    """Return whether the first word of a line is a time, a level or a source, as logs begin."""
    bare = word.strip(_FAILURE_EDGES).lower()
    return not any(map(str.isalpha, bare)) or bare in LEVELS or (bare[0].isdigit() and ":" in bare)


def _is_datum(word: str) -> bool:
    """Return whether a word is a number, an address or a hash without meaning elsewhere."""
    bare = word.strip(_FAILURE_EDGES + ".").lower()
    if not any(map(str.isdigit, bare)):
        return False
    if not any(map(str.isalpha, bare)):
        return not (bare.isdigit() and len(bare) <= MAX_CODE_DIGITS)
    return bare.startswith("0x") or (len(bare) >= MIN_HASH_DIGITS and _HEX.issuperset(bare))
