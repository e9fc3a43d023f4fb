"""`report`: the counts of hooks for Prometheus, as JSON, and for people."""

import re
from datetime import date, datetime, timedelta
from datetime import time as clock
from pathlib import Path

import pytest

from subcog_hooks.cli.report import FAMILIES
from subcog_hooks.core.paths import Home
from subcog_hooks.store import sessions
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import BELOW, INTENT, LINES, OPENED_TOTAL, POINTED, POINTED_TOTAL, SPOKE
from tests.cli.conftest import Run
from tests.cli.decided import candidate, decided, keep
from tests.conftest import Maker

DURATION = "search_intent_detection_duration_seconds"
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]  # by name and labels


@pytest.fixture
def with_metrics(home: Home) -> None:
    """Store some values of each metric."""
    home.create()
    state = State.open(home, 100)
    state.increase_counter("search_intent_llm_started", by=5)
    for status, times in (("success", 2), ("timeout", 2), ("error", 1)):
        state.increase_counter("search_intent_llm_completed", f'status="{status}"', times)
    state.increase_counter("search_intent_llm_timeout_total", 'reason="deadline"', 2)
    for seconds in (0.0004, 0.002, 0.002, 0.03):
        state.observe_duration(DURATION, 'source="keyword"', seconds)
    state.observe_duration(DURATION, 'source="hybrid"', 9.0)
    state.increase_counter("of_another_version")
    state.close()


def read_exposition(text: str) -> Samples:
    """Return the samples of a text in format 0.0.4, after checking its form: each family has help, type and its samples."""
    families: list[str] = []
    samples: Samples = {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            assert rest
            if what == "HELP":
                families.append(name)
            else:
                assert (what, name, rest in ("counter", "histogram")) == ("TYPE", families[-1], True)
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert re.fullmatch(f"{families[-1]}(_bucket|_sum|_count)?", match[1])
        labels = tuple(LABEL.findall(match[2] or ""))
        assert (match[1], labels) not in samples
        samples[match[1], labels] = float(match[3])
    assert len(set(families)) == len(families)
    for (name, labels), value in samples.items():
        if labels[-1:] == (("le", "+Inf"),):
            assert samples[name.replace("_bucket", "_count"), labels[:-1]] == value
    return samples


def test_without_a_home_every_metric_is_named(subcog: Run, home: Home) -> None:
    done = subcog("report", "--prometheus")
    assert (done.code, read_exposition(done.out), Path(home.root).exists()) == (0, {}, False)
    assert {family.name for family in FAMILIES} == set(re.findall("# TYPE ([a-z_]+) ", done.out))


@pytest.mark.usefixtures("with_metrics")
def test_prometheus_reads_what_was_counted(subcog: Run) -> None:
    samples = read_exposition(subcog("report", "--prometheus").out)
    assert samples["search_intent_llm_started", ()] == 5
    completed = {dict(labels)["status"]: n for (name, labels), n in samples.items() if name == "search_intent_llm_completed"}
    assert completed == {"success": 2, "error": 1, "timeout": 2}
    assert samples["search_intent_llm_timeout_total", (("reason", "deadline"),)] == 2
    source = ("source", "keyword")
    buckets = [
        samples[f"{DURATION}_bucket", (source, ("le", le))] for le in ("0.0005", "0.001", "0.0025", "0.025", "0.05", "+Inf")
    ]
    assert buckets == [1, 1, 3, 3, 4, 4]
    assert samples[f"{DURATION}_sum", (source,)] == pytest.approx(0.0344)
    assert samples[f"{DURATION}_bucket", (("source", "hybrid"), ("le", "5"))] == 0


@pytest.mark.usefixtures("with_metrics")
def test_json_has_the_same_by_the_metrics_names(subcog: Run) -> None:
    record = subcog("report", "--json").json
    assert record["search_intent_llm_started"] == 5
    assert record["search_intent_llm_completed"] == {"success": 2, "error": 1, "timeout": 2}
    assert record["search_intent_llm_timeout_total"] == {"deadline": 2}
    keyword, hybrid = record[DURATION]["keyword"], record[DURATION]["hybrid"]
    assert (keyword["count"], keyword["sum"]) == (4, pytest.approx(0.0344))
    assert keyword["buckets"]["0.0025"] == 3
    assert hybrid["buckets"]["+Inf"] == 1


def test_one_form_at_a_time(subcog: Run) -> None:
    for options in (("--prometheus", "--json"), ("--prometheus", "--html"), ("--prometheus", "--serve")):
        done = subcog("report", *options, *["x"] * ("--html" in options))
        message = f"subcog: {options[0]} and {options[1]} exclude each other; give one of them\n"
        assert (done.code, done.out, done.err) == (2, "", message)


@pytest.mark.usefixtures("with_metrics")
def test_a_state_that_can_not_be_used_is_exit_code_three(subcog: Run, home: Home) -> None:
    Path(home.state_db).unlink()
    Path(home.state_db).mkdir()
    done = subcog("report")
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)


def noon(days_ago: int) -> int:
    """Return the noon of a day in milliseconds since the epoch."""
    today = date.today()  # noqa: DTZ011 - as the command has it
    return int(datetime.combine(today - timedelta(days=days_ago), clock(12)).timestamp() * 1000)


@pytest.fixture
def with_verdicts(home: Home, store: Store, make: Maker) -> None:
    """Store ten prompts of today and yesterday: four were spoken to, each with m1, and one also with m2."""
    store.add([make(f"Note {i} of the yard.", id=f"m{i}", created_at=i) for i in range(1, 5)])
    store.add([make("Of no use any more.", status="archived"), make("Long gone.", expires_at=1)])
    now, yesterday = noon(0), noon(1)
    rows = [
        decided(f"s{i}", at_ms=now - i, micros=(i + 1) * 10_000, units=300, candidates=[candidate("m1", 0.7)]) for i in range(3)
    ]
    rows.append(decided("s3", at_ms=now - 3, units=500, candidates=[candidate("m1", 0.7), candidate("m2", 0.3)]))
    rows += [decided(f"b{i}", BELOW, at_ms=yesterday, candidates=[candidate("m3", 0.1)]) for i in range(5)]
    rows.append(decided("i", INTENT, at_ms=yesterday))
    rows.append(decided("start", SPOKE, at_ms=now, event="SessionStart", micros=5_000, candidates=[candidate("m2", 0.9)]))
    keep(home, *rows)


@pytest.mark.usefixtures("with_verdicts")
def test_it_counts_prompts_memories_and_times(subcog: Run) -> None:
    short = [" ".join(line.split()) for line in subcog("report").out.splitlines()]
    assert short[0].startswith("What happened since ")
    assert {"prompts 10", "prompts with memories 4 (40%)", "memories given 5, 1.2 each time", "active memories 4"} <= {*short}
    assert "time at a prompt 40 ms; 95 of 100 took 40 ms at most" in short
    assert not [name for name in ("below", "intent ", "UserPromptSubmit", "SessionStart") if name in "".join(short)]


def test_it_counts_memories_called_wrong(subcog: Run, home: Home, store: Store, make: Maker) -> None:
    store.add([make(f"Note {i} of the yard.", id=f"m{i}") for i in range(1, 4)])
    for id_ in ("d1", "d2"):
        keep(home, decided(id_, candidates=[candidate("m1", 0.7), candidate("m3", 0.1)]))
    assert subcog("why", "bad", "m1", "d2").code == 0
    assert subcog("report", "--json").json["bad"] == 1
    assert "called wrong 1" in [" ".join(line.split()) for line in subcog("report").out.splitlines()]
    subcog("why", "bad", "m1", "d2", "--undo")
    assert subcog("report", "--json").json["bad"] == 0


@pytest.mark.usefixtures("with_verdicts")
def test_json_has_the_figures_under_keys_of_their_own(subcog: Run) -> None:
    record = subcog("report", "--json").json
    assert (record["prompts"], record["outcomes"]) == (10, {"below": 5, "spoke": 4, "intent": 1})
    assert (record["injected"], record["characters"]) == (5, 1400)
    assert record["latency_ms"]["UserPromptSubmit"] == {"count": 10, "p50": 40.0, "p95": 40.0, "p99": 40.0}
    assert record["subcog_hook_decisions_total"]["spoke"] == 5
    assert record["subcog_memories_injected_total"] == 6


@pytest.mark.usefixtures("with_verdicts")
def test_prometheus_counts_on_when_verdicts_are_forgotten(subcog: Run, home: Home) -> None:
    state = State.open(home, 1_000)
    state.run("DELETE FROM verdicts")
    state.close()
    samples = read_exposition(subcog("report", "--prometheus").out)
    assert samples["subcog_hook_decisions_total", (("outcome", "spoke"),)] == 5
    assert samples["subcog_hook_decisions_total", (("outcome", "below"),)] == 5
    assert samples["subcog_memories_injected_total", ()] == 6


def test_without_a_home_there_are_no_figures(subcog: Run, home: Home) -> None:
    record = subcog("report", "--json").json
    assert (record["since"], record["prompts"], record["subcog_memories_injected_total"]) == (None, 0, 0)
    assert record["latency_ms"] == {}
    assert not Path(home.root).exists()


def test_hostile_text_cannot_act_on_the_terminal(subcog: Run, home: Home, store: Store, make: Maker) -> None:
    store.add([make("Press \x1b[2Jhere \u202eten", id="m1"), make("[bold]Never\x1b[0m[/bold]", id="m2", status="pending")])
    keep(home, decided("d1", "spoke\x1b[2J", candidates=[candidate("m1", 0.7), candidate("m\x1b3", 0.6)]))
    state = State.open(home, 1_000)
    sessions.record_given(state, "s", ["m1"], 1, "d1")
    state.close()
    out = subcog("report").out
    assert not {"\x1b", "\u202e"} & set(out)
    assert "Press here ten" in out
    assert "[bold]Never[/bold]" in out


def test_openings_of_lines_are_counted(home: Home, subcog: Run) -> None:
    keep(home, decided("d1", LINES, [candidate("near", 0.3, POINTED)]))
    state = State.open(home, 1_000)
    state.increase_counter(POINTED_TOTAL, by=7)
    state.increase_counter(OPENED_TOTAL, by=2)
    state.close()
    assert "lines opened 2 of 8 (25%)" in [" ".join(line.split()) for line in subcog("report").out.splitlines()]
