"""Words and meaning together: what each brings, what one does when the other fails, and what the share of meaning changes."""

from collections.abc import Callable, Iterator

import apsw
import pytest

from subcog_hooks.embed import models, spaces
from subcog_hooks.embed.static import StaticEncoder
from subcog_hooks.errors import ModelError
from subcog_hooks.memory import sync, vector_sync
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.store import Filter, Store, audiences_of
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.paths import Home
from subcog_hooks.recall import candidates, pipeline, semantic
from subcog_hooks.recall.candidates import HYBRID, MODES, Sources
from subcog_hooks.recall.hits import LEXICAL, SEMANTIC, Answer, Hit
from tests.conftest import Maker

NOTES = {
    "cat": "The office cat sleeps on the warm server rack in winter.",
    "pool": "Database connections are recycled after 30 seconds because the load balancer drops idle sockets.",
    "bill": "Invoices are rounded to whole cents per line, never on the total.",
    "port": "The rathole tunnel listens on port 2333.",
}
PARAPHRASE = "Where do kittens nap during cold months?"  # has no word of "cat"
Gather = Callable[..., Sources]


@pytest.fixture
def vectors() -> Iterator[list[VectorStore]]:
    opened: list[VectorStore] = []
    yield opened
    for each in opened:
        each.close()


@pytest.fixture
def sources(home: Home, store: Store, make: Maker, vectors: list[VectorStore]) -> Gather:
    """What recall reads of a store with NOTES and what is added to it, as the hook does."""

    def opened(more: dict[str, str] | None = None, alpha: float = 0.6) -> Sources:
        store.add([make(text, id=name) for name, text in {**NOTES, **(more or {})}.items()])
        index, space = sync.catch_up(home, store), models.PACKAGED
        vectors.append(
            vector_sync.open_following(
                home, store, space.name, space.dimension, spaces.provisional(space), made_by=models.made_by(space)
            )
        )
        return Sources(index, store, semantic.Channel(vectors[-1], StaticEncoder.open().encode), alpha)

    return opened


def found(text: str, of: Sources, mode: str = HYBRID, limit: int = 10, wanted: Filter | None = None) -> Answer:
    return pipeline.search(text, of, wanted or Filter(), limit, 0, mode)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.memory.id for hit in hits]


# ---- what each side brings ------------------------------------------------------------------------------------------------


def test_a_memory_is_found_by_meaning_though_it_shares_no_word(sources: Gather) -> None:
    of = sources()
    for mode in (HYBRID, SEMANTIC):
        hit = found(PARAPHRASE, of, mode).hits[0]
        assert (hit.memory.id, hit.found_by, hit.ranks) == ("cat", (SEMANTIC,), {SEMANTIC: 1})
        assert list(hit.scores) == [SEMANTIC]
    assert found(PARAPHRASE, of, LEXICAL).hits == []


def test_the_hook_is_given_a_memory_by_meaning_and_is_sure_enough_of_it(sources: Gather) -> None:
    hit = pipeline.for_prompt(PARAPHRASE, sources(), audiences_of()).hits[0]
    assert (hit.memory.id, hit.found_by) == ("cat", (SEMANTIC,))
    assert hit.relevance >= 0.25


@pytest.mark.parametrize(
    ("mode", "strategies"), [(HYBRID, (LEXICAL, SEMANTIC)), (LEXICAL, (LEXICAL,)), (SEMANTIC, (SEMANTIC,))]
)
def test_a_mode_names_the_channels_that_run(sources: Gather, mode: str, strategies: tuple[str, ...]) -> None:
    answer = found("the rathole tunnel listens on port 2333", sources(), mode)
    assert (answer.strategies, answer.note) == (strategies, None)
    assert (ids(answer.hits)[0], answer.hits[0].found_by) == ("port", strategies)
    assert set(answer.hits[0].scores) == set(strategies)


def test_the_cosine_of_a_hit_by_words_is_looked_up_however_far_it_is(sources: Gather) -> None:
    hit = found("a line of people", sources()).hits[0]
    assert (hit.memory.id, hit.found_by) == ("bill", (LEXICAL,))
    assert hit.scores[SEMANTIC] < candidates.LEAST_COSINE


def test_what_is_only_the_nearest_there_is_is_not_found(sources: Gather) -> None:
    of = sources()
    assert found("quantum chromodynamics", of).hits == []
    assert found("quantum chromodynamics", of, SEMANTIC).hits == []
    nearest = semantic.search(of.space.vectors, of.space.encode("quantum chromodynamics"), of.store, Filter(), 1)  # type: ignore[union-attr, arg-type]  # there is one
    assert nearest[0][0] < candidates.LEAST_COSINE


def test_the_floor_decides_what_is_near(sources: Gather, monkeypatch: pytest.MonkeyPatch) -> None:
    of = sources()
    monkeypatch.setattr(candidates, "LEAST_COSINE", -1.0)
    assert set(ids(found("quantum chromodynamics", of).hits)) == set(NOTES)
    monkeypatch.setattr(candidates, "LEAST_COSINE", 1.0)
    assert found(PARAPHRASE, of).hits == []


def test_a_channel_gives_a_rank_to_what_it_has_listed_only(sources: Gather) -> None:
    of = sources()
    assert of.space
    near_to_port = of.space.encode(NOTES["port"])
    of.space = semantic.Channel(of.space.vectors, lambda _: near_to_port)
    shallow = candidates.gather("the cat sleeps on the rack", of, Filter(), depth=1)
    hits = [shallow.hit(memory) for memory in of.store.by_seqs(list(shallow.fused)).values()]
    assert {hit.memory.id: hit.ranks for hit in hits} == {"cat": {LEXICAL: 1}, "port": {SEMANTIC: 1}}
    assert all(SEMANTIC in hit.scores for hit in hits)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(audiences=audiences_of("shop")), ["mine"]),
        (Filter(audiences=audiences_of()), []),
        (Filter(statuses=("archived",)), ["old"]),
        (Filter(namespaces=("decisions",)), ["mine"]),
        (Filter(tags=("Pets",)), ["tagged"]),
        (Filter(paths=("src/a.py",)), ["theirs"]),
        (Filter(since=5_000), ["theirs"]),
        (Filter(), ["mine", "tagged", "theirs"]),
    ],
)
@pytest.mark.parametrize("mode", [HYBRID, SEMANTIC])
def test_filters_hold_for_what_is_found_by_meaning(
    sources: Gather, store: Store, make: Maker, mode: str, wanted: Filter, expected: list[str]
) -> None:
    text = NOTES["cat"]
    store.add(
        [
            make(text, id="mine", project="shop", namespace="decisions"),
            make(text, id="tagged", project="yard", tags=("pets",)),
            make(text, id="theirs", project="blog", paths=("src/*.py",), created_at=5_000),
            make(text, id="old", project="shop", status="archived"),
            make(text, id="expired", project="shop", expires_at=1),
        ]
    )
    found_ids = ids(found(PARAPHRASE, sources(), mode, wanted=wanted).hits)
    assert sorted(set(found_ids) - {"cat"}) == expected


def test_the_hook_is_given_no_other_projects_memories_by_meaning(sources: Gather, store: Store, make: Maker) -> None:
    store.add([make(NOTES["cat"], id=f"other{i}", project=f"p{i}") for i in range(200)])
    assert ids(pipeline.for_prompt(PARAPHRASE, sources(), audiences_of("shop")).hits) == ["cat"]


# ---- when meaning fails ---------------------------------------------------------------------------------------------------


def broken_encoder(of: Sources) -> None:
    def fail(text: str) -> bytes:
        raise ModelError("query-encoder.bin is damaged", "reinstall subcog")

    assert of.space
    of.space = semantic.Channel(of.space.vectors, fail)


def lost_table(of: Sources) -> None:
    assert of.space
    connection = apsw.Connection(of.space.vectors.path)
    connection.execute("DROP TABLE codes")
    connection.close()


def another_dimension(of: Sources) -> None:
    assert of.space
    of.space = semantic.Channel(of.space.vectors, lambda _: b"\1" * 32)


@pytest.mark.parametrize("failure", [broken_encoder, lost_table, another_dimension])
@pytest.mark.parametrize("mode", [HYBRID, SEMANTIC])
def test_when_meaning_fails_words_answer_and_it_is_said(sources: Gather, failure: Callable[[Sources], None], mode: str) -> None:
    of = sources()
    failure(of)
    answer = found("which port does the rathole tunnel listen on", of, mode)
    assert answer.note is not None
    assert answer.note.startswith("found by words alone: ")
    assert (ids(answer.hits)[0], answer.hits[0].found_by, answer.strategies) == ("port", (LEXICAL,), (LEXICAL,))
    assert answer.confidence(answer.hits[0]) in ("medium", "low")
    assert pipeline.for_prompt("which port does the rathole tunnel listen on", of, audiences_of()).hits[0].memory.id == "port"


def test_words_alone_say_why(home: Home, store: Store, make: Maker) -> None:
    store.add([make(NOTES["port"], id="port")])
    of = Sources(sync.catch_up(home, store), store, None, 0.6, "there is no model")
    assert (ids(found("rathole", of).hits), found("rathole", of).note) == (["port"], "there is no model")
    assert found("rathole", of, LEXICAL).note is None


def test_a_text_with_nothing_to_embed_is_searched_by_its_words(sources: Gather) -> None:
    of = sources({"east": "東京リージョンでは認証サーバーを二重化している。"})
    assert of.space
    of.space = semantic.Channel(of.space.vectors, lambda _: b"")
    answer = found("認証", of)
    assert (ids(answer.hits), answer.note) == (["east"], None)
    assert found("認証", of, SEMANTIC).hits == []


def test_memories_that_have_no_vector_yet_are_found_by_their_words(
    home: Home, sources: Gather, store: Store, make: Maker
) -> None:
    of = sources()
    store.add([make("The heron nests behind the sluice.", id="new")])
    of.index = sync.catch_up(home, store)
    answer = found("heron sluice", of)
    assert (ids(answer.hits)[0], list(answer.hits[0].scores)) == ("new", [LEXICAL])


# ---- the share of meaning -------------------------------------------------------------------------------------------------


def test_the_share_of_meaning_changes_the_order(sources: Gather) -> None:
    of = sources({"words": "Where kittens: see months.csv of the ledger, sheet 9."})
    orders = {}
    for alpha in (0.0, 1.0):
        of.alpha = alpha
        orders[alpha] = ids(found(PARAPHRASE, of).hits)
    assert orders[0.0][0] == "words"
    assert orders[1.0][0] == "cat"
    assert set(orders[0.0]) == set(orders[1.0])


def test_the_share_of_meaning_changes_what_the_hook_looks_at(sources: Gather) -> None:
    of = sources({f"w{i:02}": f"months, months: ledger number {i} of the kittens" for i in range(30)})
    given = {}
    for alpha in (0.0, 1.0):
        of.alpha = alpha
        given[alpha] = ids(pipeline.for_prompt(PARAPHRASE, of, audiences_of()).hits)
    assert "cat" not in given[0.0]
    assert "cat" in given[1.0]


def test_the_hook_looks_at_the_first_of_what_search_finds(sources: Gather) -> None:
    of = sources({f"w{i:02}": f"kittens and cats nap on shelf {i} " + "in winter " * (i % 5) for i in range(40)})
    given = pipeline.for_prompt(PARAPHRASE, of, audiences_of()).hits
    assert len(given) == pipeline.PROMPT_CANDIDATES
    searched = found(PARAPHRASE, of, limit=pipeline.PROMPT_CANDIDATES).hits
    assert ids(searched) == ids(sorted(given, key=lambda hit: (-hit.score, -hit.memory.created_at, hit.memory.id)))
    of_id = {hit.memory.id: hit for hit in given}
    for hit in searched:
        twin = of_id[hit.memory.id]
        assert (hit.score, hit.relevance, hit.ranks, hit.scores) == (twin.score, twin.relevance, twin.ranks, twin.scores)


# ---- pages ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_pages_never_overlap_and_end_where_one_long_page_ends(sources: Gather, mode: str) -> None:
    animals = ("cat", "kitten", "dog", "heron", "seal")
    of = sources({f"a{i:03}": f"The {animals[i % 5]} naps in basket {i} during winter." for i in range(260)})
    text = "kitten naps in winter"
    paged: list[str] = []
    while page := ids(pipeline.search(text, of, Filter(), 23, len(paged), mode).hits):
        paged += page
    assert len(paged) == len(set(paged))
    assert len(paged) > 100
    again: list[str] = []
    for _ in range(3):
        again += ids(pipeline.search(text, of, Filter(), 23, len(again), mode).hits)
    assert paged[:69] == again


def test_equal_texts_are_ordered_by_newest_then_id_whatever_was_stored_first(
    sources: Gather, store: Store, make: Maker
) -> None:
    text = NOTES["cat"]
    store.add([make(text, id="b"), make(text, id="a"), make(text, id="new", created_at=9_000)])
    of = sources()
    for mode in (HYBRID, SEMANTIC):
        assert ids(found(PARAPHRASE, of, mode).hits) == ["new", "a", "b", "cat"]


def test_the_index_is_not_asked_for_meaning_alone(sources: Gather, monkeypatch: pytest.MonkeyPatch) -> None:
    of = sources()
    monkeypatch.setattr(LexicalIndex, "search", lambda *_: pytest.fail("searched by words"))
    assert ids(found(PARAPHRASE, of, SEMANTIC).hits) == ["cat"]


@pytest.mark.parametrize("by", [HYBRID, LEXICAL])
def test_a_memory_that_the_index_has_not_reached_is_judged_on_its_own_words(
    sources: Gather, store: Store, make: Maker, by: str
) -> None:
    of = sources({"weak": "Tokens are checked in the gateway."})
    if by == LEXICAL:
        of.space = None
    store.add([make("The OAuth2 refresh token rotates on every use; an old one ends the session.", id="new")])
    hits = pipeline.for_prompt("Does the OAuth2 refresh token rotate on every use?", of, audiences_of()).hits
    assert hits[0].memory.id == "new"
    assert hits[0].relevance >= 0.25
