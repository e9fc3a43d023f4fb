"""A synchronisation: memories that leave and arrive, their authors, and a second run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.cli.team import sharing
from subcog_hooks.core.deadline import Pace
from subcog_hooks.share import server_connection, server_documents, sync
from subcog_hooks.share.synced import ShareState
from subcog_hooks.store.memory import AnsweredQuestion, hash_content
from subcog_hooks.store.store import Store
from tests.share.conftest import SHOP, Team


def test_a_memory_arrives_as_its_authors_word(team: Team) -> None:
    ada, bob = team.member("ada"), team.member("bob")
    noted = ada.remember("The keys rotate by a monthly job.", namespace="decisions", tags=("keys",), paths=("ops/**",))
    assert ada.sync().sent == 1
    assert bob.sync().fetched == 1
    arrived = bob.memories()[noted.id]
    named = (arrived.content, arrived.namespace, arrived.tags, arrived.paths)
    assert named == ("The keys rotate by a monthly job.", "decisions", ("keys",), ())
    assert (arrived.trust, arrived.noted, arrived.project) == ("team", "by ada, a colleague", SHOP)


def test_only_confirmed_memories_of_shared_projects_leave(team: Team) -> None:
    ada = team.member("ada")
    ada.remember("for all projects", scope="user", project=None)
    ada.remember("another project's", project="github.com/acme/other")
    ada.remember("not confirmed", status="pending")
    ada.remember("forgotten before", status="deleted")
    ada.remember("shared", questions=(AnsweredQuestion("who?"), AnsweredQuestion("learned from a prompt", "learned")))
    assert ada.sync().sent == 1
    [(document,)] = team.run("SELECT doc FROM subcog.memories")
    assert document["content"] == "shared"
    assert document["questions"] == ["who?"]
    assert "source" not in document


def test_what_leaves_is_redacted_once_more(team: Team) -> None:
    ada = team.member("ada")
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    ada.remember(
        f"The token of the nightly build is {key}, <private>and this is mine</private> it works since Tuesday."
    )  # as an earlier version stored it
    ada.sync()
    [(text,)] = team.run("SELECT doc::text FROM subcog.memories")
    assert key not in text
    assert "this is mine" not in text
    assert "it works" in text
    [(content, content_hash)] = team.run("SELECT doc ->> 'content', content_hash FROM subcog.memories")
    assert content_hash == hash_content(content)  # nothing to try guesses of the rest on
    with ShareState.open(ada.home) as state:
        assert state.without_vectors(SHOP, "", 1) == []


def test_a_colleagues_pin_and_cues_need_the_users_permission(team: Team) -> None:
    ada, bob, eve = team.member("ada"), team.member("bob"), team.member("eve")
    bob.cues_from = frozenset(("ada",))
    cues = {"triggers": ("deploy",), "paths": ("ops/**",), "when": {"branch": "main"}, "standing": True}
    pinned = ada.remember("Pin me.", priority=95, **cues)
    ada.sync(), bob.sync(), eve.sync()
    let, withheld = bob.memories()[pinned.id], eve.memories()[pinned.id]
    assert (let.priority, {name: getattr(let, name) for name in cues}) == (89, cues)
    assert (withheld.priority, server_documents.cues_of(withheld)) == (89, [])
    assert not let.is_pinnable
    eve.change(pinned.id, content="Pin me not.")
    eve.sync(), ada.sync()
    back = ada.memories()[pinned.id]
    assert (back.content, back.trust) == ("Pin me not.", "team")  # another's word by now
    sql = "SELECT doc ->> 'priority', doc ->> 'trust', doc -> 'triggers' FROM subcog.memories WHERE id = %s"
    assert team.run(sql, values=(pinned.id,)) == [("95", "team", ["deploy"])]


def test_a_colleagues_labels_count_for_a_text_without_cues(team: Team) -> None:
    ada, bob, own = team.pair("Noted by me.", priority=50)
    bob.change(own.id, tags=("release",), paths=("src/**",), triggers=("deploy",))
    bob.sync(), ada.sync()
    after = ada.memories()[own.id]
    assert (after.tags, after.paths, after.trust, after.triggers) == (("release",), (), "user", ())


STEERED: dict[str, object] = {"tags": ("release",), "paths": ("**",), "keywords": ("shop",), "branch": "main"}
STEERED |= {"namespace": "security", "expires_at": None, "questions": (AnsweredQuestion("what is to be done first?"),)}


@pytest.mark.parametrize("cue", [{"priority": 95}, {"triggers": ("deploy",)}, {"when": {"branch": "x"}}, {"standing": True}])
def test_what_comes_by_itself_is_steered_by_nobody_else(team: Team, cue: dict[str, object]) -> None:
    ada, bob, own = team.pair("Comes by itself.", expires_at=4_000_000_000_000, **cue)
    before = ada.memories()[own.id]
    bob.change(own.id, **STEERED)
    bob.sync(), ada.sync()
    after = ada.memories()[own.id]
    assert {name: getattr(after, name) for name in STEERED} == {name: getattr(before, name) for name in STEERED}
    assert {name: getattr(after, name) for name in cue} == cue
    assert (ada.sync().sent, bob.sync().fetched) == (0, 0)
    ada.change(own.id, tags=("mine",))  # The user's change leaves their other fields.
    ada.sync(), bob.sync()
    assert (bob.memories()[own.id].tags, bob.memories()[own.id].keywords) == (("mine",), ("shop",))
    bob.change(own.id, status="archived")
    bob.sync(), ada.sync()
    assert ada.memories()[own.id].status == "archived"


def test_a_colleagues_text_in_a_pinned_memory_is_not_pinned(team: Team) -> None:
    ada, bob = team.member("ada"), team.member("bob")
    bob.cues_from = ada.cues_from = frozenset(("ada", "bob"))
    own = ada.remember("Deploy on Mondays.", priority=95, triggers=("deploy",), standing=True)
    ada.sync(), bob.sync()
    bob.change(own.id, content="Deploy now, and with force.")
    ada.cues_from = frozenset()
    bob.sync(), ada.sync()
    there = ada.memories()
    changed = there.pop(own.id)
    assert (changed.content, changed.trust, changed.priority) == ("Deploy now, and with force.", "team", 89)
    assert server_documents.cues_of(changed) == []
    [kept] = there.values()
    assert (kept.content, kept.status, kept.trust, kept.superseded_by) == ("Deploy on Mondays.", "superseded", "user", own.id)
    assert server_documents.cues_of(kept) == ["pinned", "triggers", "standing"]
    assert ada.sync().sent == 0


def test_a_retired_memory_that_a_colleague_revives_has_no_cues(team: Team) -> None:
    ada, bob, own = team.pair("Deploy on Mondays.", triggers=("deploy",))
    ada.change(own.id, status="archived")
    ada.sync(), bob.sync()
    bob.change(own.id, status="active")
    bob.sync(), ada.sync()
    after = ada.memories()[own.id]
    assert (after.status, after.trust, server_documents.cues_of(after)) == ("active", "team", [])


def test_a_memory_that_a_colleague_moves_comes_no_more_by_itself(team: Team) -> None:
    ada, bob = team.member("ada"), team.member("bob")
    ada.projects = bob.projects = (SHOP, "github.com/acme/zoo")
    own = ada.remember("Deploy on Mondays.", priority=95, triggers=("deploy",))
    ada.sync(), bob.sync()
    bob.change(own.id, project="github.com/acme/zoo")
    bob.sync(), ada.sync()
    there = ada.memories()
    assert (there[own.id].project, server_documents.cues_of(there[own.id])) == ("github.com/acme/zoo", [])
    assert [memory.superseded_by for memory in there.values() if server_documents.cues_of(memory)] == [own.id]


def test_of_two_edits_the_later_wins_and_the_other_is_kept(team: Team) -> None:
    ada, bob, shared = team.pair("before")
    ada.change(shared.id, content="ada's", updated_at=9_000_000)  # clocks do not count
    bob.change(shared.id, content="bob's", updated_at=2_000)
    ada.sync(), bob.sync(), ada.sync()
    for member in (ada, bob):
        there = member.memories()
        assert there.pop(shared.id).content == "bob's"
        [lost] = [memory for id_, memory in there.items() if id_.startswith("lost-")]
        assert (lost.content, lost.status, lost.superseded_by) == ("ada's", "superseded", shared.id)


def test_a_deletion_travels_and_an_edit_brings_it_back(team: Team) -> None:
    ada, bob, shared = team.pair("to be deleted")
    ada.change(shared.id, status="deleted")
    assert ada.sync().deleted_there == 1
    assert team.run("SELECT doc, words::text FROM subcog.memories") == [(None, "")]
    assert bob.sync().deleted_here == 1
    assert bob.memories()[shared.id].status == "deleted"
    bob.change(shared.id, status="active")
    bob.sync(), ada.sync()
    assert ada.memories()[shared.id].status == "active"


def test_a_memory_moved_out_of_the_project_is_no_longer_shared(team: Team) -> None:
    ada, bob, own = team.pair("mine after all")
    ada.change(own.id, scope="user", project=None)
    bob.change(bob.remember("bob's").id, tags=("x",))
    ada.sync(), bob.sync()
    assert bob.memories()[own.id].status == "deleted"
    taken = next(memory for memory in bob.memories().values() if memory.content == "bob's")
    ada.sync()
    ada.change(taken.id, scope="user", project=None)  # a colleague's memory, moved to all of the user's projects
    ada.sync(), bob.sync()
    assert bob.memories()[taken.id].status == "active"


@pytest.mark.parametrize("cues", [{}, {"triggers": ("deploy",), "standing": True, "priority": 95}])
def test_a_home_without_team_db_keeps_no_second_copy(team: Team, cues: dict[str, object]) -> None:
    ada, bob = team.member("ada"), team.member("bob")
    same, hidden = ada.remember("the same", **cues), ada.remember("nothing\u200b hidden")
    edited = ada.remember("before")
    ada.sync(), bob.sync()
    before = bob.memories()
    for file in Path(bob.home.root).glob("team.db*"):
        file.unlink()
    bob.change(edited.id, content="bob's, not sent yet")
    outcome = bob.sync()
    there = bob.memories()
    for kept in (same, hidden):
        assert server_documents.local_digest(there[kept.id]) == server_documents.local_digest(before[kept.id])
    assert [there[id_].content for id_ in outcome.lost] == ["bob's, not sent yet"]
    assert (outcome.fetched, outcome.sent) == (2, 1)  # the edited memory and the version that lost
    assert (bob.sync().sent, ada.sync().fetched) == (0, 1)
    ada.change(same.id, content="changed")
    ada.sync(), bob.sync()
    assert bob.memories()[same.id].content == "changed"


def test_learned_questions_survive_a_colleagues_change(team: Team) -> None:
    ada, bob, own = team.pair("The pool has 20 connections.")
    ada.change(own.id, questions=(AnsweredQuestion("how large is the pool", "learned"),))
    bob.change(own.id, content="The pool has 30 connections.")
    bob.sync(), ada.sync()
    assert ada.memories()[own.id].questions == (AnsweredQuestion("how large is the pool", "learned"),)


class EndsAfter(Pace):
    """A pace that ends after a number of units."""

    def __init__(self, units: int) -> None:
        self.left = units

    def goes_on(self, is_called_off: Callable[[], bool] = lambda: False) -> bool:  # noqa: ARG002 - as it is called
        self.left -= 1
        return self.left > 0


def test_a_background_synchronisation_ends_and_continues_later(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "BATCH_MEMORIES", 1)
    ada, bob = team.member("ada"), team.member("bob")
    for number in range(3):
        ada.remember(f"note {number}")
    ada.sync()
    bob.home.create()
    Path(bob.home.config).write_text(f'[share]\nurl = "{bob.url}"\nprojects = "{SHOP}"\n', encoding="utf-8")
    monkeypatch.setenv("SUBCOG_HOME", bob.home.root)
    with ShareState.open(bob.home) as state:
        state.agree(SHOP, server_connection.server_identity(bob.url))
    sharing.synchronise_in_background(bob.home, EndsAfter(2))
    assert len(bob.memories()) == 2
    sharing.synchronise_in_background(bob.home)
    assert len(bob.memories()) == 3


def between_reading_and_writing(patch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let another process act once, after a synchronisation has read memories and before it writes them."""
    write = Store.write_unless_changed

    def act_and_write(store: Store, since: int, **changes: Any) -> bool:
        patch.setattr(Store, "write_unless_changed", write)
        act()
        return store.write_unless_changed(since, **changes)

    patch.setattr(Store, "write_unless_changed", act_and_write)


@pytest.mark.parametrize("text", ["ada's", None])
def test_an_edit_during_a_synchronisation_is_kept(team: Team, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    ada, bob, shared = team.pair("before")
    other = ada.remember("new")
    ada.change(shared.id, **({"content": text} if text else {"status": "deleted"}))
    ada.sync()
    between_reading_and_writing(monkeypatch, lambda: bob.change(shared.id, content="bob's"))
    outcome = bob.sync()
    assert (outcome.sent, outcome.overruled, outcome.problems) == (1, 0, [])
    assert bob.memories()[other.id].content == "new"
    ada.sync()
    for member in (ada, bob):
        assert member.memories()[shared.id].content == "bob's"
    assert [memory.content for id_, memory in ada.memories().items() if id_.startswith("lost-")] == ([text] if text else [])


@pytest.mark.parametrize("is_purged", [False, True])
def test_a_memory_forgotten_during_a_synchronisation_stays_so(
    team: Team, monkeypatch: pytest.MonkeyPatch, is_purged: bool
) -> None:
    ada, bob, shared = team.pair("before")
    ada.change(shared.id, content="ada's")
    ada.sync()
    forget = bob.purge if is_purged else lambda id_: bob.change(id_, status="deleted")
    between_reading_and_writing(monkeypatch, lambda: forget(shared.id))
    assert bob.sync().deleted_there == 1
    assert [memory.content for memory in bob.memories().values() if memory.status == "active"] == []
