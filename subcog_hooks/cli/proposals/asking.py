"""Asks a language model for proposals from finished sessions, one call each.

Each part of a session is sent once. A call is counted before it is made, and its result is stored before the session is
recorded as done. So a killed process asks again, and stores nothing twice.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import NamedTuple

from subcog_hooks.cli.amendment import similar_to
from subcog_hooks.cli.proposals import learning_runs as transcripts
from subcog_hooks.cli.proposals.memory_questions import CALLS_SETTING, CallBudget, with_written
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import day, pluralize, terminal
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ProviderError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.learn import learning, proposals, quoting, transcript, transcript_files, turn_scores
from subcog_hooks.learn.learning import SUPERSEDED
from subcog_hooks.learn.proposals import LearningOptions, WrittenProposal, is_from_session, is_written_by_model, session_id
from subcog_hooks.learn.quoting import QuotedMemory, ShownTurn
from subcog_hooks.learn.transcript_files import TranscriptFile, name_session
from subcog_hooks.learn.turn_scores import NAMESPACES, WORK_STATE
from subcog_hooks.llm import ask, providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import AT_ONCE, LLM_LEARNS, SESSIONS_SETTING
from subcog_hooks.store import learned
from subcog_hooks.store.memory import ACTIVE, MAX_QUESTIONS, PENDING, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of

MAX_SESSION, MAX_DAY = 2, 8  # memories that come at once, of a session and of a day on which they were said
ASKED_SINCE = "30d"  # The client deletes older transcripts.
_KNOWN = (PENDING, "active", "deleted")  # statuses of memories that a proposal must not repeat


@dataclass(slots=True)
class AskingReport:
    """The outcome of a run. asked: sessions; unusable: sessions without a usable answer; dropped: invalid proposals by reason.

    repeated: proposals that repeat a stored, waiting or dropped memory; outdated: those that have ended, or that a newer memory
    has replaced.
    """

    # faults, and secrets removed before storing
    stored: proposals.LearningReport = field(default_factory=proposals.LearningReport)
    asked: int = 0
    unusable: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    outdated: int = 0
    proposed: list[WrittenProposal] = field(default_factory=list)
    is_out_of_calls: bool = False
    failure: ProviderError | None = None  # it ended the run


class _UnaskedPart(NamedTuple):
    """The turns of one call about a session. shown, notes: the turns, and the project's notes by id, that the model may see."""

    file: TranscriptFile
    owner: str | None  # its project, None outside of any
    typed: list[str]  # all new turns of the session in lower case
    shown: Sequence[ShownTurn]
    notes: dict[str, str]
    read: learned.ReadPosition | None  # to note behind this call


def ask_about_sessions(
    files: Sequence[TranscriptFile],
    provider: Provider,
    options: LearningOptions,
    pace: Pace = FULL_PACE,
    progress: Callable[[int], None] = lambda _: None,
) -> AskingReport:
    """Ask about sessions, the newest first. progress: called with the bytes done. Raises StoreError; earlier results stay."""
    with context.open_state() as state:
        run = _AskingRun(provider, options, state)

        def find_parts() -> Iterator[_UnaskedPart]:
            for file in reversed(files):
                if not pace.goes_on():
                    return
                yield from run.find_unasked(file, pace)
                progress(file.size)

        calls = CallBudget(provider, state, context.settings())
        answers = calls.ask_in_batches(
            find_parts(),
            1,
            lambda parts: quoting.build_question(parts[0].shown, parts[0].notes),
            lambda text, _: quoting.parse_proposals(text),
            ask.SESSIONS_JOB,
            pace,
        )
        try:
            for (part,), proposed in answers:
                run.take_answer(part, proposed)
        except ProviderError as error:
            run.report.failure = error
        run.report.is_out_of_calls = calls.is_used_up
    return run.report


class _AskingRun:
    """A run of calls about sessions, and its report."""

    def __init__(self, provider: Provider, options: LearningOptions, state: State) -> None:
        self._provider = provider
        self._options = options
        self._state = state
        self._learning = proposals.LearningRun(None, state, options)
        self.report = AskingReport(self._learning.report)
        self._model = f"{provider.name} {provider.model}"
        rows = state.run("SELECT twentieth, count FROM certainties WHERE model = ?", (self._model,))
        self._certainties = Counter(dict(rows))  # proposals of this model by their certainty, in twentieths
        self._acting = Counter[str]()  # memories that came at once, by session and by day
        with context.reading() as store:
            for memory in store.select(Filter()) if store else ():
                if is_written_by_model(memory):
                    self._count_acting(session_id(memory), memory.created_at)

    def _count_acting(self, session: str, at_ms: int) -> None:
        self._acting.update((session, day(at_ms)))

    def find_unasked(self, file: TranscriptFile, pace: Pace) -> Iterator[_UnaskedPart]:
        """Yield the calls about the part of a session that no model was asked about."""
        if file.changed < self._options.since:
            return
        try:
            start = learning.find_start(file, learned.find_position(self._state, learned.ASKED, file.path))
            if start is None:
                return
            reading = transcript.read_transcript(file.path, start, pace)
            digest = transcript_files.compute_digest(file.path, reading.end)
        except SubcogError:
            raise
        except Exception as error:  # noqa: BLE001 - one file must not cost the others
            self.report.stored.problems.append(f"{file.path} cannot be read: {type(error).__name__}: {error}")
            return
        since = self._options.since
        recent = [turn for turn in reading.turns if not turn.at_ms or turn.at_ms >= since]
        turns = [turn for turn in recent if not self._learning.excludes(turn)]
        read = learned.ReadPosition(0 if reading.has_more else file.size, reading.end, digest)
        # A run that goes further back asks about the older turns. In the background, a long session must not cost it again.
        is_noted = not self._options.dry_run and (len(recent) == len(reading.turns) or pace is not FULL_PACE)
        shown = quoting.select_turns(turns, self._options.fit)
        if sum(len(turn.text) for turn in shown) < quoting.MIN_SENT:
            if is_noted:
                learned.note_position(self._state, learned.ASKED, file.path, read)
            return
        owner = self._learning.folders.owner_of(shown[0].turn.folder)
        typed = [turn.text.casefold() for turn in turns]
        audiences = (audience_of("project", owner),)
        for part in (parts := quoting.split_turns(shown)):
            with context.reading() as store:  # For each part anew: the answer about the part before may have been stored.
                known = store.select(Filter(audiences=audiences, statuses=(ACTIVE, PENDING))) if store and owner else ()
            notes = quoting.select_notes({memory.id: memory.content for memory in known}, part)
            yield _UnaskedPart(file, owner, typed, part, notes, read if is_noted and part is parts[-1] else None)

    def take_answer(self, part: _UnaskedPart, proposed: Sequence[QuotedMemory] | None) -> None:
        """Store the valid proposals of an answer; None for an unusable one. Raises StoreError."""
        report = self.report
        if proposed is None:
            report.unusable += 1
        else:
            report.asked += 1
            accepted, dropped = quoting.check_proposals(proposed, part.shown, part.notes)
            report.dropped += dropped
            written = [
                proposals.make_written(turn, proposal, self._provider.name, part.file.path, part.owner, part.typed)
                for turn, proposal in accepted
            ]
            self._certainties.update(turn_scores.bucket_of(proposal.stated) for proposal in written)
            for proposal in written:
                proposal.certainty = turn_scores.score_of(proposal.stated, self._certainties)
            self._store(sorted(written, key=lambda proposal: -proposal.certainty))
        if part.read:
            learned.note_position(self._state, learned.ASKED, part.file.path, part.read)

    def _store(self, written: Sequence[WrittenProposal]) -> None:
        if not written:
            return
        before = len(self.report.proposed)
        if self._options.dry_run:
            with context.reading() as store:
                self._store_or_join(store, written)
            return
        with context.writing() as store:
            replaced = self._store_or_join(store, written)
            context.update_index_and_vectors(store)
        for twentieth, count in self._certainties.items():
            self._state.run("INSERT OR REPLACE INTO certainties VALUES (?, ?, ?)", (self._model, twentieth, count))
        for proposal in self.report.proposed[before:]:
            said_at = proposal.turn.at_ms
            record = learned.ProposalRecord(proposal.certainty, 1, said_at, proposal.certainty)
            learned.note_proposed(self._state, proposal.id, record)
            if proposal.is_active:
                self._note_active(proposal.id)
            elif proposal.id in replaced:
                self._state.run("INSERT OR REPLACE INTO replacements VALUES (?, ?)", (proposal.id, replaced[proposal.id]))

    def _note_active(self, id: str) -> None:
        """Record that a memory was stored without the person's answer. The next session's start says so."""
        self._state.run("INSERT OR REPLACE INTO noted VALUES (?, NULL)", (id,))

    def _store_or_join(self, store: Store | None, written: Sequence[WrittenProposal]) -> dict[str, str]:
        """Store the new proposals, and join repeated ones to stored memories. Return the replaced ids by the proposal's id."""
        report = self.report
        repeats = _find_repeats(written, store)
        replaced: dict[str, str] = {}
        new = []
        for proposal in written:
            repeat = repeats.get(proposal.id)
            old = _find_replaced(proposal, store)
            is_over = proposal.expires_at is not None and proposal.expires_at < now_ms()
            if is_over or (old and old.created_at >= proposal.turn.at_ms):
                report.outdated += 1
                continue
            if repeat and not (old and old.id == repeat.id):
                self._join(proposal, repeat, store)
                continue
            if not proposal.quotes_agent and self._may_act(proposal, proposal.cautions, store, old):
                self._act(proposal)
            new.append(proposal)
            if old:
                replaced[proposal.id] = old.id
        self._learning.store = store
        report.proposed += (stored := self._learning.store_new(new))
        if store and not self._options.dry_run:
            for proposal in stored:
                if proposal.is_active and (old_id := replaced.get(proposal.id)):
                    store.modify([old_id], partial(_end, proposal.id))
        return replaced

    def _join(self, proposal: WrittenProposal, repeat: Memory, store: Store | None) -> None:
        """Join a proposal to the memory that it repeats: add its questions, or activate words of an agent seen again."""
        store = None if self._options.dry_run else store
        self.report.repeated += 1
        if proposal.written.quote in repeat.content and repeat.status == PENDING:

            def add_questions(memory: Memory) -> Memory:
                if memory.status != PENDING:  # The person has settled it meanwhile.
                    return memory
                stored = [question.text for question in memory.questions]
                new = [text for text in proposal.written.questions if text not in stored]
                return memory.with_changes(questions=with_written(memory, new)[:MAX_QUESTIONS])

            if store:
                store.modify([repeat.id], add_questions)
            return
        is_shown_again = (  # Another session has led to the same words of the agent.
            proposal.quotes_agent
            and repeat.status == PENDING
            and is_written_by_model(repeat)
            and session_id(repeat) != name_session(proposal.path)
        )
        cautions = proposal.find_cautions(repeat.content)
        if store and is_shown_again and self._may_act(proposal, cautions, store, None):
            store.modify([repeat.id], lambda memory: memory.with_changes(status=ACTIVE))
            self._note_active(repeat.id)
            self._act(proposal)

    def _act(self, proposal: WrittenProposal) -> None:
        proposal.is_active = True
        self._count_acting(name_session(proposal.path), proposal.turn.at_ms)

    def _may_act(self, proposal: WrittenProposal, cautions: Sequence[str], store: Store | None, old: Memory | None) -> bool:
        """Return whether a proposal needs no answer of the person. old: the memory that it replaces."""
        if cautions or not (self._options.dry_run or context.settings()[SESSIONS_SETTING] == AT_ONCE):
            return False
        if not turn_scores.is_sure(proposal.stated, proposal.certainty, self._certainties):
            return False
        if self._acting[name_session(proposal.path)] >= MAX_SESSION or self._acting[day(proposal.turn.at_ms)] >= MAX_DAY:
            return False
        if old and not (old.status == PENDING or self._state.run("SELECT 1 FROM noted WHERE memory = ?", (old.id,))):
            return False  # The person has typed it, or accepted it.
        if store is None:
            return True
        # The person decides where another memory of its project, or of all, may contradict it.
        memory = proposal.row(None, now_ms()).memory
        audiences = (memory, memory.with_changes(scope="user", project=None))
        near = (other for audience in audiences for other in similar_to(audience, store))
        return not any(other.contradiction and not (old and other.memory.id == old.id) for other in near)


def _end(successor: str, memory: Memory) -> Memory:
    """Let a new memory take the place of an older one; a waiting one is dropped."""
    is_waiting = memory.status == PENDING
    return memory.with_changes(status="deleted" if is_waiting else SUPERSEDED, superseded_by=None if is_waiting else successor)


def _find_replaced(proposal: WrittenProposal, store: Store | None) -> Memory | None:
    """Return the memory that a proposal replaces: the note that it names, or the project's last state of the work."""
    if store is None:
        return None
    if id_ := proposal.written.replaces:
        memory = store.by_ids([id_]).get(id_)
        return memory if memory and memory.status in (ACTIVE, PENDING) else None
    if proposal.kind != WORK_STATE:
        return None
    audiences = (audience_of(proposal.scope, proposal.owner),)
    states = store.select(Filter(audiences=audiences, statuses=(ACTIVE, PENDING), namespaces=(NAMESPACES[WORK_STATE],)))
    return max(filter(is_written_by_model, states), key=lambda memory: memory.created_at, default=None)


def _find_repeats(written: Sequence[WrittenProposal], store: Store | None) -> dict[str, Memory]:
    """Return the stored, waiting or dropped memories that proposals repeat, by the proposal's id."""
    if store is None:
        return {}
    stored = [memory for memory in store.all(_KNOWN) if is_from_session(memory)]
    repeats: dict[str, Memory] = {}
    for proposal in written:
        near = {memory.id: memory for memory in stored if memory.project in (None, proposal.owner)}
        quoted = (
            memory
            for memory in near.values()
            if proposal.written.quote in memory.content
            or (memory.status == "deleted" and memory.source == proposal.source)  # the person has dropped the same row
        )
        texts = [(memory.id, memory.content, memory.created_at) for memory in near.values()]
        utterances = [
            quoting.Utterance(key, text, session=key, audience="", at_ms=at_ms, certainty=0.0)
            for key, text, at_ms in (*texts, (proposal.id, proposal.text, proposal.turn.at_ms))
        ]
        groups = (group.utterances for group in quoting.find_repeated(utterances))
        same = (near[group[0].key] for group in groups if group[-1].key == proposal.id)
        alike = (other.memory for other in similar_to(proposal.row(None, now_ms()).memory, store) if not other.difference)
        if memory := next(chain(quoted, same, alike), None):
            repeats[proposal.id] = memory
    return repeats


def print_report(report: AskingReport, *, dry_run: bool) -> None:
    """Print the outcome of a run."""
    transcripts.print_problems(report.stored.problems)
    for reason, count in report.dropped.items():
        terminal.say(f"left out {pluralize(count, 'proposal')} of the model: they {reason}")
    if report.outdated:
        terminal.say(f"left out {pluralize(report.outdated, 'proposal')} that ended, or that a newer memory has replaced")
    verb = "would propose" if dry_run else "proposed"
    repeats = f", and {report.repeated} that are known" if report.repeated else ""
    terminal.say(f"asked about {pluralize(report.asked, 'session')}; the model {verb} {len(report.proposed)}{repeats}")
    if report.unusable:
        terminal.say(f"{pluralize(report.unusable, 'answer')} cannot be used; those sessions are not asked about again")
    if report.is_out_of_calls:
        terminal.say(f"the calls of today are made ({CALLS_SETTING}); the same command goes on tomorrow")


def ask_in_background(home: Home, pace: Pace) -> str:
    """Ask the model of `llm.at_rest` about finished sessions, and return a summary, "" for nothing done. Raises SubcogError."""
    settings = context.settings()
    provider = providers.background_provider(settings, home) if settings[LLM_LEARNS] else None
    if provider is None:
        return ""
    with context.open_state() as state:
        if not CallBudget(provider, state, settings).may_begin(pace):
            return ""
    files, _ = transcripts.find_idle_transcripts(None, None)
    options = transcripts.options_of_settings(ASKED_SINCE, dry_run=False)
    report = ask_about_sessions(files, provider, options, pace)
    if report.failure:
        raise report.failure
    if not report.asked:
        return ""
    noted = sum(proposal.is_active for proposal in report.proposed)
    counts = f"{noted} noted, {len(report.proposed) - noted} proposed"
    return f"{counts} by {provider.name}, asked about {pluralize(report.asked, 'session')}"
