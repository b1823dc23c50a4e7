"""The Python code in README.md works, and the README fits on a screen or two."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest

from tests.support import pages

pytest_plugins = "pytester"

README = (pages.ROOT / "README.md").read_text()


def test_readme_conversions_work() -> None:
    names: dict[str, Any] = {}
    (block,) = (block for block in pages.blocks(README, "python") if "Conversions(" in block)
    exec(compile(block, "README.md", "exec"), names)
    old = {"apiVersion": "example.com/v1", "kind": "CronTab", "spec": {"cronSpec": "* * * * *", "host": "a"}}
    new = names["crontabs"].convert(old, "v2")
    assert new["spec"] == {"schedule": "* * * * *", "hosts": ["a"]}
    assert names["crontabs"].convert(new, "v1")["spec"] == old["spec"]


def test_readme_test_passes(pytester: pytest.Pytester) -> None:
    (block,) = (block for block in pages.blocks(README, "python") if "def test_" in block)
    (pytester.path / "crds").mkdir()
    shutil.copy(pages.ROOT / "examples" / "crontab" / "crd.yaml", pytester.path / "crds")
    pytester.makepyfile(test_readme_block=block)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_readme_is_short() -> None:
    assert len(README.splitlines()) < 110


def test_readme_pictures_exist() -> None:
    pictures = re.findall(r'<img src="([^"]+)" alt="[^"]+">', README)
    assert len(pictures) == README.count("<img ") > 0
    assert [name for name in pictures if not (pages.ROOT / name).exists()] == []
