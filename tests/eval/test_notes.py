"""Notes come with the prompts that need them, in the two invented projects of ground_truth/sessions, without a brief.

Their notes and prompts had no part in the weights of notes (recall.notes), which are those of other people's histories. Both
were looked at when it was chosen how long a note may be; from 40 words on nothing changes. With `-s` it prints the figures.
"""

from pathlib import Path
from unittest.mock import patch

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import prompt as hook_prompt
from subcog_hooks.recall import relevance
from tests.eval.collection import rows
from tests.eval.test_sessions import SESSIONS, begin_project, come_to_session
from tests.hook.recorded import printed_ids

LEAST = {"quake": 0.2, "gym": 0.12}  # of what is wanted in a session, by its prompts
LEAST_OF_USE = 0.4  # of what comes with prompts
MOST_SPOKEN = 0.5  # of all prompts


def given_with_prompts(name: str, root: Path) -> tuple[float, float, float]:
    """Play a project's sessions.

    Return the share of what is wanted that came, of what came that is wanted, and of the prompts that got something.
    """
    home, work = begin_project(root)
    Path(home.root).mkdir()
    Path(home.config).write_text("[surfacing]\nbrief_characters = 0\n")
    wanted = met = given = spoken = prompts = 0
    for row in rows(SESSIONS / name / "sessions.jsonl"):
        come_to_session(home, work, name, row)
        came: list[str] = []
        for prompt in row["prompts"]:
            told = _told(home, work, int(row["n"]), prompt)
            came += told
            spoken += bool(told)
            prompts += 1
        wanted += len(row["wanted"])
        met += len({*came} & {*row["wanted"]})
        given += len(came)
    return met / wanted, met / max(1, given), spoken / prompts


def _told(home: Home, work: Path, number: int, prompt: str) -> list[str]:
    printed: list[bytes] = []
    payload: dict[str, object] = {"session_id": f"s{number}", "cwd": str(work), "prompt": prompt}
    hook_prompt.respond({**payload, "hook_event_name": "UserPromptSubmit"}, home, printed.append, Deadline(5_000))
    return printed_ids(printed)


@pytest.mark.parametrize("name", LEAST)
def test_notes_come_with_the_prompts_that_need_them(name: str, tmp_path: Path) -> None:
    met, useful, spoken = given_with_prompts(name, tmp_path / "as notes")
    with patch.object(relevance, "LONGEST_NOTE", 0):
        before, *_ = given_with_prompts(name, tmp_path / "as sections")
    print(f"{name}: {met:.3f} of the wanted came, {before:.3f} weighed as sections; {useful:.3f} of use; spoke to {spoken:.3f}")
    assert met >= LEAST[name]
    assert met >= 1.5 * before
    assert useful >= LEAST_OF_USE
    assert spoken <= MOST_SPOKEN
