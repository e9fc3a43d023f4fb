"""The offers of the shell when Tab is pressed: ids, namespaces, tags, projects, decisions, settings, topics. It never fails."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import typer

from subcog_hooks.cli.support import context, help_texts
from subcog_hooks.cli.support.output import safe
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.recall.candidates import MODES
from subcog_hooks.settings.keys import KEYS, ChoiceKey
from subcog_hooks.store import decision_log
from subcog_hooks.store.memory import NAMESPACES, STATUSES
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.text.sanitise import cut

MAX_OFFERS = 50  # offers: more fill the screen and help nobody
COMPLETION_WAIT_MS = 50  # for a state that another process holds
_WORDS = 60  # characters of a memory or a prompt beside its id
_DEFAULT = "default"  # what `config set` takes a setting out of the file by

T = TypeVar("T")
Offer = tuple[str, str]  # what is put in, and what it is


def ids(incomplete: str) -> list[Offer]:
    """Return the ids that begin so, each with the memory's first words, the newest memory first."""
    memories = _ask_store(lambda store: store.newest_with_prefix(incomplete, MAX_OFFERS))
    return [(memory.id, cut(safe(memory.content), _WORDS)) for memory in memories]


def namespaces(incomplete: str) -> list[str]:
    """Return the namespaces that begin so: the usual ones and those that memories have."""
    return _beginning(incomplete, (*NAMESPACES, *_ask_store(Store.namespaces)))


def tags(incomplete: str) -> list[str]:
    """Return the tags of memories that begin so."""
    return _beginning(incomplete, _ask_store(Store.tags))


def projects(incomplete: str) -> list[str]:
    """Return the projects with memories that begin so."""
    return _beginning(incomplete, _ask_store(Store.projects))


def decisions(incomplete: str) -> list[Offer]:
    """Return the ids of decisions that begin so, each with its prompt, the latest first."""
    home = context.home()
    with suppress(SubcogError, OSError):
        if os.path.exists(home.state_db):
            state = State.open(home, COMPLETION_WAIT_MS)
            try:
                kept = decision_log.latest(state, decision_log.MAX_DECISIONS)
            finally:
                state.close()
            told = [(one.id, cut(safe(one.prompt or one.event), _WORDS)) for one in kept]
            return [offer for offer in told if offer[0].startswith(incomplete)][:MAX_OFFERS]
    return []


def statuses(incomplete: str) -> list[str]:
    """Return the statuses of memories that begin so."""
    return _beginning(incomplete, STATUSES)


def modes(incomplete: str) -> list[str]:
    """Return the ways to search that begin so."""
    return _beginning(incomplete, MODES)


def topic_names(incomplete: str) -> list[Offer]:
    """Return the topics of `subcog help` that begin so, each with its title."""
    with suppress(OSError):
        return [(name, help_texts.title(name)) for name in help_texts.names() if name.startswith(incomplete)]
    return []


def settings(incomplete: str) -> list[Offer]:
    """Return the names of settings that begin so, each with its meaning."""
    return [(key.name, key.help) for key in KEYS.values() if key.name.startswith(incomplete)]


def values(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the values that begin so of the setting that stands before, where they are few."""
    key = KEYS.get(str(ctx.params.get("key")))
    if key is None:
        return []
    known = key.choices if isinstance(key, ChoiceKey) else ("true", "false") if isinstance(key.default, bool) else ()
    return _beginning(incomplete, (*known, _DEFAULT))


def _beginning(start: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(start)][:MAX_OFFERS]


def _ask_store(read: Callable[[Store], list[T]]) -> list[T]:
    with suppress(SubcogError, OSError), context.reading() as store:
        return read(store) if store else []
    return []
