"""HTML that is built from values, never by joining strings: every text is escaped, and nothing can run or load.

    element("p", "spec.", element("b", name), class_="note", aria_label="A field")

An underscore in an attribute's name stands for a hyphen, and a trailing underscore is dropped (`class_`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from polykind.toolkit.reporting.safe_text import printable

_NAME = re.compile(r"[a-z][a-z0-9]*")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9-]*")
_VOID = frozenset(("br", "col", "hr", "input", "wbr"))
_REFUSED_ELEMENTS = frozenset(
    ("base", "embed", "form", "frame", "iframe", "link", "meta", "object", "script", "style", "template")
)
"""Elements that run code, load something or change the page. `html_page` writes those that a page needs."""
_REFUSED_ATTRIBUTES = frozenset(("action", "formaction", "src", "srcdoc", "srcset", "style"))
_LINKS = ("#", "https://", "http://")


class Html:
    """A piece of HTML, complete and escaped. It is no string, so that it cannot be joined with one by mistake."""

    __slots__ = ("_source",)

    def __init__(self, source: str) -> None:
        """Only this package creates instances, from sources that it has escaped."""
        self._source = source

    @property
    def source(self) -> str:
        return self._source


Child = Html | str | int | None
"""The content of an element. None is left out; a text is escaped."""


def element(name: str, *children: Child, **attributes: str | int | bool | None) -> Html:
    """Return an element. An attribute that is None or False is left out; True writes its name alone.

    Raise ValueError for elements and attributes that run code or load something, and for links to other schemes.
    """
    if not _NAME.fullmatch(name) or name in _REFUSED_ELEMENTS:
        raise ValueError(f"the element {name} is not allowed")
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{fragment(children).source}</{name}>")


def fragment(children: Iterable[Child]) -> Html:
    """Return several elements or texts as one piece of HTML."""
    return Html("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if isinstance(child, Html):
        return child.source
    return "" if child is None else escape(printable(str(child)), quote=False)


def _attribute(key: str, value: str | int | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name) or name.startswith("on") or name in _REFUSED_ATTRIBUTES:
        raise ValueError(f"the attribute {name} is not allowed")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    text = printable(str(value))
    if name == "href" and not text.startswith(_LINKS):
        raise ValueError(f"the link {text} is not allowed")
    return f' {name}="{escape(text)}"'
