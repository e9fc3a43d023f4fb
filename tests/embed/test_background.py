"""Embedding in the background: it is due when there is work, does it, says why it could not, and ends when it is asked to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from subcog_hooks.core import log
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import background, catch_up, models, pull, spaces
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.hook.detached import BACKGROUND_COMMAND
from subcog_hooks.store import memory, vector_store
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import vectors_path
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.embed.conftest import OTHER, SPACE, Open

posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")


@pytest.fixture
def pending(store: Store, make: Maker, following: Open) -> None:
    store.add([make("The gate is shut.")])
    following()


def test_in_an_empty_home_nothing_is_due(home: Home) -> None:
    assert not background.is_embedding_due(home)
    assert not (Path(home.log) / "hook.log").exists()


def test_work_is_due_from_a_new_memory_until_it_is_embedded(home: Home, store: Store, make: Maker, following: Open) -> None:
    following()
    assert not background.is_embedding_due(home)
    store.add([make("The gate is shut.")])  # the vectors have not followed yet
    assert background.is_embedding_due(home)
    following()
    assert background.is_embedding_due(home)
    assert background.embed_all_pending(home) == 1
    assert following().counts() == (1, 0)
    assert not background.is_embedding_due(home)


@pytest.mark.usefixtures("pending")
def test_it_is_not_due_while_another_process_is_at_it(home: Home) -> None:
    with ProcessLock(catch_up.lock_of(home, SPACE), 0, "embedding"):
        assert not background.is_embedding_due(home)
    assert background.is_embedding_due(home)


class Ending(Pace):
    """Lets work go on so often, and then ends it; counts the pauses that it was asked for."""

    def __init__(self, units: int) -> None:
        self.left = units
        self.pauses = 0

    def goes_on(self, _: Callable[[], bool] = bool) -> bool:
        self.left -= 1
        return self.left >= 0

    def pause(self, _: Callable[[], bool] = bool) -> None:
        self.pauses += 1


@pytest.mark.usefixtures("pending")
def test_a_broken_model_is_noted_until_it_works_again(
    home: Home, following: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(SPACE.folder, tmp_path / "model")
    os.truncate(tmp_path / "model" / "model.onnx", 1_000)
    with monkeypatch.context() as broken:
        broken.setattr(SPACE, "folder", str(tmp_path / "model"))
        background.embed_all_pending(home)
    assert f"{SPACE.model}: {SPACE.model} cannot be loaded" in background.last_failure(home)
    assert f"embedding ended early: {SPACE.model}" in Path(log.log_path(home)).read_text()
    assert following().counts() == (0, 1)
    background.embed_all_pending(home)
    assert background.last_failure(home) == ""
    assert following().counts() == (1, 0)


@posix
def test_a_disk_that_fills_is_noted_and_what_was_there_stays(home: Home, store: Store, make: Maker, following: Open) -> None:
    store.add([make(f"Pier {number} is closed.") for number in range(60)])
    vectors = following()
    largest = max(os.path.getsize(os.path.join(home.index, name)) for name in os.listdir(home.index))

    def small_disk() -> None:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    command = [sys.executable, "-m", "subcog_hooks", BACKGROUND_COMMAND]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, preexec_fn=small_disk, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert f"{vectors.path}" in background.last_failure(home)
    assert vectors.counts() == (0, 60)
    assert vectors.problems() == []


@pytest.mark.usefixtures("pending")
def test_a_missing_chosen_model_does_not_stop_the_packaged_one(
    home: Home, following: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(home.config).write_text('[embedding]\nmodel = "BAAI/bge-small-en-v1.5"\n')
    background.embed_all_pending(home)
    assert following().counts() == (1, 0)
    assert "BAAI/bge-small-en-v1.5 is not installed" in Path(log.log_path(home)).read_text()
    assert PACKAGED is SPACE


# a model of the user's choice, and what becomes of it meanwhile


@pytest.fixture
def chosen_model(home: Home, store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch) -> Space:
    """A pulled model that is chosen, with six memories to embed in groups of two."""
    monkeypatch.setattr(catch_up, "QUIET_TEXTS", 2)
    store.add([make(f"Pier {number} is closed.") for number in range(6)])
    space = pull.pull_model(home, OTHER, SPACE.folder)
    Path(home.config).write_text(f'[embedding]\nmodel = "{space.name}"\n')
    return space


def counts(home: Home, space: Space) -> tuple[int, int]:
    with VectorStore.reader(home, space.name, space.dimension) as vectors:
        return vectors.counts()


def after_the_first_group_of(space: Space, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls `act` once, when two vectors of the space are final."""
    finish = VectorStore.finish

    def finish_and_act(vectors: VectorStore, made: Iterable[tuple[int, str, Sequence[bytes]]]) -> int:
        count = finish(vectors, made)
        if space.name in vectors.path and vectors.counts()[0] == 2:
            act()
        return count

    monkeypatch.setattr(VectorStore, "finish", finish_and_act)


def test_it_ends_early_and_the_rest_stays_due(home: Home, chosen_model: Space) -> None:
    pace = Ending(4)  # before the space, before its turn, and before each group of two
    assert background.embed_all_pending(home, pace) == 4
    assert (counts(home, SPACE), pace.pauses) == ((4, 2), 4)  # one pause behind each vector
    assert background.last_failure(home) == ""
    assert background.is_embedding_due(home)
    assert background.embed_all_pending(home) == 8
    assert counts(home, SPACE) == counts(home, chosen_model) == (6, 0)


def test_it_stops_when_another_model_is_chosen(home: Home, chosen_model: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    after_the_first_group_of(chosen_model, lambda: Path(home.config).write_text(""), monkeypatch)
    background.embed_all_pending(home)
    assert counts(home, chosen_model) == (2, 4)
    assert background.last_failure(home) == ""


@pytest.mark.parametrize("is_its_turn", [False, True])
def test_a_model_removed_meanwhile_is_no_failure(
    home: Home, chosen_model: Space, monkeypatch: pytest.MonkeyPatch, *, is_its_turn: bool
) -> None:
    def remove() -> None:
        VectorStore.remove(home, chosen_model.name)
        models.remove_model(home, chosen_model)

    after_the_first_group_of(chosen_model if is_its_turn else SPACE, remove, monkeypatch)
    background.embed_all_pending(home)
    assert (counts(home, SPACE), background.last_failure(home)) == ((6, 0), "")
    assert not os.path.exists(chosen_model.folder)
    assert not os.path.exists(vectors_path(home, chosen_model.name))


def test_vectors_made_during_a_models_removal_are_deleted(
    home: Home, chosen_model: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_vectors = spaces.provisional_encoder

    def remove_before(space: Space) -> vector_store.Encode:
        if space.name == chosen_model.name:
            models.remove_model(home, chosen_model)
        return first_vectors(space)

    monkeypatch.setattr(spaces, "provisional_encoder", remove_before)
    background.embed_all_pending(home)
    assert background.last_failure(home) == ""
    assert not os.path.exists(vectors_path(home, chosen_model.name))


class Removing(Pace):
    """Lets another process remove a model once two vectors of it are final, and waits for that between two turns."""

    def __init__(self, home: Home, space: Space) -> None:
        self.home, self.space = home, space
        self.remover: subprocess.Popen[bytes] | None = None

    def goes_on(self, is_called_off: Callable[[], bool] = bool) -> bool:
        if self.remover:  # the turn is over, and with it the lock that the other one waited for
            assert self.remover.wait(60) == 0
        elif os.path.exists(vectors_path(self.home, self.space.name)) and counts(self.home, self.space)[0] == 2:
            command = [sys.executable, "-m", "subcog_hooks", "--quiet", "models", "remove", self.space.name]
            self.remover = subprocess.Popen(command, cwd=Path(__file__).parents[2])
            while not is_called_off():
                assert self.remover.poll() is None
        return not self.remover


def test_a_model_removed_between_two_turns_leaves_no_file(home: Home, chosen_model: Space) -> None:
    pace = Removing(home, chosen_model)
    assert background.embed_all_pending(home, pace) == 8
    assert pace.remover
    assert background.last_failure(home) == ""
    for folder in (home.models, home.index):
        assert [name for name in os.listdir(folder) if chosen_model.name in name] == []


# a model that fails


def run_with_a_broken_model(home: Home, chosen_model: Space) -> str:
    """The path of the file that is broken: as large as it was."""
    path = os.path.join(chosen_model.folder, "onnx", "model.onnx")
    with open(path, "r+b") as file:
        file.write(b"\xff" * 1_000)
    background.embed_all_pending(home)
    assert f"{chosen_model.model} cannot be loaded" in background.last_failure(home)
    return path


def test_a_failed_model_rests_until_a_change_or_for_a_day(
    home: Home, chosen_model: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run_with_a_broken_model(home, chosen_model)
    assert counts(home, SPACE) == (6, 0)
    assert not background.is_embedding_due(home)
    with monkeypatch.context() as later:
        later.setattr(background, "now_ms", lambda: memory.now_ms() + background.RETRY_MS + 1)
        assert background.is_embedding_due(home)
    os.utime(path)
    assert background.is_embedding_due(home)


def test_a_disk_that_was_full_does_not_keep_it_from_being_due(home: Home, chosen_model: Space) -> None:
    os.makedirs(home.index)
    background.record_failure(home, chosen_model, StoreError("the disk is full"))
    assert background.last_failure(home) == f"{chosen_model.model}: the disk is full"
    assert background.is_embedding_due(home)


def test_a_run_that_found_others_at_work_leaves_a_failure_noted(home: Home, chosen_model: Space) -> None:
    run_with_a_broken_model(home, chosen_model)
    noted = background.last_failure(home)
    with (
        ProcessLock(catch_up.lock_of(home, SPACE), 0, "embedding"),
        ProcessLock(catch_up.lock_of(home, chosen_model), 0, "embedding"),
    ):
        background.embed_all_pending(home)
    assert background.last_failure(home) == noted


def test_a_damaged_note_is_as_good_as_none(home: Home, chosen_model: Space) -> None:
    os.makedirs(home.index, exist_ok=True)
    for text in ("the disk is full", "[1]", '{"minilm": 3}', ""):
        Path(home.index, background.FAILURE).write_text(text)
        assert background.last_failure(home) == ""
        assert background.is_embedding_due(home)
