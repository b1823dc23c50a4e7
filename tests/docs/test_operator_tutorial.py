"""docs/operator-tutorial.md: its files form a project that passes its tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = "pytester"

PAGE = (Path(__file__).parents[2] / "docs" / "operator-tutorial.md").read_text()
FILES = dict(re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", PAGE, re.M | re.S))


def test_files_of_the_tutorial_pass_their_tests(pytester: pytest.Pytester) -> None:
    for name, text in FILES.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_tests_of_the_tutorial_are_short() -> None:
    assert len(FILES["test_website.py"].strip().splitlines()) < 30
