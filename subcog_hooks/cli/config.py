"""`subcog config`: reading and writing config.toml. Comments and order stay."""

import os
from typing import Annotated

import tomlkit
import typer
from typer import Argument, Option

from subcog_hooks.cli.commands import AsJson, AsJsonl, run_alone
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import pluralize, terminal
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.core.errors import ConfigError, StoreError, UsageError
from subcog_hooks.core.files import WholeFile, read_regular
from subcog_hooks.embed import models
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.llm import providers
from subcog_hooks.settings import loading, sources
from subcog_hooks.settings.defaults import EVERYTHING, LEARN, PRESETS, Settings, Value
from subcog_hooks.settings.sources import KEYS, Key
from subcog_hooks.store import past_runs
from subcog_hooks.store.home_files import LOCK_WAIT_MS, ProcessLock
from subcog_hooks.store.verdicts import SPOKE

NOT_SET = "(not set)"  # an empty value in a list would look like a mistake
MIN_RELEVANCE, MAYBE_RELEVANCE = "surfacing.min_relevance", "surfacing.maybe_relevance"
LOG_PROMPTS = "surfacing.log_prompts"
MAX_PREVIEWED = 100  # latest prompts
MAX_NAMED = 5  # prompts that a setting would change

commands = typer.Typer(
    help="Read and change the settings in config.toml. A project's .subcog.toml adjusts some: the hook only gets more silent."
    "\n\nExample: subcog config"
)

_Setting = Annotated[str, Argument(metavar="SETTING", help="The setting, for instance surfacing.max_memories.")]


@commands.command()
def path() -> None:
    """Print the path of the settings file.

    Example: subcog config path
    """
    terminal.result(context.home().config)


@commands.command()
def get(key: _Setting) -> None:
    """Print the value of one setting as it counts in this folder.

    Example: subcog config get surfacing.min_relevance
    """
    _find_key(key)
    terminal.result(_format_value(context.settings()[key]))


@commands.command(name="list")
def list_(as_json: AsJson = False, as_jsonl: AsJsonl = False) -> None:
    """List all settings with their values and meanings, and where a value comes from that is not the default.

    Example: subcog config list
    """
    settings = context.settings()
    records = [
        {"name": key.name, "value": settings[key.name], "source": settings.source_of(key.name) or None, "meaning": key.help}
        for key in KEYS.values()
    ]
    if terminal.rows(records, as_json=as_json, as_jsonl=as_jsonl):
        return
    rows = [(key, _format_value(settings[key.name]) or NOT_SET, settings.source_of(key.name)) for key in KEYS.values()]
    if terminal.is_drawn:
        from subcog_hooks.cli import results  # it loads rich

        terminal.page(results.settings_view(rows))
        return
    for key, value, source in rows:
        terminal.result(f"{key.name} = {value}{source and f'  # {source}'}")


run_alone(commands, list_)


@commands.command(name="set")
def set_(
    key: _Setting,
    value: Annotated[str, Argument(metavar="VALUE", help="The new value; `default` removes the setting from the file.")],
    dry_run: Annotated[bool, Option("--dry-run", help="Show the change without making it.")] = False,
) -> None:
    """Change one setting. For a relevance that memories or lines need it says which prompts would have got some.

    Example: subcog config set surfacing.min_relevance 0.4 --dry-run
    """
    setting = _find_key(key)
    if value == "default":
        preset = PRESETS[str(loading.load(context.home())["fusion.preset"])]
        new = preset.get(key, setting.default)
    else:
        new = setting.from_text(value)
    if key == models.SETTING and not models.find_space(context.home(), str(new)).is_packaged:
        models.chosen_space(context.home(), Settings({key: new}))  # raises if a file of the model is gone
    if not dry_run:
        write_setting(key, None if value == "default" else new)
    terminal.say(f"{key} {'would be' if dry_run else '='} {_format_value(new)}")
    if key in (MIN_RELEVANCE, MAYBE_RELEVANCE):
        _preview_threshold(float(new), is_for_lines=key == MAYBE_RELEVANCE)
    if dry_run:
        return
    if key == LOG_PROMPTS and not new:
        _forget_prompts()
    if key == LEARN and not new:
        _forget_learned_questions()
    if key.startswith("llm.") or key == "search_intent.use_llm":
        try:
            providers.provider_of(loading.load(context.home()), context.home())
        except ConfigError as error:
            terminal.say(f"no LLM is asked yet: {error}")


def _forget_prompts() -> None:
    """Delete the texts of earlier prompts. If that fails, the hook's next run deletes them."""
    home = context.home()
    past_runs.forget_silent_calls(home)
    if not os.path.exists(home.state_db):
        return
    try:
        with context.open_state(terminal.say) as state:
            past_runs.forget_prompt_texts(state)
        _forget_learned_questions()
        terminal.say("stored earlier prompts are deleted")
    except StoreError as error:
        terminal.say(f"stored earlier prompts are deleted with the next one ({error.message})")


def _forget_learned_questions() -> None:
    from subcog_hooks.cli.proposals import memory_questions  # it loads recall

    with context.existing_state(context.home(), tell=terminal.say) as state:
        memory_questions.forget_all(state)


def _preview_threshold(bar: float, *, is_for_lines: bool) -> None:
    """Say to how many of the last prompts something would have come, and name the first ones that differ."""
    would_come = lookup.would_point if is_for_lines else lookup.would_speak
    try:
        with context.existing_state(context.home(), tell=terminal.say) as state:
            past_verdicts = past_runs.find_latest(state, MAX_PREVIEWED, event=PROMPT_EVENT) if state else []
        rows = [
            (verdict, would_come(verdict, bar), bool(verdict.pointed) if is_for_lines else verdict.outcome == SPOKE)
            for verdict in past_verdicts
        ]
        changed = [(verdict, would) for verdict, would, came in rows if would != came and verdict.candidates][:MAX_NAMED]
        with context.reading() as store:
            memories = store.by_ids([verdict.candidates[0].id for verdict, _ in changed]) if store else {}
    except StoreError as error:  # the setting is stored in any case
        terminal.say(error.message)
        return
    if not rows:
        terminal.say("no prompt has come to the hook yet, so its effect is not known")
        return
    would_count, came_count = sum(would for _, would, _ in rows), sum(came for *_, came in rows)
    terminal.say(
        f"with it, {'lines' if is_for_lines else 'memories'} would have come to {would_count} of the last"
        f" {pluralize(len(rows), 'prompt')}; they came to {came_count}"
    )
    for verdict, would in changed:
        memory = memories.get(verdict.candidates[0].id)
        if memory and memory.status != "deleted":
            prompt = lookup.prompt_text(verdict, lookup.MAX_CHARS)
            terminal.say(f"  {'+' if would else '-'} {prompt!r}: {lookup.memory_line(memory)}")


def write_setting(key: str, value: Value | None) -> None:
    """Write one setting into the user's file; None removes it. Raises ConfigError, StoreError."""
    home = context.home()
    home.create()
    if value is not None:
        KEYS[key].check_value(value)
    with ProcessLock(f"{home.config}.lock", LOCK_WAIT_MS, "changing the settings"):
        text = ""
        if os.path.exists(home.config):
            _refuse_unreadable(sources.parse_file(home.config, is_own=True))
            text = read_regular(home.config, sources.MAX_FILE).decode("utf-8-sig")
        changed = _change_setting(text, key, value)
        _refuse_unreadable(sources.parse_settings(changed.encode(), os.path.basename(home.config), is_own=True))
        try:
            with WholeFile(os.path.realpath(home.config)) as whole:  # a link into somebody's dotfiles stays a link
                whole.file.write(changed)
        except OSError as error:
            fact = f"{home.config} cannot be written: {error.strerror}"
            raise ConfigError(fact, "check its permissions and the disk") from error


def _refuse_unreadable(settings: Settings) -> None:
    if EVERYTHING in settings.left_out:
        raise ConfigError(settings.problems[0], "correct it by hand")


def _change_setting(text: str, key: str, value: Value | None) -> str:
    """Return a settings file with another value of one setting, without it for None. Raises ConfigError."""
    section, _, name = key.partition(".")
    document = tomlkit.parse(text.replace("\r\n", "\n"))
    document.setdefault(section, tomlkit.table())
    table = document[section]
    if not isinstance(table, dict):
        raise ConfigError(f"config.toml: {section} is no table, expected [{section}] and its settings", "correct it by hand")
    if value is not None:
        table[name] = value
    else:
        table.pop(name, None)
        if not table and not tomlkit.dumps(table).strip():  # the person's comments may be left in it
            del document[section]
    return tomlkit.dumps(document).replace("\n", "\r\n" if "\r\n" in text else "\n")


def _find_key(name: str) -> Key:
    if name not in KEYS:
        raise UsageError(f"{name} is not a setting", "`subcog config list` shows all")
    return KEYS[name]


def _format_value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
