"""The plugin in a separate project: by its entry point, in parallel and with warnings as errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess
from tests.testing.crontabs import DEFINITION

pytest_plugins = "pytester"

CONFIGURATION = """
[tool.pytest.ini_options]
addopts = ["--strict-markers", "--strict-config"]
filterwarnings = ["error"]
asyncio_default_fixture_loop_scope = "function"
polykind_crds = ["crds/*.yaml"]
"""

HEAD = """
import asyncio, os, pytest
BEFORE = os.environ.get("KUBECONFIG")
TAB = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine"}, "spec": {}}
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Create a separate project that uses the installed plugin."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (pytester.path / "crds").mkdir()
    (pytester.path / "crds" / "crontabs.yaml").write_text(json.dumps(DEFINITION))
    (pytester.path / "pyproject.toml").write_text(CONFIGURATION)
    return pytester


def run(project: pytest.Pytester, test: str, *args: str) -> pytest.RunResult:
    project.makepyfile(HEAD + test)
    return project.runpytest_subprocess("-p", "no:cacheprovider", *args)


ISOLATED = """
@pytest.mark.parametrize("turn", range(6))
def test_alone(polykind, turn):
    with pytest.raises(Exception, match="not found"):
        polykind.get(TAB)
    polykind.apply(TAB)

def test_environment(polykind):
    assert os.environ["KUBECONFIG"] == str(polykind.kubeconfig)

def test_environment_afterwards():
    assert os.environ.get("KUBECONFIG") == BEFORE

def test_modules_are_imported_as_they_are(polykind):
    import sys
    assert "Assertion" not in type(sys.modules["polykind.server.server"].__spec__.loader).__name__

def test_shared(polykind_server):
    polykind_server.apply(TAB)

@pytest.mark.asyncio
async def test_async(polykind):
    await asyncio.to_thread(polykind.apply, TAB)

@pytest.fixture(scope="module")
def of_the_module(polykind_factory):
    with polykind_factory.serve() as server:
        yield server

def test_other_scopes(of_the_module):
    of_the_module.apply(TAB)

class TestMarked:
    pytestmark = pytest.mark.polykind(authorization_mode="RBAC")
    def test_marked(self, polykind):
        polykind.apply(TAB)
"""


def test_plugin_works_in_a_separate_project(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
import gc, threading
def pytest_unconfigure():
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "computation":  # ends soon after its server
            thread.join(2)
    print("\\nleft:", sorted(t.name for t in threading.enumerate() if t is not threading.main_thread()))
"""
    )
    result = run(project, ISOLATED, "--basetemp=base")
    result.assert_outcomes(passed=13)
    result.stdout.fnmatch_lines(["left: []"])
    assert [file.name for file in (project.path / "base" / "polykind0").iterdir()] == ["pki"]


def test_plugin_works_with_xdist(project: pytest.Pytester) -> None:
    run(project, ISOLATED, "-n", "2").assert_outcomes(passed=13)


def test_plugin_can_be_disabled(project: pytest.Pytester) -> None:
    (project.path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    result = run(project, "def test_it(polykind):\n    pass\n", "-p", "no:polykind")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'polykind' not found*"])


def test_run_without_servers_imports_nothing(project: pytest.Pytester) -> None:
    test = """
def test_it():
    import sys
    assert sorted(name for name in sys.modules if name.startswith("polykind")) == [
        "polykind", "polykind.testing", "polykind.testing.plugin"
    ]
    assert not {"uvloop", "apsw", "aiohttp", "cryptography"} & set(sys.modules)
"""
    run(project, test).assert_outcomes(passed=1)


WRONG = """
@pytest.mark.polykind(crds="broken.yaml")
def test_broken(polykind): ...

@pytest.mark.polykind(crds="nowhere/*.yaml")
def test_definitions(polykind): ...

@pytest.mark.polykind(converters=["nowhere:it"])
def test_converters(polykind): ...

@pytest.mark.polykind(colour="green")
def test_settings(polykind): ...

@pytest.mark.polykind(authorization_mode="Sometimes")
def test_values(polykind): ...

@pytest.mark.polykind("crds")
def test_names(polykind): ...

def test_failing(polykind):
    polykind.apply({**TAB, "kind": "Pod"})
"""


def test_setup_errors_have_no_traceback(project: pytest.Pytester) -> None:
    spec = {**DEFINITION["spec"], "scope": "Everywhere"}
    (project.path / "broken.yaml").write_text(json.dumps({**DEFINITION, "spec": spec}))
    result = run(project, WRONG, "--basetemp=base")
    result.assert_outcomes(errors=6, failed=1)
    prefix = "polykind: cannot start the server for this test: "
    result.stdout.fnmatch_lines(
        [
            f"{prefix}CustomResourceDefinition crontabs.stable.example.com was not applied: "
            '*spec.scope: Unsupported value: "Everywhere"*',
            f"{prefix}nowhere/[*].yaml is not a file or folder (relative to {project.path})",
            f"{prefix}the converter nowhere:it: No module named 'nowhere'*",
            f"{prefix}colour is not a setting of a test server: the settings are crds, converters, *",
            f"{prefix}--authorization-mode Sometimes is not supported; supported modes: AlwaysAllow, AlwaysDeny, RBAC*",
            "polykind: the marker takes keyword arguments only, not 'crds': polykind(crds=*",
            '>*polykind.apply({[*][*]TAB, "kind": "Pod"})',
            "E *Refused: Pod mine was not applied: this server does not serve Pod of stable.example.com/v1*",
            "run this test with --polykind-trace to see all requests to the server",
            "run this test with --polykind-keep to keep the server's data*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    for inner in ("apiserver.py", "object_apply.py", "blocking.py", "loop_thread.py"):
        assert inner not in result.stdout.str()
    assert [file.name for file in (project.path / "base" / "polykind0").iterdir()] == ["pki"]


FAILING = """
def test_it(polykind):
    polykind.apply(TAB)
    assert False
"""


UNSERVED = """
import ssl, urllib.request, urllib.error

def test_it(polykind):
    context = ssl.create_default_context(cafile=polykind.ca)
    request = urllib.request.Request(
        polykind.url + "/apis/a.example.com/v1/gizmos", headers={"Authorization": f"Bearer {polykind.token}"}
    )
    urllib.request.urlopen(request, context=context)
"""


def test_failed_test_names_resources_that_are_not_served(project: pytest.Pytester) -> None:
    result = run(project, UNSERVED)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["not served here: GET /apis/a.example.com/v1/gizmos"])


REFUSED = """
import pytest
from polykind.testing import Refused

def test_fails(polykind):
    for _ in range(2):
        with pytest.raises(Refused):
            polykind.get(TAB)
    assert False

def test_passes(polykind):
    polykind.apply(TAB)
    assert polykind.requests[-1].status == 201
"""


def test_report_names_refused_requests_and_traces_all(project: pytest.Pytester) -> None:
    result = run(project, REFUSED, "--polykind-trace", "-rP")
    result.assert_outcomes(failed=1, passed=1)
    path = "/apis/stable.example.com/v1/namespaces/default/crontabs/mine"
    missing = f'404 GET {path}: crontabs.stable.example.com "mine" not found'
    traced = f"{missing}  [[]polykind-testing]"
    result.stdout.fnmatch_lines([f"refused: {missing} (2 times)", "*polykind requests*", traced, traced])
    assert "--polykind-trace to see" not in result.stdout.str()
    result.stdout.fnmatch_lines([f"201 PATCH {path}[?]fieldManager=polykind-testing&*"])


def test_failed_test_data_can_be_kept(project: pytest.Pytester, tmp_path: Path) -> None:
    result = run(project, FAILING, "--polykind-keep", "--basetemp=base")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the server's data was kept; to inspect it:"])
    found = re.search(
        r"  polykind serve --data-dir (\S+) &\n  kubectl --kubeconfig (\S+) get crds", result.stdout.str()
    )
    assert found is not None
    kept = Path(found[1])
    with ServerProcess(kept) as server:
        assert server.kubeconfig == Path(found[2])
        kubectl = Kubectl(server.kubeconfig, tmp_path)
        assert kubectl("get", "crontabs", "-o", "name").out == "crontab.stable.example.com/mine\n"


def test_plugin_startup_is_fast() -> None:
    """The plugin adds only a few milliseconds to pytest's own imports."""
    code = "import pytest, _pytest.pytester, time; b = time.process_time(); import polykind.testing.plugin as p; "
    code += "print(time.process_time() - b)"
    took = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    assert took < 0.02
