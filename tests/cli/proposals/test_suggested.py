"""What the person reads of a suggestion before saying yes."""

import pytest

from subcog_hooks.cli.proposals.suggested import Open
from subcog_hooks.store.suggestions import CONFLICT, Suggestion
from tests.conftest import Maker


@pytest.mark.parametrize(
    ("old", "new", "is_told"), [(None, "github.com/acme/shop", True), (None, None, False), ("shop", "shop", False)]
)
def test_it_is_told_that_a_yes_takes_a_memory_from_all_other_projects(
    make: Maker, old: str | None, new: str | None, is_told: bool
) -> None:
    older = make("The port is 8080", id="old", project=old)
    newer = make("The port is 9090", id="new", project=new, created_at=2_000)
    sentence = Open(Suggestion("s-1", "new", CONFLICT, "old", "claude", 1), newer, "old", older).sentence
    assert sentence.startswith("old is superseded by new")
    assert ("no other project has it any more" in sentence) == is_told
