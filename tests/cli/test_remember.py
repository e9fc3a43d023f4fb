"""`remember`, `edit`, `forget`, `supersede`: one memory at a time, redacted on every way in."""

import stat
import sys
from pathlib import Path

import pytest

from subcog_hooks.cli.amendment import mark_superseded
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests.cli.conftest import MonkeyPatch, Run, show_json
from tests.conftest import Maker

KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"


def test_a_memory_is_stored_with_its_fields(subcog: Run) -> None:
    words = "remember Use PKCE -s decisions -t auth --path src/*.ts --keyword k --expires 2099-01-01"
    done = subcog(*words.split())
    assert done.code == 0
    memory = show_json(subcog, done.out.strip())
    assert (memory["content"], memory["namespace"], memory["trust"]) == ("Use PKCE", "decisions", "user")
    assert (memory["tags"], memory["paths"], memory["keywords"]) == (["auth"], ["src/*.ts"], ["k"])
    assert memory["expires_at"] == "2099-01-01T00:00:00Z"


def test_a_text_is_read_from_standard_input(subcog: Run) -> None:
    id_ = subcog("remember", "-", stdin="zwei\nZeilen: Größe".encode()).out.strip()
    assert show_json(subcog, id_)["content"] == "zwei\nZeilen: Größe"
    refused = subcog("remember", "-", stdin=b"\xff\xfe")
    assert (refused.code, refused.err) == (2, "subcog: standard input is not UTF-8 at byte 0; convert it\n")


def test_secrets_and_private_blocks_are_removed_with_a_remark(subcog: Run, home: Home) -> None:
    done = subcog("remember", f"deploy with {KEY}", "<private>call Bob</private>", "-t", KEY)
    assert "removed" in done.err
    assert "AWS access key" in done.err
    assert "private block" in done.err
    for suffix in ("", "-wal"):
        path = Path(home.memories_db + suffix)
        assert not path.exists() or (KEY.encode() not in path.read_bytes() and b"call Bob" not in path.read_bytes())
    assert KEY not in subcog("export").out


def test_the_same_text_is_remembered_once(subcog: Run) -> None:
    first = subcog("remember", "Use PKCE").out
    again = subcog("remember", "Use PKCE")
    assert again.out == first
    assert f"already remembered as {first.strip()}" in again.err
    assert len(subcog("list", "--ids").out.split()) == 1


def test_a_known_text_keeps_its_fields(subcog: Run) -> None:
    id_ = subcog("remember", "Use PKCE", "--tag", "auth").out.strip()
    before = subcog("export").out
    done = subcog("remember", "Use PKCE", "--tag", "spa", "--trigger", "pkce", "--priority", "95")
    assert (done.code, done.out) == (0, f"{id_}\n")
    assert done.err == f"already remembered as {id_}; `subcog edit {id_}` changes its fields\n"
    assert subcog("export").out == before


def test_a_similar_text_is_shown_with_the_supersede_command(subcog: Run) -> None:
    old = subcog("remember", "The SPA logs in with OAuth2 and PKCE, no implicit flow").out.strip()
    done = subcog("remember", "The SPA logs in with OAuth2 and PKCE, no implicit flow since May")
    new = done.out.strip()
    assert f"{old} The SPA logs in" in done.err
    assert f"subcog supersede {old} {new}" in done.err
    unrelated = subcog("remember", "Berths are allocated by length overall")
    assert unrelated.err.startswith("kept in learnings")


def test_a_memory_may_supersede_another_at_once(subcog: Run) -> None:
    old = subcog("remember", "Sessions last an hour").out.strip()
    new = subcog("remember", "Sessions last a day", "--supersedes", old).out.strip()
    assert (show_json(subcog, old)["status"], show_json(subcog, old)["superseded_by"]) == ("superseded", new)
    assert subcog("search", "--ids", "sessions").out.split() == [new]
    subcog("remember", "Sessions last a day", "--supersedes", new)  # A known text does not supersede itself.
    assert show_json(subcog, new).get("status", "active") == "active"
    subcog("edit", old, "--status", "active")
    assert "superseded_by" not in show_json(subcog, old)


def test_two_processes_cannot_supersede_one_memory(store: Store, make: Maker) -> None:
    old, *successors = [make(text, id=text) for text in ("old", "first", "second")]
    store.add([old])
    mark_superseded(store, old, successors[0])
    with pytest.raises(UsageError, match="old is superseded by first already"):
        mark_superseded(store, old, successors[1])
    assert "second" not in store.by_ids(["second"])


def test_only_a_live_memory_supersedes_another(subcog: Run) -> None:
    texts = ("Sessions last an hour", "Tokens live for a day", "Keys are rotated weekly", "Old as the hills")
    old, middle, new, gone = (subcog("remember", text).out.strip() for text in texts)
    assert (subcog("supersede", old, middle).code, subcog("supersede", middle, new).code) == (0, 0)
    subcog("forget", gone)
    for by, status in ((old, "superseded"), (gone, "deleted")):
        done = subcog("supersede", new, by)
        assert (done.code, done.err.partition(",")[0]) == (2, f"subcog: {by} is {status}")
    for arguments in (("remember", "Sessions last a week", "--supersedes", old), ("supersede", old, new)):
        done = subcog(*arguments)
        assert (done.code, done.err) == (2, f"subcog: {old} is superseded by {middle} already; replace that one\n")
    for arguments in (("remember", "Berths are short", "--supersedes", gone), ("supersede", gone, new)):
        assert f"{gone} is forgotten" in subcog(*arguments).err
    assert subcog("list", "--ids").out.strip() == new
    assert "cannot supersede itself" in subcog("supersede", new, new).err
    assert subcog("supersede", new, "nobody").code == 1


def test_forgetting_hides_a_memory_and_can_be_taken_back(subcog: Run) -> None:
    id_ = subcog("remember", "Berths are allocated by length").out.strip()
    assert subcog("forget", id_[:10]).code == 0
    assert subcog("search", "berths").code == 1
    assert subcog("list", "--status", "deleted", "--ids").out.strip() == id_
    assert subcog("edit", id_, "--status", "active").code == 0
    assert subcog("search", "berths").code == 0


def test_forgetting_one_unknown_id_forgets_none(subcog: Run) -> None:
    id_ = subcog("remember", "one").out.strip()
    done = subcog("forget", id_, "nobody")
    assert (done.code, done.err) == (1, "subcog: no memory has the id nobody; `subcog list` shows the ids\n")
    assert subcog("list", "--ids").out.strip() == id_


def editor(tmp_path: Path, script: str) -> str:
    path = tmp_path / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_editor_changes_text_and_fields(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    id_ = subcog("remember", "Sessions last an hour").out.strip()
    monkeypatch.setenv("EDITOR", editor(tmp_path, f"sed -i 's/an hour/a day, {KEY}/; s/^tags:.*/tags: auth, spa/' \"$1\""))
    done = subcog("edit", id_)
    assert done.code == 0
    assert "AWS access key" in done.err
    memory = show_json(subcog, id_)
    assert memory["content"] == "Sessions last a day, [redacted: AWS Access Key]"
    assert memory["tags"] == ["auth", "spa"]
    assert subcog("search", "--ids", "day").out.strip() == id_


@pytest.mark.parametrize(
    ("script", "message", "code", "kept"),
    [
        ("exit 3", "the editor ended with 3; nothing was changed", 2, ""),
        ('echo precious > "$1"', "the line of dashes is gone", 2, "precious\n"),
        (
            "sed -i 's/^namespace: .*/namespace: Two Words/; s/an hour/precious/' \"$1\"",
            "namespace is 'Two Words'",
            2,
            "precious",
        ),
        ("sed -i 's/^status: active/status: lost/' \"$1\"", "status is 'lost'", 2, "lost"),
        ("sed -i 's/^tags:/colour:/' \"$1\"", "'colour' is not a field", 2, "colour"),
        ("sed -i 's/^trigger:.*/trigger: ship(/' \"$1\"", "triggers has 'ship('", 2, "ship("),
        ("sed -i 's/^when:.*/when: branch/' \"$1\"", "when has 'branch'", 2, "when: branch"),
        ("sed -i 's/^priority:.*/priority: 101/' \"$1\"", "priority is 101", 2, "101"),
        ("true", "nothing changed", 0, ""),
    ],
)
def test_what_the_editor_leaves_wrong_changes_nothing(
    subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch, script: str, message: str, code: int, kept: str
) -> None:
    id_ = subcog("remember", "Sessions last an hour").out.strip()
    before = subcog("export").out
    monkeypatch.setenv("EDITOR", editor(tmp_path, script))
    done = subcog("edit", id_)
    assert (done.code, message in done.err, subcog("export").out) == (code, True, before)
    if kept:
        assert "nothing was changed; what you wrote is in" in done.err
        file = Path(done.err.strip().rpartition(" ")[2])
        assert kept in file.read_text()
        file.unlink()


def test_a_wrong_call_gets_one_line_and_stores_nothing(subcog: Run, home: Home) -> None:
    for arguments, message in (
        (["text", "-s", "Two Words"], "namespace is 'Two Words'"),
        (["text", "--expires", "soon"], "--expires is 'soon'"),
        (["text", "--user", "--project", "y"], "--user and --project exclude each other"),
        ([], "Missing argument"),
        (["<private>all of it</private>"], "content is empty; give the text to remember"),
        (["text", "--supersedes", "nobody"], "no memory has the id nobody"),
        (["text", "--project", "here"], "this folder is in no project"),
    ):
        done = subcog("remember", *arguments)
        assert (done.code in (1, 2), message in done.err, done.err.count("\n")) == (True, True, 1), arguments
    assert subcog("list").code == 1


def test_inside_a_repository_a_memory_is_the_projects(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    early = subcog("remember", "Berths are long").out.strip()
    (tmp_path / "shop" / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    assert subcog("search", "--ids", "berths").out.strip() == early  # from before the remote
    mine = subcog("remember", "Prices are in cents").out.strip()
    general = subcog("remember", "Prefer plain functions", "--user").out.strip()
    assert subcog("remember", "Prices are in cents", "--project", "here").out.strip() == mine
    assert show_json(subcog, mine)["project"] == "github.com/acme/shop"
    assert "project" not in show_json(subcog, general)
    monkeypatch.chdir(tmp_path)
    assert subcog("search", "--ids", "prices").code == 1
    assert subcog("search", "--ids", "prices", "--all-projects").out.strip() == mine
    assert subcog("search", "--ids", "prices", "--project", "github.com/acme/shop").out.strip() == mine


def test_an_expired_memory_does_not_block_its_own_text(subcog: Run, store: Store, make: Maker) -> None:
    store.add([make("Zebra fact", id="old", expires_at=1)])
    new = subcog("remember", "Zebra fact").out.strip()
    assert new != "old"
    assert set(subcog("list", "--status", "all", "--ids").out.split()) == {"old", new}


def test_an_edit_changes_only_what_was_edited(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    subcog("remember", "one\r\ntwo", "-t", "a, b")
    id_ = subcog("list", "--ids").out.strip()
    before = subcog("export").out
    monkeypatch.setenv("EDITOR", "true")
    assert "nothing changed" in subcog("edit", id_).err
    assert subcog("export").out == before
    forgetting = f"{sys.executable} -c \"import subcog_hooks.__main__ as m, sys; sys.argv[1:] = ['forget', '{id_}']; m.main()\""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))
    monkeypatch.setenv("EDITOR", editor(tmp_path, f"{forgetting}; sed -i 's/^tags:.*/tags: c/' \"$1\""))
    assert subcog("edit", id_).code == 0
    assert (show_json(subcog, id_)["status"], show_json(subcog, id_)["tags"]) == ("deleted", ["c"])


def test_an_edit_overwrites_nothing_stored_meanwhile(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    id_ = subcog("remember", "Sessions last an hour").out.strip()
    other = f"{sys.executable} -m subcog_hooks edit {id_} --content 'Sessions last a day'"
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))
    monkeypatch.setenv("EDITOR", editor(tmp_path, f"{other}; sed -i 's/an hour/a week/' \"$1\""))
    done = subcog("edit", id_)
    assert done.code == 2
    assert f"{id_} was changed since then, elsewhere" in done.err
    assert "a week" in Path(done.err.strip().rpartition(" ")[2]).read_text()
    assert show_json(subcog, id_)["content"] == "Sessions last a day"


def test_no_editor_opens_where_nobody_types(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    id_ = subcog("remember", "Sessions last an hour").out.strip()
    assert "no editor is set" in subcog("edit", id_).err
    assert "--expires is ''" in subcog("edit", id_, "--expires", "").err
    assert subcog("edit", id_, "--project", "").code == 2
    assert subcog("edit", id_, "--content", "-", stdin=b"Sessions last a day").code == 0
    assert show_json(subcog, id_)["content"] == "Sessions last a day"
    monkeypatch.setenv("EDITOR", "/nowhere/ed")
    assert "the editor '/nowhere/ed' failed" in subcog("edit", id_).err


def test_several_memories_are_edited_all_or_none(subcog: Run, store: Store, make: Maker) -> None:
    store.add([make("Use PKCE", id="theirs", trust="import")])
    mine = subcog("remember", "Sessions last an hour").out.strip()
    before = subcog("export").out
    done = subcog("edit", mine, "theirs", "--priority", "95")
    assert (done.code, subcog("export").out) == (2, before)


def test_a_memory_can_be_moved_between_projects(subcog: Run) -> None:
    id_ = subcog("remember", "Prices are in cents").out.strip()
    subcog("edit", id_, "--project", "git@github.com:Acme/shop.git")
    assert show_json(subcog, id_)["project"] == "github.com/acme/shop"
    subcog("edit", id_, "--user")
    assert "project" not in show_json(subcog, id_)
    assert subcog("edit", id_, "--project", "here").code == 2
