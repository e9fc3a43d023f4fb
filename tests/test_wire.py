"""JSON without the json module: the same values, the same refusals."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks import wire

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_documents_are_read_as_the_standard_module_reads_them(value: object) -> None:
    assert wire.loads(json.dumps(value)) == value
    assert wire.loads(f"\n {json.dumps(value, ensure_ascii=False, indent=1)}\n") == value


@given(st.text())
def test_strings_are_written_as_the_standard_module_writes_them(text: str) -> None:
    assert wire.quote(text) == json.dumps(text)


@pytest.mark.parametrize("text", ["", " ", "{", '{"a":', "[1,]", "{} {}", "nul", '"', "[" * 100_000, "\ufeff{}", "1" * 5000])
def test_what_is_not_one_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several kinds, all of them ValueError
        wire.loads(text)


def test_raw_control_characters_inside_strings_are_let_through() -> None:
    assert wire.loads('{"a": "x\ty\x00"}') == {"a": "x\ty\x00"}
