"""The parts of an HTML report. Each function returns HTML that `html_page` puts into a page.

Colour never carries a meaning alone: every mark has a sign or a word that a screen reader reads, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from polykind.toolkit.reporting import line_diff
from polykind.toolkit.reporting.html_builder import Child, Html, element, fragment

Level = Literal["ok", "error", "warning", "note", "none"]
_SIGNS: dict[Level, str] = {"ok": "✓", "error": "✕", "warning": "!", "note": "i", "none": "·"}
_LINE_SIGNS: dict[line_diff.Mark, tuple[str, str]] = {
    "same": ("", ""),
    "added": ("+", "added: "),
    "removed": ("−", "removed: "),
    "changed": ("~", "changed: "),
    "other": ("", ""),
    "filler": ("", ""),
}
_FILTER_ROWS = 20
"""Tables with more rows than this have a field that filters the rows."""


def header(
    kind: str, title: str, level: Level, verdict: str, facts: Iterable[tuple[str, Child]], summary: str = ""
) -> Html:
    """Return the head of a page: the verdict first, then facts such as the number of objects and the seed."""
    listed = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element(
        "header",
        element("p", kind, class_="kicker"),
        element("h1", title),
        element("p", _sign(level), element("span", verdict), class_=f"verdict {level}", role="status"),
        element("p", summary, class_="summary") if summary else None,
        element("dl", *listed, class_="facts") if listed else None,
        class_="page-head",
    )


def contents(*sections: Html) -> Html:
    """Return the main part of a page, which the link for keyboard users leads to."""
    return element("main", *sections, id="content", tabindex="-1")


def navigation(links: Iterable[tuple[str, str, str]]) -> Html:
    """Return links to the sections of the page: id, title, and a count or an empty string."""
    items = [
        element("li", element("a", title, element("span", count, class_="count") if count else None, href=f"#{anchor}"))
        for anchor, title, count in links
    ]
    return element("nav", element("ul", *items), aria_label="Sections", class_="sections")


def section(anchor: str, title: str, *children: Child, note: str = "") -> Html:
    """Return a section with a heading. `note` explains the section in a sentence."""
    return element(
        "section",
        element("h2", title, id=f"{anchor}-title"),
        element("p", note, class_="hint") if note else None,
        *children,
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def card(
    anchor: str, title: Child, *children: Child, level: Level = "none", summary: Child = None, opened: bool = True
) -> Html:
    """Return one finding or another block with a heading of its own.

    If there is a `summary`, the reader can close and open the rest. A link to the card opens it.
    """
    body = (
        children
        if summary is None
        else [disclosure(summary, element("div", *children, class_="card-body"), opened=opened)]
    )
    return element("article", element("h3", _sign(level), title), *body, id=anchor, class_=f"card {level}")


def paragraph(*children: Child, level: Level = "none") -> Html:
    return element("p", *children, class_=None if level == "none" else f"remark {level}")


def code(text: str) -> Html:
    """Return a short piece of code, such as the path of a field."""
    return element("code", text)


def badge(text: str, level: Level = "none") -> Html:
    return element("span", _sign(level), text, class_=f"badge {level}")


def command(text: str, label: str = "Command") -> Html:
    """Return a command line that can be copied."""
    return element(
        "div",
        element("pre", element("code", text), tabindex="0", aria_label=label, role="region"),
        element("button", "Copy", type="button", data_copy=text, hidden=True, aria_label=f"Copy: {label}"),
        class_="command",
    )


def code_block(text: str, label: str) -> Html:
    """Return several lines of code. `label` names the block for screen readers."""
    return element("pre", element("code", text), tabindex="0", role="region", aria_label=label, class_="code")


def terms(pairs: Iterable[tuple[Child, Child]]) -> Html:
    """Return names with their values or explanations, one pair per line."""
    listed = [element("div", element("dt", name), element("dd", value)) for name, value in pairs]
    return element("dl", *listed, class_="terms")


def disclosure(summary: Child, *children: Child, opened: bool = False) -> Html:
    """Return a part that the reader can open and close. A printed page shows it open."""
    return element("details", element("summary", summary), *children, open=opened)


class Cell(NamedTuple):
    """A cell of a matrix. `word` describes `text` for screen readers if `text` is short, such as a number."""

    text: str = ""
    level: Level = "none"
    href: str = ""
    word: str = ""


def matrix(caption: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]], corner: str = "") -> Html:
    """Return a matrix with a sign and a colour per cell. The first column and the head stay visible."""
    head = element("tr", element("th", corner, scope="col"), *(element("th", name, scope="col") for name in columns))
    body = [
        element("tr", element("th", code(name), scope="row"), *(_matrix_cell(cell) for cell in cells))
        for name, cells in rows
    ]
    return _table(caption, head, body, "matrix")


def _matrix_cell(cell: Cell) -> Html:
    inner = fragment(
        (
            _sign(cell.level),
            element("span", cell.text) if cell.text else None,
            element("span", cell.word, class_="hidden-text") if cell.word else None,
        )
    )
    return element("td", element("a", inner, href=cell.href) if cell.href else inner, class_=cell.level)


def data_table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[Child]], numbers: Collection[int] = ()
) -> Html:
    """Return a table whose head stays visible. `numbers` are the columns that are aligned to the right."""
    names = element(
        "tr", *(element("th", name, scope="col", class_=_numeric(at, numbers)) for at, name in enumerate(head))
    )
    body = [
        element(
            "tr",
            *(element("td", cell, class_=_numeric(at, numbers), data_label=head[at]) for at, cell in enumerate(row)),
        )
        for row in rows
    ]
    return _table(caption, names, body, "data")


def _numeric(at: int, numbers: Collection[int]) -> str | None:
    return "number" if at in numbers else None


def _table(caption: str, head: Html, body: Sequence[Html], kind: str) -> Html:
    table = element(
        "table",
        element("caption", caption, class_="hidden-text"),
        element("thead", head),
        element("tbody", *body),
        class_=kind,
    )
    scroller = element("div", table, class_="scroller", tabindex="0", role="region", aria_label=caption)
    if len(body) <= _FILTER_ROWS:
        return scroller
    search = element(
        "input", type="search", placeholder="Filter rows", aria_label=f"Filter: {caption}", data_filter=True
    )
    return element("div", element("p", search, class_="filter", hidden=True), scroller, class_="filterable")


class Pane(NamedTuple):
    """One column of a three-way diff. The lines in `emphasis`, counted from 1, show the finding."""

    title: str
    text: str
    note: str = ""
    emphasis: Collection[int] = ()
    error: str = ""
    """The reason why there is no text, such as a failed conversion. It is shown in place of the text."""


def three_way_diff(before: Pane, converted: Pane, back: Pane) -> Html:
    """Return three texts side by side with aligned lines, or below each other on a narrow screen."""
    # A pane without text is compared as if it were unchanged, so that nothing is marked in the others.
    columns = line_diff.align(before.text, *(before.text if pane.error else pane.text for pane in (converted, back)))
    panes = [
        _pane(pane, lines, number)
        for number, (pane, lines) in enumerate(zip((before, converted, back), columns, strict=True), 1)
    ]
    return element("div", *panes, class_="three-way")


def _pane(pane: Pane, lines: Sequence[line_diff.DiffLine], number: int) -> Html:
    label = f"{pane.title} {pane.note}".strip()
    title = element(
        "figcaption", element("b", f"{number}. {pane.title}"), element("span", pane.note) if pane.note else None
    )
    if pane.error:
        return element(
            "figure", title, element("div", _sign("error"), pane.error, class_="pane-error"), aria_label=label
        )
    listed = [_diff_line(line, line.number in pane.emphasis) for line in lines]
    body = element("div", *listed, class_="lines", tabindex="0", role="region", aria_label=f"Lines: {label}")
    return element("figure", title, body, aria_label=label)


def unified_diff(before: str, after: str, label: str) -> Html:
    """Return the changes between two texts with some lines around them."""
    lines = [_diff_line(line, False) for line in line_diff.unified(before, after)]
    if not lines:
        return element("p", "No difference.", class_="hint")
    body = element("div", *lines, class_="lines", tabindex="0", role="region", aria_label=label)
    return element("figure", element("figcaption", element("b", label)), body, class_="unified", aria_label=label)


def _diff_line(line: line_diff.DiffLine, emphasized: bool) -> Html:
    sign, word = _LINE_SIGNS[line.mark]
    return element(
        "div",
        element("span", line.number or None, class_="line-number", aria_hidden="true"),
        element("span", sign, class_="line-sign", aria_hidden="true"),
        element("span", word, class_="hidden-text") if word else None,
        element("code", *_key_and_value(line.text)),
        class_=f"line {line.mark}{' emphasis' if emphasized else ''}",
    )


def _key_and_value(text: str) -> tuple[Child, ...]:
    """Split a line of YAML into its key and the rest, so that the styles can distinguish them."""
    match = re.fullmatch(r"(\s*(?:- )*)([\w./*-]+)(:(?: .*)?)", text)
    return (match[1], element("span", match[2], class_="key"), match[3]) if match else (text,)


class TimelineEntry(NamedTuple):
    """One step of a timeline."""

    title: str
    level: Level = "none"
    text: str = ""
    time: str = ""
    children: Sequence[Child] = ()


def timeline(label: str, entries: Iterable[TimelineEntry]) -> Html:
    """Return steps in their order, each with its result."""
    items = [
        element(
            "li",
            _sign(entry.level),
            element(
                "div",
                element("h3", entry.title, element("span", entry.time, class_="time") if entry.time else None),
                element("p", entry.text) if entry.text else None,
                *entry.children,
            ),
            class_=entry.level,
        )
        for entry in entries
    ]
    return element("ol", *items, class_="timeline", aria_label=label)


class Bar(NamedTuple):
    """A row of a bar list: `value` of `total`."""

    label: str
    value: float
    total: float
    note: str = ""
    level: Level = "note"


def bar(value: float, total: float, label: str, level: Level = "note") -> Html:
    """Return a bar that shows a part of a whole."""
    share = min(max(value / total, 0.0), 1.0) if total else 0.0
    # Width attributes of SVG, because the page's policy forbids style attributes.
    inner = element("rect", width=f"{share:.1%}", height="100%", class_=level) if share else None
    return element("svg", inner, class_="bar", role="img", aria_label=f"{label}: {share:.0%}", focusable="false")


def bar_list(caption: str, head: tuple[str, str, str], bars: Sequence[Bar]) -> Html:
    """Return a table with a bar per row, such as the coverage of fields. `head` names label, bar and note."""
    rows: list[list[Child]] = [
        [code(each.label), bar(each.value, each.total, each.label, each.level), f"{each.value:,.0f}", each.note]
        for each in bars
    ]
    return data_table(caption, [head[0], head[1], "Count", head[2]], rows, numbers=(2,))


def _sign(level: Level) -> Html:
    """Return the sign of a level with its name for screen readers."""
    names: dict[Level, str] = {"ok": "OK: ", "error": "Failed: ", "warning": "Warning: ", "note": "Note: ", "none": ""}
    return fragment(
        (
            element("span", _SIGNS[level], class_=f"sign {level}", aria_hidden="true"),
            element("span", names[level], class_="hidden-text") if names[level] else None,
        )
    )
