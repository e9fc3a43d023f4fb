"""The pattern language, element by element."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.intent.keywords import END, MAX_GAP, QUESTION, Matcher, count_words, split_prompt

CLASSES = {"fault": frozenset({"error", "fails"}), "want": frozenset({"want", "need"})}
OPENERS = frozenset({"please", "can", "you", "ok"})


def first_fit(pattern: str, text: str) -> str | None:
    """The words of the pattern's first fit, None when it fits nowhere."""
    return Matcher([pattern], CLASSES, OPENERS).find(split_prompt(text)).get(0)


def test_elements() -> None:
    cases = [
        ("retry", "does it retry now", "retry"),
        ("retry", "retries and retrying", None),
        ("how do|can i|we", "so how can we know", "how can we"),
        ("how do|can i|we", "how do they know", None),
        ("how do|can i|we", "how do", None),
        ("how do|can i|we", "how really do i", None),
        ("@fault", "it fails", "fails"),
        ("@fault|crash", "a crash", "crash"),
        ("so @fault|late", "so late", "so late"),
        ("i @want a", "i need a", "i need a"),
        ("not .. @fault", "not an error", "not an error"),
        ("not .. @fault", "not error", "not error"),
        ("a .. b .. c", "a x b y c", "a x b y c"),
        ("no ?", "no?", "no ?"),
        ("no ?", "no", None),
        ("no .", "no", "no ."),
        ("no .", "no!", "no ."),
        ("no .", "no, never", None),
        ("no .", "no? ok", None),
        ("not .. @fault", f"not {'x ' * MAX_GAP}error", f"not {'x ' * MAX_GAP}error"),
        ("not .. @fault", f"not {'x ' * MAX_GAP}x error", None),
        *(("not .. @fault", f"not here{end} error", None) for end in (".", "!", "?", ":", ";", "\n", '."', "?)", ".**")),
        ("not @fault", "not. error", None),
        ("can .. ?", "can you see it?", "can you see it ?"),
        ("can .. ?", "can you see it. really?", None),
        ("a .. b", "a x b y b", "a x b"),
        ("a .. b c", "a b d b c", None),
        ("where is|are|did the", "so where's the cache", "where is the"),
        *(("^add it", text, "add it") for text in ("add it", "ok, can you please add it", "it is red. add it", "see:\nadd it")),
        *(("^add it", text, None) for text in ("we add it", "please do add it", "a, add it", "to add it")),
        ("^can you", "please can you go", "can you"),  # an opener may be the head
        ("<4 again", "a b again", "again"),
        ("<4 again", "a b c again", None),
        ("<4 again", "again a again b again", "again"),
        ("<4 ^add", "please add it", "add"),
        ("<4 ^add", "please add it now", None),
        ("a x|y", "a y. a x", "a y"),
    ]
    assert [(pattern, text, actual) for pattern, text, fit in cases if (actual := first_fit(pattern, text)) != fit] == []


def test_a_contracted_question_is_two_words(subtests: pytest.Subtests) -> None:
    cases = [
        ("where's", ["where", "is"]),
        ("What's", ["What", "is"]),
        ("HOW'S", ["HOW", "is"]),
        *((f"{asking}'s", [asking, "is"]) for asking in ("who", "when", "why")),
        *((f"{asking}'d", [asking, "did"]) for asking in ("where", "why", "how", "what")),
        ("that's", ["thats"]),
        ("it'd", ["itd"]),
    ]
    for asked, words in cases:
        with subtests.test(asked=asked):
            assert split_prompt(asked) == [*words, "."]
            assert split_prompt(asked.replace("'", "")) == [*words, "."]
            assert split_prompt(f"**{asked}**, x") == [*words, "x", "."]


def test_every_pattern_is_found_once_and_nothing_is_kept() -> None:
    matcher = Matcher(["a", "^a b", "b", "z"], CLASSES, OPENERS)
    found = [matcher.find(split_prompt(text)) for text in ("a b a b", "z", "a b a b")]
    assert found == [{0: "a", 1: "a b", 2: "b"}, {3: "z"}, {0: "a", 1: "a b", 2: "b"}]


def test_words() -> None:
    cases = [
        ("", []),
        (" \n\n ", []),
        ("ok", ["ok", "."]),
        ("Why's it (red)?", ["Why", "is", "it", "red", "?"]),
        ("isn't 'it'", ["isnt", "it", "."]),
        ("core.ts, a.b.c and e.g. x", ["core.ts", "a.b.c", "and", "e.g", ".", "x", "."]),
        ("@todo.md `f()` **bold** #12 -v --all", ["todo.md", "f", "bold", "#12", "v", "all", "."]),
        ("one... two!! three?!", ["one", ".", "two", ".", "three", "."]),
        ("really?? yes", ["really", "?", "yes", "."]),
        ('"done."', ["done", "."]),
        ("a - b", ["a", "b", "."]),
        ("C++, C# (.NET) and `.env`. See .github/x", ["C++", "C#", ".NET", "and", ".env", ".", "See", ".github/x", "."]),
        ("...and .5 or ..x, C+ i++", ["and", "5", "or", "x", "C", "i++", "."]),
        ("... ? ok", ["?", "ok", "."]),
        (". . .", []),
        ("a\n\nb?\nc", ["a", ".", "b", "?", "c", "."]),
        ("snake_case a/b x=1", ["snake_case", "a/b", "x=1", "."]),
        ("\u8a8d\u8a3c\u306e\u4ed5\u7d44\u307f", ["\u8a8d\u8a3c\u306e\u4ed5\u7d44\u307f", "."]),
        ("\u8a8d\u8a3c\u306f? \u306f\u3044.", ["\u8a8d\u8a3c\u306f", "?", "\u306f\u3044", "."]),
        ("\U0001f680 ship", ["\U0001f680", "ship", "."]),
    ]
    assert [(text, actual) for text, words in cases if (actual := split_prompt(text)) != words] == []


def test_only_different_words_are_counted() -> None:
    assert count_words(split_prompt("a b. c? a!")) == 3


@given(st.text(st.characters(exclude_categories=())))
def test_words_have_no_blanks_and_every_line_ends(text: str) -> None:
    words = split_prompt(text)
    assert all(word and not any(map(str.isspace, word)) for word in words)
    assert not words or words[-1] in {END, QUESTION}
