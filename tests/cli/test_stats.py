"""`stats`: what State has counted, as Prometheus reads it, as JSON, and for people."""

import json
import math
import re
from pathlib import Path

import pytest

from subcog_hooks.cli.stats import FAMILIES, quantile
from subcog_hooks.paths import Home
from subcog_hooks.state import BUCKETS, Histogram, State
from tests.cli.conftest import Run

DURATION = "search_intent_detection_duration_seconds"
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]  # by name and labels


@pytest.fixture
def counted(home: Home) -> None:
    """A state with some of each metric."""
    home.create()
    state = State.open(home, 100)
    state.count("search_intent_llm_started", by=5)
    for status, times in (("success", 2), ("timeout", 2), ("error", 1)):
        state.count("search_intent_llm_completed", f'status="{status}"', times)
    state.count("search_intent_llm_timeout_total", 'reason="deadline"', 2)
    for seconds in (0.0004, 0.002, 0.002, 0.03):
        state.observe(DURATION, 'source="keyword"', seconds)
    state.observe(DURATION, 'source="hybrid"', 9.0)
    state.count("of_another_version")
    state.close()


def read_exposition(text: str) -> Samples:
    """The samples of a text in format 0.0.4, after checking what Prometheus asks of it."""
    assert text.endswith("\n")
    kinds: dict[str, str] = {}
    helped: list[str] = []
    samples: Samples = {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            assert what in ("HELP", "TYPE")
            assert rest
            if what == "HELP":
                helped.append(name)
            else:
                assert name not in kinds
                assert rest in ("counter", "histogram")
                kinds[name] = rest
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        labels = tuple(LABEL.findall(found[2] or ""))
        assert len(dict(labels)) == len(labels)
        assert any(found[1] in (name, *(f"{name}{end}" for end in ("_bucket", "_sum", "_count"))) for name in [*kinds][-1:]), (
            line
        )
        assert (found[1], labels) not in samples
        samples[found[1], labels] = float(found[3])
    assert helped == [*kinds]
    for name, kind in kinds.items():
        if kind == "histogram":
            check_histogram(name, samples)
    return samples


def check_histogram(name: str, samples: Samples) -> None:
    """Each set of labels has cumulative buckets up to +Inf, which is their count, and a sum."""
    assert not any(sample == name for sample, _ in samples)
    buckets: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    for (sample, labels), value in samples.items():
        if sample == f"{name}_bucket":
            assert labels[-1][0] == "le"
            buckets.setdefault(labels[:-1], []).append((float(labels[-1][1]), value))
    assert buckets.keys() == {labels for sample, labels in samples if sample == f"{name}_sum"}
    for labels, rows in buckets.items():
        assert rows == sorted(rows)
        assert [value for _, value in rows] == sorted(value for _, value in rows)
        assert rows[-1] == (math.inf, samples[f"{name}_count", labels])


def test_without_a_home_every_metric_is_there_with_zero_and_no_file_is_made(subcog: Run, home: Home) -> None:
    done = subcog("stats", "--prometheus")
    samples = read_exposition(done.out)
    assert done.code == 0
    assert set(samples.values()) == {0.0}
    assert ("search_intent_llm_started", ()) in samples
    for name, label, values in (
        ("search_intent_llm_completed", "status", ("success", "error", "timeout", "disconnected")),
        ("search_intent_llm_timeout_total", "reason", ("deadline", "llm_timeout_ms")),
        (f"{DURATION}_count", "source", ("keyword", "llm", "hybrid")),
    ):
        assert [dict(labels)[label] for sample, labels in samples if sample == name] == list(values)
    assert not Path(home.root).exists()


@pytest.mark.usefixtures("counted")
def test_prometheus_reads_what_was_counted(subcog: Run) -> None:
    samples = read_exposition(subcog("stats", "--prometheus").out)
    assert samples["search_intent_llm_started", ()] == 5
    completed = {dict(labels)["status"]: n for (name, labels), n in samples.items() if name == "search_intent_llm_completed"}
    assert completed == {"success": 2, "error": 1, "timeout": 2, "disconnected": 0}
    assert samples["search_intent_llm_timeout_total", (("reason", "deadline"),)] == 2
    source = ("source", "keyword")
    buckets = [
        samples[f"{DURATION}_bucket", (source, ("le", le))] for le in ("0.0005", "0.001", "0.0025", "0.025", "0.05", "+Inf")
    ]
    assert buckets == [1, 1, 3, 3, 4, 4]
    assert samples[f"{DURATION}_sum", (source,)] == pytest.approx(0.0344)
    assert samples[f"{DURATION}_bucket", (("source", "hybrid"), ("le", "5"))] == 0
    assert samples[f"{DURATION}_count", (("source", "hybrid"),)] == 1


def test_the_names_are_s0s() -> None:
    assert {(family.name, family.kind, family.label) for family in FAMILIES} == {
        ("search_intent_llm_started", "counter", ""),
        ("search_intent_llm_completed", "counter", "status"),
        ("search_intent_llm_timeout_total", "counter", "reason"),
        (DURATION, "histogram", "source"),
    }


@pytest.mark.usefixtures("counted")
def test_json_has_the_same_by_the_metrics_names(subcog: Run) -> None:
    told = json.loads(subcog("stats", "--json").out)
    assert told["search_intent_llm_started"] == 5
    assert told["search_intent_llm_completed"] == {"success": 2, "error": 1, "timeout": 2, "disconnected": 0}
    assert told["search_intent_llm_timeout_total"] == {"deadline": 2, "llm_timeout_ms": 0}
    keyword, hybrid = told[DURATION]["keyword"], told[DURATION]["hybrid"]
    assert (keyword["count"], keyword["sum"], keyword["mean"]) == (4, pytest.approx(0.0344), pytest.approx(0.0086))
    assert keyword["buckets"]["0.0025"] == 3
    assert (hybrid["p50_estimate"], hybrid["buckets"]["+Inf"]) == (BUCKETS[-1], 1)  # nothing is known beyond the last bucket
    assert (told[DURATION]["llm"]["mean"], told[DURATION]["llm"]["p95_estimate"]) == (None, None)


@pytest.mark.usefixtures("counted")
def test_people_see_a_table_with_estimates_that_are_called_so(subcog: Run) -> None:
    out = subcog("stats").out
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "\x1b" not in out  # this is no terminal
    assert rows[:4] == ["LLM calls", "started 5", "completed: success 2", "completed: error 1"]
    assert "timeout: deadline 2" in rows
    assert rows[-4] == "intents told by count mean p50, estimated p95, estimated"
    assert rows[-3].startswith("keyword 4 8.6 ms 1.75 ms ")
    assert rows[-2:] == ["llm 0 - - -", "hybrid 1 9 s 5 s 5 s"]


def test_half_of_the_observations_are_under_the_median_as_far_as_buckets_tell() -> None:
    histogram = Histogram("x", "", ((0.1, 10), (0.2, 10), (0.4, 20), (math.inf, 40)), 0.0)
    assert quantile(histogram, 0.25) == pytest.approx(0.1)
    assert quantile(histogram, 0.375) == pytest.approx(0.3)
    assert quantile(histogram, 0.95) == 0.4
    assert quantile(Histogram("x", "", ((0.1, 0), (math.inf, 0)), 0.0), 0.5) is None


def test_one_form_at_a_time(subcog: Run) -> None:
    done = subcog("stats", "--json", "--prometheus")
    assert (done.code, done.out, done.err) == (2, "", "subcog: --json and --prometheus exclude each other; give one of them\n")


@pytest.mark.usefixtures("counted")
def test_a_state_that_can_not_be_used_is_exit_code_three(subcog: Run, home: Home) -> None:
    Path(home.state_db).unlink()
    Path(home.state_db).mkdir()
    done = subcog("stats")
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
