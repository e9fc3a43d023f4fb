"""The keyword gate: from the prompt's words alone, does it ask for something, and for what. Always completes, never fails.

Phrases are looked for between blanks in the lowered text; no regular expressions, whose import would cost 3 ms.
"""

MAX_READ = 2_000  # characters from the head and from the tail of a long prompt that are read

NOT_TYPED = (  # what the client sends in the user's name
    "<task-notification",
    "<command-name",
    "<command-message",
    "<local-command",
    "<system-reminder",
    "<user-prompt-submit-hook",
    "<bash-input",
    "<bash-stdout",
    "[request interrupted",
    "this session is being continued from a previous conversation",
    "caveat: the messages below",
)

ACKNOWLEDGEMENTS = frozenset(
    """
    ok okay k yes yep yeah y no nope n sure thanks thank-you thx ty great good nice perfect cool done fine right correct exactly
    continue proceed go go-ahead go-on next stop wait cancel undo retry again try-again please yes-please sounds-good looks-good
    lgtm do-it ship-it nevermind never-mind got-it makes-sense agreed hello hi hey good-morning keep-going carry-on sgtm
    好的 继续 可以 谢谢 はい お願いします 続けて
    """.split()
)

ORDERS = frozenset(  # a prompt that begins so and names no problem is work to be done, not a question
    """
    commit push pull merge rebase stash revert run rerun build compile deploy install start restart stop kill open close
    format lint rename delete remove move copy paste bump tag release publish checkout squash cherry-pick
    """.split()
)

CHANGES = ("make", "change", "set", "turn", "put", "paint", "color", "colour", "align", "center", "centre", "resize")

SMALL_WORK = ("fix",)  # in a handful of words: "fix the typo"
_BEFORE_AN_ORDER = ("please", "now", "then", "and", "can", "could", "you", "just", "so")

FAMILIES: tuple[tuple[str, float, tuple[str, ...]], ...] = (  # in the order in which ties are decided
    (
        "comparison",
        0.7,
        (
            "difference between",
            "differences between",
            " versus ",
            " vs ",
            "compared to",
            "compare ",
            "which is better",
            "or should we",
        ),
    ),
    (
        "troubleshoot",
        0.7,
        (
            *(
                " error",
                "exception",
                "traceback",
                " fails ",
                " failed ",
                " failing ",
                "failure",
                " crash",
                " broken ",
                " bug ",
            ),
            *(
                "not working",
                "doesnt work",
                "does not work",
                "isnt working",
                "wont ",
                "stuck on",
                "timed out",
                "flaky",
                "panic",
                "segfault",
            ),
            *("exit code", "stack trace", "undefined", "why is ", "why are ", "why does ", "why do "),
        ),
    ),
    (
        "location",
        0.7,
        (
            "where is ",
            "where are ",
            "where do ",
            "where does ",
            "where can ",
            "which file",
            "which module",
            "find the ",
        ),
    ),
    (
        "howto",
        0.7,
        (
            "how do ",
            "how to ",
            "how can ",
            "how should ",
            "how would ",
            "how did ",
            "best way to",
            "steps to ",
            "is there a way",
        ),
    ),
    (
        "explanation",
        0.65,
        (
            "what is ",
            "what are ",
            "what does ",
            "what do ",
            "what did ",
            "whats ",
            "explain",
            "describe ",
            "how does ",
            "how is ",
            "why ",
            "tell me about",
        ),
    ),
)

SEEKING = (
    "did we ",
    "we decide",
    "have we ",
    "last time",
    "remind me",
    "do you remember",
    "we agreed",
    "our convention",
    "what was ",
    "we chose",
    "already ",
)

QUESTION_CONFIDENCE = 0.55
GENERAL_CONFIDENCE = 0.5
SEEKING_BONUS = 0.15
MAX_CONFIDENCE = 0.95
MIN_WORDS = 2  # a prompt of fewer words says too little


class Intent:
    """What a prompt asks for. type: howto, location, explanation, comparison, troubleshoot, general or none."""

    __slots__ = ("confidence", "type")

    def __init__(self, type_: str, confidence: float) -> None:
        self.type = type_
        self.confidence = confidence


NONE = Intent("none", 0.0)


def ends_of(prompt: str) -> str:
    """The prompt, or head and tail of a long one: what is read of it, here and for recall."""
    return prompt if len(prompt) <= 2 * MAX_READ else prompt[:MAX_READ] + " " + prompt[-MAX_READ:]


def detect(prompt: str) -> Intent:
    """The intent of a prompt as it was typed.

    >>> detect("How do we rotate the signing keys?").type, detect("make it blue").type, detect("thanks!").type
    ('howto', 'none', 'none')
    """
    start = prompt.lstrip()[:80].lower()
    if not start or start.startswith(NOT_TYPED) or _is_command(start):
        return NONE
    text = ends_of(prompt).lower().replace("'", "").replace("\u2019", "")
    words = text.split()
    if not words:
        return NONE
    bare = [word.strip('.,!?;:()"`*') for word in words[:6]]
    if len(words) <= 4 and "-".join(filter(None, bare)) in ACKNOWLEDGEMENTS:
        return NONE
    line = " " + " ".join(words).replace("?", " ?").replace(",", " ").replace(".", " ") + " "
    found = _family(line)
    seeking = any(phrase in line for phrase in SEEKING)
    if found == NONE and not seeking:
        if _is_order(bare, len(words)):
            return NONE
        if "?" in text:
            found = Intent("general", QUESTION_CONFIDENCE)
        elif len(words) >= MIN_WORDS or not text.isascii():
            found = Intent("general", GENERAL_CONFIDENCE)
        else:
            return NONE
    if seeking:
        base = found.confidence or QUESTION_CONFIDENCE
        return Intent(found.type if found.confidence else "general", min(MAX_CONFIDENCE, base + SEEKING_BONUS))
    return found


def _is_command(start: str) -> bool:
    """A slash command, a `!` shell line or a `#` note; a path such as /usr/lib is not one."""
    head = start.split(None, 1)[0]
    return head[0] in "!#" or (head[0] == "/" and "/" not in head[1:])


def _family(line: str) -> Intent:
    best = NONE
    for name, confidence, phrases in FAMILIES:
        count = sum(phrase in line for phrase in phrases)
        if count:
            raised = min(MAX_CONFIDENCE, confidence + 0.1 * (count - 1))
            if raised > best.confidence:
                best = Intent(name, raised)
    return best


def _is_order(words: list[str], count: int) -> bool:
    first = next((word for word in words if word and word not in _BEFORE_AN_ORDER and word not in ACKNOWLEDGEMENTS), "")
    return first in ORDERS or (first in CHANGES and count <= 8) or (first in SMALL_WORK and count <= 4)
