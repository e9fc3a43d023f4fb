"""Entities as S3 writes them, read as the fields of a memory. Only names and forms change here; what holds is checked later."""

from subcog_hooks.errors import InvalidMemory

_NAMES = {"entity_id": "id", "recognition": "content", "trigger_patterns": "triggers", "state_conditions": "when"}
_TYPE = "entity_type"
_FACTS = {"is_first_conversation": "first_session"}  # S3's names of what is known here by another


def is_entity(fields: dict[str, object]) -> bool:
    """Return whether a line's fields are those of an entity.

    >>> is_entity({"entity_id": "handler_crisis"}), is_entity({"id": "a", "content": "x"})
    (True, False)
    """
    return "entity_id" in fields


def as_memory(fields: dict[str, object]) -> dict[str, object]:
    """Return an entity's fields as those of a memory. Raises InvalidMemory where a field is given by both of its names.

    `recognition` is the text, and without a text the entity's id is. The type becomes the namespace.

    >>> as_memory({"entity_id": "calm", "entity_type": "SCRIPT", "keywords": "calm, lose it", "trigger_patterns": None})
    {'id': 'calm', 'namespace': 'script', 'keywords': ['calm', 'lose it'], 'content': 'calm'}
    """
    given: dict[str, object] = {}
    for name, value in fields.items():
        meant = "namespace" if name == _TYPE else _NAMES.get(name, name)
        if value is None or (name == "recognition" and fields.get("content") is not None):
            continue
        if meant in given:
            raise InvalidMemory(f"{meant} is given twice, as {name} too", "give one of them")
        given[meant] = value
    namespace = given.get("namespace")
    if isinstance(namespace, str):
        given["namespace"] = namespace.strip().lower().replace(" ", "-")
    if isinstance(given.get("keywords"), str):
        given["keywords"] = _split_at_commas(str(given["keywords"]))
    when = given.get("when")
    if isinstance(when, dict):
        given["when"] = {_FACTS.get(name, name): condition for name, condition in when.items()}
    given.setdefault("content", given.get("id"))
    return given


def _split_at_commas(text: str) -> list[str]:
    """Return the words that commas part, each once.

    >>> _split_at_commas("calm, lose it,, calm ")
    ['calm', 'lose it']
    """
    return list(dict.fromkeys(word for word in map(str.strip, text.split(",")) if word))
