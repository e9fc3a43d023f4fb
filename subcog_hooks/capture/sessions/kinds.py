"""The kinds of memories that sessions hold; of what was typed which, and for whom: by the first signs that fit. Pure."""

from subcog_hooks.capture.sessions.turns import CALL_REFUSED, TypedTurn
from subcog_hooks.capture.sessions.worth import JudgedTurn

CORRECTION, PREFERENCE, DECISION, FACT, PROCEDURE, PITFALL = (
    *("correction", "preference", "decision"),
    *("fact", "procedure", "pitfall"),
)
NAMESPACES = {
    CORRECTION: "patterns",
    PREFERENCE: "patterns",
    DECISION: "decisions",
    FACT: "context",
    PROCEDURE: "patterns",
    PITFALL: "learnings",
}
SAID_KINDS = tuple(NAMESPACES)
COMMAND = "command"  # one that failed, and how it worked then: nobody said it
SESSION_KINDS = (*SAID_KINDS, COMMAND)
_OBJECTING = frozenset(("no", "wrong", "said before", "you did", "why you", "loud"))
_RULING = frozenset(("always", "from now on", "told not to", "not wanted", "prefers", "rule", "each", "must"))
_CHOOSING = frozenset(("decided", "instead", "one not the other", "use it", "we use", "keep it", "only", "no need"))
_OF_CONDUCT = (  # what an agent does, in whatever project
    *("commit", "push", "ask me", "tell me", "show me", "explain", "your answer", "your code", "comment", "refactor"),
    *("when you", "before you", "you should", "you did", "you said", "you have to", "done", "my machine", "i prefer", "i'm "),
    *("i am ", "my text", "my wording", "diff", "emoji", "don't touch", "dont touch", "i asked", "i ask"),
)


def kind_of(turn: TypedTurn, worth: JudgedTurn) -> str:
    """Return the kind of what a turn holds."""
    signs = worth.signs.keys()
    is_behind_a_call = turn.before.changed or turn.before.outcome != ""
    if worth.corrects and (is_behind_a_call or signs & _OBJECTING):
        return CORRECTION
    if turn.before.outcome == CALL_REFUSED or (signs & _OBJECTING and (is_behind_a_call or {"no", "wrong"} & signs)):
        return CORRECTION
    if "trap" in signs and not signs & {"prefers", "decided", "told not to"}:
        return PITFALL
    if "if" in signs and signs & {"order", "must", "always", "we use", "sure"} and not signs & {"prefers", "decided"}:
        return PROCEDURE
    if signs & {"decided", "goal"} or (signs & _CHOOSING and not signs & {"prefers", "from now on", "told not to", "always"}):
        return DECISION
    return PREFERENCE if signs & _RULING else FACT


def scope_of(worth: JudgedTurn, kind: str) -> str:
    """Return "user" for what holds in the person's other projects too, else "project"."""
    text = worth.text.lower()
    is_about_conduct = kind in (CORRECTION, PREFERENCE, PROCEDURE) and any(phrase in text for phrase in _OF_CONDUCT)
    return "user" if is_about_conduct and not worth.signs.keys() & {"names code", "project"} else "project"
