"""The public benchmark: measures by hand, its data read, a run through the executable; peers beside it."""

import json
import math
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from scripts.bench import beam
from scripts.bench.locomo import join_sessions, parse_conversations
from scripts.bench.machine import Failed
from scripts.bench.measures import mean_measures
from scripts.bench.peers import SubcogBlock, SubcogSearch

ROOT = Path(__file__).parents[2]
SAMPLE = {
    "sample_id": "conv-30",
    "conversation": {
        "speaker_a": "Ada",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "We bought a red canoe.", "blip_caption": "a canoe on a lake"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "My sister bakes rye bread on Sundays."},
        ],
        "session_2_date_time": "9:05 am on 2 June, 2023",
        "session_2": [
            {"speaker": "Ada", "dia_id": "D2:1", "text": "The dentist moved to Harbour Street."},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "Good to know."},
        ],
        "session_3_date_time": "9:05 am on 3 June, 2023",
    },
    "qa": [
        {"question": "Where is the dentist now?", "answer": "Harbour Street", "evidence": ["D2:01"], "category": 4},
        {"question": "Who bakes rye bread?", "answer": "Ben's sister", "evidence": ["D:1:2; D1:1"], "category": 4},
        {"question": "Which colour has the plane?", "evidence": ["D"], "category": 5},
        {"question": "Who is older?", "evidence": [], "category": 3},
    ],
}


def test_measures_agree_with_sums_done_by_hand() -> None:
    pairs = [(["x", "a", "y", "z", "u", "b"], {"a", "b"}), ([], {"a"}), (["a"], frozenset[str]())]
    ideal = 1 + 1 / math.log2(3)
    expected = {"hit@1": 0, "hit@5": 1, "hit@10": 1, "R@5": 0.5, "R@10": 1, "MRR": 0.5}
    expected["nDCG"] = (1 / math.log2(3) + 1 / math.log2(7)) / ideal
    assert mean_measures(pairs) == pytest.approx({name: value / 3 for name, value in expected.items()})


def test_evidence_is_read_however_it_is_written() -> None:
    turns = parse_conversations([SAMPLE])
    assert [sorted(question.relevant) for question in turns.questions] == [
        ["conv-30-D2-1"],
        ["conv-30-D1-1", "conv-30-D1-2"],
        [],
    ]
    assert turns.memories[0]["content"] == "Ada: We bought a red canoe. [shares a photo: a canoe on a lake]"
    assert [memory["created_at"] for memory in turns.memories[1:3]] == [
        "2023-05-08T13:56:20+00:00",
        "2023-06-02T09:05:00+00:00",
    ]
    sessions = join_sessions(turns)
    assert [memory["id"] for memory in sessions.memories] == ["conv-30-D1", "conv-30-D2"]
    assert sessions.questions[1].relevant == {"conv-30-D1"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
def test_recall_is_measured_on_data_from_an_address(tmp_path: Path) -> None:
    (tmp_path / "locomo10.json").write_text(json.dumps([SAMPLE]), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        figures = measured(tmp_path, "--only", "locomo", "--data", f"http://127.0.0.1:{server.server_port}/locomo10.json")
        server.shutdown()
    assert len(figures) == 20  # three recalls, past sessions; all and held out; turns, sessions by turns, sessions
    assert {row["questions"] for row in figures} == {3}
    assert {round(row["hit@10"], 3) for row in figures} == {0.667}


def measured(folder: Path, *options: str) -> list[dict[str, Any]]:
    """The figures of the benchmark with these options."""
    command = [sys.executable, "-m", "scripts.bench.public", "--json", str(folder / "figures.json"), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures: list[dict[str, Any]] = json.loads((folder / "figures.json").read_text(encoding="utf-8"))["figures"]
    return figures


BEES = {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "My sister keeps bees on a roof. ->-> 1,1"}
HIVE = {"role": "assistant", "id": 1, "content": "A hive needs shade at noon."}
CHAT = [{"batch_number": 1, "time_anchor": None, "turns": [[BEES, HIVE]]}]
PROBES = {
    "information_extraction": [{"question": "Who keeps bees?", "source_chat_ids": [0]}],
    "temporal_reasoning": [{"question": "Shade or bees first?", "source_chat_ids": {"first_event": [0], "second_event": [1]}}],
    "summarization": [{"question": "What is this about?"}],
    "abstention": [{"question": "When does the tram to Antwerp leave?"}],
}


def beam_folder(folder: Path) -> str:
    for number in range(1, beam.CHATS + 1):
        (folder / str(number) / "probing_questions").mkdir(parents=True)
        (folder / str(number) / "chat.json").write_text(json.dumps(CHAT), encoding="utf-8")
        probes = folder / str(number) / "probing_questions" / "probing_questions.json"
        probes.write_text(json.dumps(PROBES), encoding="utf-8")
    return str(folder)


def test_messages_and_their_questions_are_read(tmp_path: Path) -> None:
    chats = beam.load_conversations(beam_folder(tmp_path))
    assert [memory["content"] for memory in chats.memories[:2]] == [
        "user: My sister keeps bees on a roof.",
        "assistant: A hive needs shade at noon.",
    ]
    assert chats.memories[1]["created_at"] == "2024-03-15T00:00:20+00:00"
    assert [sorted(question.relevant) for question in chats.questions[:2]] == [["chat-1-0"], ["chat-1-0", "chat-1-1"]]
    assert [question.text for question in chats.unanswerable[:1]] == ["When does the tram to Antwerp leave?"]
    (tmp_path / "7" / "chat.json").write_text("[{}]", encoding="utf-8")
    with pytest.raises(Failed, match=r"chat 7 of BEAM could not be read .*; give the folder with --beam"):
        beam.load_conversations(str(tmp_path))


NEEDS_PS = pytest.mark.skipif(sys.platform == "win32", reason="needs ps")


@NEEDS_PS
def test_subcog_is_asked_as_the_others_are(tmp_path: Path) -> None:
    note = "The signing keys of the webhook gateway are rotated on the first Monday of a month."
    search, block = SubcogSearch(str(tmp_path), sys.executable), SubcogBlock(str(tmp_path), sys.executable)
    search.store([{"id": "keys", "content": note}])
    question = "When are the signing keys of the webhook gateway rotated?"
    assert [system.ask(question).ids for system in (search, block)] == [["keys"], ["keys"]]
    assert note in block.ask(question).text
    assert block.ask("thanks, that was all for today") == ([], "")
