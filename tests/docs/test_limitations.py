"""The page of limitations says nothing that is no longer true, as far as a test can know."""

from __future__ import annotations

import re

from polykind.cli import parser
from tests.support.pages import ROOT

PAGE = (ROOT / "docs" / "limitations.md").read_text()


def test_flags_that_are_not_supported_do_not_exist() -> None:
    table = PAGE.partition("## Not supported")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(--[a-z0-9-]+)`", table, re.M))
    assert not named & set(re.findall(r"--[a-z0-9-]+", _help("serve")))


def _help(command: str) -> str:
    actions = next(action for action in parser()._actions if action.choices and command in action.choices)
    assert isinstance(actions.choices, dict)
    return str(actions.choices[command].format_help())
