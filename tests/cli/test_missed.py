"""`why missed`: the prompt becomes a question of the memory that was missed, and is the last one of this project."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import IN_AN_AGENT, Home
from subcog_hooks.store.memory import LEARNED, AnsweredQuestion
from subcog_hooks.store.store import Store
from tests.cli.conftest import Ask, MonkeyPatch, Run
from tests.cli.decided import BEGINNING, TOOL, candidate, decided, keep, latest

RULE = "Nobody merges on Fridays after four, whatever the pipeline shows."
PROMPT = "Is there a time of the week when deployments are forbidden?"
NEAR = "At which time of the week are deployments forbidden here?"
OTHER = "Which runbook has the quarterly steps for the vault?"


@pytest.fixture
def silent(ask: Ask) -> Ask:
    """Ask two other prompts and PROMPT, for which the rule is not given, and return `ask`."""
    ask.remember(rule=RULE, cookie="The session cookie is renewed every hour.")
    for number, prompt in enumerate((OTHER, NEAR, PROMPT)):
        assert "rule" not in ask(prompt, f"before{number}")
    return ask


def questions_of(home: Home, id_: str = "rule") -> list[AnsweredQuestion]:
    with Store.reader(home) as store:
        return list(store.get(id_).questions)


def test_the_prompt_becomes_a_question_that_brings_the_memory(subcog: Run, silent: Ask, home: Home) -> None:
    verdict = latest(subcog)
    done = subcog("why", "missed", "rule")
    assert done.code == 0, done.err
    assert questions_of(home) == [AnsweredQuestion(PROMPT, LEARNED)]
    assert done.err.splitlines() == [
        f"learned: {PROMPT!r} is a question that rule answers",
        f"`subcog why missed rule {verdict} --undo` takes it back",
    ]
    assert silent(PROMPT, "after") == ["rule"]
    assert silent(OTHER, "after") == []


def test_undo_takes_the_question_away(subcog: Run, silent: Ask, home: Home) -> None:
    subcog("edit", "rule", "--question", "may I merge on a Friday?")
    verdict = latest(subcog)
    for named in ([verdict], []):
        subcog("why", "missed", "rule", verdict)
        silent(OTHER, f"later{len(named)}")
        done = subcog("why", "missed", "rule", *named, "--undo")
        assert (done.code, done.out, done.err) == (0, "", f"no longer a question that rule answers: {PROMPT!r}\n")
        assert questions_of(home) == [AnsweredQuestion("may I merge on a Friday?")]
    assert silent(PROMPT, "after") == []


def test_undo_works_once_the_prompt_is_not_kept_any_more(subcog: Run, silent: Ask, home: Home) -> None:
    subcog("why", "missed", "rule")
    Path(home.state_db).unlink()
    done = subcog("why", "missed", "rule", "--undo")
    assert (done.code, done.err) == (0, f"no longer a question that rule answers: {PROMPT!r}\n")
    assert questions_of(home) == []


def test_undo_leaves_what_another_prompt_has_taught(subcog: Run, silent: Ask, home: Home) -> None:
    silent("When does the harbour office close its books?", "later")
    other = latest(subcog)
    verdict = next(line.split()[0] for line in subcog("why", "list").out.splitlines() if line.endswith(PROMPT))
    assert subcog("why", "missed", "rule", verdict).code == 0
    done = subcog("why", "missed", "rule", other, "--undo")
    assert (done.code, done.err) == (
        2,
        "subcog: rule has learned nothing from that prompt; `subcog edit rule` shows its questions, and changes them\n",
    )
    assert len(questions_of(home)) == 1
    assert subcog("why", "missed", "cookie", "--undo").err.startswith("subcog: cookie has learned no question; ")


@pytest.mark.parametrize(
    "prompt",
    [
        f"I am back at the ticket from yesterday and read the log again. {PROMPT} Thanks a lot for your help so far.",
        f"{PROMPT}\n```python\nledger.close(account, day=friday)\n```",
    ],
)
def test_of_a_long_or_pasted_prompt_the_question_is_learned(subcog: Run, silent: Ask, home: Home, prompt: str) -> None:
    silent(prompt, "long")
    assert subcog("why", "missed", "rule").code == 0
    assert questions_of(home) == [AnsweredQuestion(PROMPT, LEARNED)]


def test_what_needs_or_takes_no_question_learns_none(subcog: Run, silent: Ask, home: Home, monkeypatch: MonkeyPatch) -> None:
    keep(home, decided("lost", prompt=None), decided("began", **BEGINNING))
    prompt = next(line.split()[0] for line in subcog("why", "list").out.splitlines() if line.endswith(PROMPT))
    full = [argument for i in range(8) for argument in ("--question", f"which berth has crane {i}?")]
    for before, missed, code, message in (
        ((), ("rule", "lost"), 2, "the prompt of lost was not kept"),
        ((), ("rule", "began"), 2, ""),
        ((), ("nothing", prompt), 1, ""),
        ((), ("", prompt), 2, ""),
        (
            ("edit", "rule", *full),
            ("rule", prompt),
            2,
            "subcog: rule has 8 questions already; `subcog edit rule` changes that\n",
        ),
        (("edit", "rule", "--question", ""), ("rule", prompt), 0, f"learned: {PROMPT!r} is a question that rule answers\n"),
        ((), ("rule", prompt), 0, "rule comes to that prompt by now; nothing was learned\n"),
        (("forget", "rule"), ("rule", prompt), 2, "subcog: rule is deleted; `subcog edit rule` changes that\n"),
    ):
        assert not before or subcog(*before).code == 0
        done = subcog("why", "missed", *missed)
        assert (done.code, done.out, message in done.err) == (code, "", True), missed
    monkeypatch.setenv(IN_AN_AGENT, "1")
    done = subcog("why", "missed", "cookie", prompt)
    assert (done.code, done.out, done.err.endswith("; the person runs this command\n")) == (2, "", True)
    assert questions_of(home, "cookie") == []


def test_what_no_question_can_bring_is_left_as_it_is(subcog: Run, silent: Ask, home: Home) -> None:
    silent("commit this", "veto")
    done = subcog("why", "missed", "rule")
    assert (done.code, done.out) == (1, "")
    assert done.err == "no question of that prompt brings rule and takes no other prompt from a memory\n"
    assert questions_of(home) == []


def test_a_question_takes_no_prompt_from_another_memory(subcog: Run, ask: Ask, home: Home) -> None:
    subcog("config", "set", "surfacing.max_memories", "1")
    ask.remember(rule=RULE, window="A week has one time when deployments here are forbidden: Friday night.")
    assert ask(PROMPT, "missed") == ["window"]
    verdict = latest(subcog)
    assert subcog("why", "missed", "rule", verdict).code == 0
    assert subcog("why", "missed", "rule", verdict, "--undo").code == 0
    assert ask(NEAR, "near") == ["window"]
    assert subcog("why", "missed", "rule", verdict).code == 1
    assert questions_of(home) == []
    assert ask(NEAR, "again") == ["window"]


SHOP, YARD = "github.com/acme/shop", "github.com/acme/yard"
ASKED_HERE = "When may nobody merge to the main branch?"
ASKED_THERE = "Which crane lifts the containers of berth four?"
CALL = decided("call", candidates=[candidate("rule", 0.7)], project=SHOP, **TOOL)


@pytest.fixture
def folders(subcog: Run, ask: Ask, tmp_path: Path, home: Home, monkeypatch: MonkeyPatch) -> dict[str, Path]:
    """Ask in one project, then in another, and stay in the first; its last verdict is on a tool call."""
    ask.remember(rule="Nobody merges on Fridays after four.", crane="Crane 7 lifts the containers of berth four.")
    made = {}
    for name, prompt in ((SHOP, ASKED_HERE), (YARD, ASKED_THERE)):
        made[name] = tmp_path / name.rpartition("/")[2]
        (made[name] / ".git").mkdir(parents=True)
        (made[name] / ".git" / "config").write_text(f'[remote "origin"]\nurl = https://{name}.git\n')
        ask(prompt, session=name, cwd=str(made[name]))
    keep(home, CALL)
    monkeypatch.chdir(made[SHOP])
    return made


def rule_questions(home: Home) -> list[str]:
    with Store.reader(home) as store:
        return [question.text for question in store.get("rule").questions]


@pytest.mark.usefixtures("folders")
def test_the_last_prompt_of_this_project_is_explained(subcog: Run) -> None:
    assert subcog("why", "--json").json["prompt"] == ASKED_HERE
    assert subcog("why").out.splitlines()[1] == ASKED_HERE
    assert subcog("why", "--everywhere").out.splitlines()[1] == ASKED_THERE
    assert subcog("why", "call").out.splitlines()[1] == "PreToolUse: Edit"


def test_a_project_without_a_prompt_says_so(subcog: Run, folders: dict[str, Path], monkeypatch: MonkeyPatch) -> None:
    monkeypatch.chdir(folders[SHOP].parent)
    for arguments in (("why",), ("why", "missed", "rule"), ("why", "bad", "rule")):
        done = subcog(*arguments)
        assert (done.code, done.out) == (1, "")
        hint = "`subcog why list` shows those of other projects"
        assert done.err == f"subcog: no prompt outside of all projects has been decided on yet; {hint}\n"


@pytest.mark.usefixtures("folders")
def test_the_prompt_of_this_project_teaches(subcog: Run, home: Home) -> None:
    assert subcog("why", "missed", "rule").code == 0
    assert ASKED_THERE not in rule_questions(home)
    done = subcog("why", "bad", "crane")
    assert done.err.endswith(" --undo` takes it back\n")
    assert f"marked as wrong for prompts like {ASKED_HERE!r}: " in done.err
