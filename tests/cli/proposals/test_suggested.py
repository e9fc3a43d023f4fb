"""The sentence about a suggestion in `review`."""

import pytest

from subcog_hooks.cli.proposals.suggested import OpenSuggestion
from subcog_hooks.store.suggestions import CONFLICT, Suggestion
from tests.conftest import Maker


@pytest.mark.parametrize(
    ("old", "new", "warns"), [(None, "github.com/acme/shop", True), (None, None, False), ("shop", "shop", False)]
)
def test_the_sentence_warns_of_a_loss_for_other_projects(make: Maker, old: str | None, new: str | None, warns: bool) -> None:
    older = make("The port is 8080", id="old", project=old)
    newer = make("The port is 9090", id="new", project=new, created_at=2_000)
    sentence = OpenSuggestion(Suggestion("s-1", "new", CONFLICT, "old", "claude", 1), newer, older).sentence
    assert sentence.startswith("old is superseded by new")
    assert ("no other project has it any more" in sentence) == warns
