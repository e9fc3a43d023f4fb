"""Rules come when what they are about is about to be done: at an agent's calls of tools, each in a session of its own.

Four projects, written for this (ground_truth/calls): 28 rules and 12 facts each, 60 calls, half of which want nothing. A call
that wants rules is met when one of them, or its line, comes. By the first three was chosen what counts as an action, and the
weights by which notes are taken for rules were fitted to their notes, too. The fourth was written by somebody who knew of none
of that, and was looked at once all was chosen.
"""

import json
from pathlib import Path

import pytest

from subcog_hooks.capture import jsonl
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import tool
from subcog_hooks.store.memory import IdMaker
from subcog_hooks.store.store import Store
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.eval.collection import OWN, rows
from tests.hook.recorded import printed_ids

PROJECT = "git.example.com/acme/shop"
CALLS = OWN / "calls"
CHOSEN, REPORTED = ("shop", "meters", "harbour"), "theatre"
EACH = 60
LEAST_MET = {"chosen": 0.75, REPORTED: 0.73}
MOST_DISTURBED = {"chosen": 0.12, REPORTED: 0.1}


def played(root: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Play a folder's `calls.jsonl`; those that wanted a rule and got none, and those that wanted none and got one."""
    shop = root / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{PROJECT}.git\n')
    home = Home(str(root / "memories"))
    ids = IdMaker()
    with Store.writer(home) as store:
        store.add(
            [
                jsonl.parse(json.dumps({**row, "project": PROJECT}), ids.new, 1_772_445_600_000, trusted=True).memory
                for row in rows(folder / "rules.jsonl")
            ]
        )
    missed, disturbed = [], []
    for number, row in enumerate(rows(folder / "calls.jsonl")):
        given = {name: str(shop / value) if name == "file_path" else value for name, value in row["input"].items()}
        payload: dict[str, object] = {"session_id": f"s{number}", "cwd": str(shop), "hook_event_name": "PreToolUse"}
        payload |= {"tool_name": row["tool"], "tool_input": given}
        printed: list[bytes] = []
        tool.respond(payload, home, printed.append, Deadline(5_000))
        came = printed_ids(printed)
        told = f"{number + 1}: {row['tool']} {json.dumps(row['input'])[:90]} wanted {row['wanted']}, got {came}"
        if row["wanted"] and not set(row["wanted"]) & set(came):
            missed.append(told)
        if not row["wanted"] and came:
            disturbed.append(told)
    return missed, disturbed


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[str], list[str]]]:
    with pytest.MonkeyPatch.context() as usual:
        for name in AS_LARGE_STORES_WITHOUT_LINES:
            usual.delenv(name)
        return {name: played(tmp_path_factory.mktemp(name).resolve(), CALLS / name) for name in (*CHOSEN, REPORTED)}


@pytest.mark.parametrize("part", LEAST_MET)
def test_a_rule_comes_when_it_matters_and_only_then(part: str, outcomes: dict[str, tuple[list[str], list[str]]]) -> None:
    names = CHOSEN if part == "chosen" else (part,)
    missed, disturbed = ([told for name in names for told in outcomes[name][place]] for place in (0, 1))
    wanted = [bool(row["wanted"]) for name in names for row in rows(CALLS / name / "calls.jsonl")]
    print(f"{part}: {sum(wanted) - len(missed)} of {sum(wanted)} met; not", *missed, sep="\n")
    print(f"{part}: {len(disturbed)} of {len(wanted) - sum(wanted)} disturbed:", *disturbed, sep="\n")
    assert sum(wanted) == len(names) * EACH / 2
    assert 1 - len(missed) / sum(wanted) >= LEAST_MET[part]
    assert len(disturbed) <= MOST_DISTURBED[part] * (len(wanted) - sum(wanted))
