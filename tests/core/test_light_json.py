"""JSON without the json module: the same values, the same refusals."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core import light_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_documents_are_read_as_the_standard_module_reads_them(value: object) -> None:
    assert light_json.loads(json.dumps(value)) == value
    assert light_json.loads(f"\n {json.dumps(value, ensure_ascii=False, indent=1)}\n") == value


@given(JSON)
def test_documents_are_written_as_by_the_standard_module(value: Any) -> None:
    try:
        written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        with pytest.raises(ValueError, match="JSON"):
            light_json.dumps(value)
    else:
        assert light_json.dumps(value) == written
    if isinstance(value, str):
        assert light_json.quote(value) == written


def test_text_that_is_not_one_document_is_refused(subtests: pytest.Subtests) -> None:
    cases = ["", " ", "{", '{"a":', "[1,]", "{} {}", "nul", '"', "[" * 100_000, "\ufeff{}", "1" * 5000]
    for text in cases:
        with subtests.test(text=text), pytest.raises(ValueError):  # noqa: PT011 - of several kinds, all of them ValueError
            light_json.loads(text)


def test_raw_control_characters_inside_strings_are_let_through() -> None:
    assert light_json.loads('{"a": "x\ty\x00"}') == {"a": "x\ty\x00"}
