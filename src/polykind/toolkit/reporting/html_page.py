"""One self-contained HTML page. It loads nothing, and its Content-Security-Policy forbids the browser to try.

The styles are in `design.css`: its variables (colours, spacing, type) are the look of every page that Polykind makes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

from polykind import __version__
from polykind.toolkit.reporting.html_builder import Child, fragment
from polykind.toolkit.reporting.safe_text import printable


def html_page(title: str, *body: Child) -> str:
    """Return a complete HTML document. `body` usually starts with `header` and continues with `section`s."""
    style, script = design(), _asset("report.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    # Browsers hash the text between the tags, so nothing may be added to it.
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="polykind {escape(__version__)}">\n'
        f"<title>{escape(printable(title))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#content">Skip to the content</a>\n{fragment(body).source}\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def design() -> str:
    """Return the style sheet of all pages."""
    return _asset("design.css")


@cache
def _asset(name: str) -> str:
    return (files("polykind.toolkit.reporting") / name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
