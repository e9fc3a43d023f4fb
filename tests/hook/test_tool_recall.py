"""What a tool call is about to do, and the error of a failed one, bring a note or a line that points at it."""

import json
import os
from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import failed_call, tool
from subcog_hooks.store import index_writer
from subcog_hooks.store.store import Store
from tests.conftest import Maker
from tests.hook.recorded import PROJECT, Call, past_verdicts, printed_ids

NOTES = {
    "money": "Prices are whole cents, never floats: a rounded float cost us a tax audit.",
    "index": "New indexes on orders only with CREATE INDEX CONCURRENTLY, the table has 90 million rows.",
    "bucket": "Raw uploads in the bucket acme-raw are evidence for the tax office: never delete them.",
    "pool": "QueuePool limit reached: the turnover report keeps its connections, restart the reporter.",
    "tiles": "Map tiles are cached for a day; the supplier counts every request.",
}


pytestmark = pytest.mark.usefixtures("usual_settings")


@pytest.fixture
def shop(shop: Path, home: Home, store: Store, make: Maker) -> Path:
    """A repository with notes about it, which the index has."""
    more: dict[str, dict[str, object]] = {"tiles": {"paths": ("src/map/**",)}}
    store.add([make(text, id=id_, project=PROJECT, **more.get(id_, {})) for id_, text in NOTES.items()])
    index_writer.bring_up_to_date(home, store)
    return shop


@pytest.fixture
def call(home: Home, shop: Path) -> Call:
    """Call a tool in `shop`, and return the printed texts, each a line of the block."""

    def call_tool(name: str, session: str = "s", file: str = "", error: str = "", **given: object) -> list[str]:
        if file:
            given["file_path"] = os.path.join(shop, file)
        payload: dict[str, object] = {"session_id": session, "cwd": str(shop), "tool_name": name, "tool_input": given}
        printed: list[bytes] = []
        if error:
            payload |= {"error": error, "is_interrupt": session == "stopped"}
            failed_call.respond(payload, home, printed.append, Deadline(5_000))
        else:
            tool.respond(payload, home, printed.append, Deadline(5_000))
        context = json.loads(printed[0])["hookSpecificOutput"]["additionalContext"] if printed else ""
        assert len(printed_ids(printed)) == len(context.splitlines()[1:-1])
        return context.splitlines()[1:-1]

    return call_tool


def test_an_edit_gets_a_line_about_what_it_writes(call: Call) -> None:
    edit = {
        "old_string": "    return 0\n",
        "new_string": "    price = 4.90\n    return round(price * 1.19, 2)  # float price\n",
    }
    (line,) = call("Edit", file="src/fees.py", **edit)
    assert line.startswith("[maybe money] Prices are whole cents")
    assert call("Edit", file="src/fees.py", **edit) == []


def test_of_equal_rules_the_first_is_about_the_written_text(call: Call, home: Home, store: Store, make: Maker) -> None:
    rules = (
        "Read the contract of the module first.",
        "Name a class by its noun.",
        "Log lines bind the order's id to the logger.",
    )
    store.add([make(text, id=f"rule{number}", project=PROJECT, paths=("*.py",)) for number, text in enumerate(rules)])
    index_writer.bring_up_to_date(home, store)
    lines = call("Edit", file="src/ship.py", old_string="", new_string="logger.bind(order_id=order.id)  # bind the logger")
    assert ["rule2" in lines[0], "rule0" in lines[1], "rule1" in lines[2]] == [True, True, True]


def test_a_removal_is_searched_by_the_removed_lines(call: Call) -> None:
    removal = {"old_string": "    session.execute('CREATE INDEX CONCURRENTLY orders_po ON orders (po)')\n", "new_string": ""}
    (line,) = call("Edit", file="migrations/0187.py", **removal)
    assert "CREATE INDEX CONCURRENTLY" in line


def test_a_command_is_searched_unless_it_only_looks(call: Call) -> None:
    described = {"description": "Delete old raw uploads to save storage"}
    assert call("Bash", command="aws s3 ls s3://acme-raw/2023/", **described) == []
    (line,) = call("Bash", command="aws s3 rm --recursive s3://acme-raw/2023/", **described)
    assert "bucket" in line


def test_a_read_file_gets_a_line_a_changed_one_its_note(call: Call) -> None:
    (line,) = call("Read", file="src/map/layer.py")
    assert line.startswith("[maybe tiles]")
    (entry,) = call("Edit", file="src/map/layer.py", old_string="a", new_string="b")
    assert NOTES["tiles"] in entry
    assert not entry.startswith("[maybe")


def test_a_session_gets_five_lines_beside_its_calls(call: Call, store: Store, make: Maker, home: Home) -> None:
    store.add(
        [
            make(f"The quay{number} crane{number} uses tide table {number}.", id=f"q{number}", project=PROJECT)
            for number in range(7)
        ]
    )
    index_writer.bring_up_to_date(home, store)
    given = [call("Edit", file=f"src/q{n}.py", new_string=f"quay{n}.lift(crane{n})") for n in range(7)]
    assert [len(lines) for lines in given] == [1, 1, 1, 1, 1, 0, 0]


def test_odd_characters_break_no_search(call: Call) -> None:
    written = 'price\ud800\0 \u201cfloats\u201d " AND OR NEAR( * ^ rounded float cents'
    (line,) = call("Edit", file="src/\ud800fees.py", old_string="", new_string=written)
    assert "[maybe money]" in line or "Prices" in line


def test_an_unrelated_edit_gets_nothing(call: Call, home: Home) -> None:
    assert call("Edit", file="src/button.css", old_string="red", new_string="margin: 0 auto;") == []
    assert past_verdicts(home) == []


ERROR = """Exit code 1
  File "/app/sqlalchemy/pool/impl.py", line 168, in _do_get
sqlalchemy.exc.TimeoutError: QueuePool limit of size 10 overflow 5 reached, connection timed out, timeout 30.00"""


def test_an_error_brings_the_note_about_it_once(call: Call, home: Home) -> None:
    (line,) = call("Bash", error=ERROR, command="make report")
    assert "pool" in line.split("]")[0]
    assert call("Bash", error=ERROR, command="make report") == []
    assert [verdict.event for verdict in past_verdicts(home)][-1] == "PostToolUseFailure"


def test_an_unexplained_error_or_interrupt_gets_nothing(call: Call) -> None:
    assert call("Bash", error="Exit code 127\nzsh: command not found: fooctl", command="fooctl") == []
    assert call("Bash", "stopped", error=ERROR, command="make report") == []
