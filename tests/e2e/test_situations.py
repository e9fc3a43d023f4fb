"""S3's example situations, with memories written for them, through the installed executable.

What S3 found missing: handlers that meaning alone never brings, since a phrase or the state of the session tells that they are
wanted.
"""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.recall.exact import match_triggers
from subcog_hooks.recall.hits import Eligibility
from subcog_hooks.store.state import State
from subcog_hooks.store.store_reader import StoreReader, audiences_of
from tests.e2e.machine import Machine, ids_in

HERE = Path(__file__).parent / "situations"
PROMPTS = Path(__file__).parents[1] / "eval" / "ground_truth" / "prompts.jsonl"
DAY_MS = 86_400_000


def rows(file: Path) -> list[dict[str, Any]]:  # Any: what JSON holds
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


SITUATIONS = rows(HERE / "situations.jsonl")


def of_channels(*channels: str) -> list[dict[str, Any]]:
    return [one for one in SITUATIONS if one["channel"] in channels]


@pytest.fixture(scope="module")
def written(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has nothing but the memories of these situations, which are their owner's own."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("written"))
    done = machine.run("import", str(HERE / "entities.jsonl"), "--trust", "user", "--wait")
    assert done.code == 0, done.stderr
    assert machine.run("search", "warm up", "--fast").code in (0, 1)  # modules are compiled, settings read
    return machine.home


@pytest.fixture
def handlers(bare: Machine, written: Path) -> Machine:
    """A machine with these memories, where no session has been."""
    shutil.copytree(written, bare.home)
    return bare


def test_a_phrase_or_a_name_brings_its_handler_first(handlers: Machine, subtests: pytest.Subtests) -> None:
    for number, situation in enumerate(of_channels("pattern", "keyword", "semantic")):
        with subtests.test(situation=situation["situation"]):
            session = f"s{number}"
            handlers.prompt("let's fix the css of the header then", session)
            ids = handlers.recall(situation["says"], session)
            assert situation["expects"] in (ids if situation["channel"] == "semantic" else ids[:1])


@pytest.mark.parametrize("situation", of_channels("state"), ids=lambda situation: situation["situation"])
def test_a_state_brings_its_handler_when_the_session_begins(handlers: Machine, situation: dict[str, Any]) -> None:
    begins = situation["begins"]
    for flag in begins.get("flags", ()):
        assert handlers.run("state", "set", flag).code == 0
    if days := begins.get("last_seen_days"):
        assert handlers.begun("startup", "before")
        with State.open(Home(str(handlers.home)), 1_000) as state:
            state.run("UPDATE sessions SET last_at = ?", (int(time.time() * 1000) - days * DAY_MS,))
    ids = ids_in(handlers.begun("startup", "now"))
    states = {one["expects"] for one in SITUATIONS if one["channel"] == "state"}
    others = {"first-conversation"} if "flags" in begins else set()  # which a first session is as well
    assert states & {*ids} == {situation["expects"], *others}


def test_no_phrase_is_seen_in_prompts_about_other_things(written: Path) -> None:
    prompts = [row["prompt"] for row in rows(PROMPTS)]
    assert len(prompts) > 200
    with StoreReader.reader(Home(str(written))) as store:
        eligible = Eligibility(audiences_of(), int(time.time() * 1000))
        assert [prompt for prompt in prompts if match_triggers(prompt, store, eligible, Deadline(60_000))[0]] == []
        said = [one["says"] for one in SITUATIONS if one["channel"] == "pattern"]
        assert all(match_triggers(prompt, store, eligible, Deadline(60_000))[0] for prompt in said)
