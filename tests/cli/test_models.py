"""`subcog models`, and embedding by `import --wait` and `doctor --fix`, with real models from folders."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook import detached
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.vector_reader import vectors_path
from subcog_hooks.store.vector_store import VectorStore
from tests.cli.conftest import MonkeyPatch, Run

FILES = PACKAGED.folder
OTHER = "snowflake/snowflake-arctic-embed-xs"  # of the catalogue, with 384 dimensions too: the packaged files pass for it
SLUG = "snowflake-snowflake-arctic-embed-xs"


def list_models(subcog: Run) -> dict[str, dict[str, object]]:
    """Return the installed models by space, from `--json`."""
    done = subcog("models", "list", "--json")
    assert done.code == 0
    return {row["space"]: row for row in done.json}


def counts(home: Home, space: str) -> tuple[int, int]:
    with VectorStore.reader(home, space, 384) as vectors:
        return vectors.counts()


@pytest.fixture
def with_memories(subcog: Run, tmp_path: Path) -> Run:
    """Store three memories without embedding them."""
    lines = [json.dumps({"content": f"Pier {number} is closed."}) for number in range(3)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")
    assert subcog("import", "rows.jsonl").code == 0
    return subcog


def test_the_packaged_model_is_listed_in_an_empty_home(subcog: Run, home: Home) -> None:
    done = subcog("models", "list")
    assert done.code == 0
    assert done.out.startswith("minilm  sentence-transformers/all-MiniLM-L6-v2  384 dimensions, ")
    assert done.out.endswith("0 memories embedded, 0 to come; used by hook, search\n")
    assert not os.path.exists(home.root)


def test_importing_with_wait_leaves_nothing_pending(with_memories: Run, home: Home) -> None:
    assert (list_models(with_memories)["minilm"]["embedded"], list_models(with_memories)["minilm"]["pending"]) == (0, 3)
    assert with_memories("import", "rows.jsonl", "--wait").code == 0
    assert (list_models(with_memories)["minilm"]["embedded"], list_models(with_memories)["minilm"]["pending"]) == (3, 0)
    assert counts(home, "minilm") == (3, 0)


def test_fix_embeds_pending_memories_and_checks_them(with_memories: Run) -> None:
    done = with_memories("doctor", "--fix")
    assert done.out.startswith("indexed 3 memories\n  ok  store sound: 3 active\n")
    assert (done.out.splitlines()[-1], done.err) == ("  ok  vectors (minilm): 3 final", "embedded 3\n")
    assert with_memories("doctor", "--fix").err == ""


def test_a_model_is_pulled_used_and_removed(with_memories: Run, home: Home) -> None:
    done = with_memories("models", "pull", OTHER, "--from", FILES)
    assert (done.code, done.out) == (0, f"{SLUG}\n")
    assert f"`subcog models use {SLUG}` searches with it" in done.err
    assert "is installed already" in with_memories("models", "pull", OTHER, "--from", FILES).err
    assert not list_models(with_memories)[SLUG]["search"]

    done = with_memories("models", "use", OTHER)
    assert done.code == 0
    assert f"compares with {OTHER} from now on; 3 memories wait for `subcog doctor --fix` to be embedded" in done.err
    assert with_memories("config", "get", "embedding.model").out == f"{SLUG}\n"
    with_memories("doctor", "--fix")
    row = list_models(with_memories)[SLUG]
    assert (row["search"], row["hook"], row["embedded"], row["pending"]) == (True, False, 3, 0)
    assert counts(home, SLUG) == (3, 0)

    done = with_memories("models", "remove", SLUG)
    assert done.code == 0
    assert "compares with minilm again" in done.err
    assert list(list_models(with_memories)) == ["minilm"]
    assert with_memories("config", "get", "embedding.model").out == "minilm\n"
    assert [name for name in os.listdir(home.index) if SLUG in name] == []
    assert "model" not in Path(home.config).read_text()


def test_going_back_needs_no_sound_model(with_memories: Run, home: Home, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    with_memories("models", "pull", OTHER, "--from", FILES)
    with_memories("models", "use", OTHER)
    monkeypatch.setattr(PACKAGED, "folder", str(tmp_path / "nowhere"))
    for command in (("models", "use", "default"), ("config", "set", "embedding.model", "default")):
        assert with_memories(*command).code == 0
        assert with_memories("config", "get", "embedding.model").out == "minilm\n"


@pytest.mark.parametrize("name", ["../../x", OTHER])
def test_a_model_that_is_not_installed_can_not_be_set(with_memories: Run, home: Home, name: str) -> None:
    done = with_memories("config", "set", "embedding.model", name)
    assert (done.code, done.out, done.err.count("\n")) == (5, "", 1)
    assert f"the model {name} is not installed; `subcog models pull {name}`, or `subcog models use default`" in done.err
    assert not os.path.exists(home.config)


def test_leftovers_of_models_are_named_and_deleted(with_memories: Run, home: Home) -> None:
    with_memories("models", "pull", OTHER, "--from", FILES)
    with_memories("models", "use", OTHER)
    with_memories("doctor", "--fix")
    with_memories("models", "use", "default")
    partial, vectors = Path(home.models, ".partial-x"), Path(vectors_path(home, SLUG))
    shutil.move(Path(home.models, SLUG), partial)
    with ProcessLock(str(Path(home.models, "pull.lock")), 0, "pulling a model"):
        assert "left of a killed pull" not in with_memories("doctor").out
    done = with_memories("doctor")
    for path in (partial, vectors):
        assert f"{path} is left of a killed pull or of a model that is gone; `subcog doctor --fix` deletes it\n" in done.out
    with_memories("doctor", "--fix")
    assert (partial.exists(), vectors.exists(), Path(vectors_path(home, "minilm")).exists()) == (False, False, True)


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_damaged_model_is_listed_as_incomplete(with_memories: Run, home: Home) -> None:
    with_memories("models", "pull", OTHER, "--from", FILES)
    tokenizer, description = (Path(home.models, SLUG, name) for name in ("tokenizer.json", "space.json"))
    tokenizer.rename(tokenizer.with_suffix(".old"))
    tokenizer.symlink_to("nowhere")
    assert list_models(with_memories)[SLUG]["missing"] == ["tokenizer.json"]
    description.write_text(json.dumps({**json.loads(description.read_text()), "files": []}))
    assert list_models(with_memories)[SLUG]["missing"] == ["space.json"]
    done = with_memories("models", "use", OTHER)
    assert (done.code, done.err.count("\n")) == (5, 1)
    assert "lacks space.json" in done.err


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_model_that_is_linked_is_removed_and_its_files_stay(with_memories: Run, home: Home, tmp_path: Path) -> None:
    with_memories("models", "pull", OTHER, "--from", FILES)
    elsewhere = shutil.move(Path(home.models, SLUG), tmp_path / "elsewhere")
    os.symlink(elsewhere, Path(home.models, SLUG))
    with_memories("models", "use", OTHER)
    with_memories("doctor", "--fix")
    assert counts(home, SLUG) == (3, 0)
    assert with_memories("models", "remove", OTHER).code == 0
    assert list(list_models(with_memories)) == ["minilm"]
    assert [name for name in os.listdir(home.index) if SLUG in name] == []
    assert "space.json" in os.listdir(elsewhere)


def test_what_can_not_be_done_is_one_line(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    for arguments, code, complaint in (
        (("pull", "no-such-model"), 2, "'no-such-model' is not a text model of fastembed's catalogue"),
        (("pull", OTHER, "--from", "nowhere"), 5, "nowhere is not a folder"),
        (("pull", OTHER), 2, "download these of https://huggingface.co/Snowflake/snowflake-arctic-embed-xs that are there"),
        (("use", OTHER), 5, f"the model {OTHER} is not installed; `subcog models pull {OTHER}`"),
        (("remove", OTHER), 5, "is not installed"),
        (("remove", "minilm"), 2, "minilm is part of subcog"),
        (("remove", "default"), 2, "minilm is part of subcog"),
    ):
        done = subcog("models", *arguments)
        assert (done.code, done.out, done.err.count("\n"), complaint in done.err) == (code, "", 1, True), done.err
    monkeypatch.setitem(sys.modules, "fastembed", None)  # as where the extra is not installed
    done = subcog("models", "pull", OTHER)
    remedy = 'in your clone run `uv tool install ".[models,share,mcp]"`, or install them with pip or pipx'
    assert done.err == f"subcog: models other than the packaged one need fastembed; {remedy}\n"


def test_a_setting_switches_background_embedding(with_memories: Run, monkeypatch: MonkeyPatch) -> None:
    homes: list[str] = []
    monkeypatch.setattr(detached, "start_process", lambda home, _: homes.append(home.root))
    monkeypatch.delenv(detached.SWITCH_OFF)
    with_memories("config", "set", "embedding.background", "false")
    with_memories("remember", "The gate is shut.")
    assert "4 memories wait for `subcog doctor --fix`" in with_memories("models", "use", "minilm").err
    assert homes == []
    with_memories("config", "set", "embedding.background", "true")
    for command in (("remember", "It opens at six."), ("import", "rows.jsonl"), ("models", "use", "minilm")):
        done = with_memories(*command)
    assert "5 memories are embedded in the background" in done.err
    assert len(homes) == 3
    monkeypatch.setenv(detached.SWITCH_OFF, "0")
    assert "5 memories wait for `subcog doctor --fix`" in with_memories("models", "use", "minilm").err
    assert len(homes) == 3


def test_doctor_names_a_model_that_is_not_sound(with_memories: Run, home: Home) -> None:
    with_memories("models", "pull", OTHER, "--from", FILES)
    with_memories("models", "use", OTHER)
    os.unlink(os.path.join(home.models, SLUG, "tokenizer.json"))
    done = with_memories("doctor")
    assert done.code == 5
    assert f"BAD  the model {OTHER} lacks tokenizer.json; `subcog models remove {SLUG}`, then pull it again" in done.out
    assert "incomplete" in with_memories("models", "list").out
    assert with_memories("remember", "The gate is shut.").code == 0
    assert with_memories("search", "gate").code == 0
