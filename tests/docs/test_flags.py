"""Every flag is documented, and every documented flag exists."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from polykind.cli import parser

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "flags.md").read_text()


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all commands. A command with actions has one parser for each action."""
    return {name: found for name, command in _choices(parser()).items() for name, found in _actions(name, command)}


def _choices(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = next((a for a in command._actions if isinstance(a, argparse._SubParsersAction)), None)
    return dict(found.choices) if found is not None else {}


def _actions(name: str, command: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    actions = _choices(command)
    return [(f"{name} {action}", found) for action, found in actions.items()] if actions else [(name, command)]


def documented(command: str) -> dict[str, str]:
    """Return the flags in the table of a command's section with their descriptions."""
    section = re.search(rf"^## `polykind {re.escape(command)}`$(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert section, f"docs/reference/flags.md has no section for polykind {command}"
    return dict(re.findall(r"^\| `(--[a-z0-9-]+)[^`]*` \| (.+) \|$", section[1], re.M))


def test_each_command_documents_exactly_its_flags() -> None:
    for name, command in commands().items():
        actual = {flag for action in command._actions for flag in action.option_strings if flag.startswith("--")}
        assert set(documented(name)) == actual - {"--help"}, name


def test_documented_defaults_are_the_real_ones() -> None:
    for name, command in commands().items():
        said = documented(name)
        for action in command._actions:
            flag = next((f for f in action.option_strings if f.startswith("--") and f != "--help"), None)
            if flag is None or action.default in (None, "", [], False):
                continue
            default = "true" if action.default is True else str(action.default)
            assert f"`{default}`" in said[flag], f"{flag}: the default {default} is not in: {said[flag]}"
