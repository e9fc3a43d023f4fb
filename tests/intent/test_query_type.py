"""The type of a query, one of S1's five, and the phrases in its quotes."""

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.intent.query_type import CONCEPTUAL, ENTITY, EXACT_QUOTE, EXPLORATORY, FACTUAL, classify_query
from subcog_hooks.text.prompt_needs import quoted_phrases

IN_ORDER = (EXACT_QUOTE, ENTITY, CONCEPTUAL, FACTUAL, EXPLORATORY)


QUOTED = [
    ('"not a conventional company"', EXACT_QUOTE, "S1's example"),
    ('where did I write "never retry a POST" down', EXACT_QUOTE, "a quote wins over the question around it"),
    ('why does Caroline say "it depends"', EXACT_QUOTE, "a quote wins over a name"),
    ("the note that says “ship it small”", EXACT_QUOTE, "typographic quotes"),
    ("die Notiz „erst messen“", EXACT_QUOTE, "German quotes"),
    ("la note « mesurer avant »", EXACT_QUOTE, "French quotes"),
    ("「まず測る」というメモ", EXACT_QUOTE, "Japanese quotes"),
    ('the "outbox" table', EXACT_QUOTE, "one word in quotes is to be found as it is"),
    ("why don't the users' settings load", CONCEPTUAL, "apostrophes are no quotes"),
    ("rock 'n' roll playlist", EXPLORATORY, "apostrophes around a letter"),
    ("tests that say 'permission denied'", EXPLORATORY, "single quotes are apostrophes"),
    ('why is the 27" screen dark', CONCEPTUAL, "an inch mark"),
    ('a 24" and a 27" screen side by side', EXPLORATORY, "two inch marks are no pair"),
    ('say "hello world', EXPLORATORY, "an unbalanced quote is none"),
    ('an empty "" string', EXPLORATORY, "nothing inside"),
    ('the flag "1"', EXPLORATORY, "no word inside"),
    ('printf("hello there") prints twice', EXPLORATORY, "an argument is syntax"),
    ('why does `say "hello there"` fail', ENTITY, "a string inside backticks is code, and code is spelled exactly"),
    ('{"name": "left pad"}', EXPLORATORY, "keys and values of JSON"),
]


NAMED = [
    ("Oak Ridge laboratories", ENTITY, "S1's example"),
    ("when did Caroline move to Boston", ENTITY, "a question about a person"),
    ("Who is Melanie?", ENTITY, "the one thing asked about is a person"),
    ("what did we promise Melanie", ENTITY, "the name at the end"),
    ("Caroline's notes about Deborah's garden", ENTITY, "a possessive is still a name"),
    ("ask O'Brien about the lease", ENTITY, "an apostrophe inside a name"),
    ("notes from the call with Dr. Okafor", ENTITY, "the full stop of an abbreviation ends no sentence"),
    ("send an X-Forwarded-For header", ENTITY, "a name with hyphens"),
    ("how does Redis evict keys", ENTITY, "a product is a name, as in S1 before the question word"),
    ("is Nginx still in front?", ENTITY, "a yes or no question about a name"),
    ("what changed in Tokyo in 2023", ENTITY, "a year beside a name does not take it"),
    ("the Boston 2023 retrospective", ENTITY, "a year directly behind a name does not take it"),
    ("The build is slow", EXPLORATORY, "a capital at the start of a sentence"),
    ("the build is slow. Caching might help", EXPLORATORY, "at the start of the second sentence"),
    ("one more thing: Caching might help", EXPLORATORY, "behind a colon"),
    ("- Caching might help\n- Sharding as well", EXPLORATORY, "behind list markers, on new lines"),
    ("2. Caching might help", EXPLORATORY, "behind a numbered list marker"),
    ("## Caching might help", EXPLORATORY, "behind a heading's marker"),
    ("two ideas (Caching might help)", EXPLORATORY, "behind a bracket"),
    ("hey Claude, clean up the notes", EXPLORATORY, "an address behind a greeting"),
    ("Hi Claude, why does the cache grow", CONCEPTUAL, "an address before a question"),
    ("Rolling Back A Failed Migration", EXPLORATORY, "every word has a capital"),
    ("Moving the Cache to the Edge", EXPLORATORY, "the small words of a heading stay small"),
    ("Why Use Queues?", CONCEPTUAL, "a heading can still be a question"),
    ("I think I'm done and I'd stop", EXPLORATORY, "I, I'm and I'd are no names"),
    ("deploys on Friday in March", EXPLORATORY, "days and months have capitals without being names"),
    ("why do we rotate JWTs", CONCEPTUAL, "the plural of an acronym"),
    ("the API of the CDN", EXPLORATORY, "acronyms are no names"),
    ("what is JWT", CONCEPTUAL, "the definition of an acronym"),
    ("explain FK", CONCEPTUAL, "the definition of an acronym, as an order"),
    ("what does ACID stand for", CONCEPTUAL, "a definition in other words"),
    ("what is Kubernetes", CONCEPTUAL, "the definition of a name stays a question of understanding"),
    ("what's the Outbox?", CONCEPTUAL, "a definition in its short form"),
    ("please explain Terraform", CONCEPTUAL, "a definition asked politely"),
    ("what is Terraform used for at Contoso", ENTITY, "more is asked than a definition"),
    ("WHY IS THIS SO SLOW", CONCEPTUAL, "shouted: no names, still a question"),
    ("JWT", EXPLORATORY, "an acronym alone"),
]


CODE = [
    ("parse_args", ENTITY, "an identifier is found by its spelling"),
    ("HttpClient", ENTITY, "humps, at the start as well"),
    ("where is useEffect cleaned up", ENTITY, "an identifier wins over the question"),
    ("src/app/db.py", ENTITY, "a path"),
    ("what does db.py:42 do", ENTITY, "a file and line"),
    ("/var/lib/app", ENTITY, "an absolute path"),
    ("C:\\Users\\ada", ENTITY, "a Windows path"),
    ("foo::bar", ENTITY, "a qualified name"),
    ("--dry-run", ENTITY, "an option"),
    ("what does -S do", ENTITY, "a short option"),
    ("edit .gitignore first", ENTITY, "a dot file"),
    ("why is __init__ called twice", ENTITY, "a dunder name"),
    ("set $DATABASE to a file", ENTITY, "a variable of the shell"),
    ("when is flush() called", ENTITY, "a call"),
    ("this.props is undefined", ENTITY, "a dotted name"),
    ("the `worker` exits early", ENTITY, "a word that the author marks as code"),
    ("@cached methods leak", ENTITY, "a decorator"),
    ("the client/server split", EXPLORATORY, "two words with a slash between are no path"),
    ("well-known and up-to-date, i.e. fresh", EXPLORATORY, "hyphens and abbreviations are English"),
    ("close the file(s)", EXPLORATORY, "a plural in brackets is no call"),
    ("read/write at 200 MB/s", FACTUAL, "a unit has humps, but is no identifier"),
    ("```\nHttpClient.get()\n```", EXPLORATORY, "what is pasted between fences is not the query"),
]


UNDERSTANDING = [
    ("how does auth work", CONCEPTUAL, "S1's example"),
    ("hey, why does the worker restart", CONCEPTUAL, "behind a greeting"),
    ("the worker restarts, why", CONCEPTUAL, "behind a comma"),
    ("ok so how do we shard", CONCEPTUAL, "behind fillers"),
    ("The worker restarts. What now?", CONCEPTUAL, "in the second sentence"),
    ("remind me why we left the queue", CONCEPTUAL, "an indirect question"),
    ("when do we vacuum the table", CONCEPTUAL, "when with an auxiliary is a question"),
    ("where should fixtures go", CONCEPTUAL, "where with an auxiliary is a question"),
    ("which module owns retries", CONCEPTUAL, "which is in S1's list"),
    ("where login is stored", CONCEPTUAL, "where is in S1's list"),
    ("when tokens expire", CONCEPTUAL, "when is in S1's list"),
    ("when was the hotfix release", CONCEPTUAL, "a question before the value that it asks for, as in S1"),
    ("which version do we pin", CONCEPTUAL, "a question before a metric, as in S1"),
    ("how many workers do we run", CONCEPTUAL, "how is in S1's list"),
    ("can you describe the handshake", CONCEPTUAL, "a verb of understanding anywhere"),
    ("help me understand backpressure", CONCEPTUAL, "a verb of understanding anywhere"),
    ("the difference of a lock and a latch", CONCEPTUAL, "a comparison"),
    ("compare both caches", CONCEPTUAL, "a comparison"),
    ("threads vs. processes", CONCEPTUAL, "a comparison"),
    ("polling versus webhooks", CONCEPTUAL, "a comparison"),
    ("how does release 2.0 handle auth", CONCEPTUAL, "a question of understanding wins over a value"),
    ("upgrade to Python 3.12: how", CONCEPTUAL, "the question may stand behind the value"),
    ("what is the release process", CONCEPTUAL, "a question"),
    ("whatever the worker does", EXPLORATORY, "S1's `^what` is found inside whatever"),
    ("However the worker is fine", EXPLORATORY, "nor is however a how"),
    ("two tvs and the canvas", EXPLORATORY, "S1's `vs` is found inside words"),
    ("that is how it ends", EXPLORATORY, "a question word inside a statement"),
    ("when I save, it hangs", EXPLORATORY, "when as a conjunction"),
    ("the table, which is large, is locked", EXPLORATORY, "which as a relative pronoun"),
]


VALUES = [
    ("revenue 2024", FACTUAL, "S1's example"),
    ("price of the starter plan", FACTUAL, "S1's metric"),
    ("hosting costs", FACTUAL, "in the plural"),
    ("current version of the driver", FACTUAL, "S1's specific data"),
    ("E0308", FACTUAL, "an error code"),
    ("E0308 in the parser", FACTUAL, "an error code with words"),
    ("ORA-01555", FACTUAL, "an error code with a hyphen"),
    ("SQLSTATE 40001", FACTUAL, "a code behind its kind"),
    ("HTTP 502 behind the proxy", FACTUAL, "a status"),
    ("the job ends with exit code 137", FACTUAL, "an exit code"),
    ("exit code 1 on start", FACTUAL, "a small number behind what it numbers"),
    ("v2.3.1", FACTUAL, "a version"),
    ("the v2.x branch", FACTUAL, "a family of versions"),
    ("Python 3.12", FACTUAL, "a version behind its product"),
    ("we moved to Python 3.12", FACTUAL, "the capital belongs to the version"),
    ("upgrade to Java 17", FACTUAL, "a version of one figure"),
    ("release 1.8", FACTUAL, "a release"),
    ("meeting on 2024-05-01", FACTUAL, "a date"),
    ("the cutover on May 3", FACTUAL, "a day of a month"),
    ("the 14:30 window", FACTUAL, "a time"),
    ("a $5 plan", FACTUAL, "an amount of money"),
    ("a 30% discount", FACTUAL, "a percentage"),
    ("a timeout of 250ms", FACTUAL, "an amount with its unit"),
    ("the fix in #87", FACTUAL, "the number of an issue"),
    ("commit 9fceb02d", FACTUAL, "a hash"),
    ("release the lock early", EXPLORATORY, "release as a verb"),
    ("version control habits", EXPLORATORY, "version control is no version"),
    ("top 5 habits", EXPLORATORY, "a small number names nothing"),
    ("sha256 and utf8 and k8s", EXPLORATORY, "names with digits are no codes"),
    ("the bundle in 3d", EXPLORATORY, "nor is a name that begins with one"),
]


OTHER = [
    ("machine learning", EXPLORATORY, "S1's example"),
    ("flaky tests", EXPLORATORY, "a topic"),
    ("should we cache the tree", EXPLORATORY, "a yes or no question is not in S1's list"),
    ("wie funktioniert die Anmeldung mit dem Token", EXPLORATORY, "German: every noun has a capital"),
    ("Fehler beim Start der Anwendung", EXPLORATORY, "German without a question"),
    ("wie testen wir parse_args", ENTITY, "an identifier is one in any language"),
    ("der Server antwortet mit HTTP 502", FACTUAL, "a code is one in any language"),
    ("认证是怎么工作的", EXPLORATORY, "Chinese"),
    ("请问HttpClient怎么用", ENTITY, "an identifier between Chinese words"),
    ("", EXPLORATORY, "nothing"),
    (" \n\t", EXPLORATORY, "blanks"),
    ("?! ... -- \u2014 ()", EXPLORATORY, "only punctuation"),
    ('"', EXPLORATORY, "a quote alone"),
]


ROWS = QUOTED + NAMED + CODE + UNDERSTANDING + VALUES + OTHER


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


def _steps(text: str) -> int:
    """The number of the module's lines that run to classify `text`: its cost without a clock."""
    count = 0

    def count_line(_frame: FrameType, event: str, _argument: object) -> object:
        nonlocal count
        count += event == "line"
        return count_line

    before = sys.gettrace()
    sys.settrace(count_line)  # type: ignore[arg-type]  # a protocol of typeshed only
    try:
        classify_query(text)
    finally:
        sys.settrace(before)
    return count


def test_the_work_grows_no_faster_than_the_text(subtests: pytest.Subtests) -> None:
    cases = [
        *("the build is slow ", "Oak ", "a", "A", "_", "'", '"', '" ', ' "', '"a ', '"a b" ', "“", "“a ", "„a “b", "`"),
        *("` ", "`a", ":", '":', '"":', "-", "--a", ".", "a.", "a:", "/", "\\", "7", "7 ", "7.", "a7", "(", "()"),
        *("what is the ", "what, ", "hey ", "```", "```\n", "\n", "\r\n", "- ", "der ", "I'm ", "認証"),
    ]
    for piece in cases:
        with subtests.test(piece=piece):
            short, long = (_steps(piece * (length // len(piece))) for length in (2_500, 10_000))
            assert long <= 4.2 * short + 100
