"""What several sessions said: the same in other words, to the same audience."""

from subcog_hooks.learn.repetition import Utterance, find_repeated


def utterance(key: str, text: str, session: str, audience: str = "user", at: int = 1_000) -> Utterance:
    return Utterance(key, text, session=session, audience=audience, at=at, certainty=0.3)


def test_the_same_in_other_words_is_said_twice() -> None:
    (found,) = find_repeated(
        [
            utterance("a", "Don't use npm here, we're on pnpm", "one", at=2_000),
            utterance("b", "all timestamps are UTC", "one"),
            utterance("c", "we use pnpm in this repo, never npm", "two", at=1_000),
        ]
    )
    assert [one.key for one in found.said] == ["a", "c"]
    assert (found.sessions, found.since, found.certainty) == (2, 1_000, 0.51)


def test_one_session_repeats_nothing_and_neither_do_two_projects() -> None:
    texts = ("use pnpm, never npm", "never npm, use pnpm")
    assert find_repeated([utterance(str(n), text, "one") for n, text in enumerate(texts)]) == []
    assert find_repeated([utterance(str(n), text, str(n), f"project:{n}") for n, text in enumerate(texts)]) == []


def test_the_most_often_said_comes_first() -> None:
    said = [utterance(f"p{n}", "use pnpm, never npm", str(n)) for n in range(2)]
    said += [utterance(f"u{n}", "all timestamps are UTC in the warehouse", str(n)) for n in range(3)]
    assert [group.said[0].key for group in find_repeated(said)] == ["u0", "p0"]
