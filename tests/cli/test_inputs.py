"""Inputs of commands: texts and lines of JSONL, from arguments, files and standard input."""

import io
import sys

import pytest

from subcog_hooks.cli.terminal import inputs
from subcog_hooks.core.errors import UsageError
from subcog_hooks.cues import condition_syntax
from tests.cli.conftest import MonkeyPatch


def pipe(monkeypatch: MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))


def test_arguments_are_one_text_and_a_dash_reads_stdin(monkeypatch: MonkeyPatch) -> None:
    pipe(monkeypatch, "\ufeffhow do we\nlog in?".encode())
    assert inputs.text_of(["how", "do we"]) == "how do we"
    assert inputs.text_of(["-", "x"]) == "- x"
    assert inputs.text_of(["\udcff is cut"]) == "? is cut"
    assert inputs.text_of(["-"]) == "how do we\nlog in?"


def test_standard_input_of_another_encoding_is_named(monkeypatch: MonkeyPatch) -> None:
    pipe(monkeypatch, b"caf\xe9")
    with pytest.raises(UsageError, match="standard input is not UTF-8 at byte 3; convert it"):
        inputs.text_of(["-"])


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
                assert condition_syntax.parse_conditions(texts) == when
