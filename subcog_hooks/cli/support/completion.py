"""Tab completion in the shell: ids, namespaces, tags, projects, decisions, settings, topics. It never fails."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import typer

from subcog_hooks.cli.support import context, help_texts
from subcog_hooks.cli.support.output import safe
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.recall.candidates import MODES
from subcog_hooks.settings.keys import KEYS
from subcog_hooks.store import decision_log, recorded_decisions
from subcog_hooks.store.memory import NAMESPACES, STATUSES
from subcog_hooks.store.store import Store
from subcog_hooks.text.sanitise import cut

MAX_OFFERS = 50  # More offers fill the screen and help nobody.
COMPLETION_WAIT_MS = 50  # The shell waits so briefly for a state that another process holds.
_WORDS = 60  # characters of a memory or a prompt beside its id
_EXPANDED = str.maketrans("", "", "\\$`")  # A shell expands them even in double quotes; typer escapes two of the three.
_SYNTAX = frozenset("\\$`;&|<>()\"'")  # A name with one of them would be a part of the command.
_DEFAULT = "default"  # `config set NAME default` removes a setting from the file.

T = TypeVar("T")
Offer = tuple[str, str]  # the inserted text, and its explanation


def ids(incomplete: str) -> list[Offer]:
    """Return the ids with this prefix, each with the memory's first words, the newest memory first."""
    memories = _ask_store(lambda store: store.newest_with_prefix(incomplete, MAX_OFFERS))
    return [(memory.id, _explain(memory.content)) for memory in memories]


def namespaces(incomplete: str) -> list[str]:
    """Return the namespaces with this prefix: the usual ones, and the namespaces of stored memories."""
    return _with_prefix(incomplete, (*NAMESPACES, *_ask_store(Store.namespaces)))


def tags(incomplete: str) -> list[str]:
    """Return the tags of memories with this prefix."""
    return _with_prefix(incomplete, _ask_store(Store.tags))


def projects(incomplete: str) -> list[str]:
    """Return the projects of memories with this prefix."""
    return _with_prefix(incomplete, _ask_store(Store.projects))


def decisions(incomplete: str) -> list[Offer]:
    """Return the ids of decisions with this prefix, each with its prompt, the latest first."""
    with suppress(SubcogError, OSError), context.existing_state(context.home(), COMPLETION_WAIT_MS) as state:
        entries = recorded_decisions.find_latest(state, decision_log.MAX_DECISIONS) if state else []
        offers = [(entry.id, _explain(entry.prompt or entry.event)) for entry in entries]
        return [offer for offer in offers if offer[0].startswith(incomplete)][:MAX_OFFERS]
    return []


def statuses(incomplete: str) -> list[str]:
    """Return the statuses with this prefix."""
    return _with_prefix(incomplete, STATUSES)


def modes(incomplete: str) -> list[str]:
    """Return the search modes with this prefix."""
    return _with_prefix(incomplete, MODES)


def topic_names(incomplete: str) -> list[Offer]:
    """Return the topics of `subcog help` with this prefix, each with its title."""
    with suppress(OSError):
        return [(name, help_texts.title(name)) for name in help_texts.all_topics() if name.startswith(incomplete)]
    return []


def settings(incomplete: str) -> list[Offer]:
    """Return the names of settings with this prefix, each with its meaning."""
    return [(key.name, key.help) for key in KEYS.values() if key.name.startswith(incomplete)]


def values(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the values with this prefix of the setting named before; none for a setting of any value."""
    key = KEYS.get(str(ctx.params.get("key")))
    if key is None:
        return []
    return _with_prefix(incomplete, (*key.choices, _DEFAULT))


def _with_prefix(prefix: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(prefix) and _SYNTAX.isdisjoint(name)][:MAX_OFFERS]


def _explain(text: str) -> str:
    return cut(safe(text).translate(_EXPANDED), _WORDS)


def _ask_store(query: Callable[[Store], list[T]]) -> list[T]:
    with suppress(SubcogError, OSError), context.reading() as store:
        return query(store) if store else []
    return []
