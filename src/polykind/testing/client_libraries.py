"""Clients of popular Python libraries for the server of a test."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from polykind.testing.exceptions import Refused

if TYPE_CHECKING:
    import kr8s
    import kubernetes.client
    import lightkube


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


async def open_kubernetes_asyncio(kubeconfig: Path) -> Any:
    """Return a new ApiClient of kubernetes_asyncio, which the caller closes. Raise Refused if it is not installed."""
    library = _import_library("kubernetes_asyncio.config", "kubernetes_asyncio")
    return await library.new_client_from_config(config_file=os.fspath(kubeconfig))


def forget_kr8s_clients() -> None:
    """Clear kr8s's cache of clients, so that kr8s does not return a client for the server of an earlier test."""
    api = getattr(sys.modules.get("kr8s._api"), "Api", None)
    instances = getattr(api, "_instances", None)
    if isinstance(instances, dict):
        instances.clear()


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
