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
    assert run(Probe(ModelError("interrupted"), takes_all_time=True)).failure == "lexical_probe: out of time"
    assert run(Probe(takes_all_time=True)).ranked == RANKED  # it came in late, but it came


def test_without_time_only_the_floor_is_asked() -> None:
    probe, floor = Probe(), Probe(is_floor=True)
    result = run(probe, has_passed=True)
    assert (probe.asked, result.ranked, result.failure) == ([], [], "lexical_probe: no time was left for it")
    result = run(floor, has_passed=True)
    assert (floor.asked, result.ranked, result.failure) == ([5], RANKED, None)


def test_any_of_the_words_is_the_only_floor() -> None:
    kinds = (words.ExactWords, words.Relaxed, words.Beginnings, words.Pieces, Semantic, Labels)
    assert [kind.name for kind in kinds if kind.is_floor] == ["lexical_relaxed"]


@pytest.mark.parametrize("error", [IndexUnusable("the index is damaged"), ZeroDivisionError()])
def test_unusable_indexes_and_faults_in_code_are_for_the_caller(error: Exception) -> None:
    with pytest.raises(type(error)):
        run(Probe(error))
