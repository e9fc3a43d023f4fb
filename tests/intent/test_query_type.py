"""The type of a query, one of S1's five, and the phrases in its quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.intent.query_type import CONCEPTUAL, ENTITY, EXACT_QUOTE, EXPLORATORY, FACTUAL, classify_query
from subcog_hooks.text.typed_prompt import quoted_phrases

IN_ORDER = (EXACT_QUOTE, ENTITY, CONCEPTUAL, FACTUAL, EXPLORATORY)


ROWS = [
    ('"not a conventional company"', EXACT_QUOTE, "S1's example"),
    ("Oak Ridge laboratories", ENTITY, "S1's example"),
    ("how does auth work", CONCEPTUAL, "S1's example"),
    ("revenue 2024", FACTUAL, "S1's example"),
    ("machine learning", EXPLORATORY, "S1's example"),
    ('where did I write "never retry a POST" down', EXACT_QUOTE, "a quote wins over the question around it"),
    ('why does Caroline say "it depends"', EXACT_QUOTE, "a quote wins over a name"),
    ("the note that says “ship it small”", EXACT_QUOTE, "typographic quotes"),
    ("why don't the users' settings load", CONCEPTUAL, "apostrophes are no quotes"),
    ('why is the 27" screen dark', CONCEPTUAL, "an inch mark"),
    ('say "hello world', EXPLORATORY, "an unbalanced quote is none"),
    ('{"name": "left pad"}', EXPLORATORY, "keys and values of JSON"),
    ("when did Caroline move to Boston", ENTITY, "a question about a person"),
    ("Caroline's notes about Deborah's garden", ENTITY, "a possessive is still a name"),
    ("how does Redis evict keys", ENTITY, "a product is a name, as in S1 before the question word"),
    ("what changed in Tokyo in 2023", ENTITY, "a year beside a name does not take it"),
    ("The build is slow", EXPLORATORY, "a capital at the start of a sentence"),
    ("the build is slow. Caching might help", EXPLORATORY, "at the start of the second sentence"),
    ("- Caching might help\n- Sharding as well", EXPLORATORY, "behind list markers, on new lines"),
    ("2. Caching might help", EXPLORATORY, "behind a numbered list marker"),
    ("Rolling Back A Failed Migration", EXPLORATORY, "every word has a capital"),
    ("I think I'm done and I'd stop", EXPLORATORY, "I, I'm and I'd are no names"),
    ("why do we rotate JWTs", CONCEPTUAL, "the plural of an acronym"),
    ("the API of the CDN", EXPLORATORY, "acronyms are no names"),
    ("what is JWT", CONCEPTUAL, "the definition of an acronym"),
    ("WHY IS THIS SO SLOW", CONCEPTUAL, "shouted: no names, still a question"),
    ("parse_args", ENTITY, "an identifier is found by its spelling"),
    ("HttpClient", ENTITY, "humps, at the start as well"),
    ("where is useEffect cleaned up", ENTITY, "an identifier wins over the question"),
    ("src/app/db.py", ENTITY, "a path"),
    ("what does db.py:42 do", ENTITY, "a file and line"),
    ("C:\\Users\\ada", ENTITY, "a Windows path"),
    ("foo::bar", ENTITY, "a qualified name"),
    ("--dry-run", ENTITY, "an option"),
    ("set $DATABASE to a file", ENTITY, "a variable of the shell"),
    ("when is flush() called", ENTITY, "a call"),
    ("the `worker` exits early", ENTITY, "a word that the author marks as code"),
    ("the client/server split", EXPLORATORY, "two words with a slash between are no path"),
    ("well-known and up-to-date, i.e. fresh", EXPLORATORY, "hyphens and abbreviations are English"),
    ("```\nHttpClient.get()\n```", EXPLORATORY, "what is pasted between fences is not the query"),
    ("请问HttpClient怎么用", ENTITY, "an identifier between Chinese words"),
    ("ok so how do we shard", CONCEPTUAL, "behind fillers"),
    ("The worker restarts. What now?", CONCEPTUAL, "in the second sentence"),
    ("where login is stored", CONCEPTUAL, "where is in S1's list"),
    ("which version do we pin", CONCEPTUAL, "a question before a metric, as in S1"),
    ("who owns the pager", CONCEPTUAL, "who is in S1's list"),
    ("when was the hotfix release", CONCEPTUAL, "a question before the value that it asks for, as in S1"),
    ("can you describe the handshake", CONCEPTUAL, "a verb of understanding anywhere"),
    ("the difference of a lock and a latch", CONCEPTUAL, "a comparison"),
    ("threads vs. processes", CONCEPTUAL, "a comparison"),
    ("how does release 2.0 handle auth", CONCEPTUAL, "a question of understanding wins over a value"),
    ("whatever the worker does", EXPLORATORY, "S1's `^what` is found inside whatever"),
    ("two tvs and the canvas", EXPLORATORY, "S1's `vs` is found inside words"),
    ("that is how it ends", EXPLORATORY, "a question word inside a statement"),
    ("the table, which is large, is locked", EXPLORATORY, "which as a relative pronoun"),
    ("price of the starter plan", FACTUAL, "S1's metric"),
    ("current version of the driver", FACTUAL, "S1's specific data"),
    ("E0308 in the parser", FACTUAL, "an error code with words"),
    ("ORA-01555", FACTUAL, "an error code with a hyphen"),
    ("HTTP 502 behind the proxy", FACTUAL, "a status"),
    ("the v2.x branch", FACTUAL, "a family of versions"),
    ("Python 3.12", FACTUAL, "a version behind its product"),
    ("the 14:30 window", FACTUAL, "a time"),
    ("a 30% discount", FACTUAL, "a percentage"),
    ("the fix in #87", FACTUAL, "the number of an issue"),
    ("top 5 habits", EXPLORATORY, "a small number names nothing"),
    ("should we cache the tree", EXPLORATORY, "a yes or no question is not in S1's list"),
    ("认证是怎么工作的", EXPLORATORY, "Chinese"),
    (" \n\t", EXPLORATORY, "blanks"),
    ("?! ... -- \u2014 ()", EXPLORATORY, "only punctuation"),
]


def test_the_type_of_a_query(subtests: pytest.Subtests) -> None:
    for text, type_, why in ROWS:
        with subtests.test(text=text):
            assert classify_query(text) == type_, why


def test_phrases_are_what_stands_in_balanced_double_quotes() -> None:
    cases = [
        ('"first one" and "second one"', ["first one", "second one"]),
        ("“first one” and „zweites“ and « le troisième »", ["first one", "zweites", "le troisième"]),
        ('“he said "no way" to us”', ['he said "no way" to us']),
        ('a "b" c', []),
        ('a "bc" d', ["bc"]),
        ('"open and "closed here"', ["closed here"]),
        ('“open and "closed here"', ["closed here"]),
        ('"one line\nand the next"', []),
        ('the 27" screen is "not wide enough"', ["not wide enough"]),
        ('("in brackets"), "with a stop."', ["in brackets", "with a stop."]),
        ('a "sentence ends here": then more', ["sentence ends here"]),
        ('log("not this"); log( "nor this" ); x = "nor that"; y["nor here"]', []),
        ('["not this"] or {"key": "nor that"}', []),
        ('`not "this one"` but "this one"', ["this one"]),
        ('a lone ` tick and "this one"', ["this one"]),
        ('```py\nprint "not this"\n```\nbut "this one"', ["this one"]),
        ('```say "not this"```\nbut "this one"', ["this one"]),
        ('an escaped \\"not this\\" mark', []),
        ("it's the users' 'own' word", []),
    ]
    assert [(text, actual) for text, expected in cases if (actual := quoted_phrases(text)) != expected] == []


BITS = st.lists(
    st.sampled_from(
        [*'"“”„«»`()=:,.?!{}[]\\#$-', "why", "how", "what", "price", "2024", "v2", "Boston", "wie", "das", "get_it", "the", "a"]
    ),
    max_size=12,
).map(" ".join)


LINES = (st.text() | BITS | BITS.map(lambda text: text.replace(" ", ""))).map(
    lambda text: " ".join(text.replace("```", "").splitlines())
)


@given(LINES)
def test_any_text_has_one_of_the_five_types(text: str) -> None:
    assert classify_query(text) in IN_ORDER


@given(LINES)
def test_a_text_is_an_exact_quote_just_when_it_has_a_phrase(text: str) -> None:
    assert (classify_query(text) == EXACT_QUOTE) == bool(quoted_phrases(text))


@given(LINES, LINES)
def test_of_two_lines_the_first_type_in_order_counts(above: str, below: str) -> None:
    both = f"{above}\n{below}"
    assert classify_query(both) == min(classify_query(above), classify_query(below), key=IN_ORDER.index)
    assert quoted_phrases(both) == quoted_phrases(above) + quoted_phrases(below)
