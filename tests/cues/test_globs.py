"""Globs: their files, their keys, and refused globs."""

import fnmatch
import re
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import globs


def test_a_glob_means_some_files_and_no_others(subtests: pytest.Subtests) -> None:
    cases = [
        ("src/db/pool.py", ["src/db/pool.py"], ["src/db/pool.pyc", "a/src/db/pool.py", "src/db", "src/DB/pool.py"]),
        ("src/db", ["src/db", "src/db/pool.py", "src/db/a/b.py"], ["src/dbx", "src/dbx/a", "x/src/db/a", "src"]),
        ("docs", ["docs", "docs/a.md", "x/docs/a.md", "x/docs/y/z"], ["docsx/a.md", "a/xdocs"]),
        ("src/**/db", ["src/db", "src/db/a", "src/a/db/b/c"], ["src/a", "db/a"]),
        ("{src,lib}/db", ["src/db/a", "lib/db"], ["db/a"]),
        ("/srv/shop", ["/srv/shop", "/srv/shop/a.py"], ["srv/shop/a.py", "/srv/shopping/a"]),
        ("src/d*", ["src/db"], ["src/db/pool.py"]),
        ("src/db/*", ["src/db/a.py", "src/db/.env"], ["src/db", "src/db/a/b.py", "src/dbx/a"]),
        ("src/db/**", ["src/db/a.py", "src/db/a/b/c.py"], ["src/db", "src/dbx/a", "xsrc/db/a", "a/src/db/b"]),
        ("src/db/", ["src/db/a.py", "src/db/a/b/c.py"], ["src/db", "a/src/db/b"]),
        ("src/**/x.py", ["src/x.py", "src/a/x.py", "src/a/b/x.py", "src/x.py/y"], ["src/ax.py", "x.py", "srcx.py"]),
        ("**/x.py", ["x.py", "a/x.py", "a/b/x.py"], ["ax.py", "a/ax.py"]),
        ("src/**/test/**/*.py", ["src/test/a.py", "src/a/test/b/c.py"], ["src/tests/a.py", "test/a.py"]),
        ("**/*.ts", ["a.ts", "a/b.ts"], ["a.tsx", "a.ts/b"]),
        ("**", ["a", "a/b"], []),
        ("**/", ["a", "a/b"], []),
        ("*", ["a", "a/b"], []),
        ("pool.py", ["pool.py", "src/pool.py", "a/b/pool.py"], ["xpool.py", "pool.pyx"]),
        ("*.sql", ["a.sql", "a/b.sql", ".sql"], ["a.sqlx", "a.sql/b"]),
        ("Makefile", ["Makefile", "a/Makefile"], ["makefile", "Makefile.am"]),
        ("./pool.py", ["pool.py"], ["src/pool.py"]),
        ("build/", ["build/x", "a/build/x/y"], ["build", "a/build", "builds/x"]),
        ("src//db/./a.py", ["src/db/a.py"], ["src//db/./a.py"]),
        ("a?c.py", ["abc.py", "x/aéc.py"], ["ac.py", "abbc.py", "a/c.py"]),
        ("src/a?c", ["src/abc"], ["src/a/c"]),
        ("[abc].py", ["a.py", "x/c.py"], ["d.py", "ab.py"]),
        ("[!abc].py", ["d.py"], ["a.py", ".py", "x/a.py"]),
        ("[^a-c].py", ["d.py"], ["b.py"]),
        ("[a-c0-9_]x", ["bx", "7x", "_x"], ["dx", "-x"]),
        ("[]a]x", ["]x", "ax"], ["bx"]),
        ("[!]a]x", ["bx"], ["]x", "ax"]),
        ("[a-]x", ["-x", "ax"], ["bx"]),
        ("[[]x", ["[x"], ["x"]),
        ("src/[!a]/x", ["src/b/x"], ["src/a/x", "src//x", "src///x"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.tsxx", "a.{ts,tsx}"]),
        ("{src,lib/db}/*.py", ["src/a.py", "lib/db/a.py"], ["lib/a.py", "x/src/a.py"]),
        ("a{,.test}.py", ["a.py", "a.test.py"], ["a.tes.py"]),
        ("{a,b{c,d}}.py", ["a.py", "bc.py", "x/bd.py"], ["b.py", "bcd.py"]),
        ("{a}.py", ["a.py"], ["{a}.py"]),
        ("[{]a", ["{a"], ["a"]),
        ("a*b*c", ["abc", "axxbxxc", "abcbc"], ["ab", "acb", "abca"]),
        ("src/a**b", ["src/ab", "src/axb"], ["src/a/b"]),
        ("**/*/**/*.py", ["a/x.py", "a/b/c/x.py"], ["x.py"]),
        ("/etc/**/*.conf", ["/etc/a.conf", "/etc/x/y/a.conf"], ["etc/a.conf", "/x/etc/a.conf"]),
        ("/pool.py", ["/pool.py"], ["pool.py", "src/pool.py"]),
        ("C:/work/*.py", ["C:/work/a.py"], ["work/a.py"]),
        ("docs/a b/ü.md", ["docs/a b/ü.md"], ["docs/ab/ü.md"]),
        ("app/[slug]/**", ["app/[slug]/page.tsx", "app/s/page.tsx"], ["app/slug/page.tsx", "app/[slug].tsx", "app/[s]/a"]),
        ("src/routes/[...rest]/+page.svelte", ["src/routes/[...rest]/+page.svelte"], ["src/routes/rest/+page.svelte"]),
        ("app/(group)/[[...slug]]/page.tsx", ["app/(group)/[[...slug]]/page.tsx"], ["app/(group)/[...slug]/page.tsx"]),
        ("app/[lang]/[id]/*.[jt]s", ["app/[lang]/[id]/a.js", "app/[lang]/i/a.ts"], ["app/[lang]/[id]/a.cs"]),
        ("{app,pages}/[id]/*", ["app/[id]/a", "pages/[id]/a"], ["lib/[id]/a"]),
        ("app/[slug]", ["app/[slug]", "app/[slug]/a/b", "app/s"], ["app/slug/a", "app/[slug]x"]),
        ("[slug].tsx", ["a/[slug].tsx", "s.tsx"], ["slug.tsx"]),
        ("[!a]/x", ["b/x", "[!a]/x"], ["a/x"]),
        ("app/[[]slug]/**", ["app/[slug]/a"], ["app/s/a"]),
    ]
    for glob, meant, others in cases:
        with subtests.test(glob=glob):
            globs.check_glob(glob)
            assert [path for path in meant if not globs.matches(glob, path)] == []
            assert [path for path in others if globs.matches(glob, path)] == []


def test_letters_with_accents_are_equal_in_both_forms() -> None:
    composed, decomposed = "src/M\u00fcller/[\u00e9]/a.ts", "src/Mu\u0308ller/[e\u0301]/a.ts"
    for glob, path in ((composed, decomposed), (decomposed, composed)):
        for pattern in (glob, glob.replace("a.ts", "**"), glob.replace("src", "**")):
            assert globs.matches(pattern, path)
            assert globs.key_of_glob(pattern) in globs.keys_of_path(path)
    assert globs.matches("a?.ts", "au\u0308.ts")


@pytest.mark.parametrize("path", ["", "src/", "a/" * 2100 + "b"])
def test_a_folder_and_an_endless_path_are_no_file(path: str) -> None:
    assert not globs.matches("**", path)


def test_a_fault_is_named(subtests: pytest.Subtests) -> None:
    cases = [
        ("", "it names no file"),
        (" ", "it names no file"),
        ("/", "it names no file"),
        ("a" * 501, "501 characters, at most 500"),
        ("src\\db\\*", "it has a backslash"),
        ("src/[ab", "unclosed ["),
        ("src/[]", "unclosed ["),
        ("src/[a/b]", "unclosed ["),
        ("a{b,{c}", "unclosed {"),
        ("!*.py", "it begins with !, which takes nothing away here; name the files that are meant"),
        ("../a.py", "it goes up by .."),
        ("src/../a.py", "it goes up by .."),
        ("src/{..,b}/a.py", "it goes up by .."),
        ("{a,b}" * 7, "its braces give more than 64 globs"),
        ("{" * 10 + ",".join("ab") + "," * 300 + "}" * 10, "its braces give more than 64 globs"),
    ]
    for glob, message in cases:
        with subtests.test(glob=glob):
            with pytest.raises(InvalidMemory) as refused:
                globs.check_glob(glob)
            assert message in str(refused.value)


def test_globs_at_the_bounds_are_taken() -> None:
    globs.check_glob("a" * 500)
    globs.check_glob("{a,b}" * 6)
    globs.check_glob("a..b/...")
    assert globs.matches("{a,b}" * 6, "abbaba")


def test_a_glob_has_the_longest_key() -> None:
    cases = [
        ("src/db/pool.py", "pool.py"),
        ("src/db/**", "src"),
        ("src/database/*.py", "database"),
        ("pool.py", "pool.py"),
        ("build/", "build"),
        ("*.sql", ".sql"),
        ("*.test.ts", ".test.ts"),
        ("*.a.b.c", ".b.c"),
        ("*_test.go", ".go"),
        ("**/*.{ts,tsx}", ""),
        ("*.{spec,test}.ts", ".ts"),
        ("{src,lib}/app/*.ts", "app"),
        ("src/db", "src"),
        ("docs", "docs"),
        ("{a,b}.py", ""),
        ("lib/{a,b}.py", "lib"),
        ("*.t[xs]", ""),
        ("**", ""),
        ("src*/a?", ""),
        ("/etc/**", "etc"),
    ]
    assert [(glob, actual) for glob, key in cases if (actual := globs.key_of_glob(glob)) != key] == []


def test_the_keys_of_a_path_are_its_parts_and_endings() -> None:
    assert globs.keys_of_path("a/b/c.test.d.ts") == ["a", "b", "c.test.d.ts", ".d.ts", ".ts", ""]
    assert globs.keys_of_path("/a/.env") == ["a", ".env", ""]
    assert globs.keys_of_path("a/a") == ["a", ""]
    assert globs.keys_of_path("") == [""]
    assert globs.keys_of_path("a/" * 2049) == [""]


NAMES = st.text("ab.{c-", min_size=1, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
PIECES = st.sampled_from(
    ["a", "b", ".", "c", "-", "*", "**", "?", "[ab]", "[!a]", "[a-c]", "{a,b}", "{,.a}", "{*,b}", "{a/b,c}"]
)
GLOBS = st.lists(st.one_of(st.just("**"), st.lists(PIECES, min_size=1, max_size=4).map("".join)), min_size=1, max_size=5).map(
    "/".join
)


@given(GLOBS, PATHS)
def test_the_key_of_a_glob_is_among_those_of_what_it_matches(glob: str, path: str) -> None:
    if globs.matches(glob, path):
        assert globs.key_of_glob(glob) in globs.keys_of_path(path)


@given(st.text("ab/.*?[]!-{},^", max_size=12), st.text("ab/.[]{,-", max_size=8))
def test_no_text_breaks_a_glob(glob: str, path: str) -> None:
    if globs.matches(glob, path):
        assert globs.key_of_glob(glob) in globs.keys_of_path(path)
    try:
        globs.check_glob(glob)
    except InvalidMemory:
        pass


@lru_cache(maxsize=10_000)
def _slow(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Match a glob's parts by trying every length of `**`; a plain name also matches all files below it."""
    if not parts:
        return not path
    if len(parts) == 1 and len(path) > 1 and not set(parts[0]) & set("*?"):
        return parts == path[:1]
    if parts[0] == "**":
        if len(parts) == 1:
            return bool(path)
        return any(_slow(parts[1:], path[start:]) for start in range(len(path)))
    return bool(path) and re.fullmatch(fnmatch.translate(parts[0]), path[0]) is not None and _slow(parts[1:], path[1:])


@given(
    st.lists(st.one_of(st.just("**"), st.text("ab.*?", min_size=1, max_size=4)), min_size=2, max_size=5).filter(
        lambda parts: not any("." in part.replace("*", "") and not part.strip(".") for part in parts)
    ),
    st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=5),
)
def test_a_glob_matches_what_trying_everything_finds(parts: list[str], path: list[str]) -> None:
    assert globs.matches("/".join(parts), "/".join(path)) == _slow(tuple(parts), tuple(path))


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("**/**/**/a*a*a*b", "a/" * 1500 + "a" * 200),
        ("a*" * 200 + "z*b", "a" * 4000 + "b"),
        ("**/" + "*/" * 200 + "z*/b", "a/" * 2000 + "b"),
        ("**/a/" * 90 + "z*/b", "a/" * 2000 + "b"),
        ("*" + "?" * 400 + "[cd]*b", "a" * 4000 + "b"),
        ("**/" + "{a*,b}" * 6 + "z?b", "ab" * 2000 + "b"),
        ("**/" + "[ab]*" * 90 + "z?b", "[ab]" * 1000 + "b"),
    ],
)
def test_hostile_globs_are_linear(glob: str, path: str) -> None:
    globs.check_glob(glob)
    assert not globs.matches(glob, path)  # trying all would not end


@pytest.mark.parametrize(
    ("glob", "home", "whole"),
    [
        ("~/a/*.md", "/home/ann", "/home/ann/a/*.md"),
        ("~/a", "C:\\Users\\ann", "C:/Users/ann/a"),
        ("~/a", "/home/[x]*", "/home/[[]x][*]/a"),
        ("a/~/b", "/home/ann", "a/~/b"),
        ("~", "/home/ann", "~"),
        ("~/a", "/home/ann/", "/home/ann/a"),
    ],
)
def test_a_glob_in_the_home_folder_is_made_absolute(monkeypatch: pytest.MonkeyPatch, glob: str, home: str, whole: str) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("USERPROFILE", home)
    assert globs.expand_home(glob) == whole


def test_a_home_folder_with_wildcards_means_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/[x]*")
    monkeypatch.setenv("USERPROFILE", "/home/[x]*")
    assert globs.matches(globs.expand_home("~/[x]/*"), "/home/[x]*/x/a")


def test_a_path_from_the_projects_root() -> None:
    cases = [
        ("/w/shop/a.py", "/w/shop", "a.py"),
        ("/w/shop/a.py", "/w/shop/", "a.py"),
        ("/w/shop/x/../a.py", "/w/./shop", "a.py"),
        ("/a", "/", "a"),
        ("/w/shop", "/w/shop", None),
        ("/w/shop/", "/w/shop", None),
        ("/w/Shop/a.py", "/w/shop", None),
        ("/w/shop/../../a", "/w/shop", None),
        ("a.py", "/w/shop", None),
        ("", "/w", None),
        ("/a", "", None),
        ("/w/a\\b.py", "/w", "a\\b.py"),
        ("C:\\w\\shop\\Src\\a.py", "c:\\W\\Shop", "Src/a.py"),
        ("C:/w/shop/a.py", "C:\\w\\shop\\", "a.py"),
        ("D:/w/shop/a.py", "C:/w/shop", None),
        ("\\\\srv\\share\\a.py", "//srv/share", None),
        ("\\\\srv\\share\\x\\a.py", "\\\\srv\\share", "x/a.py"),
        ("src\\a.py", "C:/w", None),
    ]
    for path, root, expected in cases:
        assert globs.relative_path(path, root) == expected, (path, root)
