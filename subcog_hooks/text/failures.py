"""Failures in the words of a program: the line of a log or a trace that says what went wrong, and what of it says so. Pure."""

TELLING = (  # in a pasted line: something went wrong
    *("error", "exception", "traceback", "fatal", "panic", "failed", "failure", "err!", "enoent", "segmentation fault"),
    *("exit code", "exited with", "cannot ", "can't ", "could not ", "not found", "undefined", "denied", "refused"),
    *("timed out", "timeout", "unexpected", "fail ", "<err>", "unable to ", "no such ", "too large", "too long", "too many"),
    *("took too", "deadline exceeded", "invalid ", "unknown field", "unknown option", "killed", "overflow", "rejected"),
)
FINE = ("no errors", " 0 errors", " 0 failed", " 0 failures", "without error")  # nothing did, for all that
NAMING = ("error: ", "exception: ", "error]: ", "errno ", "panic: ", "fatal: ", "exit code ")
SAYING = ('"msg":', '"message":', '"error":', '"err":', "msg=", "message=", "err=", "error=")  # keys of structured logs
LEVELS = frozenset("debug info notice warn warning error err inf wrn dbg fatal critical crit severe trace".split())
LONGEST_CODE = 5  # digits of a number that may be a status or a code; longer ones are sizes and times
SHORTEST_HASH = 7  # digits of a hexadecimal number that names a commit or an address
_EDGES = "[](){}<>:,;|-*#\"'`="
_HEX = frozenset("0123456789abcdef-")


def more_telling(known: str, line: str) -> str:
    """Return the line of two that says what went wrong.

    It is the first that names an error and says more behind a colon, else the first.

    >>> more_telling("", "INFO started"), more_telling("job failed", "ValueError: no zone")
    ('', 'ValueError: no zone')
    """
    said, lowered = known.lower(), line.lower()
    if any(name in said for name in NAMING) or not any(word in lowered for word in TELLING):
        return known
    if any(word in lowered for word in FINE) or (line.startswith("===") and not any(map(str.isdigit, line))):
        return known
    return line if not known or any(name in lowered for name in NAMING) else known


def said_by(line: str) -> str:
    """Return what a line of a log says, without times, levels, addresses, sizes and names of processes.

    >>> said_by("2026/03/12 08:41:02 [error] 31#31: *1822 client sent too large body: 2811904 bytes")
    'client sent too large body: bytes'
    >>> said_by('{"level":"warn","msg":"apply request took too long","took":"1.204s"}')
    'apply request took too long'
    >>> said_by('level=error msg="capture failed" err="dial tcp 203.0.113.20:443: connection timed out" attempt=1')
    'capture failed dial tcp connection timed out'
    >>> said_by("TypeError: x is undefined"), said_by("12 345678")
    ('TypeError: x is undefined', '12 345678')
    """
    words = (" ".join(_values(line)) or line).split()
    while len(words) > 1 and _is_record(words[0]):
        words = words[1:]
    return " ".join([word for word in words if not _is_datum(word)]) or line


def _values(line: str) -> list[str]:
    """Return the quoted values that a structured log has under a key of SAYING, in their order."""
    places = sorted((place, key) for key in SAYING if (place := line.find(key)) >= 0)
    values = []
    for place, key in places:
        rest = line[place + len(key) :].lstrip()
        if rest.startswith('"'):
            values.append(rest[1:].partition('"')[0])
    return values


def _is_record(word: str) -> bool:
    """Return whether the first word of a line tells when, how grave and by whom, as logs begin."""
    bare = word.strip(_EDGES).lower()
    return not any(map(str.isalpha, bare)) or bare in LEVELS or (bare[0].isdigit() and ":" in bare)


def _is_datum(word: str) -> bool:
    """Return whether a word of a line is a number, an address or a hash that means nothing elsewhere."""
    bare = word.strip(_EDGES + ".").lower()
    if not any(map(str.isdigit, bare)):
        return False
    if not any(map(str.isalpha, bare)):
        return not (bare.isdigit() and len(bare) <= LONGEST_CODE)
    return bare.startswith("0x") or (len(bare) >= SHORTEST_HASH and _HEX.issuperset(bare))
