"""The process behind a command: it starts when there is work, does it, says why it could not, and ends."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from subcog_hooks import log
from subcog_hooks.embed import background, catch_up, models, pull, spaces
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.errors import StoreError
from subcog_hooks.memory import model, vector_sync
from subcog_hooks.memory.lock import ProcessLock
from subcog_hooks.memory.store import Store
from subcog_hooks.memory.vector_file import path_of
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.paths import Home
from tests.conftest import Maker
from tests.embed.conftest import OTHER, SPACE, Open

posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The homes for which a process would have been started."""
    homes: list[str] = []
    monkeypatch.delenv(background.SWITCH)
    monkeypatch.setattr(background, "_start", lambda home: homes.append(home.root))
    return homes


@pytest.fixture
def pending(store: Store, make: Maker, following: Open) -> None:
    store.add([make("The gate is shut.")])
    following()


@posix
def test_a_process_embeds_what_is_pending_and_ends(
    home: Home, pending: None, following: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(background.SWITCH)
    assert background.start_if_pending(home)
    _, status = os.wait()
    assert (status, background.last_failure(home)) == (0, "")
    assert following().counts() == (1, 0)
    assert not background.start_if_pending(home)


@pytest.mark.usefixtures("pending")
def test_it_starts_when_something_is_pending(home: Home, started: list[str]) -> None:
    assert background.start_if_pending(home)
    assert started == [home.root]


def test_it_does_not_start_when_nothing_is(home: Home, store: Store, following: Open, started: list[str]) -> None:
    following()
    assert not background.start_if_pending(home)


def test_it_starts_when_the_vectors_have_not_followed_the_store(
    home: Home, store: Store, make: Maker, following: Open, started: list[str]
) -> None:
    following()
    store.add([make("The gate is shut.")])
    assert background.start_if_pending(home)


@pytest.mark.usefixtures("pending")
def test_it_does_not_start_beside_another_one(home: Home, started: list[str]) -> None:
    with ProcessLock(catch_up.lock_of(home, SPACE), 0, "embedding"):
        assert not background.start_if_pending(home)
    assert background.start_if_pending(home)


@pytest.mark.usefixtures("pending")
def test_a_setting_and_a_variable_keep_it_from_starting(
    home: Home, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(home.config).write_text("[embedding]\nbackground = false\n")
    assert not background.start_if_pending(home)
    Path(home.config).unlink()
    monkeypatch.setenv(background.SWITCH, "0")
    assert not background.start_if_pending(home)
    monkeypatch.setenv(background.SWITCH, "1")
    assert background.start_if_pending(home)


@pytest.mark.usefixtures("pending")
def test_a_process_that_can_not_be_started_is_a_line_in_the_log(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(background.SWITCH)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    assert not background.start_if_pending(home)
    assert "embedding was not started" in Path(log.path(home)).read_text()


@posix
@pytest.mark.usefixtures("pending")
def test_it_takes_the_least_of_the_processor(home: Home) -> None:
    code = (
        "import os\nfrom subcog_hooks.embed import background\nfrom subcog_hooks.paths import Home\n"
        "background.run(Home.find())\nprint(os.getpriority(os.PRIO_PROCESS, 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"19\n", b"")


@pytest.mark.usefixtures("pending")
def test_a_broken_model_is_noted_until_it_works_again(
    home: Home, following: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "nice", lambda _: 0)  # of this process, for good
    shutil.copytree(SPACE.folder, tmp_path / "model")
    os.truncate(tmp_path / "model" / "model.onnx", 1_000)
    with monkeypatch.context() as broken:
        broken.setattr(SPACE, "folder", str(tmp_path / "model"))
        background.run(home)
    assert f"{SPACE.model}: {SPACE.model} can not be loaded" in background.last_failure(home)
    assert f"embedding ended early: {SPACE.model}" in Path(log.path(home)).read_text()
    assert following().counts() == (0, 1)
    background.run(home)
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

    command = [sys.executable, "-m", "subcog_hooks", background.COMMAND]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, preexec_fn=small_disk, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert f"{vectors.path}" in background.last_failure(home)
    assert vectors.counts() == (0, 60)
    assert vectors.problems() == []


@pytest.mark.usefixtures("pending")
def test_a_model_that_was_chosen_and_is_gone_does_not_stop_the_packaged_one(
    home: Home, following: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "nice", lambda _: 0)
    Path(home.config).write_text('[embedding]\nmodel = "BAAI/bge-small-en-v1.5"\n')
    background.run(home)
    assert following().counts() == (1, 0)
    assert "BAAI/bge-small-en-v1.5 is not installed" in Path(log.path(home)).read_text()
    assert PACKAGED is SPACE


# a model of the user's choice, and what becomes of it meanwhile


@pytest.fixture
def chosen(home: Home, store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch) -> Space:
    """A pulled model that is chosen, with six memories to embed in groups of two."""
    monkeypatch.setattr(os, "nice", lambda _: 0)
    monkeypatch.setattr(catch_up, "GROUP_TEXTS", 2)
    store.add([make(f"Pier {number} is closed.") for number in range(6)])
    space = pull.pull(home, OTHER, SPACE.folder)
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


def test_both_spaces_are_embedded(home: Home, chosen: Space) -> None:
    background.run(home)
    assert counts(home, SPACE) == counts(home, chosen) == (6, 0)


def test_it_stops_when_another_model_is_chosen(home: Home, chosen: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    after_the_first_group_of(chosen, lambda: Path(home.config).write_text(""), monkeypatch)
    background.run(home)
    assert counts(home, chosen) == (2, 4)
    assert background.last_failure(home) == ""


def test_a_model_that_is_removed_before_its_turn_stays_removed(
    home: Home, chosen: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_the_first_group_of(SPACE, lambda: models.remove(home, chosen), monkeypatch)
    background.run(home)
    assert counts(home, SPACE) == (6, 0)
    assert not os.path.exists(chosen.folder)
    assert not os.path.exists(path_of(home, chosen.name))


def test_a_model_that_is_removed_in_its_turn_is_no_failure_and_stays_removed(
    home: Home, chosen: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove() -> None:
        VectorStore.remove(home, chosen.name)
        models.remove(home, chosen)

    after_the_first_group_of(chosen, remove, monkeypatch)
    background.run(home)
    assert background.last_failure(home) == ""
    assert not os.path.exists(chosen.folder)
    assert not os.path.exists(path_of(home, chosen.name))


def test_vectors_that_are_made_while_their_model_is_removed_are_taken_away(
    home: Home, chosen: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_vectors = spaces.provisional

    def remove_before(space: Space) -> "vector_sync.Encode":
        if space.name == chosen.name:
            models.remove(home, chosen)
        return first_vectors(space)

    monkeypatch.setattr(spaces, "provisional", remove_before)
    background.run(home)
    assert background.last_failure(home) == ""
    assert not os.path.exists(path_of(home, chosen.name))


# a model that fails


def run_with_a_broken_model(home: Home, chosen: Space) -> str:
    """The path of the file that is broken: as large as it was."""
    path = os.path.join(chosen.folder, "onnx", "model.onnx")
    with open(path, "r+b") as file:
        file.write(b"\xff" * 1_000)
    background.run(home)
    assert f"{chosen.model} can not be loaded" in background.last_failure(home)
    return path


def test_a_model_that_has_failed_is_left_alone_until_its_files_change_or_a_day_has_passed(
    home: Home, chosen: Space, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run_with_a_broken_model(home, chosen)
    assert counts(home, SPACE) == (6, 0)
    assert not background.start_if_pending(home)
    with monkeypatch.context() as later:
        later.setattr(background, "now_ms", lambda: model.now_ms() + background.RETRY_MS + 1)
        assert background.start_if_pending(home)
    os.utime(path)
    assert background.start_if_pending(home)


def test_a_disk_that_was_full_does_not_keep_the_process_from_starting(home: Home, chosen: Space, started: list[str]) -> None:
    os.makedirs(home.index)
    background.note_failure(home, chosen, StoreError("the disk is full"))
    assert background.last_failure(home) == f"{chosen.model}: the disk is full"
    assert background.start_if_pending(home)


def test_a_run_that_found_others_at_work_leaves_a_failure_noted(home: Home, chosen: Space) -> None:
    run_with_a_broken_model(home, chosen)
    noted = background.last_failure(home)
    with (
        ProcessLock(catch_up.lock_of(home, SPACE), 0, "embedding"),
        ProcessLock(catch_up.lock_of(home, chosen), 0, "embedding"),
    ):
        background.run(home)
    assert background.last_failure(home) == noted


def test_looking_for_work_writes_nothing_into_the_log(home: Home, chosen: Space, started: list[str]) -> None:
    os.unlink(os.path.join(chosen.folder, "tokenizer.json"))
    background.start_if_pending(home)
    assert not os.path.exists(log.path(home))


@pytest.mark.parametrize("text", ["the disk is full", "[1]", '{"minilm": 3}', ""])
def test_a_damaged_note_is_as_good_as_none(home: Home, chosen: Space, started: list[str], text: str) -> None:
    os.makedirs(home.index, exist_ok=True)
    Path(home.index, background.FAILURE).write_text(text)
    assert background.last_failure(home) == ""
    assert background.start_if_pending(home)
