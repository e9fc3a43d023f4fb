"""Typed parts of a prompt: fences, addresses, editors' additions are removed; long prompts keep their ends and needs."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subcog_hooks.text.prompt_needs import MAX_PARTS, is_question, separate_needs, split_sentences
from subcog_hooks.text.typed_prompt import MAX_TYPED_END, ends_of, is_typed, prepare_prompt, runs_between_signs

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
            read = prepare_prompt(prompt)
            assert len(ends_of(prompt)) <= 2 * MAX_TYPED_END + 1
            assert len(read.text) + len(read.error) <= 3 * len(ends_of(prompt))  # three dots for one sign at most
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
