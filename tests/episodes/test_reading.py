"""Transcripts are read once into sessions.db, anew when they have grown, and episodes go with them."""

import os
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.episodes.episode_store import EpisodeStore
from subcog_hooks.episodes.reading import ReadingReport, SessionReader, find_gone
from subcog_hooks.learn.transcript_files import find_transcripts
from subcog_hooks.store.memory import now_ms
from tests.transcripts import Writer, session

DAY_MS = 86_400_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "projects"


def read(home: Home, folder: Path, *left_out: str) -> ReadingReport:
    with EpisodeStore.writer(home) as store:
        return SessionReader(store, left_out).read(find_transcripts(str(folder)), lambda _: None)


def asked(home: Home) -> list[str]:
    with EpisodeStore.reader(home) as store:
        return sorted(memory.content.partition("\n\n")[0] for memory in store.all(("active",)))


def test_a_second_reading_adds_nothing(home: Home, folder: Path) -> None:
    session(folder, "one", "Why is the cart empty?", "Now add a discount")
    assert (read(home, folder).episodes, read(home, folder).unchanged) == (2, 1)
    assert asked(home) == ["Now add a discount", "Why is the cart empty?"]


def test_a_session_that_has_grown_keeps_its_episodes(home: Home, folder: Path) -> None:
    written = session(folder, "one", "Why is the cart empty?")
    read(home, folder)
    written.typed("yes, do it")
    written.said("The key lacked the locale.")
    written.typed("Now add a discount")
    written.said("Added.")
    assert read(home, folder).sessions == 1
    assert asked(home) == ["Now add a discount", "Why is the cart empty?"]
    with EpisodeStore.reader(home) as store:
        assert any("The key lacked the locale." in memory.content for memory in store.all(("active",)))


def test_a_rewound_turn_goes(home: Home, folder: Path) -> None:
    written = session(folder, "one", "Why is the cart empty?", "Add a discount for all")
    read(home, folder)
    written.typed("Add a discount for members", parent="one-r1")
    written.said("Added.")
    read(home, folder)
    assert asked(home) == ["Add a discount for members", "Why is the cart empty?"]


def test_a_fork_adds_its_own_turns_alone(home: Home, folder: Path) -> None:
    session(folder, "one", "Why is the cart empty?", "Add a discount")
    session(folder, "two", "Why is the cart empty?", "Write the docs")
    read(home, folder)
    assert asked(home) == ["Add a discount", "Why is the cart empty?", "Write the docs"]


def test_excluded_prompts_and_their_answers_stay_away(home: Home, folder: Path) -> None:
    written = Writer(folder / "-shop" / "one.jsonl", session="one")
    written.typed("Why is the cart empty?")
    written.said("The key lacked the locale.")
    written.typed("what does the payroll say [nomem]")
    written.said("Ada earns most.")
    session(folder, "two", "first [nomem]", "second prompt of it")
    session(folder, "three", "the client's own project", folder="/home/dev/secret")
    read(home, folder, "/home/dev/secret")
    assert asked(home) == ["Why is the cart empty?"]
    with EpisodeStore.reader(home) as store:
        assert not any("Ada" in memory.content for memory in store.all(("active",)))


def test_purged_episodes_are_not_read_again(home: Home, folder: Path) -> None:
    written = session(folder, "one", "Why is the cart empty?", "Add a discount")
    read(home, folder)
    with EpisodeStore.writer(home) as store:
        store.purge([memory.id for memory in store.all(("active",)) if "cart" in memory.content])
    written.typed("Write the docs")
    written.said("Written.")
    read(home, folder)
    assert asked(home) == ["Add a discount", "Write the docs"]


def test_episodes_go_with_their_transcript_or_later(home: Home, folder: Path) -> None:
    session(folder, "one", "Why is the cart empty?")
    kept = session(folder, "two", "Add a discount")
    read(home, folder)
    os.unlink(folder / "-home-dev-shop" / "one.jsonl")
    age_ms = now_ms() - 1_772_445_600_000  # since 2026-03-02
    with EpisodeStore.writer(home) as store:
        gone = [find_gone(store, kept_ms, now_ms()) for kept_ms in (0, age_ms + DAY_MS, age_ms - DAY_MS)]
        contents = {memory.id: memory.content for memory in store.all(("active",))}
    assert [[contents[id_][:3] for id_ in ids] for ids in gone] == [["Why"], [], ["Why"]]
    assert os.path.exists(kept.path)


def test_a_damaged_file_is_made_anew(home: Home, folder: Path) -> None:
    session(folder, "one", "Why is the cart empty?")
    home.create()
    Path(home.sessions.memories_db).write_bytes(b"no database" * 1_000)
    read(home, folder)
    assert asked(home) == ["Why is the cart empty?"]
