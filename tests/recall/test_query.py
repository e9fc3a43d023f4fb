"""The analysis of a query: type, phrases, acronyms, corrections, and the text for embedding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import query, search
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.candidates import Request
from subcog_hooks.recall.query import Query, Term, analyse_query
from subcog_hooks.recall.search import correct_words, edit_distance, nearest_word, similar_words
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Shelf, find, ids, memory

NOTES = {
    "defined": "Forward kinematics (FK) gives the pose of the hand from the joints.",
    "long": "Our forward kinematics is written in plain floats.",
    "short": "The FK calculation runs at 1 kHz.",
    "other": "The kubernetes scheduler is restarted by parse_args.",
}


@pytest.fixture
def notes(shelf: Shelf) -> LexicalIndex:
    shelf.add(NOTES)
    return shelf.fill().index()


def term(of: Query, whole: str) -> Term:
    return next(term for term in of.terms if term.whole == whole)


def test_a_quoted_phrase_with_spaces_is_kept_as_stems_in_order(index: LexicalIndex) -> None:
    assert analyse_query('notes on "writing migrations" and "the log"', index).phrases == [("write", "migrat"), ("the", "log")]
    assert analyse_query('"認証サーバー" and "two words"', index).phrases == [("two", "word")]


def test_a_compound_counts_by_words_an_identifier_whole_too(index: LexicalIndex) -> None:
    asked = analyse_query("error-handling in parse_args", index)
    assert {term.whole for term in asked.terms} == {"error", "handling", "parse_args"}
    assert term(asked, "parse_args").stems == ("pars", "arg")
    assert term(asked, "parse_args").is_identifier


def test_function_words_are_glue_beside_others_and_terms_alone(index: LexicalIndex) -> None:
    asked = analyse_query("what about the widgets", index)
    assert ([term.whole for term in asked.terms], {term.whole for term in asked.glue}) == (
        ["widgets"],
        {"what", "about", "the"},
    )
    assert {term.whole for term in analyse_query("to be or not to be", index).terms} == {"to", "be", "or", "not"}


def test_what_the_store_knows_comes_first_and_the_rarest_of_it(notes: LexicalIndex) -> None:
    asked = analyse_query("zonk scheduler widgets gribble", notes)
    assert [(term.whole, term.is_known) for term in asked.terms] == [
        ("scheduler", True),
        ("widgets", True),
        ("gribble", False),
        ("zonk", False),
    ]
    assert term(asked, "scheduler").weight > term(asked, "widgets").weight


def test_everyday_words_weigh_less_and_known_identifiers_more(notes: LexicalIndex) -> None:
    asked = analyse_query("scheduler parse_args error", notes)
    assert term(asked, "parse_args").weight > term(asked, "scheduler").weight > term(asked, "error").weight


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.integers(0, 1_000))
def test_a_word_is_the_rarer_the_fewer_memories_have_it(documents: int, frequency: int, more: int) -> None:
    assert 0.0 <= query.rarity(frequency + more, documents) <= query.rarity(frequency, documents) <= 1.0


def test_an_explained_acronym_and_its_long_form_find_each_other(shelf: Shelf, notes: LexicalIndex) -> None:
    for text, meant in (("FK", "FK forward kinematics"), ("forward kinematics", "forward kinematics FK")):
        assert set(ids(find(shelf.by_words(), text))) == {"defined", "short", "long"}
        assert analyse_query(text, notes).meant == meant
    assert analyse_query("forward kinematics or not forward kinematics", notes).meant.endswith("forward kinematics FK")
    asked = analyse_query("foreign keys", notes)  # other words of the same initials
    assert (asked.meant, {term.whole for term in asked.terms}) == ("foreign keys", {"foreign", "keys"})


def test_without_an_explanation_a_known_acronym_is_one(shelf: Shelf) -> None:
    shelf.add({"long": NOTES["long"], "short": NOTES["short"], "odd": "The ZQ calculation.", "queue": "A zero queue."})
    for text in ("FK", "what is forward kinematics"):
        assert set(ids(find(shelf.by_words(), text, correct=correct_words))) == {"long", "short"}
    assert (
        ids(find(shelf.by_words(), "ZQ", correct=correct_words)),
        ids(find(shelf.by_words(), "zero queue", correct=correct_words)),
    ) == (["odd"], ["queue"])
    assert analyse_query("foreign key", shelf.index(), correct=correct_words).meant == "foreign key FK"  # `short` may mean it
    assert analyse_query("foreign key", shelf.index()).meant == "foreign key"  # nobody has typed it as a query
    shelf.add({"defined": NOTES["defined"]})
    assert analyse_query("foreign key", shelf.index(), correct=correct_words).meant == "foreign key"


@pytest.mark.parametrize("keys_first", [False, True])
def test_an_acronyms_long_form_ignores_the_stored_order(shelf: Shelf, keys_first: bool) -> None:
    keys = {f"key{i:02}": f"A foreign key (FK) is indexed, number {i}." for i in range(20)}
    poses = {f"pose{i:02}": f"A forward kinematics (FK) is cheap, number {i}." for i in range(21)}
    for texts in (keys, poses) if keys_first else (poses, keys):
        shelf.add(texts)
    assert analyse_query("FK", shelf.index()).meant == "FK forward kinematics"


def test_an_acronym_has_the_long_form_of_its_scope(shelf: Shelf) -> None:
    shelf.add({f"key{i}": f"A foreign key (FK) is indexed, number {i}." for i in range(3)}, project="blog")
    shelf.add({"pose": "Forward kinematics (FK) is cheap."}, project="shop")
    index = shelf.index()

    def meant_text(text: str, project: str) -> str:
        return analyse_query(text, index, within=recall_words.scope_query(index, Filter(audiences=audiences_of(project)))).meant

    assert [meant_text("FK", project) for project in ("blog", "shop", "yard")] == [
        "FK foreign key",
        "FK forward kinematics",
        "FK",
    ]
    assert [meant_text("foreign key", project) for project in ("blog", "shop")] == ["foreign key FK", "foreign key"]


def typed_by(text: str, index: LexicalIndex, scope: Filter | None = None) -> Query:
    """A person's query, with unknown words replaced by those of the memories in scope."""
    return analyse_query(text, index, within=recall_words.scope_query(index, scope or Filter()), correct=correct_words)


def replaced_in(asked: Query) -> dict[str, tuple[str, ...]]:
    return {term.whole: term.instead for term in asked.terms if term.instead}


def test_a_misspelt_word_is_corrected_only_on_request(notes: LexicalIndex) -> None:
    as_typed, corrected = analyse_query("kuberntes upgrade", notes), typed_by("kuberntes upgrade", notes)
    assert (replaced_in(as_typed), as_typed.meant) == ({}, "kuberntes upgrade")
    assert (replaced_in(corrected), corrected.meant) == ({"kuberntes": ("kubernetes",)}, "kuberntes upgrade kubernetes")


def test_what_is_known_or_no_plain_word_is_not_corrected(notes: LexicalIndex) -> None:
    for text in ("scheduler", "parse_argz", "widget", "東証", "the"):
        asked = typed_by(text, notes)
        assert (replaced_in(asked), asked.meant) == ({}, text)


def test_only_some_words_of_a_query_are_corrected(shelf: Shelf) -> None:
    words = [f"hawser{letter}{letter}" for letter in "abcdefghijkl"]
    shelf.add({"all": " ".join(words)})
    asked = typed_by(" ".join(f"{word}z" for word in words), shelf.index())
    assert len(replaced_in(asked)) == 3


def test_a_beginning_of_words_is_not_corrected(shelf: Shelf) -> None:
    shelf.add({f"note{i}": f"Rathole forwards port {i}." for i in range(2)}, project="shop")
    shelf.add({"rate": "The rate is high, rather."}, project="shop")
    shelf.add({"ratholes": "Ratholes everywhere."}, project="blog")
    shelf.add({}, memory("Restart it.", id="tagged", project="shop", tags=("rathskeller",)))
    asked = typed_by("rath", shelf.index(), Filter(audiences=audiences_of("shop")))
    assert replaced_in(asked) == {"rath": ("rathole", "rather", "rathskeller")}
    assert set(asked.terms[0].stems) == {"rathol", "rather", "rathskel"}
    assert replaced_in(typed_by("ratw", shelf.index())) == {"ratw": ("rate",)}


def test_an_everyday_word_beside_others_stays_itself(shelf: Shelf) -> None:
    shelf.add({"pool": "A worker has 20 connections."})
    assert replaced_in(typed_by("how does auth work", shelf.index())) == {}
    assert replaced_in(typed_by("work", shelf.index())) == {"work": ("worker",)}


def test_a_number_finds_what_has_it_inside_a_compound(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({"incident": "INC-4211 was closed on Monday.", "other": "INC-4212 was reopened."})
    assert ids(find(shelf.by_words(), "4211")) == ["incident"]
    assert ids(find(shelf.by_words(), "INC-4211"))[0] == "incident"


def test_of_a_long_text_head_and_tail_are_asked_for(index: LexicalIndex) -> None:
    asked = analyse_query("cranes, " + "the " * 1_000 + "berth " + "the " * 1_000 + "quay", index)
    assert {term.whole for term in asked.terms} == {"cranes", "quay"}


letters = st.text(alphabet="abc", max_size=7)


def edits(a: str, b: str) -> int:
    """Optimal string alignment by its definition."""
    if not a or not b:
        return len(a) + len(b)
    ways = [edits(a[:-1], b) + 1, edits(a, b[:-1]) + 1, edits(a[:-1], b[:-1]) + (a[-1] != b[-1])]
    if len(a) > 1 and len(b) > 1 and a[-2:] == b[-1] + b[-2]:
        ways.append(edits(a[:-2], b[:-2]) + 1)
    return min(ways)


@given(letters.filter(lambda word: len(word) < 6), letters.filter(lambda word: len(word) < 6), st.integers(0, 3))
def test_the_distance_is_the_number_of_edits_up_to_the_most(a: str, b: str, max_edits: int) -> None:
    assert edit_distance(a, b, max_edits) == edit_distance(b, a, max_edits) == min(edits(a, b), max_edits + 1)


@pytest.fixture
def words(shelf: Shelf) -> LexicalIndex:
    shelf.add(
        {
            "a": "Kubernetes restarts the scheduler.",
            "b": "A cart, a card, a cot.",
            "c": "The cart is full.",
            "d": "Authentication; transform; elevenletter.",
        }
    )
    return shelf.index()


def test_a_word_is_taken_for(words: LexicalIndex, subtests: pytest.Subtests) -> None:
    cases = [
        ("kuberentes", "kubernetes", "two letters changed places"),
        ("kuebrnetes", "kubernetes", "the second with the third"),
        ("kubernets", "kubernetes", "one too few"),
        ("kubernettes", "kubernetes", "one too many"),
        ("kubernatas", None, "two others, and the word is not long enough"),
        ("authemtikation", "authentication", "two others, in a long word"),
        ("authemtikatiom", None, "three edits"),
        ("transport", None, "two edits make it another word"),
        ("elevenlettxy", "elevenletter", "two others are allowed from twelve letters on"),
        ("elevenlettx", None, "one letter fewer"),
        ("shceduler", "scheduler", "the second with the third"),
        ("carf", "cart", "another one; the word that most memories have"),
        ("cots", "cot", "one too many for a word of three"),
        ("cat", None, "of three letters every other one is a word"),
        ("carrf", None, "two edits in a short word"),
        ("xubernetes", None, "the first letter is taken for right"),
        ("kabernetes", None, "so is the second"),
        ("cart5", None, "no word"),
        ("", None, "nothing"),
    ]
    for typed, meant, why in cases:
        with subtests.test(typed=typed):
            assert nearest_word(typed, words) == meant, why


@pytest.mark.parametrize(("nearer", "meant"), [("carb card carp cars", "cary"), ("carb card carp cars cart", None)])
def test_five_words_are_tried_for_a_word_in_scope(shelf: Shelf, nearer: str, meant: str | None) -> None:
    shelf.add({"theirs": nearer}, project="blog")
    shelf.add({"mine": "cary"}, project="shop")
    index = shelf.index()
    assert nearest_word("carx", index, recall_words.scope_query(index, Filter(audiences=audiences_of("shop")))) == meant


def test_the_words_within_some_edits_come_nearest_first(words: LexicalIndex) -> None:
    assert similar_words("carts", words, 2) == ["cart", "card"]


def test_only_words_of_memories_in_scope_are_meant_and_counted(shelf: Shelf) -> None:
    shelf.add({"cart": "a cart", "also": "the cart", "kube": "kubernetes"}, project="blog")
    shelf.add({"card": "a card"}, project="shop")
    index = shelf.index()
    within = recall_words.scope_query(index, Filter(audiences=audiences_of("shop")))
    assert (nearest_word("carx", index), nearest_word("carx", index, within)) == ("cart", "card")
    assert (nearest_word("kuberntes", index), nearest_word("kuberntes", index, within)) == ("kubernetes", None)
    assert similar_words("carx", index, 1, within) == ["card"]


def near(shelf: Shelf, text: str, scope: Filter | None = None) -> list[str]:
    return search.suggest_words(Request(text, scope or Filter(), correct=correct_words), shelf.index())


def test_words_and_tags_near_to_the_query_are_given(shelf: Shelf) -> None:
    shelf.add({}, memory("kubernetes configures itself; where there therapy", tags=("harbour-master", "the", "crane")))
    tags = ["crane", "harbour-master"]
    cases = [
        ("kuberntes", ["kubernetes"]),
        ("kxbernetxs", []),  # the second letter is taken for right
        ("kubxrnetxs", ["kubernetes"]),  # two edits
        ("kubxrnxtxs", []),
        ("configurability", ["configures"]),
        ("confab", ["configures"]),  # four letters alike
        ("convex", []),
        ("there", []),  # function words are neither given nor looked for
        ("therzz", ["therapy"]),
    ]
    assert [(text, found) for text, given in cases if (found := near(shelf, text)) != [*given, *tags]] == []
    assert near(shelf, "harbxyz")[0] == "harbour-master"


def test_the_nearest_word_is_given_though_it_is_rare(shelf: Shelf) -> None:
    more = " ".join(f"configurationally{a}{b}" for a in "abcdefgh" for b in "stuvwx")
    shelf.add({"a": more, "b": more, "c": "configures"})
    assert near(shelf, "configxyz")[0] == "configures"


def test_without_anything_alike_common_tags_are_given(shelf: Shelf) -> None:
    shelf.add({}, *(memory(f"note {i}", tags=("harbour", "crane")[: 1 + (i < 2)]) for i in range(5)))
    assert near(shelf, "zzz") == ["harbour", "crane"]


def test_neither_the_word_itself_nor_a_number_is_given(shelf: Shelf) -> None:
    shelf.add({"a": "scheduler schedulers 20240101"})
    assert near(shelf, "scheduler") == ["schedulers"]
    assert "20240101" not in near(shelf, "20240102")


@pytest.mark.parametrize(
    "fields", [{"project": "blog"}, {"status": "archived"}, {"namespace": "decisions"}, {"created_at": 1}, {"expires_at": 1}]
)
def test_no_word_or_tag_outside_the_scope_is_given(shelf: Shelf, fields: dict[str, object]) -> None:
    shelf.add({}, memory("The kubernetes secret.", **{"tags": ("kubernetes-secret",), "created_at": 5_000, **fields}))
    shelf.add({"own": "Nothing to see here."}, project="shop", namespace="learnings", created_at=5_000)
    scope = Filter(audiences=audiences_of("shop"), namespaces=("learnings",), since=1_000)
    for text in ("kuberntes", "kubernetez", "kubexyz", "secert", "zzz"):
        assert near(shelf, text, scope) == []
