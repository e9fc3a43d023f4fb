"""The checks of settings, LLMs, jobs at rest, second looks, and runs that were cut off."""

from contextlib import suppress

from subcog_hooks.cli.checks.findings import Findings
from subcog_hooks.cli.jobs import background_jobs, job_list
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import pluralize, safe
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.core.errors import EXIT_CONFIG, ConfigError, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.llm import ask, providers
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import AGENT_WORDS, LLM_LEARNS, NEVER, SECOND_LOOK, Settings
from subcog_hooks.store import hook_traces, job_record, recorded_decisions, state_values, verdicts
from subcog_hooks.store.job_record import DONE, PUT_OFF, UNFINISHED
from subcog_hooks.store.lock import is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.verdicts import FAILED, Decision

MAX_SECOND_LOOKS = 20  # latest second looks that are checked for failures


def check_cut_offs(home: Home, findings: Findings) -> None:
    cut_off = hook_traces.read_cut_offs(home, now_ms())
    if not cut_off:
        return
    decisions: list[Decision] = []
    with suppress(StoreError), context.existing_state(home) as state:  # `check_state` has reported it
        if state:
            decisions = recorded_decisions.find_latest(state, verdicts.MAX_DECISIONS, since_ms=cut_off[-1].at_ms)
    total = len(cut_off) + len(decisions)
    were = "was" if len(cut_off) == 1 else "were"
    findings.note(f"{len(cut_off)} of the last {total} runs of the hook {were} cut off: this machine was busy")


def check_settings(home: Home, findings: Findings) -> Settings:
    project = context.here()
    settings = loading.load(home, project.root if project else None)
    for problem in settings.problems:
        findings.bad(problem, EXIT_CONFIG)
    for line in settings.ignored:
        findings.note(line)
    for switch in ("surfacing.enabled", "search_intent.enabled"):
        if not settings[switch]:
            findings.is_silenced = True
            findings.note(f"{switch} is false: the hook is silent")
    for switch, when in (
        ("surfacing.tools", "when a tool touches a file"),
        ("surfacing.session_start", "when a session begins"),
    ):
        if not settings[switch]:
            findings.note(f"{switch} is false: the hook is silent {when}")
    if not settings.problems:
        findings.good("settings")
    return settings


def check_background_jobs(home: Home, settings: Settings, findings: Findings) -> None:
    record = job_record.read_record(home)
    is_at_work = is_held(home.jobs_lock)
    for job in job_list.JOBS:
        if not job.is_wanted(settings):
            continue
        last = record.runs.get(job.name)
        if last is None:
            if job.is_due(home) and not is_at_work:
                findings.note(f"at rest, {job.name}: not run yet; it starts with the next session or command")
            continue
        if last.outcome in (PUT_OFF, UNFINISHED) and not job.is_due(home):
            continue  # A command has done the work since.
        message = f"at rest, {job.name}: {safe(last.result)} ({lookup.local_time(last.ended_ms)}, {last.took_ms / 1000:.1f} s)"
        if last.outcome == DONE:
            findings.good(message)
        else:
            findings.note(f"{message}; {last.outcome}, {background_jobs.describe_next(job, last)}")
    if is_at_work:
        findings.good("at rest: a process is at work now")


def check_llm(home: Home, settings: Settings, findings: Findings) -> bool:
    """Show which LLM classifies prompts, the source of its key, and whether its circuit is open.

    Return whether one is asked.
    """
    try:
        provider = providers.provider_of(settings, home)
    except ConfigError as error:
        findings.bad(str(error), EXIT_CONFIG)
        return False
    if provider is None:
        findings.good("no LLM: the words of a prompt alone decide what it asks for")
        return False
    origin = f"key from {settings['llm.key_file'] or providers.VARIABLES[provider.name]}" if provider.key else "no key"
    name = f"LLM {provider.name}: {provider.model} at {provider.base_url}, {origin}"
    if not settings["search_intent.use_llm"]:
        findings.note(f"{name}; not asked, search_intent.use_llm is false")
        return False
    if seconds := _open_circuit_s(home, provider):
        findings.note(f"{name}; it failed too often, and is not asked for {seconds:.0f} s more")
    else:
        findings.good(name)
    return True


def check_background_llm(home: Home, settings: Settings, findings: Findings) -> None:
    try:
        provider = providers.background_provider(settings, home)
    except ConfigError as error:
        findings.bad(str(error), EXIT_CONFIG)
        return
    if provider is None:
        return
    name = f"LLM at rest {provider.name}: {safe(provider.model)} at {safe(provider.base_url)}"
    calls = f"{_count_calls_today(home)} of {settings['llm.calls_a_day']} calls today"
    senders = "`subcog enrich`, `search --rank`" + (" and second looks" if settings[SECOND_LOOK] != NEVER else "")
    if settings["llm.enrich"]:
        senders += ", and by llm.enrich what you store,"
    words = "and the agent's last words" if settings[AGENT_WORDS] else "once `subcog setup` has your yes"
    typed = f"; by llm.learn it is sent what you type in sessions, {words}" if settings[LLM_LEARNS] else ""
    with suppress(StoreError):
        calls = "; ".join((calls, *background_jobs.describe_calls(home)))
    findings.good(f"{name}; {senders} send it the texts of memories{typed}; {calls}")


def check_left_processes(findings: Findings) -> None:
    from subcog_hooks.cli.jobs.machine import find_leftover_processes  # psutil takes 20 ms to load

    for number, name in find_leftover_processes():
        description = f"process {number} ({safe(name)}) was started by a client that was asked as a model"
        findings.note(f"{description}, and has outlived it; end it if it is of no use")


def check_second_looks(home: Home, findings: Findings) -> None:
    try:
        with context.existing_state(home) as state:
            looks = recorded_decisions.find_latest(state, MAX_SECOND_LOOKS, event=verdicts.LOOK_EVENT) if state else []
    except StoreError:
        return  # `check_state` has reported it
    failed = [look for look in looks if look.outcome == FAILED]
    if failed:
        share = f"{len(failed)} of the last {pluralize(len(looks), 'second look')}"
        findings.note(f"{share} failed, the last: {safe(failed[0].reason)}")


def _count_calls_today(home: Home) -> int:
    with suppress(StoreError), context.existing_state(home) as state:
        return state_values.llm_calls_today(state, now_ms()) if state else 0
    return 0


def _open_circuit_s(home: Home, provider: providers.Provider) -> float:
    """Return the seconds until an LLM may be asked again; 0.0 if it may now, or if state.db is unreadable."""
    until, now = None, now_ms()
    with suppress(StoreError), context.existing_state(home) as state:
        until = ask.open_until(state, provider.circuit) if state else None
    return (until - now) / 1000 if until is not None and ask.is_open(until, now) else 0.0
