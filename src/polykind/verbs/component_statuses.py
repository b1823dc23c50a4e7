"""get and list of componentstatuses: the health of the store and of Kubernetes' other components on this host."""

from __future__ import annotations

import asyncio

from polykind import errors
from polykind.cache.cached_object import Representation
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.http.messages import Response, Stream
from polykind.operations.options import ListOptions
from polykind.verbs import respond
from polykind.verbs.context import RequestContext
from polykind.verbs.selection import RequestSelection

_PORTS = {"scheduler": 10259, "controller-manager": 10257}
_STORE = "etcd-0"
_CONNECT_SECONDS = 1.0


async def get_component_status(ctx: RequestContext) -> Response:
    response_format = respond.negotiate(ctx)
    if ctx.name not in (*_PORTS, _STORE):
        raise errors.NotFoundError("componentstatus", "", ctx.name)
    data = json_codec.encode(await _status(ctx, ctx.name))
    return await respond.object_response(ctx, response_format, 200, data)


async def list_component_statuses(ctx: RequestContext) -> Response | Stream:
    response_format = respond.negotiate(ctx)
    selection = RequestSelection(ctx, ListOptions.from_query(ctx.query))
    names = [name for name in (*_PORTS, _STORE) if selection.name in (None, name)]
    found = await asyncio.gather(*(_status(ctx, name) for name in names))
    shown = [Representation(json_codec.encode(status), {}) for status in found]
    items = [representation.data for representation in shown if selection.matches(representation)]
    return await respond.list_response(ctx, response_format, items, {})


async def _status(ctx: RequestContext, name: str) -> JsonObject:
    problem = ctx.backend.store.problem if name == _STORE else await _connection_problem(_PORTS[name])
    condition = {"type": "Healthy", "status": "False" if problem else "True", "message": problem or "ok"}
    return {
        "apiVersion": "v1",
        "conditions": [condition],
        "kind": "ComponentStatus",
        "metadata": {"name": name},
    }


async def _connection_problem(port: int) -> str:
    """Return Go's error text if no component accepts connections on this local port, or "" if one does."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        address = f"127.0.0.1:{port}"
        return f'Get "https://{address}/healthz": dial tcp {address}: connect: connection refused'
    writer.close()
    return ""
