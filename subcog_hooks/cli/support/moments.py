"""Where a memory went and when it will come, in one sentence."""

from collections.abc import Sequence

from subcog_hooks.cli.support import conditions
from subcog_hooks.cli.support.output import day, safe
from subcog_hooks.memory.model import PENDING, Memory
from subcog_hooks.text import actions
from subcog_hooks.text.standing import is_standing

MAX_MOMENTS_SHOWN = 5  # triggers, globs or conditions of one memory


def told(memory: Memory) -> str:
    """Return where a memory is kept, and when it is handed over.

    >>> told(Memory(id="a", content="x", scope="project", project="github.com/acme/shop", paths=("src/**",)))
    'kept in learnings of github.com/acme/shop; it comes when a prompt is about it, or when a tool touches src/**'
    >>> told(Memory(id="a", content="Run just tidy before you commit."))
    'kept in learnings, for all your projects; it comes when a prompt is about it, or when the agent is about to commit'
    >>> told(Memory(id="a", content="x", namespace="config", when={"branch": "main"}))
    'kept in config, for all your projects; it comes as soon as branch=main'
    """
    owner = f" of {safe(memory.project)}" if memory.project else ", for all your projects"
    by = f", {memory.noted}" if memory.noted else ""
    waits = "once `subcog review` has accepted it, " if memory.status == PENDING else ""
    return f"kept in {memory.namespace}{owner}{by}; {waits}it comes {_moments(memory)}"


def _moments(memory: Memory) -> str:
    when = " and ".join(_some(conditions.written(memory.when)))
    until = f", until {day(memory.expires_at)}" if memory.expires_at is not None else ""
    has_cues = bool(memory.triggers or memory.paths)
    if when and not has_cues:
        return f"as soon as {when}{until}"
    moments = []
    if not has_cues and memory.is_pinnable:
        moments.append("at the start of every session")
    elif not has_cues and memory.standing:
        moments.append("at the start of sessions, as far as there is room")
    moments.append("when a prompt is about it")
    if memory.keywords:
        moments.append(f"when it names {_any(memory.keywords)}")
    if memory.triggers:
        moments.append(f"when a prompt or a command matches {_any(memory.triggers)}")
    if memory.paths:
        moments.append(f"when a tool touches {_any(memory.paths)}")
    if is_standing(memory.standing, memory.content) and (done := actions.governed_by(memory.content)):
        moments.append("when the agent is about to " + " or ".join(dict.fromkeys(map(actions.said, done))))
    joined = ", ".join(moments[:-1]) + ", or " * (len(moments) > 1) + moments[-1]
    return joined + (f", only while {when}" if when else "") + until


def _any(values: Sequence[str]) -> str:
    return " or ".join(_some(values))


def _some(values: Sequence[str]) -> list[str]:
    """Return the values; of many, the first ones and how many more there are."""
    more = [f"{len(values) - MAX_MOMENTS_SHOWN} more"] if len(values) > MAX_MOMENTS_SHOWN else []
    return [*map(safe, values[:MAX_MOMENTS_SHOWN]), *more]
