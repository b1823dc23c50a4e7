"""Tables, figures, badges and the recording in the documentation follow the code: `make reference`."""

from __future__ import annotations

import html
import re

import pytest

from tests.support.pages import ROOT
from tools import badges, record_terminal, reference_tables


@pytest.mark.parametrize("name", reference_tables.PAGES)
def test_generated_parts_are_current(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "<!-- generated: " in text
    assert reference_tables.updated(text) == text, f"{name}: run make reference"


def test_metrics_page_lists_the_metrics_of_a_running_server() -> None:
    text = (ROOT / reference_tables.METRICS_PAGE).read_text()
    documented = {
        name: (kind, meaning) for name, kind, meaning in re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", text, re.M)
    }
    assert documented == reference_tables.scraped_metrics(), "run make reference"


@pytest.mark.parametrize("name", sorted(badges.badges()))
def test_badges_are_current(name: str) -> None:
    assert (badges.FOLDER / name).read_text() == badges.badges()[name], "run make reference"


def test_recording_shows_what_the_command_prints() -> None:
    svg = record_terminal.RECORDING.read_text()
    recorded = [html.unescape(text).replace("\xa0", " ") for text in re.findall(r"<text [^>]*>([^<]*)</text>", svg)]
    printed = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(record_terminal.shown(record_terminal.record())))
    # The texts of one line are several elements, so words are compared, without numbers and durations.
    words = {word.rstrip(":") for word in " ".join(recorded).split()}
    missing = {word.rstrip(":") for word in printed.split() if not re.fullmatch(r"[\d.]+(s\))?", word)} - words
    assert missing == set(), "run make recording"
    assert "http" not in re.sub(r'xmlns="[^"]*"|<!--.*?-->', "", svg)
