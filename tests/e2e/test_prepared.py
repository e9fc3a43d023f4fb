"""A command in a forked process does what the installed script does; what that could not be said of is left to the script."""

from collections.abc import Sequence

import pytest

from tests.e2e import prepared
from tests.e2e.machine import LONGEST_S, Machine

COMMANDS: Sequence[tuple[Sequence[str], bytes]] = (
    (("--version",), b""),
    (("--help",), b""),
    (("list", "--jsonl", "--all-projects"), b""),
    (("search", "session token", "--json", "--no-such-option"), b""),
    (("show", "tp-0001"), b""),
    (("show", "none\udcff of these"), b""),
    (("import", "-", "--dry-run"), b'{"content": "a"}\n{"content":'),
    (("config", "set", "surfacing.min_relevance", "often"), b""),
    (("no-such-command",), b""),
)

pytestmark = pytest.mark.skipif(not prepared.IS_POSSIBLE, reason="every command is started by its script here")


def test_both_give_the_same(machine: Machine, subtests: pytest.Subtests) -> None:
    for words, stdin in COMMANDS:
        with subtests.test(words=words):
            command = [machine.command, *words]
            assert prepared.can_be_forked(command, machine.environment)
            by_script = machine.begin(*words)
            output = by_script.communicate(stdin, timeout=LONGEST_S)
            forked = prepared.forker().run(command, stdin, machine.folder, machine.environment, LONGEST_S)
            assert forked == (by_script.returncode, *output)


def test_one_command_leaves_nothing_to_the_next(bare: Machine) -> None:
    bare.environment["SUBCOG_SEARCH_INTENT_ENABLED"] = "off"
    assert bare.run("config", "get", "search_intent.enabled").stdout == b"false\n"
    del bare.environment["SUBCOG_SEARCH_INTENT_ENABLED"]
    assert bare.run("config", "get", "search_intent.enabled").stdout == b"true\n"
