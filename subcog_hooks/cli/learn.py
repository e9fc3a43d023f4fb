"""`subcog learn`: propose memories from typed sessions, or take back memories that `capture.sessions = auto` noted.

`subcog enrich`: let a language model write the questions that memories answer.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated

from typer import Argument, Option

from subcog_hooks.cli import embedding
from subcog_hooks.cli.amendment import erase
from subcog_hooks.cli.commands import AsJson, AsJsonl, Texts
from subcog_hooks.cli.proposals import asking, learning_runs, memory_questions
from subcog_hooks.cli.proposals.memory_questions import CALLS_SETTING, CallBudget, CheckedQuestions
from subcog_hooks.cli.review import settle
from subcog_hooks.cli.terminal import context, inputs, output
from subcog_hooks.cli.terminal.output import ACCENT, DIM, count_memories, day, nothing_found, pluralize, safe, terminal
from subcog_hooks.core.errors import UsageError
from subcog_hooks.learn import learning as sessions
from subcog_hooks.learn.proposals import LearningOptions, Proposal, WrittenProposal, is_from_session, session_id
from subcog_hooks.learn.transcript_files import TranscriptFile
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import LLM_LEARNS
from subcog_hooks.store.memory import STATUSES, Memory, now_ms
from subcog_hooks.store.state import State

OUTCOMES = {"deleted": "forgotten", "active": "restored", "superseded": "superseded"}  # by the new status


def _undo_noted(name: str) -> None:
    """Forget the noted memories of a day, a session or an id, or of its beginning; memories that they superseded come back.

    Their rows stay read, and forgotten memories are not proposed again. Raises StoreError, UsageError, ConfigError.
    """
    with context.open_state() as state:
        stored_ms = dict(state.run("SELECT memory, ifnull(stored_at, 0) FROM noted LEFT JOIN proposed USING (memory)"))
    with context.reading() as readable:
        stored = readable.by_ids(list(stored_ms)).values() if readable else ()
    noted = [memory for memory in stored if memory.status != "deleted"]
    date = day(now_ms()) if name == "today" else name
    undone = [memory for memory in noted if day(stored_ms[memory.id]) == date]
    if not undone:
        ids = {id_ for memory in noted for id_ in (memory.id, session_id(memory)) if name and id_.startswith(name)}
        if len(ids) > 1 and name not in ids:
            raise UsageError(f"{safe(name)} begins {len(ids)} ids", "give more of it")
        chosen = {name} if name in ids else ids
        undone = [memory for memory in noted if chosen & {memory.id, session_id(memory)}]
    if not undone:
        raise nothing_found(f"nothing noted automatically is of {safe(name)}; `subcog forget ID` forgets any memory")
    with context.writing() as store:
        settlement = settle(store, _undo_changes(undone, store.all(("superseded",))), "taken back")
        for memory in settlement.after:
            terminal.result(f"{OUTCOMES[memory.status]}  {memory.id}  {output.redact_line(memory.content)}")


def _undo_changes(undone: Sequence[Memory], superseded: Iterable[Memory]) -> dict[str, dict[str, object]]:
    """Return the changes by id that forget memories, and give their predecessors back their place or a remaining successor."""
    successors = {memory.id: memory.superseded_by for memory in undone}
    changes: dict[str, dict[str, object]] = {}
    for memory in superseded:
        successor = memory.superseded_by
        while successor in successors:
            successor = successors[successor]
        if successor != memory.superseded_by:
            changes[memory.id] = {"status": "superseded" if successor else "active", "superseded_by": successor}
    return changes | {memory.id: {"status": "deleted"} for memory in undone}


def learn(
    transcripts: Annotated[
        str | None, Option("--transcripts", metavar="DIR", help="Read the transcripts in this folder alone.")
    ] = None,
    file: Annotated[
        str | None, Option("--session", metavar="FILE", help="Read this transcript alone, also of a session that goes on.")
    ] = None,
    since: Annotated[str | None, Option("--since", metavar="AGE", help="Only prompts of the last 30d, 8w, 6m or 1y.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the proposals, and store nothing.")] = False,
    use_llm: Annotated[
        bool | None, Option("--llm/--no-llm", help="Ask the model of `llm.at_rest`, too; without either, as `llm.learn` says.")
    ] = None,
    as_json: AsJson = False,
    as_jsonl: AsJsonl = False,
    forget: Annotated[bool, Option("--forget", help="Erase all memories from sessions, kept or not.")] = False,
    undo: Annotated[
        str | None,
        Option(
            "--undo", metavar="DAY|SESSION|ID", help="Take back memories noted automatically: of a day, of a session, or one."
        ),
    ] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Forget without a question.")] = False,
) -> None:
    """Propose memories from what you typed in past sessions. They are in your own words.

    All is read on this machine, and only the proposals are kept. They wait for `subcog review`. A session is read once, and
    goes on where it was. `capture.sessions_except` leaves out projects and folders, `capture.clients_except` agents. With
    `--llm` a language model is sent your prompts, a call a session. Its proposals have to quote you.

    Example: subcog learn --dry-run --since 30d
    """
    if forget or undo is not None:
        if (forget and undo is not None) or any((transcripts, file, since, dry_run, as_json, as_jsonl, use_llm is not None)):
            raise UsageError(f"{'--forget' if forget else '--undo'} takes back what came from sessions", "give it alone")
        if undo is not None:
            _undo_noted(undo)
        else:
            _forget_sessions(is_sure=yes)
        return
    inputs.refuse_several({"--transcripts": bool(transcripts), "--session": bool(file)})
    inputs.refuse_several({"--json": as_json, "--jsonl": as_jsonl})
    options = learning_runs.options_of_settings(since, dry_run=dry_run)
    provider = _choose_model(use_llm)
    files, waiting = learning_runs.find_idle_transcripts(transcripts, file)
    if file is None:
        files = [transcript for transcript in files if transcript.changed >= options.since]
    if waiting:
        terminal.say(f"left for later: {pluralize(waiting, 'session')}, not idle for three hours yet")
    elif not files:
        terminal.say(f"{safe(transcripts or learning_runs.clients_folder())} has no session of that time")
    with learning_runs.open_store_and_state(dry_run=dry_run) as (store, state):
        with output.track_items("reading", sum(transcript.size for transcript in files)) as advance:
            report = sessions.learn(files, store, state, options, advance)
        if report.proposed and store and not dry_run:
            context.update_index_and_vectors(store)
    _print_proposals(report.proposed, as_json=as_json, as_jsonl=as_jsonl)
    learning_runs.print_report(report, dry_run=dry_run)
    answers = _ask_model(files, provider, options) if provider else asking.AskingReport()
    _print_proposals(answers.proposed, as_json=as_json, as_jsonl=as_jsonl)
    proposed = [*report.proposed, *answers.proposed]
    terminal.rows([proposal.line() for proposal in proposed], as_json=as_json, as_jsonl=False)
    if proposed and not dry_run:
        noted = sum(proposal.is_active for proposal in answers.proposed)
        if noted:
            terminal.say(f"{noted} came at once; `subcog learn --undo today` takes them back")
        if noted < len(proposed):
            terminal.say("the agent gets no memory that waits for `subcog review`")
        embedding.start_background_jobs()
    if answers.failure:
        raise answers.failure


def _choose_model(use_llm: bool | None) -> Provider | None:
    settings = context.settings()
    if use_llm:
        return memory_questions.require_provider(settings)
    if use_llm is False or not settings[LLM_LEARNS]:
        return None
    provider = providers.background_provider(settings, context.home())
    if provider is None:
        terminal.say(f"{LLM_LEARNS} is true, but llm.at_rest is none: no model is asked")
    return provider


def _ask_model(files: Sequence[TranscriptFile], provider: Provider, options: LearningOptions) -> asking.AskingReport:
    content = f"what you typed in at most {pluralize(len(files), 'session')}, with the agent's last words to each turn"
    receiver = f"{safe(provider.name)} ({safe(provider.model)})"
    terminal.say(f"{receiver} is sent {content} and the project's notes, without code and what may hold a secret")
    with output.track_items("asking", sum(transcript.size for transcript in files)) as advance:
        report = asking.ask_about_sessions(files, provider, options, progress=advance)
    asking.print_report(report, dry_run=options.dry_run)
    return report


def _print_proposals(proposals: Sequence[Proposal], *, as_json: bool, as_jsonl: bool) -> None:
    """Print proposals. as_json: `learn` prints them all at its end."""
    for proposal in () if as_json else proposals:
        if as_jsonl:
            terminal.json(proposal.line())
        elif isinstance(proposal, WrittenProposal):
            head = (f"{safe(proposal.by)} ", ACCENT), (f"{proposal.kind}  ", DIM)
            terminal.pieces(*head, (safe(proposal.text), ""), ("  of: ", DIM), (safe(proposal.written.quote), DIM))
        else:
            evidence = f"said {proposal.sessions} times since {day(proposal.since)}  " if proposal.sessions > 1 else ""
            owner = f" for {safe(proposal.owner)}" if proposal.owner and proposal.scope == "project" else ""
            about = f"{proposal.kind}{owner}  {evidence}"
            terminal.pieces((f"{proposal.certainty:.2f} ", ACCENT), (about, DIM), (safe(proposal.text), ""))


def _forget_sessions(*, is_sure: bool) -> None:
    with context.writing() as store:
        erased = [memory for memory in store.all(STATUSES) if is_from_session(memory)]
        kept_count = sum(memory.status == "active" for memory in erased)
        if kept_count and not is_sure:
            if not terminal.interactive:
                raise UsageError(f"{count_memories(kept_count)} that you kept would be erased too", "give --yes")
            if not terminal.confirm(f"Erase {len(erased)}, of which you kept {kept_count}? They cannot be brought back."):
                raise nothing_found("nothing was erased")
        with context.open_state() as state:
            for table in ("noted", "heard", "proposed"):  # Read positions stay: erased memories are not proposed again.
                state.run(f"DELETE FROM {table}")  # noqa: S608 - one of these three
        if not erased:
            raise nothing_found("nothing came from sessions")
        erase(store, erased)
    terminal.say(f"erased {count_memories(len(erased))} that came from sessions")


DEFAULT_LIMIT = 40  # memories: five calls


def enrich(
    ids: Annotated[
        Texts, Argument(metavar="[ID]...", help="The memories; without any, memories without questions, the newest first.")
    ] = None,
    limit: Annotated[
        int, Option("--limit", "-n", metavar="NUMBER", min=1, max=10_000, help="The largest number of memories.")
    ] = DEFAULT_LIMIT,
    dry_run: Annotated[bool, Option("--dry-run", help="Ask, show the questions, and store nothing.")] = False,
) -> None:
    """Let a language model write the questions that memories answer, so that prompts in other words find them.

    `llm.at_rest` says which model; `claude` is your own Claude Code, with its login. It is sent the texts of the memories. A
    question is stored only where a search for it finds its memory, and no other memory has that question.

    Example: subcog enrich --limit 8 --dry-run
    """
    settings = context.settings()
    provider = memory_questions.require_provider(settings)
    with context.open_state() as state:
        calls, memories = CallBudget(provider, state, settings), _find_memories(ids, state)
        texts = memory_questions.disclose(memories, limit)
        if len(texts) < limit and (left_out_count := len(memories) - len(texts)):
            terminal.say(f"left out {left_out_count}, which may hold a secret")
        if not texts:
            raise nothing_found("there is no memory to write questions for")
        model = f"{safe(provider.name)} ({safe(provider.model)})"
        call_count = pluralize(-(-len(texts) // memory_questions.BATCH), "call")
        terminal.say(f"{model} is sent the texts of {count_memories(len(texts))}, in {call_count}")
        with output.track_items("asking", len(texts)) as advance:
            for checked in memory_questions.ask_about(texts, calls):
                _print_checked(checked if dry_run else memory_questions.store_questions(checked, state))
                advance(1)
    if calls.is_used_up:
        terminal.say(f"the {calls.daily_limit} calls of today are made ({CALLS_SETTING}); the same command goes on tomorrow")
    if not dry_run:
        embedding.start_background_jobs()


def _find_memories(ids: Sequence[str] | None, state: State) -> list[Memory]:
    with context.reading() as store:
        if store is None:
            return []
        if not ids:
            return memory_questions.find_without_questions(store, state)
        named = context.find_memories(store, ids)
    if inactive := [memory for memory in named if not memory.is_live(now_ms())]:
        raise UsageError(f"{inactive[0].id} is {inactive[0].status}, so nothing brings it", "name others")
    return named


def _print_checked(checked: CheckedQuestions) -> None:
    memory = checked.memory
    terminal.result(f"{memory.id}  {safe(memory.content)[:80]}")
    for text in checked.kept:
        terminal.result(f"   {safe(text)}")
    for reason, count in checked.dropped.items():
        if reason == memory_questions.UNREADABLE:
            terminal.say("   the answer about it cannot be used; it is not asked about again")
            continue
        terminal.say(f"   {pluralize(count, 'question')} left out: they {reason}")
