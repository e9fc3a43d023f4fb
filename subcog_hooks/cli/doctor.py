"""`subcog doctor`: check the installation, and show the hook's answer to a prompt."""

import os
from typing import Annotated

import typer
from typer import Option

from subcog_hooks.cli import embedding
from subcog_hooks.cli.agents import registration
from subcog_hooks.cli.checks import background_checks, hook_trial, store_checks
from subcog_hooks.cli.checks.findings import Findings, print_report
from subcog_hooks.cli.terminal import context, output
from subcog_hooks.cli.terminal.output import count_memories, terminal
from subcog_hooks.core import log
from subcog_hooks.core.errors import UsageError
from subcog_hooks.embed import pull
from subcog_hooks.store import index_writer


def doctor(
    prompt: Annotated[str | None, Option("--prompt", metavar="PROMPT", help="Show the hook's answer to this prompt.")] = None,
    memories: Annotated[
        bool, Option("--memories", help="Look at the memories instead, and name each that could be tidied up, with a command.")
    ] = False,
    fix: Annotated[
        bool, Option("--fix", help="Rebuild the search index, embed memories that lack a vector, and check these alone.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object for a report of a fault: no memories, no prompts.")
    ] = False,
) -> None:
    """Check the installation, and show the answer to a prompt.

    It looks at the store, the index, models, permissions, settings and the hook.

    With --memories it names duplicates, contradictions, and memories that have expired or were not used for a year. It also
    names copies of a file that the client loads anyway. Nothing is changed without --fix.

    The exit code is 3 for a damaged store, 4 for a wrong setting, and 5 for a broken embedding model.

    Example: subcog doctor --prompt "how do we log in?"
    """
    if sum((memories, fix, as_json, prompt is not None)) > 1:
        raise UsageError("--memories, --fix, --json and --prompt exclude each other", "give one of them")
    if memories:
        from subcog_hooks.cli import inventory  # only `--memories` needs it

        inventory.print_findings()
        return
    if fix:
        _fix_index_and_vectors()
        return
    findings = Findings(is_collected=as_json)
    home = context.home()
    store_checks.check_home(home, findings)
    store_checks.check_leftovers(home, findings)
    store = store_checks.check_store(home, findings)
    if store is not None:
        with store:
            store_checks.check_index(home, store, findings)
            store_checks.check_models(home, store, findings)
            store_checks.check_namesakes(store, findings)
            store_checks.check_flags(store, findings)
            trial = prompt or hook_trial.make_trial_prompt(store)
    else:
        trial = prompt
    store_checks.check_state(home, findings)
    background_checks.check_cut_offs(home, findings)
    settings = background_checks.check_settings(home, findings)
    background_checks.check_background_jobs(home, settings, findings)
    has_llm = background_checks.check_llm(home, settings, findings)
    background_checks.check_background_llm(home, settings, findings)
    background_checks.check_left_processes(findings)
    background_checks.check_second_looks(home, findings)
    command = hook_trial.check_registration(findings) or registration.executable()
    if as_json:
        trial = None
    spoke = hook_trial.try_hook(command, trial or hook_trial.NO_QUESTION, findings, has_llm=has_llm)
    if as_json:
        print_report(findings)
    elif not trial:
        terminal.say("no memory here can come to a prompt; `subcog remember TEXT` stores one")
    elif not spoke and not findings.is_silenced:
        hook_trial.explain_silence(home, trial)
    if os.path.exists(log.log_path(home)) and not as_json:
        terminal.say(f"the hooks' log is {log.log_path(home)}")
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)


def _fix_index_and_vectors() -> None:
    with context.writing() as store:
        store.rebuild_cues()
        with output.track_items("indexing", sum(store.counts().values())) as advance:
            index = index_writer.rebuild_index(context.home(), store, advance)
        terminal.result(f"indexed {count_memories(index.documents)}")
        if embedded := embedding.embed_now(store, afresh=True):
            terminal.say(f"embedded {embedded}")
    findings, home = Findings(), context.home()
    pull.remove_leftovers(home)
    if checked := store_checks.check_store(home, findings):
        with checked:
            store_checks.check_index(home, checked, findings)
            store_checks.check_models(home, checked, findings)
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)
