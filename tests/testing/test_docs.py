"""docs/reference/pytest.md: its examples run, and it documents all public names."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from polykind.testing import ApiServer, AsyncApiServer, AsyncEventWatch, Converter, Simulation
from polykind.testing import plugin as plugin_module

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "pytest.md").read_text()
EXAMPLE = ROOT / "examples" / "pytest-operator"
QUIET = ("-p", "no:cacheprovider", "-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")


def test_documentation_examples_run(pytester: pytest.Pytester) -> None:
    blocks = re.findall(r"^```(?:toml|python)\n# (\S+)\n(.*?)^```", PAGE, re.M | re.S)
    assert len(blocks) == PAGE.count("```python") + PAGE.count("```toml")
    for name, text in blocks:
        (pytester.path / name).write_text(text)
    shutil.copytree(EXAMPLE / "crds", pytester.path / "crds")
    shutil.copy(EXAMPLE / "conversions.py", pytester.path)
    pytester.runpytest_subprocess(*QUIET).assert_outcomes(passed=PAGE.count("def test_"))


def test_example_project_passes_its_tests(pytester: pytest.Pytester) -> None:
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True)
    tests = (EXAMPLE / "tests" / "test_operator.py").read_text().count("def test_")
    pytester.runpytest_subprocess(*QUIET[:2], *QUIET[4:]).assert_outcomes(passed=tests)


@pytest.mark.parametrize("kind", [ApiServer, AsyncApiServer, AsyncEventWatch, Converter, Simulation])
def test_public_names_are_documented(kind: type) -> None:
    inner = {"keep_data", "start", "add_conversion_webhook", "close"}
    public = {name for name in dir(kind) if not name.startswith("_")} - inner
    assert {name for name in public if not re.search(rf"`{name}[(`]", PAGE)} == set()


def test_fixtures_and_options_are_documented() -> None:
    source = Path(plugin_module.__file__).read_text()
    fixtures = re.findall(r"@pytest\.fixture.*\ndef (\w+)\(", source)
    options = re.findall(r'\.add(?:option|ini)\(\s*"([^"]+)"', source)
    assert (len(fixtures), len(options)) == (4, 4)
    assert [name for name in (*fixtures, *options) if f"\n| `{name}` |" not in PAGE] == []
