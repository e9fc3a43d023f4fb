"""`config` and environment variables: accepted values, refused values, and their messages."""

import os
from pathlib import Path

import pytest

from subcog_hooks.cli.config import write_setting
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.paths import Home
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.verdicts import BELOW, INTENT
from tests.cli.conftest import MonkeyPatch, Run, wide
from tests.cli.decided import PROMPT, TOOL, candidate, decided, keep

WRONG = (
    ("SUBCOG_SEARCH_INTENT_ENABLED", "maybe", "expected true or false"),
    ("SUBCOG_SEARCH_INTENT_USE_LLM", "", "expected true or false"),
    ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "200ms", "expected a whole number 1 to 10000"),
    ("SUBCOG_SEARCH_INTENT_MIN_CONFIDENCE", "50%", "expected 0.0 to 1.0"),
    ("SUBCOG_SEMANTIC_WEIGHT", "much", "expected 0.0 to 1.0"),
)


def test_a_wrong_variable_stops_whatever_reads_settings(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    for variable, text, expected in WRONG:
        with monkeypatch.context() as wrong:
            wrong.setenv(variable, text)
            for command in (("search", "berths"), ("config", "list"), ("config", "get", "search.limit")):
                done = subcog(*command)
                assert (done.code, done.out) == (4, "")
                assert done.err == f"subcog: {variable} is {text!r}, {expected}; correct the variable\n"
            done = subcog("doctor")
            assert (done.code, f" BAD  {variable} is {text!r}, {expected}" in done.out) == (4, True)


SET = (
    ("llm.provider", "openai"),
    ("llm.model", "llama3.2:3b"),
    ("llm.base_url", "http://[::1]:11434/v1"),
    ("llm.key_file", "/run/secrets/my llm key"),
)


@pytest.mark.parametrize(("key", "value"), SET)
def test_a_text_is_written_read_and_taken_back(subcog: Run, home: Home, monkeypatch: MonkeyPatch, key: str, value: str) -> None:
    default = KEYS[key].default
    for nothing in (*([""] if default == "" else []), "default"):
        assert subcog("config", "set", key, value).err.splitlines()[0] == f"{key} = {value}"
        assert subcog("config", "get", key).out == f"{value}\n"
        with monkeypatch.context() as screen:
            wide(screen, 200)
            assert value in subcog("config", "list").out  # brackets are no markup
        assert subcog("config", "set", key, nothing).code == 0
        assert subcog("config", "get", key).out == f"{default}\n"
        assert f"\n{key} = {default or '(not set)'}" in subcog("config", "list").out
    assert key.partition(".")[2] not in Path(home.config).read_text()


def test_what_does_not_hold_is_refused_without_a_secret(subcog: Run, home: Home) -> None:
    for key, value, message in (
        ("llm.base_url", "localhost:11434", "llm.base_url does not hold, expected an address such as"),
        ("llm.base_url", "https://me:hunter2@llm.example.org", "llm.base_url does not hold, expected an"),
        ("llm.key_file", "sk-hunter2", "llm.key_file does not hold, expected the full path of a file, such as ~/.keys/llm"),
        ("llm.provider", "ollama", "llm.provider does not hold, expected none, anthropic or openai"),
        ("llm.model", "two words", "llm.model does not hold, expected the name that the provider has for it"),
        ("embedding.model", "", "embedding.model is '', expected a model of `subcog models list`"),
        ("surfacing.max_memories", "9", "surfacing.max_memories is 9, expected a whole number 1 to 6"),
    ):
        done = subcog("config", "set", key, value)
        assert (done.code, done.out, done.err.count("\n")) == (4, "", 1)
        assert done.err.startswith(f"subcog: {message}")
        assert "hunter2" not in done.err
    assert (subcog("config", "set", "model", "x").code, subcog("config", "get", "model").code) == (2, 2)
    assert not Path(home.config).exists()


@pytest.mark.usefixtures("usual_settings")
def test_a_list_names_where_a_value_comes_from(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    subcog("config", "set", "search.limit", "5")
    subcog("config", "set", "recency.decay", "0.5")
    monkeypatch.setenv("SUBCOG_RECENCY_DECAY", "0.25")
    lines = subcog("config", "list").out.splitlines()
    assert {"search.limit = 5  # config.toml line 2", "recency.decay = 0.25  # SUBCOG_RECENCY_DECAY"} <= {*lines}
    assert sum("#" in line for line in lines) == 2
    wide(monkeypatch, 80)
    assert "0.25 (0.0 to 1.0; from SUBCOG_RECENCY_DECAY)" in " ".join(subcog("config", "list").out.split())


@pytest.mark.usefixtures("usual_settings")
def test_the_list_of_settings_shows_what_a_preset_says(subcog: Run) -> None:
    def list_values() -> dict[str, str]:
        return dict(line.split(" = ") for line in subcog("config", "list").out.splitlines())

    assert list_values() == {name: str(key.default).lower() or "(not set)" for name, key in KEYS.items()}
    subcog("config", "set", "fusion.preset", "rrf")
    assert (list_values()["fusion.mode"], list_values()["fusion.alpha"]) == ("rrf  # fusion.preset", "0.5  # fusion.preset")
    assert subcog("config", "get", "fusion.mode").out == "rrf\n"


def test_setting_up_an_llm_says_what_it_still_lacks(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lacks = subcog("config", "set", "llm.provider", "openai").err.splitlines()[1]
    assert lacks.startswith("no LLM is asked yet: llm.model is not set; ")
    assert subcog("config", "set", "llm.base_url", "http://localhost:11434/v1").err.splitlines()[1] == lacks
    assert subcog("config", "set", "llm.model", "tiny").err == "llm.model = tiny\n"
    monkeypatch.setenv("SUBCOG_SEARCH_INTENT_USE_LLM", "flase")
    message = subcog("config", "set", "llm.provider", "openai").err.splitlines()[1]
    assert message.startswith("no LLM is asked yet: search_intent.use_llm cannot be used as it is set; ")


@pytest.fixture
def past_verdicts(home: Home) -> None:
    """Store a hundred decisions on prompts, 17 of them spoken, after twenty older spoken ones."""
    now = now_ms()
    rows = [decided(f"old{i}", at_ms=now - 1_000 - i, candidates=[candidate("m", 0.9)]) for i in range(20)]
    rows += [decided(f"new{i}", at_ms=now - i, candidates=[candidate("m", 0.3 + i / 50)]) for i in range(17)]
    rows += [decided(f"low{i}", BELOW, at_ms=now - i, candidates=[candidate("m", 0.2)]) for i in range(33)]
    rows += [decided(f"no{i}", INTENT, at_ms=now - i) for i in range(50)]
    keep(home, *rows)


@pytest.mark.usefixtures("past_verdicts")
def test_a_threshold_says_how_often_the_hook_would_have_spoken(subcog: Run, home: Home) -> None:
    keep(home, *(decided(f"tool{i}", candidates=[candidate("m", 0.9)], **TOOL) for i in range(30)))  # which do not count
    for value, would in (("0.1", 50), ("0.4", 12), ("1", 0), ("default", 17)):
        said = f"with it, memories would have come to {would} of the last 100 prompts; they came to 17"
        dry = subcog("config", "set", "surfacing.min_relevance", value, "--dry-run")
        assert (Path(home.config).exists(), dry.err.splitlines()[1:]) == (value != "0.1", [said])
        done = subcog("config", "set", "surfacing.min_relevance", value)
        assert (done.code, done.out, done.err.splitlines()[1:]) == (0, "", [said])
    assert subcog("config", "set", "surfacing.min_relevance", "2", "--dry-run").code == 4


def test_a_threshold_names_the_prompts_that_it_would_change(subcog: Run, home: Home) -> None:
    command = ("config", "set", "surfacing.min_relevance")
    assert subcog(*command, "0.1", "--dry-run").err.splitlines()[1:] == [
        "no prompt has come to the hook yet, so its effect is not known"
    ]
    id_ = subcog("remember", "The signing keys are rotated by a monthly job.").out.strip()
    keep(home, decided("near", BELOW, candidates=[candidate(id_, 0.2)]), decided("came", candidates=[candidate(id_, 0.3)]))
    line = f"{PROMPT!r}: {id_} The signing keys are rotated by a monthly job."
    for value, lines in (("0.1", [f"  + {line}"]), ("0.25", []), ("0.4", [f"  - {line}"])):
        assert subcog(*command, value, "--dry-run").err.splitlines()[2:] == lines


@pytest.mark.usefixtures("past_verdicts")
def test_a_bar_for_lines_says_how_often_some_would_have_come(subcog: Run) -> None:
    for value, would in (("0.1", 33), ("0.3", 0), ("0", 0)):
        said = f"with it, lines would have come to {would} of the last 100 prompts; they came to 0"
        assert subcog("config", "set", "surfacing.maybe_relevance", value, "--dry-run").err.splitlines()[1:] == [said]


def test_a_state_that_can_not_be_used_is_no_reason_not_to_set_it(subcog: Run, home: Home) -> None:
    Path(home.state_db).mkdir(parents=True)
    for key, value in (("surfacing.min_relevance", "0.4"), ("surfacing.log_prompts", "false")):
        done = subcog("config", "set", key, value)
        assert (done.code, len(done.err.splitlines())) == (0, 2)
        assert subcog("config", "get", key).out == f"{value}\n"


@pytest.mark.usefixtures("past_verdicts")
def test_what_prompts_said_is_forgotten_at_once(subcog: Run, home: Home) -> None:
    done = subcog("config", "set", "surfacing.log_prompts", "false")
    assert done.err.splitlines() == ["surfacing.log_prompts = false", "stored earlier prompts are deleted"]
    assert "(the prompt was not kept)" in subcog("why").out
    assert "signing keys" not in subcog("why", "--json").out


def test_a_removed_setting_leaves_comments_but_no_empty_table(subcog: Run, home: Home) -> None:
    home.create()
    remark = "[surfacing]\n# agreed with the team: not below .25\n"
    Path(home.config).write_text(f"{remark}min_relevance = 0.3\n[llm]\nat_rest = 'none'\n", encoding="utf-8")
    for key in ("surfacing.min_relevance", "llm.at_rest"):
        assert subcog("config", "set", key, "default").code == 0
    assert Path(home.config).read_text(encoding="utf-8") == remark


@pytest.mark.parametrize("key", ["capture.sessions_except", "share.projects"])
def test_a_list_of_any_script_is_read_as_it_was_written(subcog: Run, key: str) -> None:
    paths = ",".join(f"/home/зоя/проекты/сервис-{number:03}" for number in range(30))
    assert subcog("config", "set", key, paths).code == 0
    assert subcog("config", "get", key).out == f"{paths}\n"
    done = subcog("config", "set", key, f"{paths},{paths}")
    assert (done.code, done.err.endswith("with commas between them, at most 1,000 characters\n")) == (4, True)
    assert subcog("config", "get", key).out == f"{paths}\n"


def test_a_value_that_the_file_may_not_hold_is_not_written(subcog: Run, home: Home) -> None:
    with pytest.raises(ConfigError, match="at most 1,000 characters"):
        write_setting("share.projects", ", ".join(f"github.com/acme/service-{number:03}" for number in range(38)))
    home.create()
    before = "# all of it\n" * 5_461
    Path(home.config).write_text(before, encoding="utf-8")
    done = subcog("config", "set", "search.limit", "5")
    assert (done.code, done.err) == (4, "subcog: config.toml is larger than 65536 bytes; correct it by hand\n")
    assert Path(home.config).read_text(encoding="utf-8") == before


@pytest.mark.parametrize("text", ["fusion = 3\n", "[[fusion]]\nalpha = 0.5\n"])
def test_a_section_that_is_no_table_is_named(subcog: Run, home: Home, text: str) -> None:
    home.create()
    Path(home.config).write_text(text, encoding="utf-8")
    for value in ("0.5", "default"):
        done = subcog("config", "set", "fusion.alpha", value)
        assert (done.code, done.err.startswith("subcog: config.toml: fusion is no table, ")) == (4, True)
    assert Path(home.config).read_text(encoding="utf-8") == text


def test_a_change_keeps_comments_line_ends_and_every_other_byte(subcog: Run, home: Home) -> None:
    subcog("config", "set", "search.limit", "3")
    assert os.name == "nt" or os.stat(home.config).st_mode & 0o777 == 0o600
    Path(home.config).write_bytes(b"\xef\xbb\xbf[search]\r\n# mine\r\nlimit = 5\r\n")
    assert subcog("config", "get", "search.limit").out == "5\n"
    assert subcog("config", "set", "search.limit", "7").code == 0
    assert Path(home.config).read_bytes() == b"[search]\r\n# mine\r\nlimit = 7\r\n"
    Path(home.config).write_text("# my own\n[surfacing] # here\nenabled = true # yes\n")
    assert subcog("config", "set", "surfacing.enabled", "off").code == 0
    assert subcog("config", "get", "surfacing.enabled").out == "false\n"
    assert Path(home.config).read_text() == "# my own\n[surfacing] # here\nenabled = false # yes\n"
    assert subcog("config", "path").out.strip() == home.config
