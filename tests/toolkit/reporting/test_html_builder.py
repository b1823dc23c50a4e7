from __future__ import annotations

import pytest

from polykind.toolkit.reporting.html_builder import element, fragment


def test_texts_and_attributes_are_escaped() -> None:
    html = element("p", "<script>&", element("b", 3), None, class_="a", title='"><img>', hidden=True, id=None)
    assert html.source == '<p class="a" title="&quot;&gt;&lt;img&gt;" hidden>&lt;script&gt;&amp;<b>3</b></p>'
    assert element("br").source == "<br>"
    assert fragment(["a", element("i"), "<"]).source == "a<i></i>&lt;"


def test_control_characters_are_visible() -> None:
    assert element("p", "a\x00\u202eb").source == r"<p>a\x00\u202eb</p>"


def test_html_is_not_a_string() -> None:
    # A text that was joined with HTML by mistake must not become HTML.
    assert "<b>" not in f"{element('b')}"


@pytest.mark.parametrize("name", ["script", "style", "iframe", "link", "meta", "object", "form", "p><script", "P"])
def test_elements_that_run_or_load_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        element(name)


@pytest.mark.parametrize(
    "attribute",
    [{"onclick": "x"}, {"style": "x"}, {"src": "x"}, {"href": "javascript:x"}, {"href": " javascript:x"}, {"a b": "x"}],
)
def test_attributes_that_run_or_load_are_refused(attribute: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        element("a", **attribute)


def test_links_inside_the_page_and_to_sites_are_allowed() -> None:
    assert element("a", href="#x").source == '<a href="#x"></a>'
    assert element("a", href="https://kubernetes.io/").source == '<a href="https://kubernetes.io/"></a>'
