"""Failures in the words of a program: the line of a log or a trace that names the problem, and its message. Pure."""

# FAILURE_WORDS show a failure in a pasted line, and SUCCESS_WORDS that there is none.
FAILURE_WORDS = (
    *("error", "exception", "traceback", "fatal", "panic", "failed", "failure", "err!", "enoent", "segmentation fault"),
    *("exit code", "exited with", "cannot ", "can't ", "could not ", "not found", "undefined", "denied", "refused"),
    *("timed out", "timeout", "unexpected", "fail ", "<err>", "unable to ", "no such ", "too large", "too long", "too many"),
    *("took too", "deadline exceeded", "invalid ", "unknown field", "unknown option", "killed", "overflow", "rejected"),
)
SUCCESS_WORDS = ("no errors", " 0 errors", " 0 failed", " 0 failures", "without error")
ERROR_NAMES = ("error: ", "exception: ", "error]: ", "errno ", "panic: ", "fatal: ", "exit code ")
MESSAGE_KEYS = ('"msg":', '"message":', '"error":', '"err":', "msg=", "message=", "err=", "error=")  # keys of structured logs
LEVELS = frozenset("debug info notice warn warning error err inf wrn dbg fatal critical crit severe trace".split())
MAX_CODE_DIGITS = 5  # digits of a status or a code; longer numbers are sizes and times
MIN_HASH_DIGITS = 7  # hexadecimal digits of a commit or an address
_EDGES = "[](){}<>:,;|-*#\"'`="
_HEX = frozenset("0123456789abcdef-")


def choose_error_line(best: str, line: str) -> str:
    """Return the line of two that names the problem better.

    It is the first line that names an error with a message behind a colon, else the first line with a failure.

    >>> choose_error_line("", "INFO started"), choose_error_line("job failed", "ValueError: no zone")
    ('', 'ValueError: no zone')
    """
    best_lowered, lowered = best.lower(), line.lower()
    if any(name in best_lowered for name in ERROR_NAMES) or not any(word in lowered for word in FAILURE_WORDS):
        return best
    if any(word in lowered for word in SUCCESS_WORDS) or (line.startswith("===") and not any(map(str.isdigit, line))):
        return best
    return line if not best or any(name in lowered for name in ERROR_NAMES) else best


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
    words = (" ".join(_message_values(line)) or line).split()
    while len(words) > 1 and _is_record(words[0]):
        words = words[1:]
    return " ".join([word for word in words if not _is_datum(word)]) or line


def _message_values(line: str) -> list[str]:
    """Return the quoted values under a structured log's MESSAGE_KEYS, in their order."""
    positions = sorted((position, key) for key in MESSAGE_KEYS if (position := line.find(key)) >= 0)
    values = []
    for position, key in positions:
        rest = line[position + len(key) :].lstrip()
        if rest.startswith('"'):
            values.append(rest[1:].partition('"')[0])
    return values


def _is_record(word: str) -> bool:
    """Return whether the first word of a line is a time, a level or a source, as logs begin."""
    bare = word.strip(_EDGES).lower()
    return not any(map(str.isalpha, bare)) or bare in LEVELS or (bare[0].isdigit() and ":" in bare)


def _is_datum(word: str) -> bool:
    """Return whether a word is a number, an address or a hash without meaning elsewhere."""
    bare = word.strip(_EDGES + ".").lower()
    if not any(map(str.isdigit, bare)):
        return False
    if not any(map(str.isalpha, bare)):
        return not (bare.isdigit() and len(bare) <= MAX_CODE_DIGITS)
    return bare.startswith("0x") or (len(bare) >= MIN_HASH_DIGITS and _HEX.issuperset(bare))
