"""`search`, `list` and `show`: forms of output, exit codes, batches."""

import json

import pytest

from subcog_hooks.cli.search_sources import PENDING
from subcog_hooks.core.paths import Home
from subcog_hooks.store import index_writer
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import STATUSES
from tests.cli.conftest import MonkeyPatch, Run, wide
from tests.e2e.screen import Screen

KEYS = (
    "query query_type confidence degraded note suggestions strategies_matched agreement_scores elapsed_ms total page has_more "
    "results"
).split()
RESULT_KEYS = (
    "id urn namespace content tags project created_at score relevance confidence found_by ranks scores explain"
).split()
CHANNELS = ["lexical_exact", "lexical_relaxed", "semantic"]


@pytest.fixture
def with_memories(subcog: Run) -> Run:
    rows: list[dict[str, object]] = [
        {"id": f"m{i}", "content": f"Berth note {i} about mooring lines", "created_at": f"2026-01-{i:02}"} for i in range(1, 13)
    ]
    rows.append(
        {"id": "pkce", "content": "OAuth2 uses PKCE", "namespace": "decisions", "tags": ["auth"], "created_at": "2026-03-02"}
    )
    rows.append({"id": "other", "content": "OAuth2 elsewhere", "project": "github.com/acme/blog", "created_at": "2026-06-02"})
    with open("rows.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    assert subcog("import", "rows.jsonl", "--wait").code == 0
    return subcog


def test_the_json_form_has_every_key_of_the_interface_in_order(with_memories: Run) -> None:
    answer = with_memories("search", "oauth2", "--json").json
    assert list(answer) == KEYS
    assert [list(result) for result in answer["results"]] == [RESULT_KEYS]
    result = answer["results"][0]
    assert (result["id"], result["urn"]) == ("pkce", "subcog://user/decisions/pkce")
    assert (result["created_at"], result["project"]) == ("2026-03-02T00:00:00Z", None)
    assert (result["found_by"], result["ranks"]) == (CHANNELS, dict.fromkeys(CHANNELS, 1))
    assert sorted(result["scores"]) == CHANNELS
    assert answer["strategies_matched"] == CHANNELS
    assert (answer["query_type"], answer["agreement_scores"]) == ("exploratory", {"pkce": 1.0})
    assert (answer["degraded"], answer["note"], answer["suggestions"]) == (False, None, [])


def test_pages_show_the_number_of_results_and_if_more_follow(with_memories: Run) -> None:
    def pages(*arguments: str) -> list[tuple[int, int, bool, int]]:
        answers = [with_memories("search", *arguments, "--json", "--page", str(page)).json for page in (1, 2, 3)]
        return [(row["total"], row["page"], row["has_more"], len(row["results"])) for row in answers]

    lexical = ("--mode", "lexical")
    assert pages("berth mooring", *lexical, "-n", "6") == [(12, 1, True, 6), (12, 2, False, 6), (12, 3, False, 0)]
    assert pages("berth mooring", *lexical, "-n", "5") == [(12, 1, True, 5), (12, 2, True, 5), (12, 3, False, 2)]


def test_the_total_is_what_all_pages_show(with_memories: Run) -> None:
    for query in ("where do ships lie", "mooring line numbr"):
        seen: list[str] = []
        for page in range(1, 20):
            answer = with_memories("search", query, "--json", "--fast", "-n", "2", "--page", str(page)).json
            seen += [hit["id"] for hit in answer["results"]]
            if not answer["has_more"]:
                break
        assert answer["total"] == len(seen) == len(set(seen))


def test_results_come_a_line_each_as_json_or_ids(with_memories: Run) -> None:
    assert [row["id"] for row in with_memories("search", "oauth2", "--jsonl").rows] == ["pkce"]
    assert with_memories("search", "oauth2", "--ids").out == "pkce\n"
    assert with_memories("search", "oauth2").out == "pkce  decisions  2026-03-02  OAuth2 uses PKCE\n"
    nothing = with_memories("search", "chromodynamics", "--json")
    assert (nothing.code, nothing.json["results"], nothing.json["total"], nothing.json["has_more"]) == (1, [], 0, False)
    assert with_memories("search", "chromodynamics", "--quiet").err == ""


def test_without_a_store_nothing_is_found(subcog: Run) -> None:
    assert subcog("search", "anything").code == 1
    assert subcog("list").code == 1
    assert subcog("show", "abcd").code == 1
    assert subcog("export").code == 1


def test_the_result_limit_comes_from_option_or_settings(with_memories: Run) -> None:
    assert len(with_memories("search", "berth", "--ids").out.split()) == 10
    assert len(with_memories("search", "berth", "--ids", "-n", "3").out.split()) == 3
    with_memories("config", "set", "search.limit", "4")
    assert len(with_memories("search", "berth", "--ids").out.split()) == 4
    assert len(with_memories("search", "berth", "--ids", "-n", "5", "--page", "3").out.split()) == 2


def test_options_narrow_or_widen_the_search(with_memories: Run) -> None:
    for arguments, ids in (
        (["--namespace", "decisions"], ["pkce"]),
        (["--tag", "auth"], ["pkce"]),
        (["--all-projects"], ["other", "pkce"]),
        (["--project", "github.com/acme/blog", "--since", "2026-06-01"], ["other"]),
        (["--since", "2026-03-02", "--fast"], ["pkce"]),
    ):
        assert sorted(with_memories("search", "oauth2", "--ids", *arguments).out.split()) == ids


def test_a_batch_answers_each_line(with_memories: Run) -> None:
    rows = [{"id": 1, "query": "oauth2"}, {"id": "b", "query": "oauth2", "project": "x"}, {"id": "c", "query": "nothing of it"}]
    done = with_memories("search", "--batch", "-", "-n", "5", stdin="\n".join(map(json.dumps, rows)).encode())
    answers = {row["id"]: [hit["id"] for hit in row["results"]] for row in done.rows}
    assert sorted(answers[1]) == ["other", "pkce"]  # without a project: all of them
    assert answers["b"] == ["pkce"]
    assert answers["c"] == []
    assert [row["confidence"] for row in done.rows] == ["very_high", "very_high", "no_results"]
    assert {(row["query_type"], row["degraded"], row["note"]) for row in done.rows} == {("exploratory", False, None)}
    assert done.code == 0
    assert with_memories("search", "--batch", "-", stdin=json.dumps(rows[2]).encode()).code == 1
    done = with_memories("search", "--batch", "-", stdin='{"id": 1, "query": "oauth2\u2028pkce"}'.encode())
    assert done.json["results"][0]["id"] == "pkce"


def test_a_bad_line_of_a_batch_is_answered_by_its_error(with_memories: Run) -> None:
    bad = ["not json", "7", "null", "[]", '{"query": "x"}', '{"id": 1}', '{"id": 1, "query": 2}', "[" * 100_000]
    bad.append('{"id": 1, "query": "oauth2", "project": 3}')
    lines = [*(line.encode() for line in bad), b'{"id": 1, "query": "caf\xe9"}', b"", b'{"id": [1], "query": "oauth2"}\r']
    done = with_memories("search", "--batch", "-", stdin=b"\n".join(lines))
    *errors, last = done.rows
    assert [row["id"] for row in errors] == [None] * 5 + [1, 1, None, 1, None]
    assert [row["error"] for row in errors] == [
        f'standard input line {number}: expected {{"id", "query", "project"?}}' for number in range(1, 11)
    ]
    assert (last["id"], len(last["results"]), done.code, done.err) == ([1], 2, 0, "")


def test_a_dash_alone_reads_the_query_from_standard_input(with_memories: Run) -> None:
    done = with_memories("search", "-", "--ids", stdin=b"oauth2\n")
    assert (done.code, done.out) == (0, "pkce\n")
    assert "no query was given" in with_memories("search", "-").err


def test_a_wrong_call_is_one_line_and_exit_code_two(with_memories: Run, subtests: pytest.Subtests) -> None:
    cases = [
        (["search"], "no query was given"),
        (["search", "x", "--batch", "-"], "--batch takes no query"),
        (["search", "x", "--json", "--ids"], "--json and --ids exclude each other"),
        (["search", "x", "--since", "yesterday"], "--since is 'yesterday'"),
        (["search", "x", "--status", "lost"], "--status is 'lost'"),
        (
            ["search", "x", "--status", "deleted"],
            "forgotten memories are not searched; `subcog list --status deleted` shows them",
        ),
        (["search", "x", "--mode", "psychic"], "--mode is 'psychic'; expected one of hybrid, lexical, semantic"),
        (["search", "x", "-n", "0"], "Invalid value for '--limit'"),
        (["search", "x", "--page", "99999999999999999999"], "Invalid value for '--page'"),
        (["search", "- x"], "put -- before a text that begins with a dash"),
        (["search", "--batch", "nowhere.jsonl"], "nowhere.jsonl cannot be read: No such file or directory"),
        (["search", "--batch", "."], ". cannot be read: Is a directory; give a JSONL file, or -"),
        (["search", "x", "--project", "a", "--all-projects"], "exclude each other"),
        (["frobnicate"], "No such command 'frobnicate'; see `subcog --help`"),
    ]
    for arguments, message in cases:
        with subtests.test(arguments=arguments):
            done = with_memories(*arguments)
            assert done.code == 2
            assert message in done.err
            assert done.err.count("\n") == 1


def test_the_list_is_newest_first_in_pages(with_memories: Run) -> None:
    first = with_memories("list", "-n", "5", "--ids").out.split()
    second = with_memories("list", "-n", "5", "--page", "2", "--ids").out.split()
    assert first == ["pkce", "m12", "m11", "m10", "m9"]
    assert second == ["m8", "m7", "m6", "m5", "m4"]
    behind = with_memories("list", "-n", "5", "--page", "9")
    assert (behind.code, behind.err) == (1, "there are only 13 memories; give a smaller --page\n")


def test_a_memory_that_is_not_active_says_so(with_memories: Run, monkeypatch: MonkeyPatch) -> None:
    with_memories("edit", "pkce", "--status", "archived")
    with_memories("forget", "m12")
    for command in (["list", "-n", "3"], ["search", "PKCE berth note mooring lines", "-n", "20", "--fast"]):
        shown = {line.split()[0]: line for line in with_memories(*command, "--status", "all").out.splitlines()}
        assert shown["pkce"].rpartition("  (")[2].startswith("archived")
        assert not any(status in shown["m11"] for status in STATUSES)
    assert "(deleted" in with_memories("list", "-n", "3", "--status", "deleted").out
    wide(monkeypatch)
    for drawn in (["list"], ["search", "PKCE", "--fast"]):
        assert "archived" in with_memories(*drawn, "--status", "archived").out


def test_a_memory_is_shown_by_id_prefix_or_urn(with_memories: Run) -> None:
    for name in ("pkce", "subcog://user/decisions/pkce"):
        assert "OAuth2 uses PKCE" in with_memories("show", name).out
    done = with_memories("show", "nobody")
    assert (done.code, done.err) == (1, "subcog: no memory has the id nobody; `subcog list` shows the ids\n")


def test_an_ambiguous_prefix_names_the_candidates(subcog: Run) -> None:
    with open("rows.jsonl", "w", encoding="utf-8") as file:
        file.write('{"id": "abcdef1", "content": "x"}\n{"id": "abcdef2", "content": "y"}\n')
    subcog("import", "rows.jsonl")
    assert "abcdef begins several ids (abcdef1, abcdef2); give" in subcog("show", "abcdef").err
    assert subcog("show", "abcdef2").code == 0


def test_control_characters_are_dropped_and_blanks_are_kept(subcog: Run) -> None:
    id_ = subcog("remember", "-", stdin=b"red \x1b[31malert\x07\x1b]0;title\x07 done").out.strip()
    for done in (subcog("show", id_), subcog("list"), subcog("search", "alert")):
        assert "\x1b" not in done.out
        assert "\x07" not in done.out
    id_ = subcog("remember", "-", stdin=b"def f():\n    return 1").out.strip()
    assert "\n    return 1\n" in subcog("show", id_).out


def test_an_answer_during_another_index_write_is_marked(with_memories: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(index_writer, "LOCK_WAIT_S", 0.05)
    writer = index_writer.IndexWriter(LexicalIndex.open(home))
    with_memories("remember", "a xylophone")
    answer = with_memories("search", "oauth2", "--json").json
    assert (answer["degraded"], "may be missing" in answer["note"]) == (True, True)
    writer.finish()
    assert with_memories("search", "xylophone", "--json").json["note"] == PENDING


def test_a_narrow_terminal_shows_the_text_too(with_memories: Run, monkeypatch: MonkeyPatch) -> None:
    with_memories("remember", "odd name of OAuth2", "--project", "x[/]y")
    monkeypatch.setenv("LINES", "100")
    for columns in (40, 140):
        wide(monkeypatch, columns)
        for arguments in (["search", "oauth2", "--all-projects"], ["list", "--all-projects"]):
            out = with_memories(*arguments).out
            lines = Screen(1_000, 100).feed(out.replace("\n", "\r\n")).lines
            assert ("OAuth2" in "".join(lines), max(map(len, lines)) <= columns) == (True, True)
    assert "x[/]y" in out
