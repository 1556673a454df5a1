"""A page is one file that asks for nothing, and nothing in it was left unescaped."""

import re
from html.parser import HTMLParser
from itertools import takewhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from fmarl.errors import BadInput
from fmarl.report.forest_plot import Effect, draw_forest
from fmarl.report.page import (
    POLICY,
    Block,
    Code,
    Details,
    Link,
    Paragraph,
    Picture,
    Section,
    Table,
    VerdictBadge,
    page,
)
from fmarl.report.statistics import Interval

NEVER_CLOSED = {"meta", "link", "img"}
LOADING = {"src", "srcset", "href", "data", "poster", "action", "style", "background"}


class Reader(HTMLParser):
    """What a browser would see: elements, attributes, text; fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in NEVER_CLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def figure() -> Figure:
    return draw_forest([Effect("a", Interval(1.0, 0.5, 1.5), "supported")], "difference")


def blocks_with(text: str) -> list[Block]:
    """Every kind of block that holds text, holding this one wherever it can."""
    return [
        Paragraph(text),
        Paragraph((text, VerdictBadge("undecided"), Link(text, "here"))),
        Table([text, text], [[text, (text, VerdictBadge("supported"))]], caption=text, align="lr"),
        Code(text),
        Details(text, [Paragraph(text), Section(text, "inner", [Paragraph(text)])]),
        Details(text, [Code(text)]),
    ]


def page_with(*blocks: Block) -> str:
    return page("Title", "Lead.", [Section("Here", "here", blocks)], "Footer.")


def everything(figure: Figure) -> str:
    return page_with(*blocks_with("some words"), Picture(figure, "Caption.", "An effect above 0."))


@given(text=st.text())
def test_no_text_becomes_markup(text):
    whole = page(text, text, [Section(text, "here", blocks_with(text))], text)
    plain = page("w", "w", [Section("w", "here", blocks_with("w"))], "w")
    assert Reader(whole).elements == Reader(plain).elements
    assert whole.count("<") == plain.count("<")


@given(text=st.text(min_size=1).filter(str.strip))
@example(text='a" onerror="alert(1)')
def test_no_alternative_text_leaves_its_attribute(text):
    picture = Picture(Figure(figsize=(1, 1)), text, text)
    (image,) = Reader(page_with(picture)).all("img")
    assert set(image) == {"src", "alt", "width", "height"}
    assert image["alt"] == text


@pytest.mark.parametrize("text", ["a < b & c", "<script>alert(1)</script>", "“ψ1” 'x' \"y\""])
def test_text_is_shown_as_it_was_written(text):
    seen = Reader(page_with(Paragraph(text), Code(text)))
    assert ("p", text) in seen.texts and ("code", text) in seen.texts


def test_nothing_is_loaded_from_anywhere(figure):
    seen = Reader(everything(figure))
    loaded = [
        value
        for _, attributes in seen.elements
        for name, value in attributes.items()
        if name in LOADING and not (value or "").startswith("#")
    ]
    assert loaded and all((value or "").startswith("data:") for value in loaded)
    (css,) = [text for tag, text in seen.texts if tag == "style"]
    assert not re.search(r"url\(|@import|http", css)
    assert seen.all("script") == []


def test_a_browser_is_told_to_load_nothing_before_it_could_load_anything():
    elements = Reader(page_with()).elements
    policy = ("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY})
    before = takewhile(lambda element: element != policy, elements)
    assert [name for name, _ in before] == ["html", "head", "meta"]


def test_the_same_parts_give_the_same_page(figure):
    assert everything(figure) == everything(figure)


def test_headings_follow_the_sections_and_skip_no_level():
    inner = Section("C", "c", [Details("more", [Section("D", "d", [])])])
    whole = page("A", "Lead.", [Section("B", "b", [inner]), Section("E", "e", [])], "Footer.")
    found = [(tag, text) for tag, text in Reader(whole).texts if re.fullmatch("h[1-6]", tag)]
    assert found == [("h1", "A"), ("h2", "B"), ("h3", "C"), ("h4", "D"), ("h2", "E")]


def test_the_contents_lead_to_every_section():
    whole = page("A", "Lead.", [Section("B", "b", []), Section("C", "c-2", [])], "Footer.")
    assert [link["href"] for link in Reader(whole).all("a")] == ["#b", "#c-2"]


def test_columns_and_rows_of_a_table_are_named_and_aligned():
    seen = Reader(page_with(Table(["method", "speed"], [["decay", "0.5"]], "Results.", "lr")))
    assert [head["scope"] for head in seen.all("th")] == ["col", "col", "row"]
    assert [cell["class"] for cell in seen.all("td")] == ["right"]


def test_a_row_of_another_length_than_the_header_is_refused():
    with pytest.raises(ValueError, match="zip"):
        page_with(Table(["method", "speed"], [["decay"]], "Results."))


def test_a_verdict_has_a_word_and_a_sign_beside_its_colour():
    words = ("supported", "not supported", "undecided")
    seen = Reader(page_with(Paragraph([VerdictBadge(word) for word in words])))
    spans = [text.strip() for tag, text in seen.texts if tag == "span"]
    assert spans[1::2] == list(words) and len(set(spans[0::2])) == 3


def test_every_kind_of_verdict_has_a_colour():
    seen = Reader(page_with(Paragraph([VerdictBadge("not supported"), VerdictBadge("supported")])))
    (css,) = [text for tag, text in seen.texts if tag == "style"]
    kinds = [span["class"] for span in seen.all("span") if "class" in span]
    assert all("." + str(kind).replace(" ", ".") + " {" in css for kind in kinds)


def test_a_picture_needs_words(figure):
    with pytest.raises(BadInput, match="alternative text"):
        Picture(figure, "Caption.", " ")


def test_a_link_that_leads_nowhere_is_refused():
    with pytest.raises(BadInput, match=r"link to \['nowhere'\]"):
        page_with(Paragraph([Link("there", "nowhere")]))


def test_two_sections_can_not_share_an_anchor():
    with pytest.raises(BadInput, match=r"\['here'\] of two sections"):
        page_with(Section("Again", "here", []))


@pytest.mark.parametrize("anchor", ["", "Figure 4", "4", 'a"b', "a\n"])
def test_an_anchor_is_a_plain_word(anchor):
    with pytest.raises(BadInput, match="anchor"):
        Section("Title", anchor, [])
