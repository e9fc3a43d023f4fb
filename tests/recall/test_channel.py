"""The result of a channel: its list, or the recorded failure; an unusable index is raised."""

import pytest

from subcog_hooks.core.errors import ModelError
from subcog_hooks.recall import channel, words
from subcog_hooks.recall.channel import ChannelResult
from subcog_hooks.recall.labels import Labels
from subcog_hooks.recall.query import Query
from subcog_hooks.recall.vectors import Semantic
from subcog_hooks.store.index import IndexUnusable
from subcog_hooks.store.store_reader import Filter
from tests.recall.shelf import Held

RANKED = [(2.0, 7), (1.0, 3)]


class Probe:
    """A channel with a given result or error."""

    name = "lexical_probe"
    strategy = "lexical"

    def __init__(self, error: Exception | None = None, *, takes_all_time: bool = False, is_floor: bool = False) -> None:
        self.error = error
        self.is_floor = is_floor
        self.takes_all_time = takes_all_time
        self.asked: list[int] = []

    def search(self, query: Query, scope: Filter, k: int, deadline: Held) -> list[tuple[float, int]]:  # noqa: ARG002 - a channel's signature
        self.asked.append(k)
        deadline.has_passed = self.takes_all_time
        if self.error:
            raise self.error
        return RANKED


def run(probe: Probe, *, has_passed: bool = False) -> ChannelResult:
    return channel.run_channel(probe, Query("text", ()), Filter(), 5, Held(has_passed=has_passed))  # type: ignore[arg-type]  # with a Held


def test_what_a_channel_finds_is_passed_on_with_its_name() -> None:
    probe = Probe()
    result = run(probe)
    assert (result.name, result.strategy, result.ranked, result.failure) == ("lexical_probe", "lexical", RANKED, None)
    assert probe.asked == [5]


def test_a_failure_is_noted_and_names_the_channel() -> None:
    result = run(Probe(ModelError("query-encoder.bin is damaged", "reinstall subcog")))
    assert (result.ranked, result.failure) == ([], "lexical_probe: query-encoder.bin is damaged")


def test_a_failure_behind_the_deadline_is_said_to_be_one_of_time() -> None:
    assert run(Probe(ModelError("interrupted"), takes_all_time=True)).failure == "lexical_probe: out of time"


def test_what_came_in_late_but_came_is_passed_on() -> None:
    assert run(Probe(takes_all_time=True)).ranked == RANKED


def test_without_time_a_channel_is_not_asked() -> None:
    probe = Probe()
    result = run(probe, has_passed=True)
    assert (probe.asked, result.ranked) == ([], [])
    assert result.failure == "lexical_probe: no time was left for it"


def test_the_floor_is_asked_whatever_the_time_is() -> None:
    probe = Probe(is_floor=True)
    result = run(probe, has_passed=True)
    assert (probe.asked, result.ranked, result.failure) == ([5], RANKED, None)


def test_any_of_the_words_is_the_only_floor() -> None:
    kinds = (words.ExactWords, words.Relaxed, words.Beginnings, words.Pieces, Semantic, Labels)
    assert [kind.name for kind in kinds if kind.is_floor] == ["lexical_relaxed"]


def test_an_index_that_can_not_be_used_is_for_the_caller() -> None:
    with pytest.raises(IndexUnusable, match="damaged"):
        run(Probe(IndexUnusable("the index is damaged")))


def test_a_fault_in_the_code_is_no_failure_of_a_channel() -> None:
    with pytest.raises(ZeroDivisionError):
        run(Probe(ZeroDivisionError()))
