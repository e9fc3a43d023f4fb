"""A prompt that is answered alone is answered with code, a traceback, a log or other sentences around it, too.

Where nothing helps, nothing comes for what stands around it.

The project's own prompts, each alone and in each surrounding, decided in this process. A bound lies just beyond what was
measured; whoever improves a figure moves its bound.
"""

from pathlib import Path

import pytest

from tests.eval import homes
from tests.eval.collection import OWN, Prompt, gate_set
from tests.eval.gate.figures import ANSWERABLE
from tests.eval.gate.trials import Hook

SURROUNDINGS = {
    "code": """{}

```python
def settle(account: Account, day: date) -> Balance:
    rows = [row for row in account.rows if row.day <= day]
    total = sum(row.amount for row in rows)
    audit.note(account.id, total)
    return Balance(account.id, total)
```""",
    "code without a fence": """{}

export function settle(account, day) {{
  const rows = account.rows.filter((row) => row.day <= day);
  const total = rows.reduce((sum, row) => sum + row.amount, 0);
  return {{ id: account.id, total }};
}}""",
    "a traceback": """{}

Traceback (most recent call last):
  File "/srv/ledger/settle.py", line 41, in settle
    total = sum(row.amount for row in rows)
  File "/srv/ledger/settle.py", line 41, in <genexpr>
    total = sum(row.amount for row in rows)
AttributeError: 'NoneType' object has no attribute 'amount'""",
    "a log": """{}

2026-03-02 04:12:07 INFO  ledger.settle started batch=77
2026-03-02 04:12:08 INFO  ledger.settle read 1204 rows
2026-03-02 04:12:09 WARN  ledger.settle slow query 1.8s
2026-03-02 04:12:11 INFO  ledger.settle done""",
    "a log before": """2026-03-02 04:12:07 INFO  ledger.settle started batch=77
2026-03-02 04:12:09 WARN  ledger.settle slow query 1.8s
2026-03-02 04:12:11 INFO  ledger.settle done

{}""",
    "a sentence before": "I am back at the ticket from yesterday. {}",
    "a sentence behind": "{}\nUpdate the changelog when you are through.",
}
MOST_LOST = {  # the share of the answers that a surrounding may cost
    "code": 0.0,
    "code without a fence": 0.0,
    "a traceback": 0.0,
    "a log": 0.0,
    "a log before": 0.0,
    "a sentence before": 0.09,
    "a sentence behind": 0.13,
}
MOST_DISTURBED = {"code": 0.0, "a log": 0.0, "a sentence before": 0.02}  # the share of the silences that a surrounding may end


@pytest.fixture(scope="module")
def asked() -> list[Prompt]:
    return [prompt for prompt in gate_set(OWN).prompts if prompt.kind == ANSWERABLE]


@pytest.fixture(scope="module")
def answered_alone(kept: Path, asked: list[Prompt]) -> set[str]:
    return answered(kept, asked)


def answered(kept: Path, prompts: list[Prompt]) -> set[str]:
    """The ids of the prompts that are answered rightly."""
    with Hook(homes.home_of(gate_set(OWN).memories, kept)) as hook:
        return {trial.prompt.id for trial in hook.trials(prompts) if trial.right}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_stands_around_a_prompt_costs_few_answers(
    name: str, kept: Path, asked: list[Prompt], answered_alone: set[str]
) -> None:
    around = [prompt._replace(text=SURROUNDINGS[name].format(prompt.text)) for prompt in asked]
    left = answered_alone & answered(kept, around)
    lost = 1 - len(left) / len(answered_alone)
    print(f"{name}: {len(left)} of {len(answered_alone)} answers are left")
    assert lost <= MOST_LOST[name]


@pytest.fixture(scope="module")
def unhelped() -> list[Prompt]:
    return [prompt for prompt in gate_set(OWN).prompts if prompt.kind != ANSWERABLE]


@pytest.fixture(scope="module")
def silent_alone(kept: Path, unhelped: list[Prompt]) -> set[str]:
    return silent(kept, unhelped)


def silent(kept: Path, prompts: list[Prompt]) -> set[str]:
    """The ids of the prompts to which nothing is said."""
    with Hook(homes.home_of(gate_set(OWN).memories, kept)) as hook:
        return {trial.prompt.id for trial in hook.trials(prompts) if not trial.speaks}


@pytest.mark.parametrize("name", MOST_DISTURBED)
def test_what_stands_around_a_prompt_brings_nothing_by_itself(
    name: str, kept: Path, unhelped: list[Prompt], silent_alone: set[str]
) -> None:
    around = [prompt._replace(text=SURROUNDINGS[name].format(prompt.text)) for prompt in unhelped]
    disturbed = silent_alone - silent(kept, around)
    print(f"{name}: {len(disturbed)} of {len(silent_alone)} silences are ended")
    assert len(disturbed) / len(silent_alone) <= MOST_DISTURBED[name]
