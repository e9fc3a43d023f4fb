"""Irregular forms: each leads to one base and no further, and forms that are mostly another word are left out."""

import pytest

from subcog_hooks.core.tables import read_rows
from subcog_hooks.store import index_sync
from subcog_hooks.store.store import Store
from subcog_hooks.text import analysis
from subcog_hooks.text.analysis import BASES, Analysers
from tests.conftest import Maker

LEFT_OUT = ("bound", "ground", "lay", "saw", "wound", "best")  # as the table says


@pytest.mark.parametrize(
    ("form", "base"),
    [("went", "go"), ("chosen", "choose"), ("indices", "index"), ("rebuilt", "rebuild"), ("children", "child"), ("men", "man")],
)
def test_a_form_leads_to_its_base(form: str, base: str) -> None:
    analysers = Analysers()
    assert BASES[form] == base
    assert analysers.body_terms(form) == analysers.body_terms(base)


def test_no_base_is_itself_a_form_of_another_word() -> None:
    assert {base for base in BASES.values() if base in BASES} == set()


def test_no_form_is_given_twice() -> None:
    forms = [form for _, words in read_rows(analysis.__file__, "irregular.tsv") for form in words.split()]
    assert sorted(forms) == sorted(set(forms))


def test_every_entry_is_a_plain_lower_case_word() -> None:
    assert all(word.isascii() and word.isalpha() and word.islower() for pair in BASES.items() for word in pair)


def test_what_is_more_often_another_word_is_left_out() -> None:
    assert [word for word in LEFT_OUT if word in BASES] == []


@pytest.mark.parametrize(("written", "asked"), [("The build broke at noon.", "break"), ("Each vertex is shared.", "vertices")])
def test_a_memory_is_found_by_another_form_of_its_words(store: Store, make: Maker, written: str, asked: str) -> None:
    store.add([make(written)])
    (stem,) = Analysers().body_terms(asked)
    assert index_sync.index_in_memory(store).document_frequency("body", stem) == 1
