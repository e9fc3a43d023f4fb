"""`subcog setup` asks which agents get the hook, and which work subcog may do by itself. `init` asks the same once."""

import math
from contextlib import suppress
from typing import Annotated

from typer import Option

from subcog_hooks.capture.import_changes import ImportOptions
from subcog_hooks.capture.sources import decision_records, rule_files
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.cli.claude_code import claude_notes, registration
from subcog_hooks.cli.config import write_setting
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.support import client_settings, context, embedding, import_from, inputs, llm_use
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.hook.session import BRIEF_UNITS_SETTING
from subcog_hooks.settings.defaults import (
    AT_ONCE,
    BACKGROUND_LLM,
    CLAUDE,
    DECLINED_AGENTS,
    DEFAULTS,
    ENRICH,
    LEARNED_IN_BACKGROUND,
    LLM_LEARNS,
    NO_LLM,
    NOT_LEARNED,
    NOTES_SETTING,
    SESSIONS_SETTING,
)
from subcog_hooks.store import state_values
from subcog_hooks.store.memory import now_ms

CALLS_SETTING = "llm.calls_a_day"
COUNTED_DAYS = 30  # days of sessions by which the calls a day are estimated
HERE_SOURCES = (decision_records.ADR, *rule_files.SOURCES)  # sources in the current repository


def setup(
    yes: Annotated[bool, Option("--yes", "-y", help="Switch everything on, a model only in a terminal.")] = False,
    no: Annotated[bool, Option("--no", help="Switch the background work off at once.")] = False,
) -> None:
    """Choose the agents with the hook and subcog's background work, and show the choices.

    It can bring in notes that exist, ask your own Claude about finished sessions, and act at once on what it finds. Without a
    terminal, and without an option, it only shows what is on.

    Example: subcog setup --no
    """
    inputs.refuse_several({"--yes": yes, "--no": no})
    if no:
        for setting, value in ((NOTES_SETTING, False), (SESSIONS_SETTING, NOT_LEARNED), (BACKGROUND_LLM, NO_LLM)):
            write_setting(setting, value)
    elif yes or terminal.interactive:
        _ask_for_agents(frozenset(), is_sure=yes)
        _ask_for_notes(is_sure=yes)
        _ask_for_claude(is_sure=yes)
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
        _ask_for_brief(is_sure=yes)
    if not settings.is_set(NOTES_SETTING):
        _ask_for_notes(is_sure=yes)
    if not settings.is_set(BACKGROUND_LLM) and not settings.is_set(SESSIONS_SETTING):
        _ask_for_claude(is_sure=yes)


def _confirm(question: str, *, is_sure: bool, default: bool = True) -> bool:
    return is_sure or terminal.confirm(question, default=default)


def _ask_for_agents(unasked: frozenset[str], *, is_sure: bool) -> None:
    """Ask about each installed agent that is tried, and has no hook. unasked: the names of agents to leave out."""
    for client in client_settings.find_clients(has_hook=False):
        if client.name in unasked or not client.is_tried:
            continue
        if not _confirm(f"Found {client.title}. Give it your memories, too?", is_sure=is_sure):
            write_setting(DECLINED_AGENTS, ",".join(sorted({*_declined_agents(), client.name})))
            continue
        try:
            client_settings.register(client)
        except SubcogError as error:
            terminal.complain(f"subcog: {error.message}")


def _declined_agents() -> frozenset[str]:
    return frozenset(filter(None, str(context.settings()[DECLINED_AGENTS]).split(",")))


def _ask_for_brief(*, is_sure: bool) -> None:
    max_characters = int(DEFAULTS[BRIEF_UNITS_SETTING])
    question = f"Start each session with a short list of your most useful memories (up to {max_characters:,} characters)?"
    write_setting(BRIEF_UNITS_SETTING, max_characters if _confirm(question, is_sure=is_sure) else 0)


def _ask_for_notes(*, is_sure: bool) -> None:
    notes, projects, others = claude_notes.count_notes()
    here = _read_here()
    found = []
    if notes:
        found.append(f"{pluralize(notes, 'note')} that Claude Code wrote in {pluralize(projects, 'project')}")
    if others:
        found.append(pluralize(others, "CLAUDE.md or rule", "CLAUDE.md files and rules"))
    for name, reading in here.items():
        is_adr = name == decision_records.ADR
        found.append(f"{pluralize(len(reading.rows), 'decision record') if is_adr else f'rules of {name}'} here")
    if not found:
        return
    is_wanted = _confirm(f"Found: {', '.join(found)}. They come again when they change. Bring them in?", is_sure=is_sure)
    write_setting(NOTES_SETTING, is_wanted)
    if not is_wanted:
        return
    if (notes or others) and (report := claude_notes.import_changed(context.home())):
        terminal.say(f"added {pluralize(report.added, 'note')} of Claude Code")
    for name, reading in here.items():
        _import_here(name, reading)
    embedding.start_background_jobs()


def _read_here() -> dict[str, SourceReading]:
    """Return the decision records and rule files of the current repository, by source. What cannot be read is left out."""
    readings = {}
    for name, _ in import_from.find_sources():
        if name in HERE_SOURCES:
            with suppress(SubcogError):
                readings[name] = import_from.read_source(name, None, context.here())
    return {name: reading for name, reading in readings.items() if reading.rows}


def _import_here(name: str, reading: SourceReading) -> None:
    options = import_from.options_in_project(ImportOptions(), context.here())
    entry = import_from.describe_import(None, name, options)
    try:
        with context.writing() as store:
            report = import_from.import_source(reading, store, options)
            import_from.finish_import(report, store)
        import_from.record_import(entry)
    except SubcogError as error:
        terminal.complain(f"subcog: {name}: {error.message}")
        return
    terminal.say(f"added {report.added} of {name}")


def _ask_for_claude(*, is_sure: bool) -> None:
    if registration.find_program(CLAUDE) is None:
        return  # There is nobody to ask.
    if not terminal.interactive:
        terminal.say("`subcog setup` asks in a terminal alone whether your own Claude may read your sessions")
        return
    settings = context.settings()
    calls = min(int(settings[CALLS_SETTING]), max(1, _sessions_a_day()) + 1)
    terminal.say(
        "Your own Claude can read, while you don't work, what you typed in finished sessions, and keep what is worth keeping; "
        f"and write the questions that your notes answer. About {pluralize(calls, 'small call')} a day, of your own plan "
        f"(at most {settings[CALLS_SETTING]}). It is sent what you typed and your notes, without what may hold a secret."
    )
    is_wanted = _confirm("May it?", is_sure=is_sure, default=False)
    write_setting(BACKGROUND_LLM, CLAUDE if is_wanted else NO_LLM)
    if not is_wanted:
        write_setting(SESSIONS_SETTING, NOT_LEARNED)
        return
    write_setting(LLM_LEARNS, True)
    write_setting(ENRICH, True)
    question = (
        "Act at once on what it finds? Each is named in one line when a session starts, and `subcog learn --undo` takes it "
        "back. Otherwise it waits for `subcog review`."
    )
    write_setting(SESSIONS_SETTING, AT_ONCE if _confirm(question, is_sure=is_sure) else LEARNED_IN_BACKGROUND)
    embedding.start_background_jobs()


def _sessions_a_day() -> int:
    since = now_ms() - COUNTED_DAYS * learning_runs.DAY_MS
    recent = [file for file in learning_runs.find_all_transcripts(None) if file.changed >= since]
    return math.ceil(len(recent) / COUNTED_DAYS)


def _show_choices() -> None:
    settings = context.settings()
    with context.existing_state(context.home()) as state:
        calls = state_values.llm_calls_today(state, now_ms()) if state else 0
    model = str(settings[BACKGROUND_LLM])
    terminal.result(f"notes of Claude Code   {'on' if settings[NOTES_SETTING] else 'off'}")
    asked = f"{safe(model)}, {calls} of {settings[CALLS_SETTING]} calls today" if model != NO_LLM else "off"
    terminal.result(f"a model at rest        {asked}")
    for line in llm_use.describe_calls(context.home()):
        terminal.result(f"                       {line}")
    meaning = {AT_ONCE: "act at once on what it finds", LEARNED_IN_BACKGROUND: "wait for `subcog review`"}
    value = str(settings[SESSIONS_SETTING])
    terminal.result(f"your sessions          {meaning.get(value, value)}")
    names = ", ".join(client.title for client in client_settings.find_clients(has_hook=True))
    terminal.result(f"other agents           {names or 'none'}")
