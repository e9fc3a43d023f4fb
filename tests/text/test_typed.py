"""Typed parts of a prompt: fences, addresses, editors' additions are removed; long prompts keep their ends and needs."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subcog_hooks.text.pasted import MAX_LINE, error_message
from subcog_hooks.text.typed_prompt import (
    MAX_ALONE,
    MAX_PARTS,
    MAX_TYPED_END,
    ends_of,
    is_question,
    is_typed,
    prepare_prompt,
    runs_between_signs,
    separate_needs,
    split_sentences,
)
from tests.e2e.machine import DATA

ASK = "why does this happen?"


def test_the_typed_words_of_a_prompt_stay(subtests: pytest.Subtests) -> None:
    cases = [
        # typographic signs become plain
        ("why\u2019s it red", "why's it red"),
        ("\u2018old\u2019 or \u201anew\u2018", "'old' or 'new'"),
        ("\u201cold\u201d or \u201enew\u201c", '"old" or "new"'),
        ("\u00abold\u00bb", '"old"'),
        ("wait\u2026", "wait..."),
        ("two\u00a0words", "two words"),
        ("\u8a8d\u8a3c\u306f\uff1f\u306f\u3044\u3002", "\u8a8d\u8a3c\u306f? \u306f\u3044."),
        ("schla\u0308gt der A\u030a-Test fehl?", "schl\u00e4gt der \u00c5-Test fehl?"),
        # addresses go
        ("see https://example.org/a?b=c#d why does it 404?", "see why does it 404?"),
        ("(http://a.b), www.example.org and ftp://x", "and"),
        ("postgres://user@host/db is refused", "is refused"),
        ("\u898b\u3066https://example.org", "\u898b\u3066"),
        ("https://example.org", ""),
        # marks of a trace open no fence, and no element ends that does not begin
        (f"    ~~~~^^^^\n{ASK}", ASK),
        (f"{ASK} <ide_selection>why", f"{ASK} <ide_selection>why"),
        # prose behind an open fence was typed if nothing else was
        ("```\nhow do we deploy", "how do we deploy"),
        ("```\nx = foo(1)\nwhy is it None\nimport os", "why is it None"),
        ("```how do we deploy```", "how do we deploy"),
        ("```\nfix it at https://example.org/x", "fix it at"),
        ("```\nx = 1\n```\n```\nfix it", "fix it"),
    ]
    for prompt, typed in cases:
        with subtests.test(prompt=prompt):
            assert prepare_prompt(prompt).text == typed


def test_fenced_lines_go(subtests: pytest.Subtests) -> None:
    cases = [
        ("a\n```\nlet x\n```\nb", "a\nb", 1),
        ("a\n```python\nx\ny\n```\nb", "a\nb", 2),
        ("a\n~~~\nwhy\n~~~\nb", "a\nb", 1),
        ("a\n```\n~~~\nwhy\n```\nb", "a\nb", 2),
        ("a\n~~~\n```\nwhy\n~~~\nb", "a\nb", 2),
        ("a\n````md\n```\nwhy\n````\nb", "a\nb", 0),
        ("a\n  ```\n  why\n  ```\nb", "a\nb", 1),
        ("a\n```\nwhy does it\nfail", "a", 2),
        ("a\n```one line```\nb", "a\nb", 0),
        ("look at `x` and ```y```", "look at `x` and ```y```", 0),
    ]
    for prompt, typed, pasted in cases:
        with subtests.test(prompt=prompt):
            read = prepare_prompt(prompt)
            assert read.text == typed
            assert read.pasted >= pasted


@pytest.mark.parametrize(
    "added",
    [
        "<ide_opened_file>The user opened the file /a/b.py. This may or may not be related.</ide_opened_file>\n",
        "<ide_selection>The user selected the lines 1 to 3 of /a/b.py:\nwhy not\n</ide_selection>",
        '<ide_diagnostics>[{"message": "x"}]</ide_diagnostics>\n<ide_opened_file>a</ide_opened_file>',
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.js: api/a.js\n\n## My request for Codex:\n",
        "[Image #1] ",
        "[Image #1] [Image #2]\n",
        "[Pasted text #1 +23 lines] ",
    ],
)
def test_what_an_editor_or_a_terminal_adds_goes(added: str) -> None:
    assert prepare_prompt(added + ASK).text == ASK
    assert is_typed(added + ASK)


def test_what_nobody_asks_of_the_model_is_not_typed() -> None:
    cases = [
        *("", " \n", "/clear", "/compact keep the names", "!ls -la"),
        "<task-notification>\n<task-id>b1</task-id> failed with an error",
        "<command-name>/cost</command-name>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation that ran out of context.",
        "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event.\nWhy did job 7 fail?",
        *("[AUTOMATED MESSAGE]\njob 7 failed", "[BACKGROUND TASK EVENT]", "[NOT USER INPUT] job 7 failed"),
        *("Stop hook feedback:\nrun the tests", "PreToolUse:Bash hook feedback:\n[lint.sh]: use tabs"),
    ]
    assert [prompt for prompt in cases if is_typed(prompt)] == []


def test_what_only_begins_like_a_command_or_a_header_is_typed() -> None:
    prompts = [
        *("/usr/lib is full", "!!! it broke again", "## Plan\nadd a cache", "# Plan\nadd a cache", "#42 fails", "a /clear"),
        *("[BUG] login fails", "[BUG]\nlogin fails", "[WIP]\nadd a cache", "[URGENT] [PROD] it is down"),
        *("[SYSTEM] is my tag", "[SYSTEM MESSAGE] is shown twice", "[System notification]\nis it blue?"),
        *("[USER INPUT]\ncheck", "[README UPDATE]\nadd", "the stop hook feedback: what is it?", "[SYSTEM MESSAGE", "[]", "["),
    ]
    assert [prompt for prompt in prompts if not is_typed(prompt)] == []


def test_of_a_long_prompt_head_and_tail_are_read() -> None:
    prompt = "head " + "word " * 200_000 + "tail"
    kept = ends_of(prompt)
    assert len(kept) == 2 * MAX_TYPED_END + 1
    assert kept.startswith("head word")
    assert kept.endswith("word tail")
    assert len(prepare_prompt(prompt).text) <= len(kept)
    assert ends_of(kept) == kept


def test_blank_ends_of_a_long_prompt_are_no_ends() -> None:
    assert prepare_prompt("\n" * 10**6 + ASK + "\n" * 10**6).text == ASK


CODE = "x = 1\n" * 1_000


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        (f"{ASK}\n```\n{CODE}```\n{ASK}", f"{ASK}\n{ASK}"),
        (f"{'word ' * 700}\n```\n{CODE}```\n{ASK}", ASK),
        (f"{ASK}\n```\n{CODE}```\n{'word ' * 700}\n{ASK}", ASK),
        (f"{ASK}\n```\n{CODE}```\nnow\n```\n{CODE}```\n{ASK}", f"{ASK}\n{ASK}"),
    ],
    ids=["around it", "opened in what is left out", "closed in what is left out", "twice"],
)
def test_a_question_behind_a_fence_survives_any_cut(prompt: str, typed: str) -> None:
    assert prepare_prompt(prompt).text.endswith(typed)
    assert "x = 1" not in prepare_prompt(prompt).text


HARD = {  # texts on which a superlinear reader would take long
    "fences": "```\n" * 250_000,
    "open elements": "<ide_selection>" * 70_000,
    "elements": "<ide_selection></ide_selection>" * 32_000,
    "quotes": "\u201c" * 10**6,
    "ats": "@" * 10**6,
    "a long word": "x" * 10**6,
    "a long line": "why x " * 170_000,
    "newlines": "\n" * 10**6,
    "newlines inside": "a" + "\n" * 10**6 + "b",
    "combining letters": "e" + "\u0301" * 10**6,
    "decomposed": "e\u0301\u0323" * 330_000,
    "stand-ins": "[image #1]" * 10**5,
    "open brackets": "[" * 10**6,
    "addresses": "https://" * 125_000,
    "surrogates": "\ud83d" * 10**6,
    "NUL": "\0" * 10**6,
}


def test_only_the_ends_of_a_long_prompt_are_taken_apart(subtests: pytest.Subtests) -> None:
    for shape, prompt in HARD.items():
        with subtests.test(shape=shape):
            assert isinstance(is_typed(prompt), bool)
            read = prepare_prompt(prompt)
            assert len(ends_of(prompt)) <= 2 * MAX_TYPED_END + 1
            longest = max(map(len, read.failures), default=0)
            assert len(read.text) + longest <= 3 * len(ends_of(prompt))  # three dots for one sign at most
            assert read.pasted <= len(ends_of(prompt))


anything = st.text(st.characters(exclude_categories=()))  # surrogates and NUL too


@given(anything)
@example("\ud83d")
@example("\0" * 9)
@example("```")
@example("\u2028\u2029\x85\x1c")
def test_any_text_is_prepared(text: str) -> None:
    read = prepare_prompt(text)
    assert prepare_prompt(text).text == read.text
    assert read.text == "\n".join(line.strip() for line in read.text.split("\n") if line.strip())
    assert isinstance(is_typed(text), bool)


def test_the_parts_of_a_text_stand_between_its_signs() -> None:
    cases = [
        ("\u0414\u0430", ["\u0434\u0430"]),
        ("\u0421\u043f\u0430\u0441\u0438\u0431\u043e!", ["\u0441\u043f\u0430\u0441\u0438\u0431\u043e"]),
        ("\u597d\u7684\uff0c\u7ee7\u7eed", ["\u597d\u7684", "\u7ee7\u7eed"]),
        (
            "\u306f\u3044\u3001\u304a\u9858\u3044\u3057\u307e\u3059\u3002",
            ["\u306f\u3044", "\u304a\u9858\u3044\u3057\u307e\u3059"],
        ),
        ("\u0939\u093e\u0901, \u0920\u0940\u0915", ["\u0939\u093e\u0901", "\u0920\u0940\u0915"]),
        ("\u2764\ufe0f OK then...", ["ok then"]),
        ("\ud83d", []),
        ("", []),
    ]
    assert [(text, actual) for text, parts in cases if (actual := runs_between_signs(text)) != parts] == []


@given(anything)
def test_any_text_has_parts_without_signs(text: str) -> None:
    assert all(part == part.strip() and any(map(str.isalnum, part)) and "," not in part for part in runs_between_signs(text))


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("How are the keys rotated?", []),
        ("Why? Because.", []),
        ("I am back at the ticket from yesterday. How are the keys rotated?", ["How are the keys rotated?"]),
        ("See v1.2 of src/a.py first\nis there a lint rule for it", ["is there a lint rule for it"]),
        ("We moved it. It was slow. Nobody knew. Who owns the queue now? Thanks.", ["Who owns the queue now?"]),
        ("We moved it. It was slow then. Nobody knew why at all. Thanks.", []),
    ],
)
def test_questions_come_first_then_other_sentences_of_few(typed: str, parts: list[str]) -> None:
    assert separate_needs(typed) == parts


@given(st.text())
def test_no_word_of_any_text_is_lost_between_sentences(text: str) -> None:
    sentences = split_sentences(text)
    assert " ".join(sentences).split() == text.split()
    assert len(separate_needs(text)) <= MAX_PARTS
    assert all(isinstance(is_question(sentence), bool) for sentence in sentences)


PASTED: dict[str, tuple[str, str]] = {}  # The pasted lines of a kind, and the beginning of the failure's message.
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
    for kind, (log, failure) in PASTED.items():
        with subtests.test(kind=kind):
            around, above, below = f"{ASK}\n{log}\n\n{ASK}", f"{ASK}\n{log}".replace("\n", "\r\n"), f"{log}\n{ASK}"
            assert [prepare_prompt(prompt).text for prompt in (around, above, below)] == [f"{ASK}\n{ASK}", ASK, ASK]
            messages = prepare_prompt(around).failures
            assert messages == prepare_prompt(above).failures
            assert messages[0].startswith(error_message(failure)) if failure else not messages, messages


def test_what_only_looks_like_code_or_a_log_stays(subtests: pytest.Subtests) -> None:
    for prompt in TYPED:
        with subtests.test(prompt=prompt):
            read = prepare_prompt(prompt)
            assert (read.text, read.failures, read.pasted, is_typed(prompt)) == (prompt, [], 0, True)


@given(st.lists(st.sampled_from(TYPED), min_size=1, max_size=12))
def test_typed_lines_stay_in_any_company(lines: list[str]) -> None:
    assert prepare_prompt("\n\n".join(lines)).text == "\n".join(lines)


def test_the_telling_line_is_the_first_that_names_the_error() -> None:
    log = "[info] failed once\n[error]: disk is full\n[error]: again"
    assert prepare_prompt(log).failures[0] == "disk is full"
    assert len(prepare_prompt("Error: it is " + "x" * 3_000).failures[0]) <= MAX_LINE


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
    assert (announced.text, announced.failures) == ("add the missing types to core", ["the build fails:"])


def test_the_only_line_was_typed_unless_it_is_an_error(subtests: pytest.Subtests) -> None:
    cases = [
        *("hint: the bug is in parser.py", "$ npm test", "> use redis", "const x = 1", "import os", "| a | b |"),
        *("12:00:01 backup", "gateway             12/12   12           12          203d"),
    ]
    for prompt in cases:
        with subtests.test(prompt=prompt):
            read = prepare_prompt(f"\n{prompt}\n")
            assert (read.text, read.failures, read.pasted) == (prompt, [], 0)


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
