"""get and list of componentstatuses: the health of the store and of Kubernetes' other components on this host."""

from __future__ import annotations

import asyncio

from polykind import errors
from polykind.cache.cached_object import Representation
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import ListOptions
from polykind.operations.responses import Response, Stream
from polykind.verbs import respond
from polykind.verbs.selection import RequestSelection

_PORTS = {"scheduler": 10259, "controller-manager": 10257}
_STORE = "etcd-0"
_CONNECT_SECONDS = 1.0


async def get_component_status(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    if op.name not in (*_PORTS, _STORE):
        raise errors.NotFoundError("componentstatus", "", op.name)
    data = json_codec.encode(await _status(op, op.name))
    return await respond.object_response(op, response_format, 200, data)


async def list_component_statuses(op: Operation) -> Response | Stream:
    response_format = respond.negotiate(op)
    selection = RequestSelection(op, ListOptions.from_query(op.query))
    names = [name for name in (*_PORTS, _STORE) if selection.name in (None, name)]
    found = await asyncio.gather(*(_status(op, name) for name in names))
    shown = [Representation(json_codec.encode(status), {}) for status in found]
    items = [representation.data for representation in shown if selection.matches(representation)]
    return await respond.list_response(op, response_format, items, {})


async def _status(op: Operation, name: str) -> JsonObject:
    problem = op.backend.store.problem if name == _STORE else await _connection_problem(_PORTS[name])
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
