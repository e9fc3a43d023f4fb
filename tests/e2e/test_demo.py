"""README's picture: it is made by its script, and shows the texts that the programs print today."""

import re
from html import unescape
from pathlib import Path

import pytest

from scripts import demo
from tests.e2e.claude_client import VERSIONS
from tests.e2e.machine import linux

MAX_BYTES = 200_000
OF_THE_CLIENT = re.compile(r"✻|\w+ for \d+s · .*|ctrl\+y .*|. \w+ · /effort|⏸ .*")  # It draws these by chance or by time.
BY_RUN = re.compile(r"\b(?:\d[a-z]\w{12}|ep-\w{12}|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)\b")


def texts_of(picture: str) -> list[str]:
    """Return the texts of a picture without those that differ from run to run."""
    texts = map(unescape, re.findall(r"<text [^>]*>([^<]*)</text>", picture))
    return [BY_RUN.sub("…", text) for text in texts if not OF_THE_CLIENT.fullmatch(text)]


@linux
@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
def test_the_picture_shows_what_is_printed_today(client: str, subcog_command: str, tmp_path: Path) -> None:
    made = texts_of(demo.draw(demo.record_in_time(client, subcog_command, tmp_path)))
    assert made == texts_of(demo.TARGET.read_text(encoding="utf-8")), "`python -m scripts.demo` makes it anew"
    assert demo.TARGET.stat().st_size < MAX_BYTES
