from __future__ import annotations

import base64
import hashlib
import re

from polykind.toolkit.reporting import html_components as parts
from polykind.toolkit.reporting.html_page import design, html_page

EVIL = '"><script>alert(1)</script>'


def everything() -> str:
    """Return a page with every component, full of text that must be escaped."""
    return html_page(
        EVIL,
        parts.header(EVIL, EVIL, "error", EVIL, [(EVIL, EVIL)], EVIL),
        parts.navigation([("a", EVIL, EVIL)]),
        parts.contents(
            parts.section("a", EVIL, parts.paragraph(EVIL, level="note"), parts.badge(EVIL, "ok"), note=EVIL),
            parts.card("b", EVIL, parts.command(EVIL), parts.code_block(EVIL, EVIL), level="warning"),
            parts.disclosure(EVIL, parts.code(EVIL), opened=True),
            parts.matrix(EVIL, [EVIL], [(EVIL, [parts.Cell(EVIL, "error", "#b", EVIL)])], EVIL),
            parts.data_table(EVIL, [EVIL], [[EVIL]] * 25, numbers=[0]),
            parts.three_way_diff(parts.Pane(EVIL, EVIL, EVIL, [1]), parts.Pane("x", "b: <i>"), parts.Pane("y", EVIL)),
            parts.unified_diff(EVIL, "x", EVIL),
            parts.unified_diff(EVIL, EVIL, EVIL),
            parts.timeline(EVIL, [parts.TimelineEntry(EVIL, "ok", EVIL, EVIL, [EVIL])]),
            parts.bar_list(EVIL, (EVIL, EVIL, EVIL), [parts.Bar(EVIL, 3, 4, EVIL), parts.Bar(EVIL, 0, 0)]),
        ),
    )


def test_all_texts_are_escaped() -> None:
    page = everything()
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert page.count("<script>") == page.count("<style>") == 1
    assert "<i>" not in page


def test_page_loads_nothing_and_its_policy_admits_only_its_own_style_and_script() -> None:
    page = everything()
    assert not re.search(r"""\s(src|style|on\w+)=["']""", page)
    assert "url(" not in design()
    assert "@import" not in design()
    policy = page.split('Content-Security-Policy" content="')[1].split('"')[0]
    for tag in ("style", "script"):
        text = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src &#x27;sha256-{digest}&#x27;" in policy
    assert policy.startswith("default-src &#x27;none&#x27;;")


def test_long_tables_can_be_filtered() -> None:
    assert "data-filter" not in parts.data_table("t", ["a"], [["x"]] * 20).source
    assert "data-filter" in parts.data_table("t", ["a"], [["x"]] * 21).source


def test_colours_have_enough_contrast() -> None:
    """Check the WCAG 2 level AA: a contrast of 4.5 between text and its background, in both colour schemes."""
    declared = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", design())
    for scheme in ({name: light for name, light, _ in declared}, {name: dark for name, _, dark in declared}):
        pairs = [(text, ground) for text in ("text", "text-muted", "accent") for ground in ("background", "surface")]
        pairs += [(text, "surface-sunken") for text in ("text", "text-muted", "note")]
        pairs += [(level, f"{level}-surface") for level in ("ok", "error", "warning", "note", "none")]
        pairs += [("text", f"{level}-surface") for level in ("ok", "error", "warning", "note")]
        for text, ground in pairs:
            assert _contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground)


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
