"""Requests that the server makes itself. They have no user, so they skip authorization and admission."""

from __future__ import annotations

from polykind.http.messages import Request
from polykind.resources.resource import Resource
from polykind.verbs.context import Backend, RequestContext


def server_context(
    backend: Backend,
    resource: Resource,
    method: str,
    name: str,
    *,
    namespace: str | None = None,
    subresource: str = "",
    agent: str = "kube-apiserver",
) -> RequestContext:
    """Return the context of a request at the storage version. `agent` is the name of the field manager."""
    request = Request(method, "", "", {b"user-agent": agent.encode()}, b"")
    return RequestContext(backend, request, resource.storage_version(), namespace, name, subresource)
