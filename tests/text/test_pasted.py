"""Pasted parts of a prompt: code, logs, errors and quotations are removed, the typed text around them stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.text.typed_prompt import MAX_ALONE, MAX_PASTED_LINE, is_typed, prepare_prompt

ASK = "why does this happen?"

PASTED = {  # Each case has its lines, and the line with the error.
    "Python": (
        (
            'Traceback (most recent call last):\n  File "/srv/app/jobs.py", line 31, in run\n    total = load(path)\n'
            "            ~~~~^^^^^^\nValueError: empty path"
        ),
        "ValueError: empty path",
    ),
    "Python, chained": (
        (
            'Traceback (most recent call last):\n  File "jobs.py", line 3, in run\n    row["a"]\nKeyError: \'a\'\n\n'
            "During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
            '  File "jobs.py", line 9, in main\n    raise Stopped\njobs.Stopped'
        ),
        "KeyError: 'a'",
    ),
    "JavaScript": (
        (
            "Uncaught TypeError: Cannot read properties of undefined (reading 'map')\n    at List (List.jsx:12:5)\n"
            "    at renderWithHooks (react-dom.development.js:16305:18)\nat overlay_bundle.js:147:5559"
        ),
        "Uncaught TypeError: Cannot read properties of undefined (reading 'map')",
    ),
    "Rust": (
        (
            "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3 but the index is 99\n"
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"
        ),
        "thread 'main' panicked at src/main.rs:4:5:",
    ),
    "rustc": (
        (
            'error[E0308]: mismatched types\n  --> src/main.rs:5:18\n   |\n5  |     let x: i32 = "a";\n'
            "   |            ---   ^^^ expected `i32`, found `&str`"
        ),
        "error[E0308]: mismatched types",
    ),
    "Go": (
        (
            "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n"
            "\t/tmp/x.go:8 +0x1d\nexit status 2"
        ),
        "panic: runtime error: index out of range [5] with length 3",
    ),
    "go build": ("./main.go:12:5: undefined: foo", "./main.go:12:5: undefined: foo"),
    "gcc": (
        'main.c:5:10: fatal error: foo.h: No such file or directory\n    5 | #include "foo.h"\n      |          ^~~~~~~',
        "main.c:5:10: fatal error: foo.h: No such file or directory",
    ),
    "gdb": ("#0  0x00007ffff7a42 in raise () from /lib/libc.so.6\n#1  main () at a.c:3", ""),
    "Java": (
        (
            'Exception in thread "main" java.lang.IllegalStateException: closed\n\tat com.x.Main.run(Main.java:12)\n'
            "\tat java.lang.Class.forName(Native Method)\nCaused by: java.io.IOException: gone\n\t... 12 more"
        ),
        'Exception in thread "main" java.lang.IllegalStateException: closed',
    ),
    "pytest": (
        (
            "=================== FAILURES ===================\n___________ test_x ___________\n\n    def test_x():\n"
            ">       assert f(1) == 2\nE       assert 1 == 2\nE        +  where 1 = f(1)\n\n"
            "tests/test_x.py:12: AssertionError\n"
            "FAILED tests/test_x.py::test_x - assert 1 == 2\n============= 1 failed, 3 passed in 0.12s ============="
        ),
        "tests/test_x.py:12: AssertionError",
    ),
    "npm": ("npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm WARN deprecated x@1.0.0: use y", "npm ERR! errno 1"),
    "TypeScript": (
        "src/a.ts(12,5): error TS2345: Argument of type 'x' is not assignable.\nsrc/b.ts:3:1 - error TS1005: ';' expected.",
        "src/a.ts(12,5): error TS2345: Argument of type 'x' is not assignable.",
    ),
    "ESLint": (
        "  12:5  error  'x' is defined but never used  no-unused-vars\n\n\u2716 1 problem (1 error, 0 warnings)",
        "12:5  error  'x' is defined but never used  no-unused-vars",
    ),
    "Docker": (
        (
            "Step 3/8 : RUN npm ci\n ---> Running in 3f2ab\n#12 [build 3/5] RUN npm ci\n"
            '#12 ERROR: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1\n'
            "docker: Error response from daemon: Conflict."
        ),
        '#12 ERROR: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
    ),
    "times": (
        (
            "2025-01-02 10:11:12,123 INFO started\n2025-01-02T10:11:13Z ERROR the database refused the connection\n"
            "[10:11:14] retrying\n10:11:15.001 ok\nJan 02 10:11:12 box sshd[123]: closed"
        ),
        "2025-01-02T10:11:13Z ERROR the database refused the connection",
    ),
    "levels": ("INFO Reading the configuration\nERROR: task crashed\n[warn] no cache", "ERROR: task crashed"),
    "a linter's JSON": (
        '[{\n\t"resource": "/c:/x.tsx",\n\t"message": "Property \'a\' does not exist.",\n\t"startLineNumber": 183\n}]',
        "",
    ),
    "JSON in one line": (
        '{"level":"error","msg":"cannot connect to what you need"}',
        '{"level":"error","msg":"cannot connect to what you need"}',
    ),
    "a diff": (
        (
            "diff --git a/x.py b/x.py\nindex 3f2..a1b 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@\n import os\n"
            "-x = 1\n+x = 2\n"
            "+# say hello to everybody in the room\n y = 3"
        ),
        "",
    ),
    "shells": (
        "$ npm test\n% ls\nroot@box:/# ls\nPS C:\\Users\\me> pip install x\nuser@host:~/app$ git status\n\u276f pnpm dev",
        "",
    ),
    "HTML": ('<div class="a">\n  <p>What you see is what you get</p>\n</div>', ""),
    "CSS": (".card {\n  color: red;\n  margin: 0 auto;\n}", ""),
    "Python code": ("def load(path):\n    return open(path).read()\n\nclass Store:\n    pass\nfrom os import path", ""),
    "a table": ("| a | b |\n|---|---|\n| 1 | 2 |\nepoch 14 | train 0.22 | val 0.31", ""),
    "columns": ("gateway             12/12   12           12          203d", ""),
    "an address in memory": ("READ of size 8 at 0x60300000a4d8 thread T0", ""),
    "quoted lines": ("> the gateway was down\n> for an hour", ""),
    "Jest": (
        "FAIL src/a.test.ts\n  \u25cf adds\n\n    expect(received).toBe(expected)\nPASS  src/b.test.ts (5.1 s)",
        "FAIL src/a.test.ts",
    ),
    "Node": (
        "Error: Cannot find module 'x'\nRequire stack:\n- /app/index.js\n- /app/main.js\n    at Module._load (node:1:1)",
        "Error: Cannot find module 'x'",
    ),
    "declarations": ("const x = 1\nlet y = x\nvar name = f", ""),
    "Python imports": ("from a import b\nfrom a.b import c as d, e\nfrom a import (f, g)  # and others, too", ""),
    "levels in brackets": ("[error]: the disk is full\n[INFO] the server is ready", "[error]: the disk is full"),
    "HTML around words": ("<ul>\n<li>the first of many <b>\n<b> and </b>\n</ul>", ""),
    "no error": ("===== 12 passed, 0 failed in 3s =====\n[INFO] Build finished with 0 errors", ""),
}


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
