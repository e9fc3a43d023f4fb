"""Names in texts, other words, and the names for looking up a tool's file, command or pattern."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.files import read_rows
from subcog_hooks.text import mentions


def test_a_text_names_exactly() -> None:
    cases = [(text, names.split(", ")) for text, names in read_rows(__file__, "mentions.tsv")]
    cases += [
        ("```\n$ make lint\nmake test\n```", ["make lint", "make test"]),
        ("```bash\ngit push --force\n```\nand `git pull`", ["git push", "git pull"]),
        ("```python\nmake lint = my_func(1)\n```", ["my_func"]),
    ]
    assert [(text, actual) for text, names in cases if (actual := list(mentions.mentions(text))) != names] == []


def test_words_that_are_like_a_command_are_none() -> None:
    cases = [
        *("make sure the tests pass", "Make docs easier to read", "this will make openapi clients happy"),
        *("make it up-to-date", "we should make build times shorter", "make end-to-end tests pass"),
        *("make parse_args private", "use make targets, running make in the root"),
        *("just read-only for now, just one thing, just in-time", "run just the unit tests, run just unit tests"),
        *("we use just because it is simple", "the task force will go with the flow"),
        *("docker images are big, the git history is long", "yarn workspaces, npm packages and the poetry lockfile"),
    ]
    failures = [
        (prose, actual) for prose in cases if (actual := [name for name in mentions.mentions(prose) if " " in name]) != []
    ]
    assert failures == []


def test_a_text_names_nothing() -> None:
    cases = [
        *("", "plain words, a few. And more!", "and/or, client/server, CI/CD, TCP/IP, km/h, 10/12/2024"),
        "https://example.com/src/a_b.py?c_d=1#e_f",
        *("<https://a.io/x_y.py>, (see http://a.io/x_y.py), github.com/acme/shop.git, a.io/b_c.py", "ann_b@example.com"),
        "1.2.3, v1.2.3, 3.11, 2024-01-02, 10:30, 1_000_000, 0x1F, 5GB, #123, 50%",
        *("e.g. this, i.e. that, etc., U.S., Ph.D.", "GitHub, JavaScript, PostgreSQL, macOS, PyTorch, OAuth"),
        *("Node.js, Vue.js and Next.js; ASP.NET, .NET, Socket.io", "APIs, PRs, URLs, IDs, DDoS, IoT, PhD, SaaS, JWTs, NASA"),
        "UTF-8, UTF-16, SHA-256, SHA256, RS256, ISO-8601, HTTP-404, ES2020, K8s, EC2",
        *("all .py and .sql files, .then, .map", "README.md, package.json, __init__.py, Makefile, Dockerfile"),
        "page.tsx, layout.tsx, route.ts, models.py, views.py, urls.py, settings.py, manage.py",
        "config.py, config.ts, schema.sql",
        "ValueError(), TypeError, KeyError, NullPointerException, IllegalArgumentException, ReferenceError",
        *("HashMap, ArrayList, StringBuilder, ObjectId, isinstance(), print()", "`if x in y`"),
        "_emphasis_, __strong__, **bold**, snake-case, well-known",
        "`latency`, `x = 1`, `SELECT name`, `return value`, `def name`, `ls src`, `cat file`",
        *("`grep needle`, `-v flag`, `a: b`", "```rust\nlet value = other;\n```", "a.c, x.h"),
        *("... -- / // . ./ ../ ~/ :: () `` ``` ```` `", "Ends.There a sentence"),
    ]
    assert [(text, actual) for text in cases if (actual := mentions.mentions(text)) != ()] == []


def test_names_come_in_order_and_once_and_no_more_than_fifty() -> None:
    assert mentions.mentions("bb_cc aa_bb bb_cc `make lint` `make lint`") == ("bb_cc", "aa_bb", "make lint")
    many = [f"name_{number}" for number in range(60)]
    assert mentions.mentions(" ".join(many)) == tuple(many[:50])
    assert mentions.mentions("`x` ".join(many)) == tuple(many[:50])


def test_a_file_is_looked_up_by_the_ends_of_its_path() -> None:
    cases = [
        ("src/db/pool.py", ["src/db/pool.py", "db/pool.py", "pool.py"]),
        ("pool.py", ["pool.py"]),
        ("/w/pool.py", ["w/pool.py", "pool.py"]),
        ("src/index.ts", ["src/index.ts"]),
        ("a/src/index.ts", ["a/src/index.ts", "src/index.ts"]),
        ("README.md", []),
        ("", []),
        ("a//b", ["a/b", "b"]),
    ]
    assert [(path, actual) for path, names in cases if (actual := list(mentions.names_of_file(path))) != names] == []


def test_a_deep_path_is_looked_up_whole_and_by_its_last_folders() -> None:
    names = mentions.names_of_file("a/" * 1000 + "b")
    assert len(names) == 13
    assert [len(name) for name in names[-2:]] == [3, 1]


def test_a_command_is_looked_up_by_words_files_and_names() -> None:
    cases = [(text, names.split(", ")) for text, names in read_rows(__file__, "commands.tsv")]
    cases += [
        ("cd src && ls", []),
        ("terraform \\\n  plan", ["terraform plan"]),
        ("cat README.md", []),
        ("rm -rf 'src/a b.py'", []),
        ("git commit -m \"$(cat <<'EOF'\nparse_args is gone\nEOF\n)\"", ["git commit"]),
        ("env", []),
        ("timeout 5", []),
        ("sudo -u", []),
        ("'unclosed && make lint", []),
        ("", []),
        ("sudo", []),
        ("A=1", []),
        ("docker --context prod", []),
        ("python -m", []),
    ]
    failures = [(command, actual) for command, names in cases if (actual := list(mentions.names_of_command(command))) != names]
    assert failures == []


def test_a_long_command_is_read_in_part() -> None:
    assert "make late" not in mentions.names_of_command("make lint; " + "x" * 4000 + "; make late")
    assert len(mentions.names_of_command(" ".join(f"n_{number}" for number in range(600)))) == 100


def test_a_pattern_is_looked_up_when_it_is_one_identifier() -> None:
    cases = [
        ("parse_args", ["parse_args"]),
        ("connect", ["connect"]),
        ("\\bHttpClient\\b", ["HttpClient"]),
        ("^class HttpClient", ["HttpClient"]),
        ("def\\s+parse_args\\(", ["parse_args"]),
        ("fn main_loop", ["main_loop"]),
        ("", []),
        ("ab", []),
        ("a.*b", []),
        ("foo|bar", []),
        ("two words", []),
        ("12345", []),
        ("a" * 201, []),
    ]
    assert [(pattern, actual) for pattern, names in cases if (actual := list(mentions.names_of_symbol(pattern))) != names] == []


PARTS = st.text("abcdefgh", min_size=2, max_size=6)


@given(st.lists(PARTS, min_size=1, max_size=5), PARTS, st.sampled_from(["py", "sql", "ts", "go"]), st.integers(0, 5))
def test_a_file_is_found_by_what_a_memory_calls_it(folders: list[str], stem: str, ending: str, start: int) -> None:
    parts = [*folders, f"x{stem}.{ending}"]
    path, written = "/".join(parts), "/".join(parts[min(start, len(folders)) :])
    assert set(mentions.mentions(f"do not touch {written}, ever")) & set(mentions.names_of_file(path))


@given(PARTS, PARTS, st.sampled_from(["", " -v", " --all x", " | tee log", " && cd .."]))
def test_a_command_is_found_by_what_a_memory_calls_it(first: str, second: str, rest: str) -> None:
    command = f"x{first} x{second}"
    assert set(mentions.mentions(f"always `{command}` first")) & set(mentions.names_of_command(command + rest))


@given(st.text("ab_.`/\\ \n'\"|;&$=-:()[]@*~A1é", max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    for names in (mentions.mentions(text), mentions.names_of_command(text), mentions.names_of_symbol(text)):
        assert len(set(names)) == len(names)
        assert all(name and name == " ".join(name.split()) for name in names)
    assert all(mentions.names_of_file(text))


def test_hostile_texts_are_linear(subtests: pytest.Subtests) -> None:
    cases = [
        *("`" * 100_000, "a/" * 50_000, "_" * 100_000, "a_" * 50_000, "'" * 100_000, "a://" * 25_000, "()" * 50_000),
        *("../" * 50_000, "`" + '"a' * 50_000 + "`"),
    ]
    for text in cases:
        with subtests.test(text=text):
            assert len(mentions.mentions(text)) <= 50  # quadratic would take minutes
            assert len(mentions.names_of_command(text)) <= 100
