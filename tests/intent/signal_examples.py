"""The examples of the signals, for the tests that walk the table."""

from pathlib import Path

from subcog_hooks.core.files import read_rows

DATA = Path(__file__).parents[1] / "data" / "intent" / "signals.tsv"


def signal_examples() -> list[tuple[str, str, str]]:
    """Return the pattern of each signal, a prompt in which it fires, and one in which it does not."""
    return [(pattern, example, counter) for pattern, example, counter in read_rows(str(DATA), DATA.name)]
