"""State conditions as people write them: `--when` options and the lines of the editor in, one text for each out."""

import json
from collections.abc import Iterable, Mapping

from subcog_hooks.cues import condition_checks, condition_texts
from subcog_hooks.cues.conditions import EQ, GLOB, GTE, IN, LTE, NOT
from subcog_hooks.errors import InvalidMemory

_SIGN_OF = {EQ: "=", IN: "=", GTE: ">=", LTE: "<=", GLOB: "~", NOT: "!="}


def read(texts: Iterable[str]) -> dict[str, object]:
    """Return the conditions that these texts make, each as `conditions.from_text` takes it or a JSON object: all must hold.

    Raises InvalidMemory naming the first that is none, or that can not be joined with another.

    >>> read(["branch=main", '{"prompts": {"gte": 3}}'])
    {'branch': 'main', 'prompts': {'gte': 3}}
    """
    given = list(texts)
    objects = [text for text in given if text.lstrip().startswith("{")]
    when = condition_texts.from_texts([text for text in given if text not in objects])
    for text in objects:
        loaded = _loaded(text)
        if not loaded:
            raise InvalidMemory("when is {}, which asks for nothing", "for instance branch=main")
        for name, condition in loaded.items():
            if name in when:
                raise InvalidMemory(f"when has {name[:80]!r} twice", "give all of it as JSON")
            when[name] = condition
    condition_checks.check(when)
    return when


def written(when: Mapping[str, object]) -> list[str]:
    """Return the texts that `read` makes these conditions of, in their order; JSON where no shorter form says the same.

    >>> written({"branch": ["main", "dev"], "prompts": {"gte": 3, "lte": 9}, "calm": True, "tool": {"not": {"not": "Bash"}}})
    ['branch=main,dev', 'prompts>=3', 'prompts<=9', 'calm', '{"tool": {"not": {"not": "Bash"}}}']
    """
    return [text for name, condition in when.items() for text in _texts(name, condition)]


def _loaded(text: str) -> dict[str, object]:
    try:
        given: dict[str, object] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidMemory(f"when is {text[:80]!r}, which is not JSON", 'for instance {"branch": ["main", "dev"]}') from error
    return given


def _texts(name: str, condition: object) -> list[str]:
    parts = condition if isinstance(condition, dict) else {IN if isinstance(condition, list) else EQ: condition}
    for quote in ("", '"'):
        texts = [_short(name, operator, operand, quote) for operator, operand in parts.items()]
        if all(text.isprintable() and text == text.strip() for text in texts) and _says(texts, name, condition):
            return texts
    text = json.dumps({name: condition}, ensure_ascii=False)
    return [text if text.isprintable() else json.dumps({name: condition})]


def _short(name: str, operator: str, operand: object, quote: str) -> str:
    """Return a condition of one operator as its sign has it; it may say something else, or nothing."""
    if operator == EQ and operand is True:
        return name
    sign = _SIGN_OF.get(operator, "")
    if operator == NOT and isinstance(operand, dict) and list(operand) == [GLOB]:
        sign, operand = "!~", operand[GLOB]
    values = operand if isinstance(operand, list) else [operand]
    return name + sign + ",".join(f"{quote}{value}{quote}" if isinstance(value, str) else json.dumps(value) for value in values)


def _says(texts: list[str], name: str, condition: object) -> bool:
    """Return whether these texts are read as this condition; true and 1, and 1 and 1.0, are not the same."""
    try:
        return json.dumps(condition_texts.from_texts(texts)) == json.dumps({name: condition})
    except InvalidMemory:
        return False
