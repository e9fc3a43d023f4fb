"""`subcog intent` and `why "PROMPT"`: forms of output, batches, wrong calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import past_runs
from subcog_hooks.store.state import State
from tests.cli.conftest import MonkeyPatch, Run
from tests.llm_server import LlmServer, fails, says

PROMPT = "the tests are failing with exit code 101 in cargo test"
KEYS = ["intent_type", "confidence", "topics", "keywords", "source", "llm_status", "query_type", "elapsed_ms"]


def intent_json(subcog: Run, prompt: str, *options: str) -> Any:
    """Return the intent of a prompt as `intent --batch` prints it."""
    done = subcog("intent", "--batch", "-", *options, stdin=json.dumps({"id": 1, "prompt": prompt}).encode())
    assert (done.code, done.err) == (0, "")
    return {key: value for key, value in done.json.items() if key != "id"}


def test_json_has_what_is_known_in_this_order(subcog: Run) -> None:
    record = intent_json(subcog, PROMPT)
    assert list(record) == KEYS
    assert (record["intent_type"], record["source"], record["llm_status"]) == ("troubleshoot", "keyword", "off")
    assert 0.5 <= record["confidence"] <= 0.95
    assert 0 < len(record["topics"]) <= 5
    assert record["keywords"]
    assert record["query_type"] == "factual"
    assert record["elapsed_ms"] >= 0


def test_words_are_one_prompt_and_a_dash_is_standard_input(subcog: Run) -> None:
    whole = intent_json(subcog, PROMPT)
    for arguments in ([PROMPT], PROMPT.split(), ["-"]):
        record = subcog("why", "--json", *arguments, stdin=PROMPT.encode()).json
        assert record == {**whole, "elapsed_ms": record["elapsed_ms"], "decision": None}
        alone = subcog("intent", "--json", *arguments, stdin=PROMPT.encode()).json
        assert alone == {**whole, "elapsed_ms": alone["elapsed_ms"]}
    shown = subcog("intent", "--explain", PROMPT).out
    assert (shown.startswith("troubleshoot"), "merge  no LLM was asked" in shown) == (True, True)
    assert "a prompt and --batch exclude each other" in subcog("intent", "--batch", "-", PROMPT).err


def test_why_shows_the_verdict_on_a_prompt_never_sent(subcog: Run) -> None:
    id_ = subcog("remember", "Berths are allocated by the length of the ship.").out.strip()
    for number in range(20):
        subcog("remember", f"Cargo paper number {number} is filed in the office.")
    done = subcog("why", "how do berths get allocated?")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("spoke: 1 of ")
    assert "\nhowto  0." in done.out
    assert f"{id_}  learnings  injected" in done.out
    record = subcog("why", "how do berths get allocated?", "--json").json
    assert (record["intent_type"], record["decision"]["injected"]) == ("howto", [id_])
    assert f"{id_}  relevance " in subcog("why", "how do berths get allocated?", "--explain").out
    assert subcog("why", "list").code == 1  # no decision was recorded


def test_a_prompt_that_asks_for_nothing_is_none_and_done(subcog: Run) -> None:
    for prompt in ("", " ", "\n", "ok", "make it blue", "/compact"):
        assert intent_json(subcog, prompt)["intent_type"] == "none"
    for prompt, speaks in ((PROMPT, True), ("thanks!", False), ("the lamp relay of the tide sensor", True)):
        assert intent_json(subcog, prompt, "--explain")["explain"]["speaks"] is speaks


def test_without_a_home_none_is_made(subcog: Run, home: Home) -> None:
    assert subcog("why", PROMPT, "--explain").code == 0
    assert not Path(home.root).exists()


def test_an_unusable_state_is_named_and_the_intent_still_shown(subcog: Run, home: Home) -> None:
    home.create()
    Path(home.state_db).mkdir()
    subcog("remember", "The tests run in a container.")
    done = subcog("why", PROMPT, "--json")
    assert (done.code, done.json["intent_type"], done.json["decision"]) == (0, "troubleshoot", None)
    assert done.err == f"{home.state_db} cannot be opened: it is a folder\n"


def test_a_batch_answers_each_line(subcog: Run, tmp_path: Path) -> None:
    lines = [
        {"id": 1, "prompt": PROMPT},
        {"id": "b", "prompt": "thanks!"},
        {"id": None, "prompt": "where is\u2028the retry logic"},
    ]
    raw = "\n".join(map(json.dumps, lines)).encode()
    (tmp_path / "prompts.jsonl").write_bytes(raw)
    done = subcog("intent", "--batch", "-", stdin=raw)
    rows = done.rows
    assert done.code == 0
    assert all(list(row) == ["id", *KEYS] for row in rows)
    assert [(row["id"], row["intent_type"]) for row in rows] == [(1, "troubleshoot"), ("b", "none"), (None, "location")]
    again = subcog("intent", "--batch", "prompts.jsonl").rows
    assert [{**row, "elapsed_ms": 0} for row in again] == [{**row, "elapsed_ms": 0} for row in rows]


def test_a_batch_explains_each_line_and_answers_a_bad_one(subcog: Run) -> None:
    done = subcog("intent", "--batch", "-", "--explain", stdin=json.dumps({"id": 1, "prompt": PROMPT}).encode())
    assert list(done.json["explain"]) == ["signals", "shape", "llm", "merge", "speaks"]
    done = subcog("intent", "--batch", "-", stdin=b'{"id": 1, "prompt": "x"}\n{"id": 2}\n')
    first, bad = done.rows
    assert (done.code, first["intent_type"]) == (0, "none")
    assert bad == {"id": 2, "error": 'standard input line 2: expected {"id", "prompt"}'}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["intent"], "no prompt was given"),
        (["intent", "--batch", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["why", "- x"], "put -- before a text that begins with a dash"),
        (["why", PROMPT, "--everywhere"], "a prompt and --everywhere exclude each other"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_two(subcog: Run, arguments: list[str], message: str) -> None:
    done = subcog(*arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


def test_controls_and_secrets_of_a_prompt_are_not_shown(subcog: Run) -> None:
    secret = "ghp_" + "a1B2" * 9
    shown = subcog("why", f"why does the deploy \x1b[31m of {secret} fail?", "--explain").out
    assert ("deploy" in shown, "\x1b" in shown, secret in shown) == (True, False, False)


def test_the_signals_that_are_shown_are_those_of_the_intent(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    record = intent_json(subcog, PROMPT, "--explain")
    signals = record["explain"]["signals"]
    assert {signal["text"] for signal in signals if signal["family"] == record["intent_type"]} == set(record["keywords"])
    assert all(signal["text"] in PROMPT for signal in signals)
    assert signals[0]["family"] == record["intent_type"]
    assert record["explain"]["llm"]["intent_type"] is None
    shown = subcog("why", PROMPT, "--explain").out
    assert all(signal["name"] in shown for signal in signals)


def configure(home: Home, url: str, *lines: str) -> None:
    home.create()
    State.open(home, 1_000).close()
    text = "\n".join(("search_intent.llm_skip_confidence = 1.0", "search_intent.llm_timeout_ms = 10000", *lines))
    Path(home.config).write_text(f'{text}\n[llm]\nprovider = "openai"\nmodel = "tiny"\nbase_url = "{url}"\n')


def test_an_answer_is_merged_shown_and_kept(subcog: Run, home: Home) -> None:
    with LlmServer(says("location", 0.9, ["cargo"])) as server:
        configure(home, server.url_v1)
        first = intent_json(subcog, PROMPT, "--explain")
        again = intent_json(subcog, PROMPT, "--explain")
        shown = subcog("why", PROMPT, "--explain").out
    assert (first["intent_type"], first["source"], first["llm_status"]) == ("location", "hybrid", "success")
    assert first["topics"][0] == "cargo"
    assert (first["explain"]["llm"]["confidence"], first["explain"]["llm"]["elapsed_ms"] > 0) == (0.9, True)
    assert first["explain"]["merge"].startswith("the LLM answered")
    assert (again["llm_status"], again["explain"]["llm"]["elapsed_ms"], len(server.requests)) == ("cached", None, 1)
    assert "llm    location 0.90, topics: cargo; cached" in shown
    assert f"merge  {first['explain']['merge']}\n" in shown


def test_an_llm_is_left_alone_after_three_failures(subcog: Run, home: Home) -> None:
    with LlmServer(fails(500)) as server:
        configure(home, server.url_v1)
        batch = "\n".join(json.dumps({"id": number, "prompt": PROMPT}) for number in range(5))
        done = subcog("intent", "--batch", "-", "--explain", stdin=batch.encode())
        rows = done.rows
    assert (done.code, len(server.requests)) == (0, 3)
    assert [row["llm_status"] for row in rows] == ["error"] * 3 + ["resting"] * 2
    assert {row["intent_type"] for row in rows} == {"troubleshoot"}
    assert "answered 500" in rows[0]["explain"]["llm"]["reason"]


def test_no_secret_is_sent(subcog: Run, home: Home) -> None:
    secret = "ghp_" + "a1B2" * 9
    with LlmServer(says("howto", 0.9, ["token"])) as server:
        configure(home, server.url_v1)
        assert intent_json(subcog, f"how do we rotate {secret} again?")["llm_status"] == "success"
        (request,) = server.requests
        record = intent_json(subcog, "why is password=hunter2 refused by the bank?", "--explain")
        assert len(server.requests) == 1
    assert (secret.encode() in request.body, b"how do we rotate" in request.body) == (False, True)
    assert (record["llm_status"], record["explain"]["llm"]["reason"]) == ("skipped", "the prompt may hold a secret")


def test_what_the_command_does_is_not_counted_as_the_hooks(subcog: Run, home: Home) -> None:
    with LlmServer(says("howto", 0.9), fails(500)) as server:
        configure(home, server.url_v1)
        assert [intent_json(subcog, prompt)["llm_status"] for prompt in (PROMPT, PROMPT + " again")] == ["success", "error"]
    state = State.open(home, 1_000)
    assert past_runs.read_metrics(state) == []
    state.close()


def test_an_unusable_llm_is_exit_code_four_for_any_prompt(subcog: Run, home: Home) -> None:
    home.create()
    for text, code in (('[llm]\nprovider = "openai"\n', 4), ('search_intent.use_llm = false\n[llm]\nprovider = "openai"\n', 0)):
        Path(home.config).write_text(text)
        for prompt in (PROMPT, "thanks!"):
            done = subcog("why", prompt)
            assert (done.code, done.err.startswith("subcog: llm.model is not set; ")) == (code, code == 4)
