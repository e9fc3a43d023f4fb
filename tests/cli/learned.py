"""What tests of `subcog learn` say in sessions, and what came of it."""

from tests.cli.conftest import Run

RULE = "Don't use npm here, we're on pnpm"
STAGING = "remember that staging is read-only from CI"
AGAIN = "we never use npm in this repo, only pnpm, npm breaks the lock file"


def waiting(subcog: Run) -> list[dict[str, object]]:
    return subcog("review", "--jsonl").rows
