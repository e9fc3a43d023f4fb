"""The words that `why` says a memory has: always the memory's own, as it spells them."""

import re

import pytest

from subcog_hooks.core.paths import Home
from tests.cli.conftest import Ask, Run
from tests.cli.decided import candidate, decided, keep
from tests.conftest import Maker

CASES = [
    (
        "Tests that touch the 4 databases take 2 minutes.",
        "Which tests of the 4.2 release touch databases?",
        "Tests, touch, databases",
    ),
    ("Redis 7.2 listens on port 6380.", "Does Redis 4.2 listen on port 6381?", "Redis, port, listens"),
    ("The build needs Node 20.4.1 and pnpm 8.", "Is Node 20.4 needed for the builds?", "Node, build, needs"),
    ("Upgrade to Postgres 16.3 before v2.0.", "Which release, v2.0 or Postgres 16.3?", "16.3, v2.0, Postgres"),
    ("Ports 8000 to 8099 are the cranes'.", "Who uses port 8080 of crane 2026-04-02?", "Ports, cranes"),
    ("We chose HttpClient in refunds.", "Why was HttpClient chosen for the refund_job?", "HttpClient, refunds, chose"),
    ("Single sign on (SSO) ends after an hour.", "When does the single sign on end?", "Single, sign, ends, SSO"),
    ("キャッシュにはRedisを使う", "Why is redis used?", "Redis"),
    ("Die Buchungen der Gäste sperren wir nachts.", "Wie wird die Buchung der Gäste gesperrt?", "Gäste, Buchungen"),
]


@pytest.mark.parametrize(("content", "prompt", "has"), CASES)
def test_it_has_only_words_that_stand_in_its_text(
    subcog: Run, ask: Ask, home: Home, make: Maker, content: str, prompt: str, has: str
) -> None:
    ask.remember(note=content, other="The harbour office closes at five.")
    keep(home, decided("d1", candidates=[candidate("note", 0.3)], prompt=prompt, project=""))
    line = next(line for line in subcog("why").out.splitlines() if line.startswith("note  has "))
    words = re.split(", ", line.removeprefix("note  has ").partition("; lacks ")[0])
    assert all(word in content for word in words)
    assert sorted(words) == sorted(has.split(", "))
