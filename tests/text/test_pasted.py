"""Pasted parts of a prompt: code, logs, errors and quotations are removed, the typed text around them stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.text.typed_prompt import MAX_ALONE, MAX_PASTED_LINE, is_typed, prepare_prompt
from tests.e2e.machine import DATA

ASK = "why does this happen?"

PASTED: dict[str, tuple[str, str]] = {}  # The pasted lines of a kind, and the line with the error.
for part in f"\n{(DATA / 'text' / 'pasted.txt').read_text(encoding='utf-8')}".split("\n=== ")[1:]:
    head, _, log = part.partition("\n")
    kind, _, error = head.partition(" ===")
    PASTED[kind] = log.rstrip("\n"), error.strip()

# Prompts that only look like code, a log or a quotation.
TYPED = (
    *("why does x = 1; fail?", "what is a=>b in JavaScript", "What does `foo(bar) => baz` do?", "rename foo() to bar()"),
    *("fix a->b and b->a (both)", "use a[i] there", "C++?", "C# or Java?", "1. fix the login (again)"),
    *("- add a cache (with a limit)", "- [ ] the login page", "* [x] the logout", "## Tests", "**Tasks:**"),
    *("import the CSV (all columns) into the table", "from the docs: use a queue"),
    *("class names should be lower case: why aren't they?", "return early if the list is empty (and log it)"),
    "let me know: is it a (good) idea?",
    "Let people import their contacts from a CSV: a mapping screen, a preview of the first 20, dedupe on email (any case)",
    *("const is better than let: why?", "[feature] add a dark mode: toggle in the header"),
    *("{name} should be replaced in all templates", "<Button> doesn't render, why?", "<div> vs <section>: which is better?"),
    *("error: what does that mean?", "warning: do not touch the tests", "info: we use pnpm", "debug: why is it slow?"),
    *("at the top (of the page): show a banner", "at 10:30 the build fails", "#42 fails on CI", "npm install fails"),
    *("$HOME is not set, why?", "2024-01-15 is the release date, what is left?", "on 2024-01-15 10:30 the server went down"),
    *("call me at 555-1234-567 when done", "3674960841 is the ID of the workshop item, can you put it in?"),
    *("I've merged 4411 and 4412 already", "@db.py (817-825)", "core.ts:12 is wrong, why?", "set the mask to 0xff"),
    *("bevy 0.14 -> 0.15 in Cargo.toml, nothing else", "C:\\Users\\me is not found, why"),
    *("how do I write a for loop in bash (with indexes);", "Warum schl\u00e4gt der Build fehl?"),
    "F\u00fcge einen Zwischenspeicher hinzu (mit Grenze)",
    *("\u306a\u305c\u30c6\u30b9\u30c8\u306f\u5931\u6557\u3057\u307e\u3059\u304b?", "\u4fee\u590d\u767b\u5f55\u9519\u8bef"),
    *("\U0001f680 ship it \U0001f389", "<Header> overlaps the <Nav> on mobile, fix <Header>"),
    *("<Header> overlaps the <Nav> on mobile, fix it", "<div> inside <p> warning, how do we fix it? <p>"),
    *("$ sign missing in price", "% of users is wrong on the dashboard", "function parse_args() is slow;"),
    *("return 404 instead of 500;", "from redis import data to postgres", 'file "a.py", line 3 is wrong, fix it'),
    *('"name": "foo" is wrong in package.json', '{"name": "foo"} is what we send', "step 2 : run the migration"),
    *("8080 | 9090 which port", "1. rename foo() to bar()", "2) delete baz() (and its tests)", "- return {token, user}"),
    *("ERROR handling in upload is missing, add it", "FAILED login attempts need a lockout"),
    *("WARNING banner on the home page should be yellow", "FAIL fast instead of retrying", "+1"),
)


def test_what_is_pasted_goes_and_its_telling_line_is_kept(subtests: pytest.Subtests) -> None:
    for kind, (log, error) in PASTED.items():
        with subtests.test(kind=kind):
            around, above, below = f"{ASK}\n{log}\n\n{ASK}", f"{ASK}\n{log}".replace("\n", "\r\n"), f"{log}\n{ASK}"
            assert [prepare_prompt(prompt).text for prompt in (around, above, below)] == [f"{ASK}\n{ASK}", ASK, ASK]
            assert prepare_prompt(around).error == prepare_prompt(above).error == error


def test_what_only_looks_like_code_or_a_log_stays(subtests: pytest.Subtests) -> None:
    for prompt in TYPED:
        with subtests.test(prompt=prompt):
            read = prepare_prompt(prompt)
            assert (read.text, read.error, read.pasted, is_typed(prompt)) == (prompt, "", 0, True)


@given(st.lists(st.sampled_from(TYPED), min_size=1, max_size=12))
def test_typed_lines_stay_in_any_company(lines: list[str]) -> None:
    assert prepare_prompt("\n\n".join(lines)).text == "\n".join(lines)


def test_the_telling_line_is_the_first_that_names_the_error() -> None:
    log = "[info] failed once\n[error]: disk is full\n[error]: again"
    assert prepare_prompt(log).error == "[error]: disk is full"
    assert len(prepare_prompt("Error: " + "x" * 3_000).error) == MAX_PASTED_LINE


plain_words = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz\u00e4\u00f6\u00fc"), min_size=2, max_size=9)


sentences = st.lists(plain_words, min_size=4, max_size=12).map(" ".join)


@given(st.lists(sentences, min_size=1, max_size=8), st.sampled_from([".", "?", "!", ":", ""]))
def test_plain_sentences_stay(lines: list[str], end: str) -> None:
    typed = "\n".join(line + end for line in lines)
    assert prepare_prompt(typed).text == typed


def test_what_somebody_says_directly_below_an_error_stays() -> None:
    said = ["???", "what now?", "  please fix it", "we need a cache", "fix the login page", "- fix it"]
    others = ["^^^^^", "  load(path)", "a.b.c = 3", "x0"]
    read = [prepare_prompt(f"ValueError: no\n{below}").text for below in (*said, *others)]
    assert read == [*map(str.strip, said), *[""] * len(others)]
    announced = prepare_prompt("error: the build fails:\nadd the missing types to core")
    assert (announced.text, announced.error) == ("add the missing types to core", "error: the build fails:")


def test_the_only_line_was_typed_unless_it_is_an_error(subtests: pytest.Subtests) -> None:
    cases = [
        *("hint: the bug is in parser.py", "$ npm test", "> use redis", "const x = 1", "import os", "| a | b |"),
        *("12:00:01 backup", "gateway             12/12   12           12          203d"),
    ]
    for prompt in cases:
        with subtests.test(prompt=prompt):
            read = prepare_prompt(f"\n{prompt}\n")
            assert (read.text, read.error, read.pasted) == (prompt, "", 0)


@pytest.mark.parametrize(
    "prompt",
    [
        *("TypeError: x is undefined", "const x = 1\nconst y = 2", "$ ls\n$ cd x", "```\nx = 1\n```", "```\nwhy\n```\n$ ls"),
        '{"a": "' + "x" * MAX_ALONE + '"}',
    ],
)
def test_what_tells_an_error_or_is_more_than_a_line_stays_pasted(prompt: str) -> None:
    read = prepare_prompt(prompt)
    assert read.text == ""
    assert read.pasted >= 1
