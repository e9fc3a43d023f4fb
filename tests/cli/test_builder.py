"""The page builder: escaped text, a policy for the own style and script, limits on rows and bytes."""

import base64
import hashlib
import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.cli.page.report_page import Column, Moment, Page
from subcog_hooks.cli.terminal.output import safe

HOSTILE = "</td></script><script>alert(1)</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """Notes every tag with its attributes, and the text of cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self._is_in_cell = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "td":
            self._is_in_cell = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_in_cell = self._is_in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self.cells[-1] += data


def page_with(*cells: str) -> str:
    page = Page("title", "about")
    page.add_table([Column(f"column {number}") for number in range(len(cells))], [cells])
    return page.render()


PLAIN = [tag for tag, _ in Tags(page_with("x")).tags]


@settings(max_examples=30)
@given(st.text(max_size=80) | st.text("<>&\"'/=!- abonscript", max_size=80))
def test_whatever_a_text_is_it_stays_the_text_of_its_cell(text: str) -> None:
    tags = Tags(page_with(text))
    assert [tag for tag, _ in tags.tags] == PLAIN
    assert tags.cells == [safe(text)]


def test_no_tag_has_an_address_or_a_handler() -> None:
    page = Page(HOSTILE, HOSTILE)
    page.add_figures([(HOSTILE, HOSTILE)])
    page.add_heading(HOSTILE)
    page.add_table([Column(HOSTILE)], [(HOSTILE,)])
    page.add_time_line([Moment(HOSTILE, 3, 1)], HOSTILE, HOSTILE)
    tags = Tags(page.render())
    assert {name for _, attributes in tags.tags for name in attributes} <= {
        *("lang", "charset", "http-equiv", "content", "name", "id", "class", "scope", "aria-label"),
        *("role", "x", "y", "x1", "x2", "y1", "y2", "width", "height"),
    }
    assert {tag for tag, _ in tags.tags}.isdisjoint({"a", "img", "link", "iframe", "form", "base", "object"})
    assert tags.cells[0] == HOSTILE


def test_the_policy_allows_only_the_own_style_and_script() -> None:
    page = page_with("x")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; ")
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_secrets_and_what_can_not_be_seen_are_taken_out() -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    assert Tags(page_with(f"a\u202eb {key}\x00", "y" * 300)).cells == ["ab [redacted: AWS Access Key]", "y" * 238 + " …"]


def test_a_page_stays_small_whatever_stands_in_it() -> None:
    page = Page("title", "about")
    page.add_table([Column("text")], [("<" * 300,)] * 2_000)
    page.add_table([Column("text")], [("<" * 300,)] * 10_000)
    text = page.render()
    assert len(text.encode()) < 5_000_000
    assert "Of 10,000 the first " in text
