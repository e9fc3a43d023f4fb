"""The installed executable on payloads and streams that are not what they should be: exit 0, an answer or silence."""

import json
import os
import time
from collections.abc import Callable
from itertools import product

import pytest

from tests.e2e.machine import (
    ANSWER,
    QUESTION,
    Done,
    Machine,
    assert_harmless,
    assert_one_line_error,
    assert_silent,
    ids_in,
    linux,
    posix,
)

# ---- bad input ------------------------------------------------------------------------------------------------------------

MALFORMED: dict[str, Callable[[bytes], bytes]] = {  # what is made of a good payload
    "empty": lambda _: b"",
    "blank": lambda _: b" \n\n",
    "an empty object": lambda _: b"{}",
    "an array": lambda good: b"[" + good + b"]",
    "a string": lambda _: json.dumps(QUESTION).encode(),
    "a number": lambda _: b"17",
    "null": lambda _: b"null",
    "plain text": lambda _: QUESTION.encode(),
    "binary": lambda _: bytes(range(256)) * 64,
    "UTF-16": lambda good: good.decode().encode("utf-16"),
    "cut off": lambda good: good[: len(good) // 2],
    "without its last brace": lambda good: good.rstrip().removesuffix(b"}"),
    "two documents": lambda good: good + good,
    "a document and a log line": lambda good: good + b"done\n",
    "deep arrays": lambda _: b"[" * 200_000,
    "deep objects": lambda _: b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "a deep field": lambda good: good.replace(b'{"session', b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "session', 1),
    "a number of 100,000 digits": lambda good: good.replace(b'{"session', b'{"x": ' + b"7" * 100_000 + b', "session', 1),
    "40 MB": lambda good: good.replace(b'"prompt": "', b'"prompt": "' + b"session token " * 3_000_000),
    "40 MB of nothing": lambda _: bytes(40_000_000),
}


def test_malformed_payload_prints_nothing(machine: Machine, subtests: pytest.Subtests) -> None:
    for form, malformed in MALFORMED.items():
        with subtests.test(form=form):
            assert_silent(machine.hook(malformed(machine.asking())))
    assert machine.recall(QUESTION) == [ANSWER]


def test_a_payload_without_a_known_event_is_a_line_in_the_log(machine: Machine) -> None:
    for payload, said in (
        (b'{"hook_event_name": 7}', "a payload of 22 bytes names no event"),
        (
            json.dumps(json.loads(machine.asking()) | {"hook_event_name": "Overture" + "!" * 99}).encode(),
            "nothing answers the event",
        ),
    ):
        assert_silent(machine.hook(payload))
        (line,) = (line for line in machine.log() if said in line)
        assert len(line) < 150


def test_a_tool_call_has_a_second_name(machine: Machine) -> None:
    machine.run("remember", "Never push with force to main: ask the release captain.")
    call = json.loads(machine.asking()) | {"tool_name": "Bash", "tool_input": {"command": "git push --force"}}
    for number, event in enumerate(("PreToolUse", "PreToolCall")):
        done = machine.hook(json.dumps(call | {"hook_event_name": event, "session_id": f"s{number}"}).encode())
        answer = json.loads(done.stdout)["hookSpecificOutput"]
        assert answer["hookEventName"] == "PreToolUse"
        assert "release captain" in answer["additionalContext"]


def test_odd_values_of_fields_do_no_harm(machine: Machine, subtests: pytest.Subtests) -> None:
    beside = ["session_id", "transcript_path", "cwd", "permission_mode", "prompt_id"]
    wrong: list[object] = [None, 17, {}]
    odd: list[object] = [None, True, [], "", "\0", "relative/path", "x" * 100_000, "\ud800"]
    cases = [*product((["hook_event_name"], ["prompt"]), wrong), *((beside, value) for value in odd)]
    for fields, value in cases:
        with subtests.test(fields=fields, value=repr(value)[:30]):
            done = machine.hook(json.dumps(json.loads(machine.asking()) | dict.fromkeys(fields, value)).encode())
            assert_harmless(done)
            assert fields == beside or done.stdout == b""
    assert machine.recall(QUESTION) == [ANSWER]


def test_what_a_payload_may_lack_or_begin_with_costs_no_memory(machine: Machine) -> None:
    payload = {name: value for name, value in json.loads(machine.asking()).items() if name in ("hook_event_name", "prompt")}
    assert ids_in(machine.answer(json.dumps(payload).encode())) == [ANSWER]
    assert ids_in(machine.answer(b"\xef\xbb\xbf" + machine.asking())) == [ANSWER]  # a byte order mark is read over


ODD_PROMPTS: dict[str, bytes] = {  # as they stand between the quotes of the JSON document
    "lone surrogates": QUESTION.encode() + rb" \ud800 \udfff\ud83d",
    "escaped NUL": QUESTION.encode() + rb" \u0000",
    "raw NUL": QUESTION.encode() + b" \0",
    "raw control characters": bytes(range(1, 32)) + QUESTION.encode(),
    "bytes that are not UTF-8": QUESTION.encode() + b" \xff\xfe\xc3(",
    "an escape that is none": QUESTION.encode() + rb" \x",
    "one long word": b"a" * 1_000_000,
    "nothing but quotes": rb"\"" * 5_000,
    "query syntax": rb'session AND (token OR "localStorage" -browser body:* [a TO z] ~2 ^3 \\'.replace(b'"', rb"\""),
    "emoji": "👩‍👩‍👧‍👦⚓".encode() * 2_000,
    "combining marks": ("e" + "\u0301" * 5_000).encode(),
    "16 MB": b"session token " * 1_190_000,
}


def test_odd_prompt_does_no_harm(machine: Machine, subtests: pytest.Subtests) -> None:
    for form, prompt in ODD_PROMPTS.items():
        with subtests.test(form=form):
            assert_harmless(machine.hook(machine.asking("PROMPT").replace(b"PROMPT", prompt)))
    assert machine.recall(QUESTION) == [ANSWER]


def test_unknown_options_of_the_hook_do_no_harm(machine: Machine, subtests: pytest.Subtests) -> None:
    for options in ("--version", "--no-such-option", "--json x", "extra words", "--", "--debug"):
        with subtests.test(options=options):
            assert_harmless(machine.hook(machine.asking(), *options.split()))
    for option in ("--version", "--no-such-option"):
        assert_silent(machine.hook(b"", option))


# ---- streams --------------------------------------------------------------------------------------------------------------


def test_stdin_that_never_closes_ends_with_the_deadline(machine: Machine) -> None:
    traces = machine.home / "cut-offs"
    for payload in (b"", machine.asking()):
        assert not traces.exists()  # where nothing was asked, nothing is cut off
        started = time.monotonic()
        with machine.begin("hook") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(payload)
            process.stdin.flush()
            try:
                code = process.wait(60)
            finally:
                process.kill()
            assert_silent(Done(code, process.stdout.read(), process.stderr.read(), time.monotonic() - started))
    assert traces.read_text().endswith(" hook\n")


@posix
def test_memory_lost_to_a_closed_pipe_comes_the_next_time(machine: Machine) -> None:
    read, write = os.pipe()
    os.close(read)
    process = machine.begin("hook", stdout=write)
    os.close(write)
    _, errors = process.communicate(machine.asking(session="one session"), timeout=60)
    assert (process.returncode, errors) == (0, b"")
    assert machine.recall(QUESTION, "one session") == [ANSWER]


@posix
def test_closed_streams_do_no_harm_to_the_store(machine: Machine) -> None:
    database = (machine.home / "memories.db").read_bytes()
    for closed in (">&-", "<&-", "2>&-", "<&- >&- 2>&-"):
        command = ["/bin/sh", "-c", f'exec "$0" hook {closed}', machine.command]
        assert_harmless(machine.start(command, machine.asking()))
        assert (machine.home / "memories.db").read_bytes() == database
        files = [file for file in machine.home.rglob("*") if file.is_file()]
        assert [file for file in files if b"hookSpecificOutput" in file.read_bytes()] == []
    assert machine.recall(QUESTION) == [ANSWER]


@posix
def test_a_closed_standard_input_is_an_empty_one(machine: Machine) -> None:
    command = ["/bin/sh", "-c", 'exec "$0" "$@" <&-', machine.command]
    for words in (["search", "--batch", "-"], ["why", "-"]):
        done = machine.start([*command, *words])
        assert (done.code, done.stderr) == (int(words[0] == "search"), b"")  # nothing was found
    assert_one_line_error(machine.start([*command, "remember", "-"]), 2)


@linux
def test_full_device_as_stdout_does_no_harm(machine: Machine) -> None:
    command = ["/bin/sh", "-c", 'exec "$0" hook >/dev/full', machine.command]
    assert_silent(machine.start(command, machine.asking()))
