"""The pytest plugin. It is imported by every run of pytest: whatever it needs is imported by the fixtures."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from polykind.testing.apiserver import ApiServer
    from polykind.testing.server_factory import Factory

_SERVER: pytest.StashKey[ApiServer] = pytest.StashKey()

MARKER = (
    "polykind(crds=[...], converters=[...], **settings): what the server of this test begins with and how it is set, "
    "on top of polykind_crds and polykind_converters; settings are flags of `polykind serve`, such as "
    "authorization_mode=('RBAC',)"
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _skip_assertion_rewriting(pluginmanager)
    group = parser.getgroup("polykind", "Kubernetes API servers for tests")
    group.addoption(
        "--polykind-keep",
        action="store_true",
        help="keep the data of servers whose tests failed, and say how to look at it with kubectl",
    )
    parser.addini(
        "polykind_crds", "definitions that every server has: files, folders or patterns, from rootdir", type="linelist"
    )
    parser.addini("polykind_converters", "their conversions, each as module:object", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    server = item.stash.get(_SERVER, None)
    if server is not None and report.failed and report.when == "call":
        server.keep_data = item.config.getoption("polykind_keep")
        report.sections.append(("polykind", _inspection_hint(server)))
    return report


@pytest.fixture(scope="session")
def polykind_factory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Factory]:
    """Makes servers, for fixtures of any scope: `with polykind_factory.serve(crds=...) as server`."""
    from polykind.testing.server_factory import Factory

    config = request.config
    factory = Factory(
        tmp_path_factory.mktemp("polykind"),
        config.rootpath,
        crds=config.getini("polykind_crds"),
        converters=config.getini("polykind_converters"),
    )
    yield factory
    factory.close()


@pytest.fixture(scope="session")
def polykind_server(polykind_factory: Factory) -> Iterator[ApiServer]:
    """One API server that all tests share, and see each other's objects in. KUBECONFIG leads to it."""
    with ExitStack() as stack:
        server = _start_server(stack, polykind_factory, {})
        yield server


@pytest.fixture
def polykind(request: pytest.FixtureRequest, polykind_factory: Factory) -> Iterator[ApiServer]:
    """An API server of this test's own, with nothing in it but definitions. KUBECONFIG leads to it."""
    with ExitStack() as stack:
        server = _start_server(stack, polykind_factory, _marker_options(request.node))
        request.node.stash[_SERVER] = server
        yield server


def _skip_assertion_rewriting(pluginmanager: pytest.PytestPluginManager) -> None:
    """Have pytest leave Polykind's modules as they are.

    It rewrites the asserts of every package that has a plugin: of a server's three hundred modules, that takes longer
    than all else before the first test. There is no public way to say so; without it, the first test is later.
    """
    marked = getattr(pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("polykind")


def _start_server(stack: ExitStack, factory: Factory, wanted: dict[str, Any]) -> ApiServer:
    from polykind.contract import StoreError
    from polykind.server.settings import SettingsError
    from polykind.testing.exceptions import Refused

    try:
        server = stack.enter_context(factory.serve(**wanted))
    except (Refused, SettingsError, StoreError, OSError) as error:
        pytest.fail(f"polykind: the server for this test could not be made: {error}", pytrace=False)
    stack.enter_context(server.environ())
    return server


def _marker_options(item: pytest.Item) -> dict[str, Any]:
    """What the markers of a test ask for: crds and converters of all of them, settings of the nearest."""
    wanted: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("polykind"))):
        if mark.args:
            pytest.fail(f"polykind: {mark.args[0]!r} needs a name in the marker: {MARKER}", pytrace=False)
        for name, value in mark.kwargs.items():
            if name in ("crds", "converters"):
                value = [*wanted.get(name, ()), *(value if isinstance(value, list | tuple) else (value,))]
            wanted[name] = value
    return wanted


def _inspection_hint(server: ApiServer) -> str:
    if not server.keep_data:
        return "run this test with --polykind-keep to keep what its server had stored, and look at it with kubectl"
    return (
        "what the server had stored was kept; to look at it:\n"
        f"  polykind serve --data-dir {server.data_dir} &\n"
        f"  kubectl --kubeconfig {server.kubeconfig} get crds"
    )
