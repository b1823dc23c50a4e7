"""docs/tutorials/operator.md: its files form a project that passes its tests."""

from __future__ import annotations

import pytest

from tests.support import pages

pytest_plugins = "pytester"

FILES = pages.files((pages.ROOT / "docs" / "tutorials" / "operator.md").read_text())


def test_files_of_the_tutorial_pass_their_tests(pytester: pytest.Pytester) -> None:
    for name, text in FILES.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_tests_of_the_tutorial_are_short() -> None:
    assert len(FILES["test_website.py"].strip().splitlines()) < 30
