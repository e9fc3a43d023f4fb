"""Patterns of `*` (any characters) and `?` (one) for texts that are no paths: in a branch's name `*` goes past a "/" too."""


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches all of a text, capitals told apart; one step a character, whatever the pattern.

    >>> matches("release/*", "release/7/hotfix"), matches("v?", "v12"), matches("*a*", "banana")
    (True, False, True)
    """
    # a bit stands for a place in the pattern: where the n-th of `reached` is set, its first n signs are the text so far
    places = dict.fromkeys(pattern, 0)  # by a sign, the places before it
    for place, sign in enumerate(pattern):
        places[sign] |= 1 << place
    stars, any_one = places.pop("*", 0), places.pop("?", 0)
    reached = _past_stars(1, stars)
    for character in text:
        one = any_one | places.get(character, 0)
        reached = _past_stars((reached & one) << 1 | reached & stars, stars)
        if not reached:
            return False
    return bool(reached >> len(pattern))


def _past_stars(reached: int, stars: int) -> int:
    """Return the places that are reached, with those behind a star, which may stand for nothing."""
    while more := ((reached & stars) << 1) & ~reached:
        reached |= more
    return reached
