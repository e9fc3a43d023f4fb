"""The audit: every prompt that the person typed, decided as the hook decides it, and what that adds up to. No record is kept.

A session's own course is followed: what it was given does not come again, and a prompt goes on from the one before. The files
that a decision needs beside the memories lie in a folder of their own, which goes in the end.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from subcog_hooks.cli.decisions import trial
from subcog_hooks.cli.support import context, trial_folders
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.deliver import SESSION_UNITS_SETTING
from subcog_hooks.hook.dry_run import DryPrompt, decide_dry
from subcog_hooks.hook.record import UNREAD
from subcog_hooks.learn import proposals, repetition
from subcog_hooks.learn.proposals import Proposal
from subcog_hooks.learn.repetition import Repeated, Utterance
from subcog_hooks.learn.transcript_files import IDLE_MS, Places
from subcog_hooks.learn.turn_scores import CORRECTION, REPEATED_BAR
from subcog_hooks.learn.turns import ACCEPTED, QUEUED, TYPED, TypedTurn
from subcog_hooks.redaction.redact import redact
from subcog_hooks.settings import loading
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store import index_sync, state_values
from subcog_hooks.store.decision import SPOKE, Decision
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.sessions import TOPICS_MS, Earlier
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.text import needs
from subcog_hooks.text.typed import asked_in

SUBMITTED = (TYPED, QUEUED, ACCEPTED)  # what the hook is called with; an answer to a tool call is none
DECIDING_MS = 10_000.0  # nobody waits for a prompt here
MOST_COMPARED = 4_000  # of the latest questions, and of the latest sentences, that are compared with each other
LEAST_QUESTION = 4  # words of a question that can be told from others
SCRATCH_WAIT_MS = 2_000.0
_ASKING_WORDS = frozenset(("how", "what", "why", "where", "which", "who", "whose"))


class Replayed(NamedTuple):
    """A prompt and what the hook would have done with it. owner: its project, "" outside of any."""

    turn: TypedTurn
    owner: str
    decision: Decision

    @property
    def speaks(self) -> bool:
        return self.decision.outcome == SPOKE


class Audit(NamedTuple):
    """The outcome of an audit.

    prompts: in the order in which they were typed; memories: all that could have come, by id; asked_again: questions that
    several sessions asked; said_again: what several sessions said that may be worth remembering; left_out: prompts to which
    nobody is to listen.
    """

    prompts: Sequence[Replayed]
    memories: dict[str, Memory]
    asked_again: Sequence[Repeated]
    said_again: Sequence[tuple[str, Repeated]]
    left_out: int

    @property
    def spoken(self) -> list[Replayed]:
        return [one for one in self.prompts if one.speaks]

    def times_given(self) -> dict[str, int]:
        """Return how often each memory would have come, the most often first."""
        counts: dict[str, int] = {}
        for one in self.prompts:
            for id_ in one.decision.injected:
                counts[id_] = counts.get(id_, 0) + 1
        return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))

    def noted_later(self) -> int:
        """Return how often a memory would have come to a prompt that is older than itself: nobody could have had it then.

        A prompt of which nobody knows when it was typed does not count.
        """
        return sum(
            0 < one.turn.at < self.memories[id_].created_at
            for one in self.prompts
            for id_ in one.decision.injected
            if id_ in self.memories
        )

    def never_given(self) -> list[Memory]:
        """Return the memories that would have come to none of the prompts, the oldest first."""
        given = self.times_given()
        return sorted((one for id_, one in self.memories.items() if id_ not in given), key=lambda one: (one.created_at, one.id))


class ReplayStore:
    """The memories against which prompts are replayed, where they lie. at_its_time: each prompt is asked at its own time."""

    def __init__(self, home: Home, *, at_its_time: bool = False) -> None:
        self.home = home
        self.at_its_time = at_its_time

    def reach(self, _: int) -> None:
        """Let the shelf have what it had at a time, milliseconds since the epoch."""


class GrowingStore(ReplayStore):
    """A throw-away store into which what was proposed comes, kept by the person, three hours after it was said."""

    def __init__(self, home: Home, proposed: Sequence[Proposal], places: Places) -> None:
        super().__init__(home, at_its_time=True)
        self._places = places
        self._waiting = sorted(proposed, key=lambda one: (one.known_at, one.id), reverse=True)
        with Store.writer(home) as store:
            index_sync.catch_up(home, store)

    def reach(self, at: int) -> None:
        """Let the store have what the person could have kept by then. Raises StoreError."""
        kept: list[Memory] = []
        while self._waiting and self._waiting[-1].known_at + IDLE_MS <= at:
            one = self._waiting.pop()
            memory = one.row(self._places.root_of(one.turn.folder), at).memory
            kept.append(memory.replaced(status="active"))
        if not kept:
            return
        with Store.writer(self.home) as store:
            store.add(kept)
            trial.let_follow(self.home, store)


@contextmanager
def scratch_home() -> Iterator[Home]:
    """Yield a home in a folder of its own, which is gone in the end. Raises StoreError, OSError."""
    with trial_folders.hold_folder(context.home()) as folder:
        yield Home(folder)


def replay_all(
    turns: Sequence[TypedTurn], shelf: ReplayStore, scratch: Home, places: Places, progress: Callable[[int], None]
) -> tuple[list[Replayed], int]:
    """Return each submitted prompt with the hook's decision, and how many are left out by the setting.

    scratch: where the records lie that a decision looks at; progress: told of each prompt. Raises StoreError.
    """
    courses: dict[str, _Course] = {}
    by_root: dict[str, Settings] = {}
    found, left_out = [], 0
    home = context.home()
    state = State.open(scratch, SCRATCH_WAIT_MS)
    try:
        _copy_flags(home, state)
        for turn in turns:
            progress(1)
            here = places.project_of(turn.folder)
            if places.is_left_out(turn.folder, here.identity if here else None):
                left_out += 1
                continue
            shelf.reach(turn.at)
            root = here.root if here else ""
            if root not in by_root:
                by_root[root] = loading.load(home, root or None)
            course = courses.setdefault(turn.session, _Course())
            asked = course.next(turn, at=turn.at if shelf.at_its_time else 0)
            decision = decide_dry(asked, shelf.home, here, course.within(by_root[root]), state, Deadline(DECIDING_MS))
            course.note(turn, decision)
            found.append(Replayed(turn, here.identity if here else "", decision))
    finally:
        state.close()
    return found, left_out


class _Course:
    """The course of a session: what it was given, what its last prompt was about, how much it has had (UTF-16 units)."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._earlier: Earlier | None = None
        self._earlier_at = 0
        self._place = 0
        self._units = 0

    def next(self, turn: TypedTurn, at: int) -> DryPrompt:
        self._place += 1
        is_fresh = self._earlier is not None and abs(turn.at - self._earlier_at) <= TOPICS_MS
        return DryPrompt(turn.text, turn.session, frozenset(self._given), self._earlier if is_fresh else None, self._place, at)

    def within(self, settings: Settings) -> Settings:
        """Return the settings with what the session may still be given."""
        if not self._units:
            return settings
        return settings.with_value(SESSION_UNITS_SETTING, max(0, int(settings[SESSION_UNITS_SETTING]) - self._units))

    def note(self, turn: TypedTurn, decision: Decision) -> None:
        self._given.update(decision.injected)
        self._units += decision.units
        if decision.intent is not None and decision.intent.topics:
            self._earlier = Earlier(decision.intent.topics, decision.intent.confidence)
            self._earlier_at = turn.at
        elif decision.outcome in UNREAD:
            self._earlier = None


def asked_again(prompts: Sequence[Replayed]) -> list[Repeated]:
    """Return the questions of which several sessions of a project asked the same in meaning, the most often asked first."""
    said = [
        _utterance(str(place), text, one.turn, one.owner)
        for place, one in enumerate(prompts)
        if (text := _question_in(one.turn.text))
    ]
    return repetition.find_repeated(said[-MOST_COMPARED:])


def said_again(turns: Sequence[TypedTurn], places: Places) -> list[tuple[str, Repeated]]:
    """Return what several sessions said that may be worth remembering, each behind its kind: corrections first."""
    found: dict[str, Proposal] = {}
    for turn in turns:
        owner = places.owner_of(turn.folder)
        if places.is_left_out(turn.folder, owner):
            continue
        one = proposals.propose(turn, "", owner)
        if one and one.certainty >= REPEATED_BAR:
            found[str(len(found))] = one
    said = [_utterance(key, one.worth.text, one.turn, one.owner or "") for key, one in found.items()]
    groups = repetition.find_repeated(said[-MOST_COMPARED:])
    told = [(_kind_of(group, found), group) for group in groups]
    return sorted(told, key=lambda row: (row[0] != CORRECTION, -row[1].sessions))


def _kind_of(group: Repeated, found: dict[str, Proposal]) -> str:
    """Return the kind of what was said again: a correction, where it was one time it was said."""
    named = [found[one.key].kind for one in group.said]
    return CORRECTION if CORRECTION in named else named[0]


def _utterance(key: str, text: str, turn: TypedTurn, owner: str) -> Utterance:
    return Utterance(key, text, session=turn.session, audience=owner, at=turn.at, certainty=0.5)


def _question_in(prompt: str) -> str:
    """Return what a prompt asks, "" where it asks nothing that could be told from other questions."""
    text = asked_in(redact(prompt).text)
    return " ".join(part for part in needs.sentences(text) if len(part.split()) >= LEAST_QUESTION and _is_question(part))


def _is_question(part: str) -> bool:
    """Return whether a sentence asks. "Do it when …" and "when it is done, …" are none without a mark."""
    return needs.asks(part) and ("?" in part or part.split(None, 1)[0].lower() in _ASKING_WORDS)


def _copy_flags(home: Home, state: State) -> None:
    """Give the scratch state the flags that the user has set, by which conditions are judged."""
    if not os.path.exists(home.state_db):
        return
    with_flags = State.open(home, SCRATCH_WAIT_MS, terminal.say)
    try:
        for name, value in state_values.find_flags(with_flags).items():
            state_values.set_flag(state, name, value)
    finally:
        with_flags.close()
