"""`subcog` alone: how it stands here, in six lines, and the next step."""

from subcog_hooks.cli.agents import inspection
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import pluralize, safe, terminal
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import AGENT_WORDS, KEPT_SESSIONS, NOT_READ, NOTES_SETTING
from subcog_hooks.store import past_runs, state_values
from subcog_hooks.store.memory import now_ms

OFF_SWITCHES = ("surfacing.enabled", "search_intent.enabled")  # Without either the hook is silent.


def show_overview() -> int:
    """Print the state of subcog in this folder, and the next step. Return the exit code. Raises StoreError."""
    project = context.here()
    with context.reading() as store:
        waiting = store.count_pending() if store else 0
        shared = store.count_active(()) if store else 0
        own = store.count_active(project.names) - shared if store and project else 0
    agents = inspection.find_agents()
    is_paused, last = _read_last_prompt()
    settings = loading.load(context.home(), project.root if project else None)
    off = next((switch for switch in OFF_SWITCHES if not settings[switch]), "")
    here = f"{own:,} for {safe(project.identity)}" if project else "this folder is in no project"
    terminal.result(f"Notes   {shared:,} for all your projects; {here}")
    states = [f"runs in {', '.join(agents.running)}"] if agents.running else []
    states += [f"server for {', '.join(agents.served)}"] if agents.served else []
    states += [f"{fault}: {', '.join(titles)}" for fault, titles in agents.at_fault.items()]
    states = states or ["no agent runs it yet"]
    states += ["paused"] * is_paused + [f"switched off by {off}"] * bool(off)
    terminal.result(f"Hook    {'; '.join(states).replace(' CLI', '')}")
    terminal.result(f"Review  {pluralize(waiting, 'note waits', 'notes wait') if waiting else 'nothing waits'} for your word")
    terminal.result(f"Last    {last or 'no prompt has come to the hook yet'}")
    background = (NOTES_SETTING, KEPT_SESSIONS, AGENT_WORDS)
    notes, sessions, model = ("on" if settings[name] not in (False, NOT_READ) else "off" for name in background)
    terminal.result(f"Setup   Claude's notes {notes}, past sessions {sessions}, a model {model}; `subcog setup` asks")
    step = _next_step(shared + own, waiting, agents, is_paused=is_paused, off=off, has_asked=bool(last))
    terminal.result(f"Next    {step}")
    return 0


def _read_last_prompt() -> tuple[bool, str]:
    """Return whether the hook is paused, and the last prompt with the number of its notes; "" without any."""
    with context.existing_state(context.home()) as state:
        latest = past_runs.find_latest(state, 1, event=PROMPT_EVENT) if state else []
        is_paused = state is not None and state_values.is_paused(state, now_ms())
    if not latest:
        return is_paused, ""
    count = len(latest[0].injected)
    given = f"{pluralize(count, 'note')} given" if count else "no note given"
    return is_paused, f"{given} to a prompt of {lookup.local_time(latest[0].at_ms)[:16]}"


def _next_step(notes: int, waiting: int, agents: inspection.Agents, *, is_paused: bool, off: str, has_asked: bool) -> str:
    if not notes:
        return '`subcog remember "…"` stores a note; `subcog --help` lists commands'
    if agents.at_fault and not (agents.running or agents.served):
        return "`subcog doctor` says what the hook needs"
    if not any(agents):
        return "`subcog init` registers the hook with your agent"
    if is_paused:
        return "`subcog resume` ends the pause"
    if off:
        return f"`subcog config list` says who set {off}"
    if waiting:
        return "`subcog review` asks about the notes that wait"
    if not has_asked:
        return "ask your agent about a note; `subcog why` then explains the answer"
    return "`subcog why` explains the last prompt; `subcog --help` lists commands"
