"""The Python code in README.md works."""

from __future__ import annotations

from typing import Any

from tests.support import pages

README = (pages.ROOT / "README.md").read_text()


def test_readme_conversions_work() -> None:
    names: dict[str, Any] = {}
    (block,) = (block for block in pages.blocks(README, "python") if "Conversions(" in block)
    exec(compile(block, "README.md", "exec"), names)
    old = {"apiVersion": "example.com/v1", "kind": "CronTab", "spec": {"cronSpec": "* * * * *", "host": "a"}}
    new = names["crontabs"].convert(old, "v2")
    assert new["spec"] == {"schedule": "* * * * *", "hosts": ["a"]}
    assert names["crontabs"].convert(new, "v1")["spec"] == old["spec"]
