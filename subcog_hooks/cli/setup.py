"""`subcog setup` asks which agents get the hook, and about background work. `init` asks the same once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated

from typer import Option

from subcog_hooks.capture.import_changes import ImportOptions
from subcog_hooks.capture.sources import catalogue, claude, repository
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.cli import background_jobs, embedding, import_from
from subcog_hooks.cli.agents import claude_code, other_agents
from subcog_hooks.cli.config import write_setting
from subcog_hooks.cli.proposals import learning_runs, memory_questions
from subcog_hooks.cli.proposals.memory_questions import CALLS_SETTING
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import pluralize, safe, terminal
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.episodes.episode_store import EpisodeStore
from subcog_hooks.hook.session import BRIEF_UNITS_SETTING
from subcog_hooks.learn.quoting import MAX_NOTES
from subcog_hooks.learn.transcript import MAX_REPLY
from subcog_hooks.learn.transcript_files import TranscriptFile
from subcog_hooks.llm import ask, providers
from subcog_hooks.settings import defaults
from subcog_hooks.settings.defaults import KEPT_SESSIONS, NOTES_SETTING, Settings, Value
from subcog_hooks.store import home_files
from subcog_hooks.store.memory import now_ms

HERE_SOURCES = (repository.ADR, *repository.SOURCES)  # sources in the current repository


def setup(
    yes: Annotated[bool, Option("--yes", "-y", help="Switch everything on, a model only in a terminal.")] = False,
    no: Annotated[bool, Option("--no", help="Switch the background work off at once.")] = False,
) -> None:
    """Choose subcog's own background work, and show the choices.

    It asks only what is open: about agents without the hook, about notes that exist, and whether your own Claude may read
    finished sessions. Without a terminal, and without an option, it only shows what is on.

    Example: subcog setup --no
    """
    inputs.refuse_several({"--yes": yes, "--no": no})
    if no:
        for setting in (NOTES_SETTING, KEPT_SESSIONS, defaults.SESSIONS_SETTING, defaults.BACKGROUND_LLM, defaults.AGENT_WORDS):
            write_setting(setting, defaults.DEFAULTS[setting])  # All are off unless somebody switched them on.
    elif yes or terminal.interactive:
        _ask_for_agents(frozenset(), is_sure=yes)
        _ask_for_notes(is_sure=yes)
        if context.settings()[KEPT_SESSIONS] == defaults.NOT_READ:
            _ask_for_sessions(is_sure=yes)
        _ask_for_model(is_sure=yes)
    _show_choices()
    if not no:
        terminal.say("`subcog setup --no` switches the background work off, `subcog uninstall --for` takes an agent's hook out")


def ask_once(*, yes: bool, no: bool) -> None:
    """Ask, on a terminal, about each part that is not chosen yet. yes, no: the answer to all of it."""
    if no or not (yes or terminal.interactive):
        return
    settings = context.settings()
    _ask_for_agents(_declined_agents(), is_sure=yes)
    if not settings.is_set(BRIEF_UNITS_SETTING):
        max_characters = int(defaults.DEFAULTS[BRIEF_UNITS_SETTING])
        question = f"Start each session with a short list of your most useful memories (up to {max_characters:,} characters)?"
        write_setting(BRIEF_UNITS_SETTING, max_characters if _confirm(question, is_sure=yes) else 0)
    if not settings.is_set(NOTES_SETTING):
        _ask_for_notes(is_sure=yes)
    if not settings.is_set(KEPT_SESSIONS):
        _ask_for_sessions(is_sure=yes)
    refuses_models = settings.is_set(defaults.BACKGROUND_LLM) and settings[defaults.BACKGROUND_LLM] == defaults.NO_LLM
    if not (settings.is_set(defaults.AGENT_WORDS) or refuses_models):
        _ask_for_model(is_sure=yes)


def _confirm(question: str, *, is_sure: bool, default: bool = True) -> bool:
    return is_sure or terminal.confirm(question, default=default)


def _ask_for_agents(unasked: frozenset[str], *, is_sure: bool) -> None:
    """Ask about each installed agent that is tried, and has no hook. unasked: the names of agents to leave out."""
    for client in other_agents.find_clients(has_hook=False):
        if client.name in unasked or not client.is_tried:
            continue
        if not _confirm(f"Found {client.title}. Give it your memories, too?", is_sure=is_sure):
            write_setting(defaults.DECLINED_AGENTS, ",".join(sorted({*_declined_agents(), client.name})))
            continue
        try:
            other_agents.register(client, other_agents.command_for(client), other_agents.find_skills(client))
        except SubcogError as error:
            terminal.complain(f"subcog: {error.message}")


def _declined_agents() -> frozenset[str]:
    return frozenset(filter(None, str(context.settings()[defaults.DECLINED_AGENTS]).split(",")))


def _ask_for_notes(*, is_sure: bool) -> None:
    """Ask about notes that do not come yet: this repository's records and rules, and those of Claude Code in all projects."""
    here, is_wanted = _read_here(), bool(context.settings()[NOTES_SETTING])
    if here:
        found = [
            pluralize(len(reading.rows), "decision record") if name == repository.ADR else f"rules of {name}"
            for name, reading in here.items()
        ]
        if _confirm(f"Found here: {', '.join(found)}. They come again when they change. Bring them in?", is_sure=is_sure):
            for name, reading in here.items():
                options = import_from.options_in_project(ImportOptions(), context.here())
                entry = import_from.describe_import(None, name, options)
                with _errors_named(name):
                    with context.writing() as store:
                        report = import_from.import_source(reading, store, options)
                        import_from.finish_import(report, store)
                    import_from.record_import(entry)
                    terminal.say(f"added {report.added} of {name}")
    found = []
    if not is_wanted:
        config = claude_code.notes_folder()
        folders = claude.find_memory_folders(config)
        if notes := sum(len(list(claude.find_topic_files(folder))) for folder in folders):
            found.append(f"{pluralize(notes, 'note')} that Claude Code wrote in {pluralize(len(folders), 'project')}")
        if others := len(list(claude.find_loaded_files(config))):
            found.append(pluralize(others, "CLAUDE.md or rule", "CLAUDE.md files and rules"))
    if found:
        question = f"Found: {' and '.join(found)}. Bring them in, now and whenever they change, in every project?"
        is_wanted = _confirm(question, is_sure=is_sure)
    if here or found:
        write_setting(NOTES_SETTING, is_wanted)  # After a no, too: `init` does not ask again.
    if found and is_wanted and (imported := import_from.import_claude_notes(context.home())):
        terminal.say(f"added {pluralize(imported.added, 'note')} of Claude Code")
    embedding.start_background_jobs()


@contextmanager
def _errors_named(name: str) -> Iterator[None]:
    """Print an error of an optional step, so that the others follow."""
    try:
        yield
    except SubcogError as error:
        terminal.complain(f"subcog: {name}: {error.message}")


def _read_here() -> dict[str, SourceReading]:
    """Return the readable decision records and rules of the current repository that do not come yet, by source."""
    readings = {}
    imported, surroundings = _list_imported(), import_from.surroundings()
    for name, _ in catalogue.find_sources(surroundings):
        if name in HERE_SOURCES and name not in imported:
            with suppress(SubcogError):
                readings[name] = catalogue.read_source(name, None, surroundings)
    return {name: reading for name, reading in readings.items() if reading.rows}


def _list_imported() -> list[str]:
    here = context.here()
    entries = home_files.read_imports(context.home()) if here else []
    return [entry.source for entry in entries if here and entry.root == here.root and entry.source in HERE_SOURCES]


def _ask_for_sessions(*, is_sure: bool) -> None:
    """Ask whether past sessions may be made searchable, and read them after a yes. Nothing is asked where there are none."""
    transcripts: Sequence[TranscriptFile] = ()
    with _errors_named("past sessions"):
        transcripts, _ = learning_runs.find_idle_transcripts(None, None)
    if not transcripts:
        return
    count = pluralize(len(transcripts), "past session")
    question = (
        f"Found {count}. Make them searchable on this machine, and new ones when they are over? Nothing is sent. "
        f"A session goes when its agent deletes it (Claude Code: after 30 days), unless {KEPT_SESSIONS} is an age such as 365d."
    )
    is_wanted = _confirm(question, is_sure=is_sure)
    write_setting(KEPT_SESSIONS, defaults.WITH_TRANSCRIPT if is_wanted else defaults.NOT_READ)
    if not is_wanted:
        return
    with _errors_named("past sessions"):
        with EpisodeStore.writer(context.home()) as store:
            report = learning_runs.read_with_progress(store, transcripts)
        terminal.say(f"{pluralize(report.episodes, 'exchange')} of {pluralize(report.sessions, 'session')} can be searched")
    embedding.start_background_jobs()


def _ask_for_model(*, is_sure: bool) -> None:
    """Ask whether a model may read finished sessions, unless it does. Your own Claude is asked about where none is chosen."""
    settings = context.settings()
    if background_jobs.wants_model_proposals(settings):
        return
    model = defaults.CLAUDE if settings[defaults.BACKGROUND_LLM] == defaults.NO_LLM else str(settings[defaults.BACKGROUND_LLM])
    try:
        providers.background_provider(settings.with_value(defaults.BACKGROUND_LLM, model), context.home())
        memory_questions.require_calls(settings)
    except SubcogError as error:
        terminal.say(f"no model can read your sessions: {error}")
        return
    if not terminal.interactive:
        terminal.say("`subcog setup` asks in a terminal alone whether your own Claude may read your sessions")
        return
    terminal.say(_describe_reading("Your own Claude, on your own plan," if model == defaults.CLAUDE else model, settings))
    is_wanted = _confirm("May it?", is_sure=is_sure, default=False)
    chosen: dict[str, Value] = {defaults.AGENT_WORDS: is_wanted}
    if is_wanted:
        chosen |= {defaults.BACKGROUND_LLM: model, defaults.LLM_LEARNS: True, defaults.ENRICH: True}
    if is_wanted and settings[defaults.SESSIONS_SETTING] == defaults.NOT_LEARNED:
        question = (
            "Act at once on what it finds? Each is named in one line when a session starts, and `subcog learn --undo` takes it "
            "back. Otherwise it waits for `subcog review`."
        )
        chosen[defaults.SESSIONS_SETTING] = (
            defaults.AT_ONCE if _confirm(question, is_sure=is_sure) else defaults.LEARNED_IN_BACKGROUND
        )
    for setting, value in chosen.items():  # Once all is answered: an interrupt between two questions chooses nothing.
        write_setting(setting, value)
    embedding.start_background_jobs()


def _describe_reading(reader: str, settings: Settings) -> str:
    """Return the words that a person says yes to: the texts that are sent, and the daily limit."""
    return (
        f"{reader} can read finished sessions while you don't work, and keep what is worth keeping. For each session "
        f"it is sent what you typed, the last {MAX_REPLY} characters of the agent's answer to each prompt, no code, and "
        f"up to {MAX_NOTES} of the project's notes, a line each. What may hold a secret, or is marked private, is left out. "
        f"It also writes the questions that your notes answer, and is sent the notes for that. "
        f"It is asked {settings[CALLS_SETTING]} times a day at most ({CALLS_SETTING})."
    )


def _show_choices() -> None:
    settings = context.settings()
    with context.existing_state(context.home()) as state:
        calls = ask.llm_calls_today(state, now_ms()) if state else 0
    model, sessions = str(settings[defaults.BACKGROUND_LLM]), str(settings[defaults.SESSIONS_SETTING])
    asked = f"{safe(model)}, {calls} of {settings[CALLS_SETTING]} calls today" if model != defaults.NO_LLM else "off"
    imported = _list_imported()
    meaning = {defaults.AT_ONCE: "act at once on what it finds", defaults.LEARNED_IN_BACKGROUND: "wait for `subcog review`"}
    agents = ", ".join(client.title for client in other_agents.find_clients(has_hook=True))
    for name, choice in (
        ("notes of Claude Code", "on" if settings[NOTES_SETTING] else "off"),
        *([("notes of this project", ", ".join(imported))] if imported else []),
        ("a model at rest", asked),
        ("your sessions", meaning.get(sessions, sessions)),
        ("search of sessions", str(settings[KEPT_SESSIONS])),
        ("other agents", agents or "none"),
    ):
        terminal.result(f"{name:<23}{choice}")
