"""Formatting the conditions of a memory."""

import pytest

from subcog_hooks.cli.terminal import inputs
from subcog_hooks.cues import condition_checks


def test_conditions_have_their_shortest_form(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, object], list[str]]] = [
        ({}, []),
        ({"branch": "main"}, ["branch=main"]),
        ({"branch": ["main", "dev"]}, ["branch=main,dev"]),
        ({"branch": ["main"]}, ['{"branch": ["main"]}']),
        ({"branch": {"eq": "main"}}, ['{"branch": {"eq": "main"}}']),
        ({"branch": {"not": {"glob": "wip/*"}}}, ["branch!~wip/*"]),
        ({"prompts": {"gte": 3, "not": [5, 7]}}, ["prompts>=3", "prompts!=5,7"]),
        ({"calm": True}, ["calm"]),
        ({"calm": False}, ["calm=false"]),
        ({"calm": 1.0}, ["calm=1.0"]),
        ({"mood": "a, b"}, ['mood="a, b"']),
        ({"mood": "a\nb"}, [r'{"mood": "a\nb"}']),
        ({"mood": "a\u2028b"}, [r'{"mood": "a\u2028b"}']),
        ({"mood": "gr\xfcn"}, ["mood=gr\xfcn"]),
        ({"mood": "7"}, ['mood="7"']),
        ({"mood": 'so "so"'}, ['mood=so "so"']),
        ({"mood": '"so"'}, ['{"mood": "\\"so\\""}']),
    ]
    for when, texts in cases:
        with subtests.test(when=when):
            assert inputs.condition_texts(when) == texts
            if not "".join(texts).startswith("{"):
                assert condition_checks.parse_conditions(texts) == when
