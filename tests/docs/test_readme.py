"""The README's tour runs command by command and prints what the README shows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import ServerProcess, serving

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
KUBECONFIG = "export KUBECONFIG=.polykind/admin.kubeconfig"


def tour() -> list[tuple[str, str]]:
    """Return each command of the console blocks with the output shown below it."""
    steps: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            steps.append((command, shown))
    return steps


def pattern(shown: str) -> re.Pattern[str]:
    """Return the pattern for an output. Ages and column widths vary, and `...` stands for any lines."""
    lines = []
    for line in shown.splitlines():
        if line == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        columns = [re.escape(c) if not re.fullmatch(r"\d+s", c) else r"\d+m?\d*s?" for c in re.split(r" {2,}", line)]
        lines.append(r"\s+".join(columns) + r"\s*\n")
    return re.compile("".join(lines))


def test_tour_starts_with_the_kubeconfig_of_make_run() -> None:
    assert tour()[0] == (KUBECONFIG, "")
    assert "polykind serve --data-dir .polykind\n" in (ROOT / "Makefile").read_text()
    assert ServerProcess(Path(".polykind")).kubeconfig == Path(KUBECONFIG.partition("=")[2])


@pytest.mark.timeout(180)
def test_tour_prints_the_documented_output(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(server.kubeconfig)}
        for command, shown in tour()[1:]:
            done = subprocess.run(
                ["bash", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
            )
            printed = done.stdout + done.stderr
            printed += "" if printed.endswith("\n") or not printed else "\n"
            assert pattern(shown).fullmatch(printed), f"$ {command}\n{printed}"


def test_make_targets_named_in_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    pages = [ROOT / "README.md", ROOT / "benches" / "README.md", *ROOT.glob("docs/**/*.md")]
    named = {name for page in pages for name in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.M)}
    assert {"run", "test"} <= named <= targets


def test_links_in_docs_lead_to_existing_files() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_decisions_have_unique_numbers() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    titles = [int(re.match(r"# (\d+)\. ", page.read_text())[1]) for page in pages]  # type: ignore[index]
    assert titles == [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))


def test_architecture_describes_every_package() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Packages")[2]
    source = ROOT / "src" / "polykind"
    packages = {page.parent for pattern in ("*", "toolkit/*") for page in source.glob(f"{pattern}/__init__.py")}
    described = set(re.findall(r"\]\(src/polykind/([a-z_/]+)\)", table.partition("\n## ")[0]))
    assert described == {str(package.relative_to(source)) for package in packages}


def test_readme_conversions_work() -> None:
    names: dict[str, Any] = {}
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", README, re.S) if "Conversions(" in b)
    exec(compile(block, "README.md", "exec"), names)
    old = {"apiVersion": "example.com/v1", "kind": "CronTab", "spec": {"cronSpec": "* * * * *", "host": "a"}}
    new = names["crontabs"].convert(old, "v2")
    assert new["spec"] == {"schedule": "* * * * *", "hosts": ["a"]}
    assert names["crontabs"].convert(new, "v1")["spec"] == old["spec"]
