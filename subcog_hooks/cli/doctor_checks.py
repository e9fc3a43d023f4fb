"""The checks of `doctor`: the home, the store with its index and vectors, the state, settings, LLMs and work at rest.

Each yields its findings, ready for a terminal.
"""

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress

from subcog_hooks.cli import amendment, background_jobs, embedding
from subcog_hooks.cli.agents.inspection import Remark, bad, good, note
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, pluralize, safe, terminal
from subcog_hooks.cli.verdicts import lookup
from subcog_hooks.core.errors import (
    EXIT_CONFIG,
    EXIT_MODEL,
    ConfigError,
    ModelError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreTooNew,
)
from subcog_hooks.core.paths import Home, find_home
from subcog_hooks.embed import catch_up, models
from subcog_hooks.embed.space import Space
from subcog_hooks.hook import detached
from subcog_hooks.llm import ask, providers
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import home_files, index_writer, past_runs, project, verdicts
from subcog_hooks.store.home_files import DONE, is_held
from subcog_hooks.store.index import MAX_SEGMENTS, IndexUnusable, LexicalIndex
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.project import Project
from subcog_hooks.store.state import MADE_ANEW, State, discard, is_paused
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of
from subcog_hooks.store.vector_reader import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

MAX_NAMESAKES = 3
SILENT_WITHOUT = {  # settings without which the hook is silent, and when
    "surfacing.enabled": "",
    "search_intent.enabled": "",
    "surfacing.tools": " when a tool touches a file",
    "surfacing.session_start": " when a session begins",
}


def check_home(home: Home) -> Iterator[Remark]:
    if ignored := find_home()[1]:
        yield note(ignored)
    if not os.path.isdir(home.root) and not os.path.exists(home.root):
        yield note(f"{home.root} is not there yet; `subcog remember` makes it")
        return
    for path in (home.root, home.memories_db, home.sessions.memories_db, home.state_db, home.config):
        if os.name != "nt" and os.path.exists(path) and os.stat(path).st_mode & 0o077:
            yield note(f"{path} can be read by others; chmod go-rwx {path}")
    folders = (home.root, home.log, home.models)
    faults = [f"{path} is not a folder" for path in folders if os.path.exists(path) and not os.path.isdir(path)]
    faults += [f"{home.jobs_lock} is a folder"] if os.path.isdir(home.jobs_lock) else []
    for fault in faults:
        yield bad(f"{fault}; move it away")
    if not faults:
        yield good(f"home {home.root}")


def check_leftovers(home: Home) -> Iterator[Remark]:
    for path in models.find_leftovers(home):
        yield note(f"{path} is left of a killed pull or of a model that is gone; `subcog doctor --fix` deletes it")
    if edits := amendment.find_edit_folders(home):
        texts = pluralize(len(edits), "text of an unfinished edit is", "texts of unfinished edits are")
        yield note(f"{texts} in {home.edits}; delete those you do not need")


def check_index(home: Home, store: Store) -> Iterator[Remark]:
    try:
        index = LexicalIndex.open(home)
        behind = index.watermark < store.revision()
        foreign = not store.has_revision(index.watermark)
    except StoreError as error:
        behind, foreign = True, False
        terminal.say(error.message)
    try:
        index = context.index_of(store)
        index_writer.check_index(index)
    except IndexUnusable as error:
        terminal.say(error.message)
        index, foreign = index_writer.rebuild_index(home, store), True
    except StoreError as error:
        yield bad(str(error))
        return
    stored = _count_undeleted(store)
    if index.watermark < store.revision():
        yield note("the index is being written by another process")
    elif index.documents != stored:
        yield bad(f"the index has {count_memories(index.documents)}, the store {stored}; run `subcog doctor --fix`")
    else:
        remark = ", rebuilt just now" if foreign else ", caught up just now" if behind else ""
        memories = count_memories(index.documents)
        yield good(f"index of {memories} in {pluralize(index.segments, 'segment')}{remark}")
    if index.segments > MAX_SEGMENTS:
        yield note(f"{index.segments} segments slow the hook; run `subcog doctor --fix`")


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
    """Check a space's vectors, brought up to date first, and report pending work."""
    remark = ""
    try:
        with VectorStore.reader(home, space.name, space.dimension) as vectors:
            remark = ", caught up just now" if vectors.watermark() < store.revision() else ""
    except StoreError as error:
        remark = ", made anew just now"
        if not isinstance(error, ExtensionMissing):
            terminal.say(error.message)
    try:
        with context.vectors_of(store, space) as vectors:
            problems = vectors.problems()
            is_behind = vectors.watermark() < store.revision()
            final, pending = vectors.counts()
            if pending and not problems and not is_behind and (embedded := embedding.embed_briefly(store, space)):
                remark = f"{remark}, {embedded} embedded just now"
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
        yield good(f"{name}: {final} final{remark}")
    elif is_held(catch_up.lock_of(home, space)):
        yield good(f"{name}: {final} final, {pending} pending, being embedded now{remark}")
    else:
        is_left = loading.load(home)["embedding.background"] and detached.may_start()
        next_step = "the next session or writing command" if is_left else "`subcog doctor --fix`"
        if is_held(home.jobs_lock):
            next_step = "the process at rest"
        yield note(f"{name}: {final} final, {pending} pending; {next_step} goes on with it{remark}")


def _count_undeleted(store: Store) -> int:
    return sum(count for status, count in store.counts().items() if status != "deleted")


def find_namesakes(store: Store, here: Project) -> list[str]:
    """Return the names of projects with memories that may be the project at hand.

    They are named alike, or are a fork's upstream. While the project has no memory of its own, remotes of other owners and
    folders that are gone count too: a renamed remote or folder leaves its memories behind.
    """
    own_names = {name for member in here.with_parents() for name in member.names}
    folders = project.git_folders(here.root)
    url = project.remote_url(os.path.join(folders[-1], "config"), ("upstream",)) if folders else None
    upstream = project.normalise_url(url, here.root) if url else ""
    others = [name for name in store.projects() if name not in own_names and _count_memories(store, name)]
    alike = [name for name in others if name == upstream or _are_alike(name, here.identity)]
    if not _count_memories(store, *here.names):
        last_part = _last_parts(here.identity)[-1]
        gone = [name for name in others if os.path.isabs(name) and not os.path.lexists(name)]
        alike += [name for name in others if name in gone or _last_parts(name)[-1] == last_part]
    return list(dict.fromkeys(alike))[:MAX_NAMESAKES]


def _count_memories(store: Store, *names: str) -> int:
    return store.count(Filter(audiences=tuple(audience_of("project", name) for name in names)))


def _are_alike(name: str, other: str) -> bool:
    """Return whether two names end alike: remotes in their last two parts, folders and a remote in the last one.

    >>> _are_alike("github.com/acme/shop", "git.acme.io/acme/shop"), _are_alike("github.com/acme/shop", "github.com/bob/shop")
    (True, False)
    >>> _are_alike("/old/shop", "github.com/acme/shop"), _are_alike("/old/shop", "/new/blog")
    (True, False)
    """
    length = 1 if os.path.isabs(name) or os.path.isabs(other) else 2
    return _last_parts(name)[-length:] == _last_parts(other)[-length:]


def _last_parts(name: str) -> list[str]:
    return name.replace(os.sep, "/").lower().rstrip("/").removesuffix(".git").rstrip("/").split("/")


def check_store(home: Home, *, names_projects: bool) -> Iterator[Remark]:
    """Check the store, its index and vectors. names_projects: whether a line names the person's similar projects."""
    store, counts, problems = None, {}, []
    try:
        if context.has_store(home):
            store = Store.writer(home) if os.access(home.root, os.W_OK) else Store.reader(home)
            counts, problems = store.counts(), store.problems()
    except StoreError as error:
        yield bad(str(error))
        return
    if store is None:
        yield note("no memories yet")
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
    if not os.path.exists(home.state_db):
        return
    messages: list[str] = []
    try:
        state = State.open(home, context.STATE_WAIT_MS, messages.append)
        damaged = bool(state.problems())
        if not damaged:
            state.begin()  # a process that holds the lock keeps every hook silent
            state.commit()
        paused = not damaged and is_paused(state, now_ms())
        state.close()
    except (StoreCorrupt, StoreTooNew) as error:
        discard(home)
        yield note(f"{error.message}; {MADE_ANEW}")
        return
    except StoreError as error:
        yield bad(f"{error}; until then the hook hands over again what a session has had")
        return
    if messages:
        yield note(messages[0])
    elif damaged:
        discard(home)
        yield note(f"{home.state_db} was damaged; {MADE_ANEW}")
    elif paused:
        yield note("the hook is paused; `subcog resume` ends it")
    else:
        yield good("state.db")


def check_cut_offs(home: Home) -> Iterator[Remark]:
    cut_off = past_runs.read_cut_offs(home, now_ms())
    if not cut_off:
        return
    total = len(cut_off)
    with suppress(StoreError), context.existing_state(home) as state:  # `check_state` has reported it
        if state:
            total += len(past_runs.find_latest(state, verdicts.MAX_VERDICTS, since_ms=cut_off[-1].at_ms))
    were = "was" if len(cut_off) == 1 else "were"
    yield note(f"{len(cut_off)} of the last {total} runs of the hook {were} cut off: this machine was busy")


def check_settings(settings: Settings) -> Iterator[Remark]:
    for problem in settings.problems:
        yield bad(problem, EXIT_CONFIG)
    yield from map(note, (*settings.ignored, *context.unknown_variables()))
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
    calls_today = 0
    with suppress(StoreError), context.existing_state(home) as state:
        calls_today = ask.llm_calls_today(state, now_ms()) if state else 0
    name = f"LLM at rest {provider.name}: {safe(provider.model)} at {safe(provider.base_url)}"
    calls = f"{calls_today} of {settings['llm.calls_a_day']} calls today"
    with suppress(StoreError):
        calls = "; ".join((calls, *background_jobs.describe_calls(home)))
    yield good(f"{name}; {calls}")
