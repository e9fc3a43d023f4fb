"""Asking a language model about sessions: one call for each that is over, of which usually nothing comes.

A session is asked about once, and where it goes on about what is new. The call is counted before it is made, what came of it is
stored before the session is noted as asked about: whoever is killed in between asks again, and stores nothing twice.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from subcog_hooks.cli.proposals import learning_runs as transcripts
from subcog_hooks.cli.proposals.enriching import with_written
from subcog_hooks.cli.proposals.enrichment import CALL_S, CALLS_SETTING, Calls, opened_state
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.amendment import similar_to
from subcog_hooks.cli.support.output import counted, safe, terminal
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ProviderError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.learn import learning, quoting, repetition, storing, transcript, transcript_files
from subcog_hooks.learn.proposals import WrittenProposal, is_from_session
from subcog_hooks.learn.quoting import ShownTurn
from subcog_hooks.learn.storing import LearningOptions, LearningReport
from subcog_hooks.learn.transcript_files import Places, TranscriptFile
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import LLM_LEARNS
from subcog_hooks.store import learned
from subcog_hooks.store.memory import MAX_QUESTIONS, PENDING, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

MOST_UNUSABLE = 3  # answers of another form in one run: then the model is no use for this
_KNOWN = (PENDING, "active", "deleted")  # what came from sessions and is not proposed again in other words


class AskingReport:
    """The outcome of a run. asked: sessions; unusable: answers of another form; dropped: proposals that do not hold, by why.

    joined: of what waits already in the person's own words, which has the model's questions now; repeated: of what is
    remembered, or waits, or was dropped.
    """

    __slots__ = ("asked", "dropped", "is_out_of_calls", "joined", "proposed", "repeated", "stored", "unusable")

    def __init__(self) -> None:
        self.asked = 0
        self.unusable = 0
        self.dropped: Counter[str] = Counter()
        self.joined = 0
        self.repeated = 0
        self.proposed: list[WrittenProposal] = []
        self.stored = LearningReport()  # faults, and what was removed on the way into the store
        self.is_out_of_calls = False


class _Unasked(NamedTuple):
    """A session, or its end, about which no model was asked yet. read: how far that goes."""

    shown: list[ShownTurn]
    read: learned.ReadSoFar


def ask(
    found: Sequence[TranscriptFile],
    provider: Provider,
    options: LearningOptions,
    pace: Pace = FULL_PACE,
    progress: Callable[[int], None] = lambda _: None,
) -> AskingReport:
    """Ask about sessions, the newest first. `progress` is told how many bytes are done.

    Raises ProviderError where the model fails, StoreError; what was stored before stays.
    """
    report = AskingReport()
    places = Places(options.left_out)
    with opened_state() as state:
        calls = Calls(provider, state, context.settings())
        for file in reversed(found):
            if not pace.goes_on():
                break
            unasked = _find_unasked(file, state, options, places, report, pace)
            if unasked and quoting.is_worth_a_call(unasked.shown):
                if not calls.take(pace):
                    report.is_out_of_calls = True
                    break
                with calls.watched():
                    answer = providers.ask_provider(provider, quoting.question_about(unasked.shown), CALL_S)
                proposed = quoting.read_proposals(answer)
                if proposed is None:
                    _note_unusable(provider, report)
                    continue
                report.asked += 1
                holding = quoting.bear_out(proposed, unasked.shown, options.never)
                report.dropped += holding.dropped
                written = [
                    WrittenProposal(turn, one, provider.name, file.path, places.owner_of(turn.turn.folder))
                    for turn, one in holding.kept
                ]
                _keep(written, options, places, report)
            if unasked and not options.dry_run:
                learned.note_asked(state, file.path, unasked.read)
            progress(file.size)
    if report.unusable and not report.asked:
        raise _is_of_another_form(provider)
    return report


def _note_unusable(provider: Provider, report: AskingReport) -> None:
    report.unusable += 1
    if report.unusable >= MOST_UNUSABLE:
        raise _is_of_another_form(provider)


def _is_of_another_form(provider: Provider) -> ProviderError:
    return ProviderError(f"{provider.name} answered in another form than was asked for", "try it again, or another model")


def _find_unasked(
    file: TranscriptFile, state: State, options: LearningOptions, places: Places, report: AskingReport, pace: Pace
) -> _Unasked | None:
    """Return what of a session nobody was asked about, None for nothing, or where it is older than what is wanted."""
    if file.changed < options.since:
        return None
    try:
        start = learning.start_of(file, learned.find_asked(state, file.path))
        if start is None:
            return None
        reading = transcript.read(file.path, start, pace)
        digest = transcript_files.digest_before(file.path, reading.end)
    except SubcogError:
        raise
    except Exception as error:  # noqa: BLE001 - one file must not cost the others
        said = error.strerror if isinstance(error, OSError) else f"an internal error: {type(error).__name__}"
        report.stored.problems.append(f"{file.path} can not be read: {said}")
        return None
    heard = [turn for turn in reading.turns if not places.is_left_out(turn.folder, places.owner_of(turn.folder))]
    size = reading.end if reading.has_more else file.size
    return _Unasked(quoting.shown_turns(heard, options.fit), learned.ReadSoFar(size, reading.end, digest))


def _keep(written: Sequence[WrittenProposal], options: LearningOptions, places: Places, report: AskingReport) -> None:
    """Store what is new of a session's proposals, and join the rest to what waits already. Raises StoreError."""
    if not written:
        return
    if options.dry_run:
        with context.reading() as store:
            _keep_in(store, written, options, places, report)
        return
    with context.writing() as store:
        _keep_in(store, written, options, places, report)
        context.follow(store)


def _keep_in(
    store: Store | None,
    written: Sequence[WrittenProposal],
    options: LearningOptions,
    places: Places,
    report: AskingReport,
) -> None:
    repeats = _find_repeats(written, store)
    new = []
    for one in written:
        known = repeats.get(one.id)
        if known is None:
            new.append(one)
        elif one.quote in known.content and known.status == PENDING:
            report.joined += 1
            if store and not options.dry_run:
                _join(store, known, one)
        else:
            report.repeated += 1
    report.proposed += storing.store_new(new, store, options, places, report.stored)


def _find_repeats(written: Sequence[WrittenProposal], store: Store | None) -> dict[str, Memory]:
    """Return the memories that proposals say again, by the proposals' ids: with what they quote, or the same in meaning."""
    if store is None:
        return {}
    known = [memory for memory in store.all(_KNOWN) if is_from_session(memory)]
    found: dict[str, Memory] = {}
    for one in written:
        near = [memory for memory in known if memory.project in (None, one.owner)]
        same = next((memory for memory in near if one.quote in memory.content), None)
        if memory := same or _same_in_meaning(one, near) or _same_in_words(one, store):
            found[one.id] = memory
    return found


def _same_in_meaning(one: WrittenProposal, known: Sequence[Memory]) -> Memory | None:
    said = [_as_utterance(memory.id, memory.content, memory.created_at) for memory in known]
    for group in repetition.find_repeated([*said, _as_utterance(one.id, one.worth.text, one.turn.at)]):
        if group.said[-1].key == one.id:
            return next(memory for memory in known if memory.id == group.said[0].key)
    return None


def _as_utterance(key: str, text: str, at: int) -> repetition.Utterance:
    """Return a text to be compared in meaning, whoever said it, and whoever is to have it."""
    return repetition.Utterance(key, text, session=key, audience="", at=at, certainty=0.0)


def _same_in_words(one: WrittenProposal, store: Store) -> Memory | None:
    """Return the active memory that says it already, in mostly the same words; one that it contradicts is none."""
    near = similar_to(one.row(None, now_ms()).memory, store)
    return next((other.memory for other in near if not other.contradiction), None)


def _join(store: Store, known: Memory, one: WrittenProposal) -> None:
    """Let what waits in the person's own words have a model's questions, too."""

    def richer(stored: Memory) -> Memory:
        new = [text for text in one.questions if text not in [asked.text for asked in stored.questions]]
        return stored.replaced(questions=with_written(stored, new)[:MAX_QUESTIONS]) if stored.status == PENDING else stored

    store.modify([known.id], richer)


def disclose(provider: Provider, found: Sequence[TranscriptFile]) -> None:
    """Say, before anything is sent, what will be, and to whom."""
    who = f"{safe(provider.name)} ({safe(provider.model)})"
    what = f"what you typed in at most {counted(len(found), 'session')}"
    terminal.say(f"{who} is sent {what}, a call each, without what may hold a secret")


def tell(report: AskingReport, *, dry_run: bool) -> None:
    """Say what came of a run."""
    transcripts.tell_problems(report.stored.problems)
    for reason, count in report.dropped.items():
        terminal.say(f"left out {counted(count, 'proposal')} of the model: they {reason}")
    known = report.joined + report.repeated
    verb = "would propose" if dry_run else "proposed"
    repeats = f", and {known} that are known" if known else ""
    terminal.say(f"asked about {counted(report.asked, 'session')}; the model {verb} {len(report.proposed)}{repeats}")
    if report.unusable:
        terminal.say(
            f"{counted(report.unusable, 'answer')} had another form than was asked for; those sessions are asked again"
        )
    if report.is_out_of_calls:
        terminal.say(f"the calls of today are made ({CALLS_SETTING}); the same command goes on tomorrow")


def at_rest(home: Home, pace: Pace) -> str:
    """Ask the model of `llm.at_rest` about sessions that are over, where the person has chosen that. Raises SubcogError.

    Returns what came of it, "" for nothing.
    """
    settings = context.settings()
    provider = providers.background_provider(settings, home) if settings[LLM_LEARNS] else None
    if provider is None:
        return ""
    with opened_state() as state:
        if not Calls(provider, state, settings).may_begin(pace):
            return ""
    found, _ = transcripts.found(None, None)
    report = ask(found, provider, transcripts.options(transcripts.COUNTED_SINCE, dry_run=False), pace)
    if not report.asked:
        return ""
    return f"{len(report.proposed)} proposed by {provider.name}, asked about {counted(report.asked, 'session')}"
