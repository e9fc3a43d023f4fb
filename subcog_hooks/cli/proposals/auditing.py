"""Replays every typed prompt through the hook's decision and sums the outcomes. Nothing is recorded.

The replay follows each session: a memory comes once, and a prompt may borrow topics from the prompt before. The files that
a decision needs lie in a folder of their own, which is removed at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from typing import NamedTuple

from subcog_hooks.cli.decisions import remedies
from subcog_hooks.cli.support import context, trial_folders
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.deliver import SESSION_UNITS_SETTING
from subcog_hooks.hook.dry_run import DryPrompt, decide_dry
from subcog_hooks.hook.record import UNREAD
from subcog_hooks.hook.typed_note import note_in_prompt
from subcog_hooks.learn import proposals, repetition
from subcog_hooks.learn.proposals import Proposal
from subcog_hooks.learn.repetition import RepeatedMeaning, Utterance
from subcog_hooks.learn.signs import ACCEPTED, QUEUED, TYPED, TypedTurn
from subcog_hooks.learn.transcript_files import IDLE_MS, SessionFolders
from subcog_hooks.learn.turn_scores import CORRECTION, REPEATED_BAR
from subcog_hooks.redaction.redact import redact
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import BY_HASH
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store import index_sync, state_values
from subcog_hooks.store.decision import SPOKE, Decision
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.sessions import TOPICS_MS, LastPrompt
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.text import prompt_needs
from subcog_hooks.text.typed_prompt import query_text

SUBMITTED = (TYPED, QUEUED, ACCEPTED)  # the hook sees these turns, but no answer to a tool call
DECIDING_MS = 10_000.0  # No prompt waits for this run.
MAX_COMPARED = 4_000  # latest questions, and latest sentences, that are compared pairwise
MIN_QUESTION_WORDS = 4  # fewer words do not distinguish a question
_ASKING_WORDS = frozenset(("how", "what", "why", "where", "which", "who", "whose"))

OPENING_WORDS = 3  # words of a note that a longer prompt must have; a shorter note must be all of the prompt
SLACK_MS = 60_000  # A hook, a transcript and a list of prompts date the same prompt some seconds apart.


class Replayed(NamedTuple):
    """A prompt and the hook's decision about it. owner: its project, "" outside of any."""

    turn: TypedTurn
    owner: str
    decision: Decision

    @property
    def speaks(self) -> bool:
        return self.decision.outcome == SPOKE


class Audit(NamedTuple):
    """The outcome of an audit.

    prompts: in the order of typing; memories: all replayed memories, by id; asked_again: questions asked in several sessions;
    said_again: statements made in several sessions, each with its kind; left_out: prompts excluded by a setting.
    """

    prompts: Sequence[Replayed]
    memories: dict[str, Memory]
    asked_again: Sequence[RepeatedMeaning]
    said_again: Sequence[tuple[str, RepeatedMeaning]]
    left_out: int

    @property
    def spoken(self) -> list[Replayed]:
        return [replayed for replayed in self.prompts if replayed.speaks]

    def times_given(self) -> dict[str, int]:
        """Return the number of hand-overs by memory id, the highest first."""
        counts = Counter(id_ for replayed in self.prompts for id_ in replayed.decision.injected)
        return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))

    def noted_later(self) -> int:
        """Return the number of hand-overs to prompts that are older than the memory. A prompt without a time does not count."""
        return sum(
            0 < replayed.turn.at_ms < self.memories[id_].created_at
            for replayed in self.prompts
            for id_ in replayed.decision.injected
            if id_ in self.memories
        )

    def never_given(self) -> list[Memory]:
        """Return the memories that no prompt would have brought, the oldest first."""
        given = self.times_given()
        never = [memory for id_, memory in self.memories.items() if id_ not in given]
        return sorted(never, key=lambda memory: (memory.created_at, memory.id))


class ReplayStore:
    """The memories that prompts are replayed against. at_its_time: each prompt is decided at its own time."""

    def __init__(self, home: Home, *, at_its_time: bool = False) -> None:
        self.home = home
        self.at_its_time = at_its_time

    def reach(self, _: int) -> None:
        """Bring the store to its state at a time, milliseconds since the epoch."""


class GrowingStore(ReplayStore):
    """A throw-away store that receives each proposal three hours after its turn, as if the person accepted it."""

    def __init__(self, home: Home, proposed: Sequence[Proposal], places: SessionFolders) -> None:
        super().__init__(home, at_its_time=True)
        self._places = places
        self._waiting = sorted(proposed, key=lambda proposal: (proposal.known_at, proposal.id), reverse=True)
        with Store.writer(home) as store:
            index_sync.bring_up_to_date(home, store)

    def reach(self, time_ms: int) -> None:
        """Add the proposals that the person could have accepted by then. Raises StoreError."""
        kept: list[Memory] = []
        while self._waiting and self._waiting[-1].known_at + IDLE_MS <= time_ms:
            proposal = self._waiting.pop()
            memory = proposal.row(self._places.root_of(proposal.turn.folder), time_ms).memory
            kept.append(memory.with_changes(status="active"))
        if not kept:
            return
        with Store.writer(self.home) as store:
            store.add(kept)
            remedies.update_copy(self.home, store)


@contextmanager
def scratch_home() -> Iterator[Home]:
    """Yield a home in a folder of its own, which is removed at the end. Raises StoreError, OSError."""
    with trial_folders.hold_folder(context.home()) as folder:
        yield Home(folder)


def replay_all(
    turns: Sequence[TypedTurn],
    store: ReplayStore,
    origins: NoteOrigins,
    scratch: Home,
    places: SessionFolders,
    progress: Callable[[int], None],
) -> tuple[list[Replayed], int]:
    """Return each submitted prompt with the hook's decision, and the number of prompts excluded by the setting.

    A note counts as given at the prompt that it comes from. scratch: the home of the records that a decision reads; progress:
    called for each prompt. Raises StoreError.
    """
    sessions: dict[str, _SessionReplay] = {}
    by_root: dict[str, Settings] = {}
    replayed, left_out = [], 0
    home = context.home()
    with closing(State.open(scratch, context.STATE_WAIT_MS)) as state:
        _copy_flags(home, state)
        for turn in turns:
            progress(1)
            here = places.project_of(turn.folder)
            if places.is_excluded(turn.folder, here.identity if here else None):
                left_out += 1
                continue
            store.reach(turn.at_ms)
            root = here.root if here else ""
            if root not in by_root:
                by_root[root] = loading.load(home, root or None)
            session = sessions.setdefault(turn.session, _SessionReplay())
            own = origins.ids_from(turn.text, turn.session, turn.at_ms)
            asked = session.next(turn, own, time_ms=turn.at_ms if store.at_its_time else 0)
            decision = decide_dry(asked, store.home, here, session.within(by_root[root]), state, Deadline(DECIDING_MS))
            session.note(turn, decision)
            replayed.append(Replayed(turn, here.identity if here else "", decision))
    return replayed, left_out


class _SessionReplay:
    """The state of a replayed session: memories handed over, the last prompt's topics, UTF-16 units used."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._earlier: LastPrompt | None = None
        self._earlier_at = 0
        self._position = 0
        self._units = 0

    def next(self, turn: TypedTurn, own: AbstractSet[str], time_ms: int) -> DryPrompt:
        """Return the next prompt of the session. own: notes that come from it."""
        self._position += 1
        earlier = self._earlier if abs(turn.at_ms - self._earlier_at) <= TOPICS_MS else None
        return DryPrompt(turn.text, turn.session, self._given | own, earlier, self._position, time_ms)

    def within(self, settings: Settings) -> Settings:
        """Return the settings with the session's remaining character budget."""
        if not self._units:
            return settings
        return settings.with_value(SESSION_UNITS_SETTING, max(0, int(settings[SESSION_UNITS_SETTING]) - self._units))

    def note(self, turn: TypedTurn, decision: Decision) -> None:
        self._given.update(decision.injected)
        self._units += decision.units
        if decision.intent is not None and decision.intent.topics:
            self._earlier = LastPrompt(decision.intent.topics, decision.intent.confidence)
            self._earlier_at = turn.at_ms
        elif decision.outcome in UNREAD:
            self._earlier = None


def find_repeated_questions(prompts: Sequence[Replayed]) -> list[RepeatedMeaning]:
    """Return the questions asked with the same meaning in several sessions of a project, the most frequent first."""
    questions = [
        _utterance(str(number), text, replayed.turn, replayed.owner)
        for number, replayed in enumerate(prompts)
        if (text := _question_in(replayed.turn.text))
    ]
    return repetition.find_repeated(questions[-MAX_COMPARED:])


def find_repeated_statements(turns: Sequence[TypedTurn], places: SessionFolders) -> list[tuple[str, RepeatedMeaning]]:
    """Return the statements made in several sessions, each with its kind: corrections first."""
    by_key: dict[str, Proposal] = {}
    for turn in turns:
        owner = places.owner_of(turn.folder)
        if places.is_excluded(turn.folder, owner):
            continue
        proposal = proposals.propose(turn, "", owner)
        if proposal and proposal.certainty >= REPEATED_BAR:
            by_key[str(len(by_key))] = proposal
    statements = [
        _utterance(key, proposal.judgement.text, proposal.turn, proposal.owner or "") for key, proposal in by_key.items()
    ]
    groups = repetition.find_repeated(statements[-MAX_COMPARED:])
    kinds_and_groups = [(_kind_of(group, by_key), group) for group in groups]
    return sorted(kinds_and_groups, key=lambda row: (row[0] != CORRECTION, -row[1].sessions))


def _kind_of(group: RepeatedMeaning, by_key: dict[str, Proposal]) -> str:
    kinds = [by_key[utterance.key].kind for utterance in group.utterances]
    return CORRECTION if CORRECTION in kinds else kinds[0]


def _utterance(key: str, text: str, turn: TypedTurn, owner: str) -> Utterance:
    return Utterance(key, text, session=turn.session, audience=owner, at_ms=turn.at_ms, certainty=0.5)


def _question_in(prompt: str) -> str:
    text = query_text(redact(prompt).text)
    return " ".join(
        part for part in prompt_needs.split_sentences(text) if len(part.split()) >= MIN_QUESTION_WORDS and _is_question(part)
    )


def _is_question(part: str) -> bool:
    """Return whether a sentence asks. "Do it when …" and "when it is done, …" ask only with a question mark."""
    return prompt_needs.is_question(part) and ("?" in part or part.split(None, 1)[0].lower() in _ASKING_WORDS)


def _copy_flags(home: Home, state: State) -> None:
    with context.existing_state(home, tell=terminal.say) as with_flags:
        for name, value in state_values.find_flags(with_flags).items() if with_flags else ():
            state_values.set_flag(state, name, value)


class NoteOrigins:
    """The origins of notes: the prompts that have their text, and the sessions that they were learned from."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._by_opening: dict[tuple[str, ...], list[tuple[list[str], str]]] = {}
        self._by_session: dict[str, list[Memory]] = {}
        for memory in memories:
            if words := _words(memory.content):
                self._by_opening.setdefault(tuple(words[:OPENING_WORDS]), []).append((words, memory.id))
            if proposals.is_from_session(memory):
                self._by_session.setdefault(proposals.session_id(memory), []).append(memory)

    def ids_from(self, prompt: str, session: str, at_ms: int) -> set[str]:
        """Return the notes that come from a prompt: it has their text, or leads to the turn of its session that taught them.

        at_ms: milliseconds since the epoch, 0 for unknown.
        """
        taught = self._by_session.get(session, ()) if at_ms else ()
        ids = {memory.id for memory in taught if at_ms <= memory.created_at + SLACK_MS}
        words = _words(note_in_prompt(prompt, BY_HASH) or prompt)
        ids |= {id_ for note, id_ in self._by_opening.get(tuple(words), ()) if note == words}
        for start in range(len(words) - OPENING_WORDS + 1):
            for note, id_ in self._by_opening.get(tuple(words[start : start + OPENING_WORDS]), ()):
                if note == words[start : start + len(note)]:
                    ids.add(id_)
        return ids


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
