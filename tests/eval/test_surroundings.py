"""A prompt that is answered alone is answered with code, a traceback, a log or other sentences around it, too.

Where nothing helps, nothing comes for what stands around it.

The project's own prompts, each alone and in each surrounding, decided in this process. A bound lies just beyond what was
measured; whoever improves a figure moves its bound.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.eval import homes
from tests.eval.collection import OWN, gate_set
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
    "a sentence before": "I am back at the ticket from yesterday. {}",
    "a sentence behind": "{}\nUpdate the changelog when you are through.",
}
MOST_LOST = {  # the share of the answers that a surrounding may cost
    "code": 0.0,
    "a traceback": 0.0,
    "a log": 0.0,
    "a sentence before": 0.09,
    "a sentence behind": 0.13,
}
MOST_DISTURBED = {"code": 0.0, "a log": 0.0, "a sentence before": 0.02}  # the share of the silences that a surrounding may end


def in_surroundings(kept: Path, names: Iterable[str], *, are_answerable: bool) -> dict[str, set[str]]:
    """The ids of the prompts that are answered rightly, or met with silence where nothing answers: alone ("") and in each."""
    prompts = [prompt for prompt in gate_set(OWN).prompts if (prompt.kind == ANSWERABLE) is are_answerable]
    found = {}
    for name in ("", *names):
        around = [prompt._replace(text=SURROUNDINGS.get(name, "{}").format(prompt.text)) for prompt in prompts]
        with Hook(homes.home_of(gate_set(OWN).memories, kept)) as hook:
            trials = hook.trials(around)
        found[name] = {trial.prompt.id for trial in trials if (trial.right if are_answerable else not trial.speaks)}
    return found


def test_what_stands_around_a_prompt_costs_few_answers(kept: Path, subtests: pytest.Subtests) -> None:
    answered = in_surroundings(kept, SURROUNDINGS, are_answerable=True)
    for name, most_lost in MOST_LOST.items():
        with subtests.test(name=name):
            left = answered[""] & answered[name]
            print(f"{name}: {len(left)} of {len(answered[''])} answers are left")
            assert 1 - len(left) / len(answered[""]) <= most_lost


def test_what_stands_around_a_prompt_brings_nothing_by_itself(kept: Path, subtests: pytest.Subtests) -> None:
    silent = in_surroundings(kept, MOST_DISTURBED, are_answerable=False)
    for name, most_disturbed in MOST_DISTURBED.items():
        with subtests.test(name=name):
            disturbed = silent[""] - silent[name]
            print(f"{name}: {len(disturbed)} of {len(silent[''])} silences are ended")
            assert len(disturbed) / len(silent[""]) <= most_disturbed
