"""The conditions of a memory on a command line, and the sentence about when it is handed over."""

import json
from collections.abc import Iterable, Mapping, Sequence

from subcog_hooks.cli.support.output import day, safe
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import condition_checks
from subcog_hooks.cues.conditions import EQ, GLOB, GTE, IN, LTE, NOT
from subcog_hooks.store.memory import PENDING, Memory
from subcog_hooks.text import actions

_SIGN_OF = {EQ: "=", IN: "=", GTE: ">=", LTE: "<=", GLOB: "~", NOT: "!="}


def parse_conditions(texts: Iterable[str]) -> dict[str, object]:
    """Parse conditions, each in the short form of `condition_checks.from_texts` or a JSON object.

    Raises InvalidMemory naming the first condition that is invalid, or contradicts another.

    >>> parse_conditions(["branch=main", '{"prompts": {"gte": 3}}'])
    {'branch': 'main', 'prompts': {'gte': 3}}
    """
    given = list(texts)
    objects = [text for text in given if text.lstrip().startswith("{")]
    when = condition_checks.parse_conditions([text for text in given if text not in objects])
    for text in objects:
        loaded = _parse_json(text)
        if not loaded:
            raise InvalidMemory("when is {}, which asks for nothing", "for instance branch=main")
        for name, condition in loaded.items():
            if name in when:
                raise InvalidMemory(f"when has {name[:80]!r} twice", "give all of it as JSON")
            when[name] = condition
    condition_checks.check_conditions(when)
    return when


def condition_texts(when: Mapping[str, object]) -> list[str]:
    """Return the texts that `parse_conditions` reads as these conditions, in order; JSON where no shorter form exists.

    >>> condition_texts({"branch": ["main", "dev"], "prompts": {"gte": 3, "lte": 9}, "calm": True, "a": {"not": {"not": "b"}}})
    ['branch=main,dev', 'prompts>=3', 'prompts<=9', 'calm', '{"a": {"not": {"not": "b"}}}']
    """
    return [text for name, condition in when.items() for text in _texts_of_condition(name, condition)]


def _parse_json(text: str) -> dict[str, object]:
    try:
        given: dict[str, object] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidMemory(f"when is {text[:80]!r}, which is not JSON", 'for instance {"branch": ["main", "dev"]}') from error
    return given


def _texts_of_condition(name: str, condition: object) -> list[str]:
    parts = condition if isinstance(condition, dict) else {IN if isinstance(condition, list) else EQ: condition}
    for quote in ("", '"'):
        texts = [_short_text(name, operator, operand, quote) for operator, operand in parts.items()]
        if all(text.isprintable() and text == text.strip() for text in texts) and _is_read_as(texts, name, condition):
            return texts
    text = json.dumps({name: condition}, ensure_ascii=False)
    return [text if text.isprintable() else json.dumps({name: condition})]


def _short_text(name: str, operator: str, operand: object, quote: str) -> str:
    """Return a condition of one operator in its short form, which may read as another condition, or as none."""
    if operator == EQ and operand is True:
        return name
    sign = _SIGN_OF.get(operator, "")
    if operator == NOT and isinstance(operand, dict) and list(operand) == [GLOB]:
        sign, operand = "!~", operand[GLOB]
    values = operand if isinstance(operand, list) else [operand]
    return name + sign + ",".join(f"{quote}{value}{quote}" if isinstance(value, str) else json.dumps(value) for value in values)


def _is_read_as(texts: list[str], name: str, condition: object) -> bool:
    """Return whether these texts are read as this condition; 1, 1.0 and true differ."""
    try:
        return json.dumps(condition_checks.parse_conditions(texts)) == json.dumps({name: condition})
    except InvalidMemory:
        return False


MAX_MOMENTS_SHOWN = 5  # triggers, globs or conditions of one memory


def moment_remark(memory: Memory, governed: Sequence[str]) -> str:
    """Describe the scope of a memory and when it is handed over. governed: the actions at which it comes.

    >>> moment_remark(Memory(id="a", content="x", scope="project", project="github.com/acme/shop", paths=("src/**",)), ())
    'kept in learnings of github.com/acme/shop; it comes when a prompt is about it, or when a tool touches src/**'
    >>> moment_remark(Memory(id="a", content="Run just tidy before you commit."), ("action:commit",))
    'kept in learnings, for all your projects; it comes when a prompt is about it, or when the agent is about to commit'
    >>> moment_remark(Memory(id="a", content="x", namespace="config", when={"branch": "main"}), ())
    'kept in config, for all your projects; it comes as soon as branch=main'
    """
    owner = f" of {safe(memory.project)}" if memory.project else ", for all your projects"
    by = f", {memory.noted}" if memory.noted else ""
    waits = "once `subcog review` has accepted it, " if memory.status == PENDING else ""
    return f"kept in {memory.namespace}{owner}{by}; {waits}it comes {_moment_phrase(memory, governed)}"


def _moment_phrase(memory: Memory, governed: Sequence[str]) -> str:
    when = " and ".join(_first_values(condition_texts(memory.when)))
    expiry = f", until {day(memory.expires_at)}" if memory.expires_at is not None else ""
    has_cues = bool(memory.triggers or memory.paths)
    if when and not has_cues:
        return f"as soon as {when}{expiry}"
    moments = []
    if not has_cues and memory.is_pinnable:
        moments.append("at the start of every session")
    elif not has_cues and memory.standing:
        moments.append("at the start of sessions, as far as there is room")
    moments.append("when a prompt is about it")
    if memory.keywords:
        moments.append(f"when it names {_alternatives(memory.keywords)}")
    if memory.triggers:
        moments.append(f"when a prompt or a command matches {_alternatives(memory.triggers)}")
    if memory.paths:
        moments.append(f"when a tool touches {_alternatives(memory.paths)}")
    if governed:
        moments.append("when the agent is about to " + " or ".join(dict.fromkeys(map(actions.describe_action, governed))))
    joined = ", ".join(moments[:-1]) + ", or " * (len(moments) > 1) + moments[-1]
    return joined + (f", only while {when}" if when else "") + expiry


def _alternatives(values: Sequence[str]) -> str:
    return " or ".join(_first_values(values))


def _first_values(values: Sequence[str]) -> list[str]:
    more = [f"{len(values) - MAX_MOMENTS_SHOWN} more"] if len(values) > MAX_MOMENTS_SHOWN else []
    return [*map(safe, values[:MAX_MOMENTS_SHOWN]), *more]
