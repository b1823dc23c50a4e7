"""Clients of popular Python libraries for the server of a test, and the defaults that those libraries keep."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from polykind.testing.exceptions import Refused

if TYPE_CHECKING:
    import kr8s
    import kubernetes.client
    import lightkube
    import pytest

_IN_CLUSTER = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


class AsyncLibrary(NamedTuple):
    """A library whose clients run on the event loop of the test."""

    open: Callable[[Path], Awaitable[Any]]
    """Returns a new client. Raises Refused if the library is not installed."""
    close: Callable[[Any], Awaitable[None]]


def open_kr8s(kubeconfig: Path, stack: ExitStack) -> kr8s.Api:
    """Return a new kr8s client. Raise Refused if kr8s is not installed."""
    library = _import_library("kr8s", "kr8s")
    forget_kr8s_clients()
    api = library.api(kubeconfig=os.fspath(kubeconfig))
    stack.callback(forget_kr8s_clients)
    stack.callback(_close_kr8s, api)
    return api  # type: ignore[no-any-return]


def open_lightkube(kubeconfig: Path, stack: ExitStack) -> lightkube.Client:
    """Return a new lightkube client. Raise Refused if lightkube is not installed."""
    library = _import_library("lightkube", "lightkube")
    client = library.Client(library.KubeConfig.from_file(kubeconfig), trust_env=False)
    if hasattr(client, "close"):
        stack.callback(client.close)
    return client  # type: ignore[no-any-return]


def open_kubernetes(kubeconfig: Path, stack: ExitStack) -> kubernetes.client.ApiClient:
    """Return a new ApiClient of the official client. Raise Refused if it is not installed."""
    library = _import_library("kubernetes.config", "kubernetes")
    client = library.new_client_from_config(config_file=os.fspath(kubeconfig))
    stack.callback(client.close)
    return client  # type: ignore[no-any-return]


async def _open_async_kr8s(kubeconfig: Path) -> Any:
    library = _import_library("kr8s.asyncio", "kr8s")
    forget_kr8s_clients()
    return await library.api(kubeconfig=os.fspath(kubeconfig))


async def _close_async_kr8s(api: Any) -> None:
    forget_kr8s_clients()
    session = getattr(api, "_session", None)
    if session is not None:
        await session.aclose()


async def _open_async_lightkube(kubeconfig: Path) -> Any:
    library = _import_library("lightkube", "lightkube")
    return library.AsyncClient(library.KubeConfig.from_file(kubeconfig), trust_env=False)


async def _open_kubernetes_asyncio(kubeconfig: Path) -> Any:
    library = _import_library("kubernetes_asyncio.config", "kubernetes_asyncio")
    return await library.new_client_from_config(config_file=os.fspath(kubeconfig))


async def _close_client(client: Any) -> None:
    if hasattr(client, "close"):
        await client.close()


KR8S = AsyncLibrary(_open_async_kr8s, _close_async_kr8s)
LIGHTKUBE = AsyncLibrary(_open_async_lightkube, _close_client)
KUBERNETES_ASYNCIO = AsyncLibrary(_open_kubernetes_asyncio, _close_client)


@contextmanager
def default_kubeconfig(kubeconfig: Path, url: str) -> Iterator[None]:
    """Let new clients of all libraries use a kubeconfig, and forget their clients and defaults before and after.

    `url` is the address of the server in the kubeconfig.
    """
    import pytest

    before = {name for name in _official_modules() if name in sys.modules}
    forget_discovery(url)
    forget_kr8s_clients()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", os.fspath(kubeconfig))
        for name in _IN_CLUSTER:
            patch.delenv(name, raising=False)
        for name in before:
            _set_defaults(sys.modules[name], os.fspath(kubeconfig), patch)
        try:
            yield
        finally:
            forget_kr8s_clients()
            forget_discovery(url)
    for name in _official_modules() - before:
        if name in sys.modules:
            # The library was imported meanwhile, with this server as its default.
            _set_defaults(sys.modules[name], os.environ.get("KUBECONFIG", "~/.kube/config"), None)


def forget_kr8s_clients() -> None:
    """Clear kr8s's cache of clients, so that kr8s does not return a client for the server of an earlier test."""
    api = getattr(sys.modules.get("kr8s._api"), "Api", None)
    instances = getattr(api, "_instances", None)
    if isinstance(instances, dict):
        instances.clear()


def forget_discovery(url: str) -> None:
    """Delete the file in which the dynamic clients of both official libraries cache the resources of a server.

    They identify a server by its address, and a server of a later test may have the same port.
    """
    digest = hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()
    (Path(tempfile.gettempdir()) / f"osrcp-{digest}.json").unlink(missing_ok=True)


def _official_modules() -> set[str]:
    """Return the modules of both official libraries that keep a default kubeconfig or a default configuration."""
    suffixes = ("config", "config.kube_config", "client.configuration")
    return {f"{library}.{suffix}" for library in ("kubernetes", "kubernetes_asyncio") for suffix in suffixes}


def _set_defaults(module: ModuleType, kubeconfig: str, patch: pytest.MonkeyPatch | None) -> None:
    """Replace the values that a module keeps: for good, or until `patch` is undone.

    The libraries read KUBECONFIG only when they are imported. A call of `load_kube_config` stays in effect for all
    later clients without an explicit configuration.
    """
    set_value = setattr if patch is None else patch.setattr
    if hasattr(module, "KUBE_CONFIG_DEFAULT_LOCATION"):
        set_value(module, "KUBE_CONFIG_DEFAULT_LOCATION", kubeconfig)
    if hasattr(getattr(module, "Configuration", None), "_default"):
        set_value(module.Configuration, "_default", None)


def _close_kr8s(api: Any) -> None:
    """Close the connections of a kr8s client in the event loop that opened them. kr8s has no public method for that."""
    session = getattr(api, "_session", None)
    run_sync = getattr(sys.modules.get("kr8s._async_utils"), "as_sync_func", None)
    if session is not None and run_sync is not None:
        run_sync(session.aclose)()


def _import_library(module: str, package: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise Refused(f"the package {package} is not installed: run `pip install {package}`") from None
