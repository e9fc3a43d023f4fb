"""Asks a language model for proposals from finished sessions, one call each.

Each part of a session is sent once. A call is counted before it is made, and its result is stored before the session is
recorded as done. So a killed process asks again, and stores nothing twice.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from subcog_hooks.cli.proposals import learning_runs as transcripts
from subcog_hooks.cli.proposals.enrichment import CALLS_SETTING, CallBudget
from subcog_hooks.cli.proposals.enrichment_questions import with_written
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.amendment import similar_to
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ProviderError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.learn import learning, proposals, quoting, repetition, transcript, transcript_files
from subcog_hooks.learn.proposals import LearningOptions, LearningReport, WrittenProposal, is_from_session
from subcog_hooks.learn.quoting import QuotedMemory, ShownTurn
from subcog_hooks.learn.transcript_files import SessionFolders, TranscriptFile
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import AT_ONCE, LLM_LEARNS, SESSIONS_SETTING
from subcog_hooks.store import learned, state_values
from subcog_hooks.store.memory import MAX_QUESTIONS, PENDING, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

_KNOWN = (PENDING, "active", "deleted")  # statuses of memories that a proposal must not repeat


@dataclass(slots=True)
class AskingReport:
    """The outcome of a run. asked: sessions; unusable: sessions without a usable answer; dropped: invalid proposals by reason.

    joined: proposals whose questions were added to a waiting memory in the person's own words; repeated: proposals that repeat
    a stored, waiting or dropped memory.
    """

    asked: int = 0
    unusable: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    joined: int = 0
    repeated: int = 0
    proposed: list[WrittenProposal] = field(default_factory=list)
    stored: LearningReport = field(default_factory=LearningReport)  # faults, and secrets removed before storing
    is_out_of_calls: bool = False
    failure: ProviderError | None = None  # it ended the run

    def raise_failure(self) -> None:
        """Raise the ProviderError that ended the run."""
        if self.failure:
            raise self.failure


class _UnaskedPart(NamedTuple):
    """The part of a session that no model was asked about.

    typed: its turns in lower case; shown: the turns that a model may see; read: the position where it ends; is_whole: no turn
    is too old.
    """

    file: TranscriptFile
    typed: list[str]
    shown: list[ShownTurn]
    read: learned.ReadPosition
    is_whole: bool


def ask_about_sessions(
    files: Sequence[TranscriptFile],
    provider: Provider,
    options: LearningOptions,
    pace: Pace = FULL_PACE,
    progress: Callable[[int], None] = lambda _: None,
) -> AskingReport:
    """Ask about sessions, the newest first. progress: called with the bytes done. Raises StoreError; earlier results stay."""
    report = AskingReport()
    places = SessionFolders(options.left_out)
    with context.open_state() as state:

        def find_parts() -> Iterator[_UnaskedPart]:
            for file in reversed(files):
                if not pace.goes_on():
                    return
                part = _find_unasked(file, state, options, places, report, pace)
                if part and sum(len(turn.text) for turn in part.shown) >= quoting.MIN_SENT:
                    yield part
                elif part:
                    note_position(part)
                progress(file.size)

        def note_position(part: _UnaskedPart) -> None:
            # A run that goes further back asks about the older turns. In the background, a long session must not cost it again.
            if not options.dry_run and (part.is_whole or pace is not FULL_PACE):
                learned.note_asked_position(state, part.file.path, part.read)

        calls = CallBudget(provider, state, context.settings())
        answers = calls.ask_in_batches(
            find_parts(),
            1,
            lambda parts: quoting.build_question(parts[0].shown),
            lambda text, _: quoting.parse_proposals(text),
            state_values.SESSIONS_JOB,
            pace,
        )
        try:
            for (part,), proposed in answers:
                if proposed is None:
                    report.unusable += 1
                else:
                    _check_and_store(part, proposed, provider, options, places, report, state)
                note_position(part)
        except ProviderError as error:
            report.failure = error
        report.is_out_of_calls = calls.is_used_up
    return report


def _check_and_store(
    part: _UnaskedPart,
    proposed: Sequence[QuotedMemory],
    provider: Provider,
    options: LearningOptions,
    places: SessionFolders,
    report: AskingReport,
    state: State,
) -> None:
    report.asked += 1
    accepted, dropped = quoting.check_proposals(proposed, part.shown, options.never)
    report.dropped += dropped
    written = [
        WrittenProposal(turn, proposal, provider.name, part.file.path, places.owner_of(turn.turn.folder), part.typed)
        for turn, proposal in accepted
    ]
    _store_proposals(written, options, places, report, state)


def _find_unasked(
    file: TranscriptFile, state: State, options: LearningOptions, places: SessionFolders, report: AskingReport, pace: Pace
) -> _UnaskedPart | None:
    if file.changed < options.since:
        return None
    try:
        start = learning.find_start(file, learned.find_asked_position(state, file.path))
        if start is None:
            return None
        reading = transcript.read_transcript(file.path, start, pace)
        digest = transcript_files.compute_digest(file.path, reading.end)
    except SubcogError:
        raise
    except Exception as error:  # noqa: BLE001 - one file must not cost the others
        cause = error.strerror if isinstance(error, OSError) else f"an internal error: {type(error).__name__}"
        report.stored.problems.append(f"{file.path} cannot be read: {cause}")
        return None
    recent = [turn for turn in reading.turns if not turn.at_ms or turn.at_ms >= options.since]
    turns = [turn for turn in recent if not places.is_excluded(turn.folder, places.owner_of(turn.folder))]
    size = 0 if reading.has_more else file.size
    read = learned.ReadPosition(size, reading.end, digest)
    typed = [turn.text.casefold() for turn in turns]
    return _UnaskedPart(file, typed, quoting.select_turns(turns, options.fit), read, len(recent) == len(reading.turns))


def _store_proposals(
    written: Sequence[WrittenProposal], options: LearningOptions, places: SessionFolders, report: AskingReport, state: State
) -> None:
    if not written:
        return
    before = len(report.proposed)
    if options.dry_run:
        with context.reading() as store:
            _store_or_join(store, written, options, places, report)
        return
    with context.writing() as store:
        _store_or_join(store, written, options, places, report)
        context.update_index_and_vectors(store)
    for proposal in report.proposed[before:]:
        said_at = proposal.turn.at_ms
        learned.note_proposed(state, proposal.id, learned.ProposalRecord(proposal.certainty, 1, said_at, proposal.certainty))
        if proposal.is_active:
            state_values.note_noted(state, proposal.id)


def _store_or_join(
    store: Store | None,
    written: Sequence[WrittenProposal],
    options: LearningOptions,
    places: SessionFolders,
    report: AskingReport,
) -> None:
    repeats = _find_repeats(written, store)
    new = []
    for proposal in written:
        repeat = repeats.get(proposal.id)
        if repeat is None:
            new.append(proposal)
        elif proposal.quote in repeat.content and repeat.status == PENDING:
            report.joined += 1
            if store and not options.dry_run:
                _add_questions(store, repeat, proposal)
        else:
            report.repeated += 1
    if store and context.settings()[SESSIONS_SETTING] == AT_ONCE:
        for proposal in new:
            proposal.is_active = not proposal.cautions and not _contradicts(proposal, store)
    report.proposed += proposals.store_new(new, store, options, places, report.stored)


def _find_repeats(written: Sequence[WrittenProposal], store: Store | None) -> dict[str, Memory]:
    if store is None:
        return {}
    stored = [memory for memory in store.all(_KNOWN) if is_from_session(memory)]
    repeats: dict[str, Memory] = {}
    for proposal in written:
        near = [memory for memory in stored if memory.project in (None, proposal.owner)]
        quoted = next(
            (memory for memory in near if proposal.quote in memory.content or _is_forgotten_row(memory, proposal)), None
        )
        if memory := quoted or _same_in_meaning(proposal, near) or _same_in_words(proposal, store):
            repeats[proposal.id] = memory
    return repeats


def _is_forgotten_row(memory: Memory, proposal: WrittenProposal) -> bool:
    return memory.status == "deleted" and memory.source == proposal.source


def _same_in_meaning(proposal: WrittenProposal, memories: Sequence[Memory]) -> Memory | None:
    utterances = [_as_utterance(memory.id, memory.content, memory.created_at) for memory in memories]
    for group in repetition.find_repeated(
        [*utterances, _as_utterance(proposal.id, proposal.judgement.text, proposal.turn.at_ms)]
    ):
        if group.utterances[-1].key == proposal.id:
            return next(memory for memory in memories if memory.id == group.utterances[0].key)
    return None


def _as_utterance(key: str, text: str, time_ms: int) -> repetition.Utterance:
    """Return a text to be compared by meaning only, regardless of its author and audience."""
    return repetition.Utterance(key, text, session=key, audience="", at_ms=time_ms, certainty=0.0)


def _contradicts(proposal: WrittenProposal, store: Store) -> bool:
    """Return whether a stored memory of its project or of all may contradict a proposal; then the person decides."""
    memory = proposal.row(None, now_ms()).memory
    audiences = (memory, memory.with_changes(scope="user", project=None))
    return any(other.contradiction for audience in audiences for other in similar_to(audience, store))


def _same_in_words(proposal: WrittenProposal, store: Store) -> Memory | None:
    near = similar_to(proposal.row(None, now_ms()).memory, store)
    return next((other.memory for other in near if not other.contradiction), None)


def _add_questions(store: Store, memory: Memory, proposal: WrittenProposal) -> None:
    def add_questions(stored: Memory) -> Memory:
        new = [text for text in proposal.questions if text not in [asked.text for asked in stored.questions]]
        return stored.with_changes(questions=with_written(stored, new)[:MAX_QUESTIONS]) if stored.status == PENDING else stored

    store.modify([memory.id], add_questions)


def disclose(provider: Provider, files: Sequence[TranscriptFile]) -> None:
    """Print, before anything is sent, the content and the receiver."""
    receiver = f"{safe(provider.name)} ({safe(provider.model)})"
    content = f"what you typed in at most {pluralize(len(files), 'session')}"
    terminal.say(f"{receiver} is sent {content}, a call each, without what may hold a secret")


def print_report(report: AskingReport, *, dry_run: bool) -> None:
    """Print the outcome of a run."""
    transcripts.print_problems(report.stored.problems)
    for reason, count in report.dropped.items():
        terminal.say(f"left out {pluralize(count, 'proposal')} of the model: they {reason}")
    repeated = report.joined + report.repeated
    verb = "would propose" if dry_run else "proposed"
    repeats = f", and {repeated} that are known" if repeated else ""
    terminal.say(f"asked about {pluralize(report.asked, 'session')}; the model {verb} {len(report.proposed)}{repeats}")
    if report.unusable:
        terminal.say(f"{pluralize(report.unusable, 'answer')} cannot be used; those sessions are not asked about again")
    if report.is_out_of_calls:
        terminal.say(f"the calls of today are made ({CALLS_SETTING}); the same command goes on tomorrow")


def ask_in_background(home: Home, pace: Pace) -> str:
    """Ask the model of `llm.at_rest` about finished sessions, where the setting says so. Raises SubcogError.

    Return a summary, "" for nothing done.
    """
    settings = context.settings()
    provider = providers.background_provider(settings, home) if settings[LLM_LEARNS] else None
    if provider is None:
        return ""
    with context.open_state() as state:
        if not CallBudget(provider, state, settings).may_begin(pace):
            return ""
    files, _ = transcripts.find_idle_transcripts(None, None)
    options = transcripts.options_of_settings(transcripts.COUNTED_SINCE, dry_run=False)
    report = ask_about_sessions(files, provider, options, pace)
    report.raise_failure()
    if not report.asked:
        return ""
    noted = sum(proposal.is_active for proposal in report.proposed)
    counts = f"{noted} noted, {len(report.proposed) - noted} proposed"
    return f"{counts} by {provider.name}, asked about {pluralize(report.asked, 'session')}"
