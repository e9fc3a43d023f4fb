"""The brief of a session: its most useful memories, as many as fit, without repeats."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import brief
from subcog_hooks.hook import session as hook_session
from subcog_hooks.hook.block import HARD_CAP_UNITS
from subcog_hooks.hook.call import HookCall
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import sessions
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.text.sanitise import utf16_units
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import configure, printed_ids, respond

Begin = Callable[..., list[bytes]]
RULE = "Commit by hand; the agent never pushes."
HERE = "/tmp"


@pytest.fixture
def begin(home: Home) -> Begin:
    """Begin a session, and return the output."""

    def begin_session(source: str = "startup", session: str = "s", cwd: str = HERE) -> list[bytes]:
        printed: list[bytes] = []
        payload: dict[str, object] = {"source": source, "session_id": session, "cwd": cwd, "hook_event_name": "SessionStart"}
        hook_session.respond(payload, home, printed.append, Deadline(60_000))
        return printed

    return begin_session


def context(printed: list[bytes]) -> str:
    """Return the printed block."""
    (line,) = printed
    return str(json.loads(line)["hookSpecificOutput"]["additionalContext"])


def text_units(block: str) -> int:
    """Return the UTF-16 units of the texts in a block: a brief's setting bounds them."""
    return sum(utf16_units(line.partition("] ")[2]) for line in block.split("\n")[1:-1])


def add_many(store: Store, make: Maker, count: int) -> None:
    facts = [f"Fact {n} is about module m{n} and its table t{n}." for n in range(count)]
    store.add([make(fact, id=f"f{n:03}", created_at=n, namespace="context") for n, fact in enumerate(facts)])


def test_all_come_where_all_fit_the_newest_first(store: Store, make: Maker, begin: Begin) -> None:
    add_many(store, make, 5)
    printed = begin()
    assert printed_ids(printed) == ["f004", "f003", "f002", "f001", "f000"]
    assert context(printed).startswith(
        '<subcog-memories source="the user\'s own notes, recalled by subcog; 5 now, others when they matter">\n['
    )


@pytest.mark.parametrize("room", [300, 500, 1_000, 1_500, 6_000])
def test_as_many_come_as_fit_and_none_is_cut(store: Store, make: Maker, home: Home, begin: Begin, room: int) -> None:
    configure(home, f"[surfacing]\nbrief_characters = {room}")
    add_many(store, make, 150)
    text = context(begin())
    lines = text.split("\n")[1:-1]
    assert room - 60 < text_units(text) <= room or len(lines) == hook_session.MAX_MEMORIES
    assert all(line.endswith(".") for line in lines)


def test_a_block_is_never_longer_than_the_client_takes(store: Store, make: Maker, home: Home, begin: Begin) -> None:
    configure(home, "[surfacing]\nbrief_characters = 6000")
    facts = [f"Fact {n} is about {'the module of the harbour ' * 3}m{n}." for n in range(150)]
    store.add([make(fact, id=f"{n:03}-" + "x" * 50, created_at=n, namespace="c" * 30) for n, fact in enumerate(facts)])
    text = context(begin())
    assert HARD_CAP_UNITS - 400 < utf16_units(text) <= HARD_CAP_UNITS
    assert all(line.endswith(".") for line in text.split("\n")[1:-1])


def test_a_project_may_only_shorten_it(store: Store, make: Maker, home: Home, begin: Begin, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".subcog.toml").write_text("[surfacing]\nbrief_characters = 0\n", encoding="utf-8")
    add_many(store, make, 5)
    assert begin(cwd=str(tmp_path)) == []
    (tmp_path / ".subcog.toml").write_text("[surfacing]\nbrief_characters = 6000\n", encoding="utf-8")
    configure(home, f"[surfacing]\nbrief_characters = {300}")
    assert text_units(context(begin(cwd=str(tmp_path), session="t"))) <= 300


def test_rules_come_before_facts_of_the_same_age(store: Store, make: Maker, begin: Begin, home: Home) -> None:
    configure(home, f"[surfacing]\nbrief_characters = {250}")
    add_many(store, make, 30)
    store.add([make(RULE, id="rule", namespace="preferences", created_at=29)])
    assert printed_ids(begin())[0] == "rule"


def test_a_standing_memory_comes_before_many_newer_ones(store: Store, make: Maker, begin: Begin, home: Home) -> None:
    store.add([make("The harbour has two cranes.", id="said", namespace="context", standing=True, created_at=1)])
    add_many(store, make, 300)
    assert printed_ids(begin())[0] == "said"


def test_of_many_standing_sections_a_file_begins_with_its_first(store: Store, make: Maker, begin: Begin) -> None:
    ids = [f"md-{number * 7919 % 1_000:03}" for number in range(450)]
    rules = [make(f"Rule {id_} of the harbour.", id=id_, standing=True, created_at=50) for id_ in ids]
    store.add(rules)
    given = printed_ids(begin())
    assert given == ids[: len(given)]
    assert len(given) > 3


def test_standing_memories_leave_room_for_others(store: Store, make: Maker, begin: Begin) -> None:
    rules = [make(f"Rule {n} of the harbour has {n} ropes.", id=f"r{n:02}", standing=True, created_at=n) for n in range(60)]
    store.add(rules)
    add_many(store, make, 30)
    ids = printed_ids(begin())
    rules_given = [id_ for id_ in ids if id_.startswith("r")]
    assert ids[: len(rules_given)] == rules_given
    assert 0.25 * len(ids) < len(ids) - len(rules_given) < 0.5 * len(ids)


@pytest.mark.parametrize("many", ["project", "user"])
def test_neither_project_nor_user_memories_take_all_room(
    store: Store, make: Maker, begin: Begin, home: Home, tmp_path: Path, many: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://github.com/acme/shop.git\n')
    mine, others = [None, "github.com/acme/shop"][:: 1 if many == "user" else -1]
    store.add([make(f"Rule {n} is about module m{n}.", id=f"m{n:03}", project=mine, created_at=100 + n) for n in range(100)])
    store.add([make(f"Part {n} has table t{n}.", id=f"o{n:03}", project=others, created_at=n) for n in range(20)])
    configure(home, "[surfacing]\nbrief_characters = 1000")
    ids = printed_ids(begin(cwd=str(tmp_path)))
    few = [id_ for id_ in ids if id_.startswith("o")]
    assert len(ids) * 0.2 < len(few) < len(ids) * 0.5
    store.modify([f"o{n:03}" for n in range(20)], lambda memory: memory.with_changes(status="archived"))
    assert all(id_.startswith("m") for id_ in printed_ids(begin(cwd=str(tmp_path), session="t")))
    assert text_units(context(begin(cwd=str(tmp_path), session="u"))) > 1_000 - 40


def test_memories_of_earlier_prompts_come_before_newer_ones(store: Store, make: Maker, begin: Begin, home: Home) -> None:
    configure(home, f"[surfacing]\nbrief_characters = {300}")
    add_many(store, make, 300)
    state = State.open(home, 1_000)
    state.begin()
    for _ in range(3):
        sessions.note_near(state, "", [("f005", 0.9), ("f200", 0.01)], 1)
    sessions.note_near(state, "github.com/acme/shop", [("f006", 0.9)], 1)
    state.commit()
    assert brief.find_near(state, "", 10) == {"f005": pytest.approx(2.7)}
    state.close()
    weights = {score.memory.id: score for score in _rank_all(home)}
    assert weights["f005"].parts["sought"] > 0.5
    assert weights["f299"].parts["sought"] == 0.0
    assert "f006" not in weights  # of another project, and too old to be looked at


def _rank_all(home: Home) -> list[brief.BriefScore]:
    call = HookCall({}, "", None, Settings({}), State.open(home, 1_000), home, Deadline(60_000))
    return list(brief.rank_memories(call))


def test_what_has_words_of_the_branch_comes_before_what_is_newer(
    store: Store, make: Maker, begin: Begin, home: Home, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feature/PAY-12-refund_window\n")
    configure(home, "[surfacing]\nbrief_characters = 200")
    store.add([make("Refunds are open for 14 days.", id="refund", namespace="context", created_at=1)])
    add_many(store, make, 100)
    assert printed_ids(begin(cwd=str(tmp_path)))[0] != "refund"
    store.modify(["refund"], lambda memory: memory.with_changes(created_at=60))
    assert "refund" in printed_ids(begin(cwd=str(tmp_path), session="t"))
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert "refund" not in printed_ids(begin(cwd=str(tmp_path), session="u"))


def test_the_word_of_an_agent_comes_behind_that_of_a_person(store: Store, make: Maker, home: Home) -> None:
    store.add([make("The crane has two hooks.", id="agent", namespace="context", trust="agent", created_at=102)])
    store.add([make("The quay has two cranes.", id="person", namespace="context", created_at=101)])
    add_many(store, make, 100)
    positions = {score.memory.id: (position, score.parts["trust"]) for position, score in enumerate(_rank_all(home))}
    assert positions["person"] == (0, 0.0)
    assert positions["agent"][0] > 10
    assert positions["agent"][1] == -1.5


def test_a_models_note_without_use_leaves_the_brief(store: Store, make: Maker, begin: Begin, home: Home) -> None:
    made = {"trust": "agent", "source": "session:/s.jsonl:1"}
    store.add([make("The quay has two cranes.", id="model", **made), make("Ropes are coiled clockwise.", id="person")])
    store.add([make("The harbour closes at nine.", id="edited", updated_at=now_ms(), **made)])
    assert begin(session="first")
    state = State.open(home, 1_000)
    state.begin()
    state.run("UPDATE sought SET at = ?", (now_ms() - brief.UNUSED_MS - 1,))
    for number in range(brief.UNUSED_SESSIONS - 2):
        hook_session.begin_session(state, f"s{number}", "", "startup", now_ms())
    state.commit()
    everything = {"model", "person", "edited"}
    assert {*printed_ids(begin(session="a"))} == everything
    assert {*printed_ids(begin(session="b"))} == everything - {"model"}
    state.begin()
    sessions.note_used(state, "b", ["model"], now_ms())
    state.commit()
    assert {*printed_ids(begin(session="c"))} == everything
    state.close()


def test_a_resumed_session_is_charged_once(store: Store, make: Maker, begin: Begin, home: Home) -> None:
    add_many(store, make, 5)
    state = State.open(home, 1_000)
    assert begin()
    charged = sessions.count_units(state, "s")
    assert charged > 200
    assert begin("resume")
    assert sessions.count_units(state, "s") == charged
    sessions.add_units(state, "t", "", 300, 1)  # of prompts, in a session whose start was not heard
    assert begin("resume", session="t")
    assert sessions.count_units(state, "t") == 300 + charged
    state.close()


def test_what_prompts_were_near_to_is_noted(store: Store, make: Maker, home: Home) -> None:
    store.add([make("The dredging barge Ellida is moored at pier 7 from November on.", id="barge")])
    store.add([make(f"Module m{n} keeps its table t{n}.", id=f"m{n}") for n in range(30)])
    follow(home, store)
    asked = "Where is the dredging barge Ellida moored?"
    for session in ("a", "b"):
        respond(home, asked, session, cwd=HERE)
    state = State.open(home, 1_000)
    assert brief.find_near(state, "", 3)["barge"] > 1.0
    state.close()


def test_what_waits_for_its_moment_is_left_to_it(store: Store, make: Maker, begin: Begin) -> None:
    store.add([make("Only in a.py.", paths=("a.py",)), make("At a deploy.", triggers=("deploy now",))])
    store.add([make("On main alone.", when={"branch": "main"})])
    store.add([make(RULE, id="rule")])
    assert printed_ids(begin()) == ["rule"]


def test_nearly_the_same_is_said_once(store: Store, make: Maker, begin: Begin) -> None:
    words = "the agent of this repository never ever pushes a commit to the main branch by itself"
    store.add([make(f"Remember that {words}{end}", id=f"r{n}", created_at=n) for n, end in enumerate((".", "!", "…", ""))])
    assert printed_ids(begin()) == ["r3"]


def test_of_pinned_memories_that_say_the_same_one_comes(store: Store, make: Maker, begin: Begin) -> None:
    rule = "The agent of this repository never pushes a commit to the main branch by itself"
    store.add([make(f"{rule}{end}", id=f"p{n}", priority=95 - n) for n, end in enumerate((".", "!"))])
    add_many(store, make, 3)
    assert printed_ids(begin()) == ["p0", "f002", "f001", "f000"]


def test_prompts_do_not_repeat_it_and_clear_and_compact_do(store: Store, make: Maker, home: Home, begin: Begin) -> None:
    asked = "Where is the dredging barge Ellida moored?"
    store.add([make("The dredging barge Ellida is moored at pier 7 from November on.", id="barge")])
    store.add([make(f"Module m{n} keeps its table t{n}.", id=f"m{n}") for n in range(30)])
    follow(home, store)
    assert "barge" in printed_ids(begin())
    assert respond(home, asked, cwd=HERE) == []
    assert "barge" in printed_ids(begin("compact"))
    assert "barge" in printed_ids(begin("clear", "after-clear"))
    state = State.open(home, 1_000)
    assert "barge" in sessions.find_given(state, "s")
    state.close()


def test_old_rows_are_pruned(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_ROWS", 10)
    home.create()
    state = State.open(home, 1_000)
    for time_ms in range(12):
        sessions.note_near(state, "", [(f"m{time_ms}", 0.5)], time_ms)
    sessions.prune_near(state)
    assert set(brief.find_near(state, "", 99)) == {f"m{time_ms}" for time_ms in range(6, 12)}
    state.close()
