"""Every setting of recall changes the answer of `search`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.settings.defaults import PRESETS
from subcog_hooks.settings.sources import KEYS
from tests.cli.conftest import MonkeyPatch, Run

Rows = dict[str, dict[str, object]]

# Words and meaning disagree about these: `rows` has every word of QUERY, `story` says it in others.
KITTENS: Rows = {
    "story": {"content": "Kittens and cats sleep on a warm rack while it is freezing outside."},
    "rows": {"content": "SQL error 23P01 in months.csv, column kittens, nap timeout 9, cold start of the load balancer."},
    "half": {"content": "Invoices of cold months are rounded; the ledger has kittens in sheet 9."},
    "third": {"content": "The nap of the balancer socket in cold starts, ledger sheet 4."},
}
SEAT = " ".join(f"seat{number}" for number in range(40))
LONG: Rows = {name: {"content": f"{row['content']} {SEAT}"} for name, row in KITTENS.items()}
QUERY = "where do kittens nap in cold months"
CATS: Rows = {
    "cat": {"content": "The office cat sleeps on the warm server rack in winter."},  # has no word of QUERY
    "words": {"content": "Kittens: see months.csv of the ledger, sheet 9."},
}
TUNNELS: Rows = {
    "text": {"content": "The tunnel hangs: restart the tunnel daemon, then look at its log."},
    "tagged": {"content": "Port 7000 is taken after a crash.", "tags": ["rathole"]},
    "rathole": {"content": "A rathole is dug beside the east slipway."},
}
AGES: Rows = {
    "old": {"content": "The crane is locked in a storm of force 8.", "created_at": "2020-01-01"},
    "new": {"content": "Somebody asked whether the crane has a manual.", "created_at": "2026-01-01"},
}
HARBOUR: Rows = {
    "master": {"content": "Ask the harbour master.", "triggers": ["berth for"]},
    "tide": {"content": "A berth for ships that draw much falls dry.", "when": {"tide": "low"}},
}


class Case(NamedTuple):
    """A setting, a value, and the part of the answer (`shows`) that differs from the pinned value's."""

    key: str
    value: str
    rows: Rows
    query: str = QUERY
    beside: tuple[tuple[str, str], ...] = ()
    shows: str = "ids"


# Where every case starts from, so that a default that moves breaks none.
PINNED = {
    "fusion.preset": "fixed-70-30",
    "fusion.mode": "weighted",
    "fusion.alpha": "0.7",
    "fusion.small": "500",
    "fusion.large": "5000",
    "fusion.rrf_k": "60",
    "fusion.tags": "0.1",
    "fusion.exact_quote": "0.1",
    "fusion.entity": "0.4",
    "fusion.conceptual": "0.8",
    "fusion.factual": "0.5",
    "fusion.exploratory": "0.7",
    "fusion.pattern": "1.0",
    "fusion.state": "1.0",
    "recency.decay": "0.0",
    "recency.floor": "0.7",
    "search.timeout_ms": "60000",
    "search.min_similarity": "0.25",
    "search.limit": "10",
}
ADAPTIVE = ("fusion.alpha", "adaptive")
MANY_WORDS = "".join(f" kitten{i}" for i in range(400))  # to look them all up takes milliseconds
CASES = (
    *(
        Case("fusion.preset", name, KITTENS, shows="scores")
        for name in PRESETS
        if name not in (PINNED["fusion.preset"], "relevance")
    ),
    Case("fusion.preset", "relevance", LONG, "cold months"),
    Case("fusion.mode", "relevance", LONG, "cold months"),
    Case("fusion.preset", "adaptive", KITTENS, beside=(("fusion.small", "0"), ("fusion.large", "0"))),
    Case("fusion.preset", "vector-only", KITTENS),
    Case("fusion.preset", "lexical-only", KITTENS, shows="strategies_matched"),
    Case("fusion.mode", "rrf", KITTENS, beside=(("fusion.rrf_k", "1"),)),
    Case("fusion.alpha", "0.0", KITTENS),
    Case("fusion.alpha", "0.95", KITTENS),
    Case("fusion.alpha", "adaptive", KITTENS, beside=(("fusion.small", "0"), ("fusion.large", "0"))),
    Case("fusion.small", "1", KITTENS, beside=(ADAPTIVE,)),
    Case("fusion.large", "2", KITTENS, beside=(ADAPTIVE, ("fusion.small", "1"))),
    Case("fusion.rrf_k", "1", KITTENS, beside=(("fusion.mode", "rrf"), ("fusion.alpha", "0.65"))),
    Case("fusion.tags", "1.0", TUNNELS, "rathole restart tunnel daemon log"),
    Case("fusion.tags", "1.0", TUNNELS, "rathole restart tunnel daemon log", shows="scores"),
    Case("fusion.exact_quote", "0.9", KITTENS, '"cold starts"', (ADAPTIVE,), "scores"),
    Case("fusion.entity", "0.9", KITTENS, "months.csv", (ADAPTIVE,), "scores"),
    Case("fusion.conceptual", "0.1", KITTENS, QUERY, (ADAPTIVE,), "scores"),
    Case("fusion.factual", "0.9", KITTENS, "kittens 2024", (ADAPTIVE,), "scores"),
    Case("fusion.exploratory", "0.1", KITTENS, "kittens", (ADAPTIVE,), "scores"),
    Case("fusion.pattern", "5.0", HARBOUR, "berth for a dredger", shows="scores"),
    Case("fusion.state", "5.0", HARBOUR, "berth for a dredger", shows="scores"),
    Case("recency.decay", "1.0", AGES, "crane locked in a storm", beside=(("recency.floor", "0.0"),)),
    Case("recency.floor", "0.0", AGES, "crane locked in a storm", beside=(("recency.decay", "1.0"),)),
    Case("search.min_similarity", "0.9", CATS),
    Case("search.min_similarity", "0.9", {"cat": CATS["cat"]}, shows="confidence"),
    Case("search.timeout_ms", "1", KITTENS, QUERY + MANY_WORDS, shows="degraded"),
    Case("search.timeout_ms", "1", KITTENS, QUERY + MANY_WORDS, shows="note"),
    Case("search.limit", "1", KITTENS),  # not recall's own, but of the section
)


def write(rows: Rows) -> str:
    lines = [json.dumps({"id": id_, "created_at": "2026-03-02", **row}) + "\n" for id_, row in rows.items()]
    Path("rows.jsonl").write_text("".join(lines), encoding="utf-8")
    return "rows.jsonl"


def configure(case: Case, value: str) -> None:
    """Write the settings of a case with this value. A preset sets mode and alpha, so these two are left out."""
    left_out = {"fusion.mode", "fusion.alpha"} if case.key == "fusion.preset" else set()
    values = {key: pinned for key, pinned in PINNED.items() if key not in left_out} | dict(case.beside) | {case.key: value}
    text = "".join(f"{key} = {value if value[0].isdigit() else json.dumps(value)}\n" for key, value in values.items())
    Path(Home.find().config).write_text(text, encoding="utf-8")


def observe(subcog: Run, case: Case) -> Any:
    """Return the part `case.shows` of the answer."""
    answer = subcog("search", case.query, "--fast", "--json", "--state", "tide=low").json
    results = answer["results"]
    return {**answer, "ids": [hit["id"] for hit in results], "scores": [hit["score"] for hit in results]}[case.shows]


@pytest.mark.usefixtures("usual_settings")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.key}={case.value}-{case.shows}")
def test_a_setting_changes_the_answer(subcog: Run, case: Case) -> None:
    subcog("import", write(case.rows), *["--wait"] * (case.shows == "degraded"))  # pending vectors degrade it, too
    configure(case, PINNED[case.key])
    before = observe(subcog, case)
    configure(case, case.value)
    assert observe(subcog, case) != before


def test_a_person_lowers_the_least_similarity_for_one_search(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    subcog("import", write({"cents": {"content": "Invoices are rounded to whole cents per line."}}))
    search = ("search", "wharf", "--fast", "--mode", "semantic", "--ids")
    assert subcog(*search).out == ""
    monkeypatch.setenv("SUBCOG_SEARCH_MIN_SIMILARITY", "0.0")
    assert subcog(*search).out == "cents\n"
    monkeypatch.setenv("CLAUDECODE", "1")
    assert subcog(*search).out == ""


def test_every_setting_of_recall_is_in_the_table() -> None:
    recall = {name for name in KEYS if name.partition(".")[0] in ("fusion", "recency", "search")}
    assert recall == {case.key for case in CASES} == PINNED.keys()
