"""The checks of the home: the store, its index and vectors, and the state."""

import os
import shlex

from subcog_hooks.cli import editor, embedding
from subcog_hooks.cli.checks.findings import Findings
from subcog_hooks.cli.state import warn_about_unset
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, pluralize, terminal
from subcog_hooks.core.errors import EXIT_MODEL, ModelError, StoreBusy, StoreCorrupt, StoreError, StoreTooNew
from subcog_hooks.core.files import is_open_to_others
from subcog_hooks.core.paths import Home, find_home
from subcog_hooks.embed import catch_up, models, pull
from subcog_hooks.embed.space import Space
from subcog_hooks.hook import detached
from subcog_hooks.recall.exact import MAX_JUDGED
from subcog_hooks.settings import loading
from subcog_hooks.store import index_writer, project, state_values
from subcog_hooks.store.index import MAX_SEGMENTS, IndexUnusable, LexicalIndex
from subcog_hooks.store.lock import is_held
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.project import Project
from subcog_hooks.store.state import ASIDE, State, put_aside
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of, audiences_of
from subcog_hooks.store.vector_file import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

MAX_NAMESAKES = 3


def check_home(home: Home, findings: Findings) -> None:
    if ignored := find_home()[1]:
        findings.is_silenced = True
        findings.note(ignored)
    if not os.path.isdir(home.root) and not os.path.exists(home.root):
        findings.note(f"{home.root} is not there yet; `subcog remember` makes it")
        return
    for path in (home.root, home.memories_db, home.state_db, home.config):
        if os.path.exists(path) and is_open_to_others(path):
            findings.note(f"{path} can be read by others; chmod go-rwx {path}")
    for path in (home.root, home.log, home.models):
        if os.path.exists(path) and not os.path.isdir(path):
            findings.bad(f"{path} is not a folder; move it away")
    if os.path.isdir(home.jobs_lock):
        findings.bad(f"{home.jobs_lock} is a folder; move it away")
    if not findings.exit_code:
        findings.good(f"home {home.root}")


def check_leftovers(home: Home, findings: Findings) -> None:
    for path in pull.find_leftovers(home):
        findings.note(f"{path} is left of a killed pull or of a model that is gone; `subcog doctor --fix` deletes it")
    if edits := editor.find_edit_folders(home):
        texts = pluralize(len(edits), "text of an unfinished edit is", "texts of unfinished edits are")
        findings.note(f"{texts} in {home.edits}; delete those you do not need")


def check_store(home: Home, findings: Findings) -> Store | None:
    try:
        if not context.has_store(home):
            findings.note("no memories yet")
            return None
        store = Store.writer(home) if os.access(home.root, os.W_OK) else Store.reader(home)
        problems = store.problems()
        counts = store.counts()
    except StoreError as error:
        findings.bad(str(error))
        return None
    for problem in problems:
        findings.bad(f"{home.memories_db}: {problem}; `subcog export FILE` saves what can be read")
    if not problems:
        findings.good("store sound: " + (", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "empty"))
    return store


def check_index(home: Home, store: Store, findings: Findings) -> None:
    try:
        index = LexicalIndex.open(home)
        behind = index.watermark() < store.revision()
        foreign = not store.has_revision(index.watermark())
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
        findings.bad(str(error))
        return
    stored = sum(count for status, count in store.counts().items() if status != "deleted")
    if index.watermark() < store.revision():
        findings.note("the index is being written by another process")
    elif index.documents != stored:
        findings.bad(f"the index has {count_memories(index.documents)}, the store {stored}; run `subcog doctor --fix`")
    else:
        remark = ", rebuilt just now" if foreign else ", caught up just now" if behind else ""
        memories = count_memories(index.documents)
        findings.good(f"index of {memories} in {pluralize(index.segments, 'segment')}{remark}")
    if index.segments > MAX_SEGMENTS:
        findings.note(f"{index.segments} segments slow the hook; run `subcog doctor --fix`")


def check_models(home: Home, store: Store, findings: Findings) -> None:
    for path in models.altered_files():
        findings.bad(f"{path} is not as it was installed; reinstall subcog", EXIT_MODEL)
    settings = loading.load(home)
    try:
        models.chosen_space(home, settings)
    except ModelError as error:
        findings.bad(str(error), EXIT_MODEL)
    for space in models.spaces_in_use(home, settings):
        try:
            models.verify_model(space)
            findings.good(f"model {space.model} ({space.name})")
        except ModelError as error:
            findings.bad(str(error), EXIT_MODEL)
        _check_vectors(home, store, space, findings)
    if failure := catch_up.last_failure(home):
        findings.note(f"the last process that embedded ended early: {failure}")


def _check_vectors(home: Home, store: Store, space: Space, findings: Findings) -> None:
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
        findings.note(str(error))
        return
    except (StoreError, ModelError) as error:
        findings.bad(str(error), error.exit_code)
        return
    for problem in problems:
        findings.bad(f"{vectors.path}: {problem}; run `subcog doctor --fix`")
    stored = sum(count for status, count in store.counts().items() if status != "deleted")
    name = f"vectors ({space.name})"
    if is_behind:
        findings.note(f"{name}: being brought up to date by another process")
    elif final + pending != stored:
        memories = count_memories(stored)
        findings.bad(f"{name}: {final + pending} for {memories} of the store; run `subcog doctor --fix`")
    elif not pending:
        findings.good(f"{name}: {final} final{remark}")
    elif is_held(catch_up.lock_of(home, space)):
        findings.good(f"{name}: {final} final, {pending} pending, being embedded now{remark}")
    else:
        is_left = catch_up.is_enabled(loading.load(home)) and detached.may_start()
        next_step = "the next session or writing command" if is_left else "`subcog doctor --fix`"
        if is_held(home.jobs_lock):
            next_step = "the process at rest"
        findings.note(f"{name}: {final} final, {pending} pending; {next_step} goes on with it{remark}")


def check_namesakes(store: Store, findings: Findings) -> None:
    here = context.here()
    for name in find_namesakes(store, here) if here and not findings.is_collected else ():  # a report names nothing
        count = _count_memories(store, name)
        command = f"subcog edit $(subcog list --ids -n {count} --project {shlex.quote(name)}) --project here"
        findings.note(f"{name} may be this project, too, and has {count_memories(count)}; `{command}` moves all here")


def check_flags(store: Store, findings: Findings) -> None:
    if findings.is_collected:  # a report names nothing
        return
    audiences = (*audiences_of(), *(audience_of("project", name) for name in store.projects()))
    conditions: dict[str, object] = {}
    for _, when in store.conditional(audiences, MAX_JUDGED):
        conditions |= when
    warn_about_unset(conditions, findings.note)


def check_state(home: Home, findings: Findings) -> None:
    if not os.path.exists(home.state_db):
        return
    aside: list[str] = []
    try:
        state = State.open(home, context.STATE_WAIT_MS, aside.append)
        damaged = bool(state.problems())
        if not damaged:
            state.begin()  # a process that holds the lock keeps every hook silent
            state.commit()
        paused = not damaged and state_values.is_paused(state, now_ms())
        state.close()
    except (StoreCorrupt, StoreTooNew) as error:
        put_aside(home)
        findings.note(f"{error.message}; {ASIDE}")
        return
    except StoreError as error:
        findings.bad(f"{error}; until then the hook hands over again what a session has had")
        return
    if aside:
        findings.note(aside[0])
    elif damaged:
        put_aside(home)
        findings.note(f"{home.state_db} was damaged; {ASIDE}")
    elif paused:
        findings.is_silenced = True
        findings.note("the hook is paused; `subcog resume` ends it")
    else:
        findings.good("state.db")


def find_namesakes(store: Store, here: Project) -> list[str]:
    """Return the names of projects with memories that may be the project at hand.

    They are named alike, or are a fork's upstream. While the project has no memory of its own, remotes of other owners and
    folders that are gone count too: a renamed remote or folder leaves its memories behind.
    """
    own_names = {name for member in here.with_parents() for name in member.names}
    upstream = project.find_upstream(here.root)
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
