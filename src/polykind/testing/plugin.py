"""The pytest plugin. Every pytest run imports this module, so the server is imported only when a fixture needs it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from polykind.testing.apiserver import ApiServer
    from polykind.testing.async_apiserver import AsyncApiServer
    from polykind.testing.server_factory import Factory

_SERVER: pytest.StashKey[ApiServer] = pytest.StashKey()

MARKER = (
    "polykind(crds=[...], converters=[...], **settings): CRDs, converters and settings of this test's server, in "
    "addition to polykind_crds and polykind_converters; settings are flags of `polykind serve`, such as "
    "authorization_mode=('AlwaysAllow',)"
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _skip_assertion_rewriting(pluginmanager)
    group = parser.getgroup("polykind", "Kubernetes API servers for tests")
    group.addoption(
        "--polykind-keep",
        action="store_true",
        help="keep the data of servers whose tests failed, and print how to inspect it with kubectl",
    )
    group.addoption(
        "--polykind-trace",
        action="store_true",
        help="add the requests of each test to its report; -rP shows the reports of tests that passed",
    )
    parser.addini(
        "polykind_crds", "CRDs of every server: files, folders or patterns, relative to rootdir", type="linelist"
    )
    parser.addini("polykind_converters", "converters of the CRDs, each as module:object", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    server = item.stash.get(_SERVER, None)
    if server is not None and report.failed and report.when == "call":
        server.keep_data = item.config.getoption("polykind_keep")
        problems = [*server.unserved_requests, *server.refused_requests]
        report.sections.append(("polykind", "\n".join([*problems, *_hints(item.config, server)])))
    if server is not None and report.when == "call" and item.config.getoption("polykind_trace"):
        report.sections.append(("polykind requests", "\n".join(map(str, server.requests))))
    return report


@pytest.fixture(scope="session")
def polykind_factory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Factory]:
    """Starts servers, for fixtures of any scope: `with polykind_factory.serve(crds=...) as server`."""
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
    """One API server, with its objects, that all tests share. KUBECONFIG points to this server."""
    with ExitStack() as stack:
        server = _start_server(stack, polykind_factory, {})
        yield server


@pytest.fixture
def polykind(request: pytest.FixtureRequest, polykind_factory: Factory) -> Iterator[ApiServer]:
    """An API server for this test only. It starts with only the CRDs. KUBECONFIG points to this server."""
    with ExitStack() as stack:
        server = _start_server(stack, polykind_factory, _marker_options(request.node))
        request.node.stash[_SERVER] = server
        _close_clients_after(request.node, server)
        yield server


@pytest.fixture
def polykind_async(polykind: ApiServer) -> AsyncApiServer:
    """The API server of the fixture `polykind`, with the same methods for async tests."""
    return polykind.aio


def _skip_assertion_rewriting(pluginmanager: pytest.PytestPluginManager) -> None:
    """Stop pytest from rewriting the assert statements of Polykind's modules.

    Pytest rewrites all modules of every package that has a plugin. A server imports hundreds of modules, so the
    rewriting would take longer than everything else before the first test. Pytest has no public option for this. If a
    future pytest lacks the private attribute, only the first test gets slower.
    """
    marked = getattr(pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("polykind")


def _close_clients_after(item: pytest.Item, server: ApiServer) -> None:
    """Let an async test function close the async clients that it opens. They can be closed only in its event loop."""
    function = getattr(item, "obj", None)
    if not inspect.iscoroutinefunction(function):
        return

    @functools.wraps(function)
    async def called(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        instance = server.aio._instance
        kept = set(instance.async_clients)
        try:
            return await function(*args, **kwargs)
        finally:
            await instance.close_clients(kept)

    item.obj = called  # type: ignore[attr-defined]


def _start_server(stack: ExitStack, factory: Factory, wanted: dict[str, Any]) -> ApiServer:
    from polykind.contract import StoreError
    from polykind.server.settings import SettingsError
    from polykind.testing.exceptions import Refused

    try:
        server = stack.enter_context(factory.serve(**wanted))
    except (Refused, SettingsError, StoreError, OSError) as error:
        pytest.fail(f"polykind: cannot start the server for this test: {error}", pytrace=False)
    stack.enter_context(server.environ())
    return server


def _marker_options(item: pytest.Item) -> dict[str, Any]:
    """Combine the `polykind` markers of a test, its class and its module.

    The crds and converters of all markers are used. If several markers have the same setting, the one nearest to the
    test wins.
    """
    wanted: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("polykind"))):
        if mark.args:
            pytest.fail(
                f"polykind: the marker takes keyword arguments only, not {mark.args[0]!r}: {MARKER}", pytrace=False
            )
        for name, value in mark.kwargs.items():
            if name in ("crds", "converters"):
                value = [*wanted.get(name, ()), *(value if isinstance(value, list | tuple) else (value,))]
            wanted[name] = value
    return wanted


def _hints(config: pytest.Config, server: ApiServer) -> list[str]:
    """Return the options and commands that help to find the cause of a failure."""
    hints = []
    if not config.getoption("polykind_trace"):
        hints.append("run this test with --polykind-trace to see all requests to the server")
    if not server.keep_data:
        hints.append("run this test with --polykind-keep to keep the server's data and inspect it with kubectl")
        return hints
    return [
        *hints,
        "the server's data was kept; to inspect it:",
        f"  polykind serve --data-dir {server.data_dir} &",
        f"  kubectl --kubeconfig {server.kubeconfig} get crds",
    ]
