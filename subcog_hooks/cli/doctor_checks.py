"""The checks of `doctor`: home, store, index, vectors, state, settings, LLMs and work at rest. Each yields its findings."""

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress

from subcog_hooks.cli import amendment, background_jobs, embedding
from subcog_hooks.cli.agents.inspection import Remark, bad, good, note
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, pluralize, safe, terminal
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.core import errors
from subcog_hooks.core.errors import EXIT_CONFIG, EXIT_MODEL, ConfigError, ModelError, StoreBusy, StoreCorrupt, StoreError
from subcog_hooks.core.paths import Home, find_home
from subcog_hooks.embed import models
from subcog_hooks.embed.space import Space
from subcog_hooks.hook import detached
from subcog_hooks.llm import ask, providers
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import home_files, index_writer, past_runs
from subcog_hooks.store.home_files import DONE, is_held
from subcog_hooks.store.index import IndexUnusable
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.project import Project
from subcog_hooks.store.state import MADE_ANEW, State, discard, is_paused
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of
from subcog_hooks.store.vector_reader import ExtensionMissing

MAX_NAMESAKES = 3
REPLACED = (StoreCorrupt, errors.StoreTooOld, errors.StoreTooNew)  # reasons to make state.db anew
SILENT_WITHOUT = {  # settings without which the hook is silent, and when
    "surfacing.enabled": "",
    "search_intent.enabled": "",
    "surfacing.tools": " when a tool touches a file",
    "surfacing.session_start": " when a session begins",
}


def check_home(home: Home) -> Iterator[Remark]:
    """Check that the home is a folder, its permissions, and leftover files in it."""
    if ignored := find_home()[1]:
        yield note(ignored)
    if not os.path.exists(home.root):
        yield note(f"{home.root} is not there yet; `subcog remember` makes it")
        return
    if not os.path.isdir(home.root):
        yield bad(f"{home.root} is not a folder; move it away, or set SUBCOG_HOME")
        return
    for path in (home.root, home.memories_db, home.sessions.memories_db, home.state_db, home.config):
        if os.name != "nt" and os.path.exists(path) and os.stat(path).st_mode & 0o077:
            yield note(f"{path} can be read by others; chmod go-rwx {path}")
    yield good(f"home {home.root}")
    for path in models.find_leftovers(home):
        yield note(f"{path} is left of a killed pull or of a model that is gone; `subcog doctor --fix` deletes it")
    if edits := amendment.find_edit_folders(home):
        texts = pluralize(len(edits), "text of an unfinished edit is", "texts of unfinished edits are")
        yield note(f"{texts} in {home.edits}; delete those you do not need")


def check_index(home: Home, store: Store) -> Iterator[Remark]:
    try:
        index = context.index_of(store)
        index_writer.check_index(index)
    except IndexUnusable as error:
        terminal.say(error.message)
        index = index_writer.rebuild_index(home, store)
    except StoreError as error:
        yield bad(str(error))
        return
    stored = _count_undeleted(store)
    if index.watermark < store.revision():
        yield note("the index is being written by another process")
    elif index.documents != stored:
        yield bad(f"the index has {count_memories(index.documents)}, the store {stored}; run `subcog doctor --fix`")
    else:
        yield good(f"index of {count_memories(index.documents)} in {pluralize(index.segments, 'segment')}")


def check_models(home: Home, store: Store) -> Iterator[Remark]:
    settings = loading.load(home)
    try:
        models.chosen_space(home, settings)
    except ModelError as error:
        yield bad(str(error), EXIT_MODEL)
    for space in models.spaces_in_use(home, settings):
        try:
            models.verify_model(space)
            yield good(f"model {space.model} ({space.name})")
        except ModelError as error:
            yield bad(str(error), EXIT_MODEL)
        yield from _check_vectors(home, store, space)


def _check_vectors(home: Home, store: Store, space: Space) -> Iterator[Remark]:
    try:
        with context.vectors_of(store, space) as vectors:
            problems = vectors.problems()
            is_behind = vectors.watermark() < store.revision()
            final, pending = vectors.counts()
            if pending and not problems and not is_behind and embedding.embed_briefly(store, space):
                final, pending = vectors.counts()
    except (ExtensionMissing, StoreBusy) as error:
        yield note(str(error))
        return
    except (StoreError, ModelError) as error:
        yield bad(str(error), error.exit_code)
        return
    for problem in problems:
        yield bad(f"{vectors.path}: {problem}; run `subcog doctor --fix`")
    stored = _count_undeleted(store)
    name = f"vectors ({space.name})"
    if is_behind:
        yield note(f"{name}: being brought up to date by another process")
    elif final + pending != stored:
        yield bad(f"{name}: {final + pending} for {count_memories(stored)} of the store; run `subcog doctor --fix`")
    elif not pending:
        yield good(f"{name}: {final} final")
    else:
        has_job = loading.load(home)["embedding.background"] and detached.may_start()
        worker = "the work at rest" if has_job else "`subcog doctor --fix`"
        yield note(f"{name}: {final} final, {pending} pending; {worker} goes on with it")


def _count_undeleted(store: Store) -> int:
    return sum(count for status, count in store.counts().items() if status != "deleted")


def find_namesakes(store: Store, here: Project) -> list[str]:
    """Return the names of projects with memories that may be the project at hand.

    Remotes are alike in their last two parts, folders in the last one. While the project has no memory of its own, one part is
    enough, and folders that are gone count too: a renamed remote or folder leaves its memories behind.
    """
    own_names = {name for member in here.with_parents() for name in member.names}
    own_parts, is_new = _last_parts(here.identity), not _count_memories(store, *here.names)
    namesakes = []
    for name in store.projects():
        is_folder = os.path.isabs(name)
        length = 1 if is_new or is_folder or os.path.isabs(here.identity) else 2
        is_alike = _last_parts(name)[-length:] == own_parts[-length:]
        is_gone = is_new and is_folder and not os.path.lexists(name)
        if (is_alike or is_gone) and name not in own_names and _count_memories(store, name):
            namesakes.append(name)
    return namesakes[:MAX_NAMESAKES]


def _count_memories(store: Store, *names: str) -> int:
    return store.count(Filter(audiences=tuple(audience_of("project", name) for name in names)))


def _last_parts(name: str) -> list[str]:
    return name.replace(os.sep, "/").lower().rstrip("/").removesuffix(".git").rstrip("/").split("/")


def check_store(home: Home, *, names_projects: bool) -> Iterator[Remark]:
    """Check the store, its index and vectors. names_projects: whether a line names the person's similar projects."""
    try:
        if not context.has_store(home):
            yield note("no memories yet")
            return
        store = Store.writer(home) if os.access(home.root, os.W_OK) else Store.reader(home)
        counts, problems = store.counts(), store.problems()
    except StoreError as error:
        yield bad(str(error))
        return
    for problem in problems:
        yield bad(f"{home.memories_db}: {problem}; `subcog export FILE` saves what can be read")
    if not problems:
        yield good("store sound: " + (", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "empty"))
    with store:
        yield from check_index(home, store)
        yield from check_models(home, store)
        here = context.here() if names_projects else None
        for name in find_namesakes(store, here) if here else ():
            count = _count_memories(store, name)
            command = f"subcog edit $(subcog list --ids -n {count} --project {shlex.quote(name)}) --project here"
            yield note(f"{name} may be this project, too, and has {count_memories(count)}; `{command}` moves all here")


def check_past_sessions(home: Home) -> Iterator[Remark]:
    """Check sessions.db. A file of an earlier version is upgraded by being opened."""
    path = home.sessions.memories_db
    try:
        if os.path.exists(path):
            with Store.writer(home.sessions) if os.access(home.root, os.W_OK) else Store.reader(home.sessions) as store:
                yield from (bad(f"{path}: {problem}; delete it, it is made anew") for problem in store.problems())
    except StoreError as error:
        yield bad(str(error))


def check_state(home: Home) -> Iterator[Remark]:
    if cut_offs := past_runs.read_cut_offs(home, now_ms()):
        runs = pluralize(len(cut_offs), "run of the hook was", "runs of the hook were")
        yield note(f"since {lookup.local_time(cut_offs[-1].at_ms)} {runs} cut off: this machine was busy")
    if not os.path.exists(home.state_db):
        return
    messages: list[str] = []
    try:
        with State.open(home, context.STATE_WAIT_MS, messages.append, REPLACED) as state:
            if state.problems():
                raise StoreCorrupt(f"{home.state_db} was damaged")
            state.begin()  # a process that holds the lock keeps every hook silent
            state.commit()
            in_pause = is_paused(state, now_ms())
    except StoreCorrupt as error:
        discard(home)
        yield note(f"{error.message}; {MADE_ANEW}")
    except StoreError as error:
        yield bad(f"{error}; until then the hook hands over again what a session has had")
    else:
        if in_pause:
            messages.append("the hook is paused; `subcog resume` ends it")
        yield from map(note, messages)
        if not messages:
            yield good("state.db")


def check_settings(settings: Settings) -> Iterator[Remark]:
    for problem in settings.problems:
        yield bad(problem, EXIT_CONFIG)
    yield from map(note, settings.ignored)
    for switch, when in SILENT_WITHOUT.items():
        if not settings[switch]:
            yield note(f"{switch} is false: the hook is silent{when}")
    if not settings.problems:
        yield good("settings")


def check_background_jobs(home: Home, settings: Settings) -> Iterator[Remark]:
    record = home_files.read_record(home)
    is_at_work = is_held(home.jobs_lock)
    for job in background_jobs.JOBS:
        if not job.is_wanted(settings):
            continue
        last = record.runs.get(job.name)
        if last is None:
            if background_jobs.has_work(job, home) and not is_at_work:
                yield note(f"at rest, {job.name}: not run yet; it starts with the next session or command")
            continue
        if last.outcome != DONE and not background_jobs.has_work(job, home):
            continue  # A command has done the work since.
        message = f"at rest, {job.name}: {safe(last.result)} ({lookup.local_time(last.ended_ms)}, {last.took_ms / 1000:.1f} s)"
        if last.outcome == DONE:
            yield good(message)
        else:
            wait_s = background_jobs.wait_s(job, last)
            later = f", at least {wait_s / 60:.0f} minutes later" if wait_s else ""
            yield note(f"{message}; {last.outcome}, goes on when a session begins or a command ends{later}")
    if is_at_work:
        yield good("at rest: a process is at work now")


def check_llm(home: Home, settings: Settings) -> Iterator[Remark]:
    """Show which LLM classifies prompts, the source of its key, and whether its circuit is open."""
    try:
        provider = providers.provider_of(settings, home)
    except ConfigError as error:
        yield bad(str(error), EXIT_CONFIG)
        return
    if provider is None:
        yield good("no LLM: the words of a prompt alone decide what it asks for")
        return
    origin = f"key from {settings['llm.key_file'] or providers.VARIABLES[provider.name]}" if provider.key else "no key"
    name = f"LLM {provider.name}: {provider.model} at {provider.base_url}, {origin}"
    if not settings["search_intent.use_llm"]:
        yield note(f"{name}; not asked, search_intent.use_llm is false")
        return
    until, now = None, now_ms()
    with suppress(StoreError), context.existing_state(home) as state:
        until = ask.open_until(state, provider.circuit) if state else None
    if until is not None and ask.is_open(until, now):
        yield note(f"{name}; it failed too often, and is not asked for {(until - now) / 1000:.0f} s more")
    else:
        yield good(name)


def check_background_llm(home: Home, settings: Settings) -> Iterator[Remark]:
    try:
        provider = providers.background_provider(settings, home)
    except ConfigError as error:
        yield bad(str(error), EXIT_CONFIG)
        return
    if provider is None:
        return
    calls_today, calls_by_job = 0, []
    with suppress(StoreError), context.existing_state(home) as state:
        calls_today = ask.llm_calls_today(state, now_ms()) if state else 0
        calls_by_job = background_jobs.describe_calls(home)
    name = f"LLM at rest {provider.name}: {safe(provider.model)} at {safe(provider.base_url)}"
    yield good("; ".join((name, f"{calls_today} of {settings['llm.calls_a_day']} calls today", *calls_by_job)))
