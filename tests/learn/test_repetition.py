"""Repetition: the same meaning in other words, said by several sessions to one audience."""

from subcog_hooks.learn.repetition import Utterance, find_repeated


def utterance(key: str, text: str, session: str, audience: str = "user", at_ms: int = 1_000) -> Utterance:
    return Utterance(key, text, session=session, audience=audience, at_ms=at_ms, certainty=0.3)


def test_a_reworded_rule_is_repeated() -> None:
    (group,) = find_repeated(
        [
            utterance("a", "Don't use npm here, we're on pnpm", "one", at_ms=2_000),
            utterance("b", "all timestamps are UTC", "one"),
            utterance("c", "we use pnpm in this repo, never npm", "two", at_ms=1_000),
        ]
    )
    assert [repeated.key for repeated in group.utterances] == ["a", "c"]
    assert (group.sessions, group.since, group.certainty) == (2, 1_000, 0.51)


def test_one_session_or_two_projects_repeat_nothing() -> None:
    texts = ("use pnpm, never npm", "never npm, use pnpm")
    assert find_repeated([utterance(str(n), text, "one") for n, text in enumerate(texts)]) == []
    assert find_repeated([utterance(str(n), text, str(n), f"project:{n}") for n, text in enumerate(texts)]) == []


def test_the_most_repeated_meaning_comes_first() -> None:
    utterances = [utterance(f"p{n}", "use pnpm, never npm", str(n)) for n in range(2)]
    utterances += [utterance(f"u{n}", "all timestamps are UTC in the warehouse", str(n)) for n in range(3)]
    assert [group.utterances[0].key for group in find_repeated(utterances)] == ["u0", "p0"]
