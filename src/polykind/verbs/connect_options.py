"""The options of exec, attach, portforward and proxy requests: decoded from the query and the path, then admitted."""

from __future__ import annotations

from urllib.parse import unquote

from polykind import errors
from polykind.apis import machinery
from polykind.apis.core.connect_option_types import CONNECT_OPTIONS
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.query import bool_value, first_value
from polykind.operations.operation import Operation
from polykind.verbs.admit import admit_connect

_FLAGS = ("stdin", "stdout", "stderr", "tty")
_LONGEST_PORT = 20


async def admitted_options(op: Operation) -> JsonObject:
    """Return the options of a request that connects, as mutating admission has changed them.

    Raise APIError if the request is not valid or if admission denies it.
    """
    if "dryRun" in op.query:
        raise errors.BadRequestError("dryRun is not supported")
    struct = CONNECT_OPTIONS[op.resource.plural, op.subresource]
    type_meta = {"kind": struct.kind, "apiVersion": struct.version}

    def decode(options: JsonObject) -> tuple[JsonObject, list[str]]:
        if (kind := options.get("kind", struct.kind)) != struct.kind:
            raise errors.UnknownReasonError(f"converting (v1.{kind}) to (core.{struct.kind}): unknown conversion")
        fields = {name: value for name, value in options.items() if name not in type_meta}
        decoded, unknown = machinery.decode(fields, struct, report=True)
        return type_meta | decoded, unknown

    return await admit_connect(op, _requested(op), decode)


def _requested(op: Operation) -> JsonObject:
    query = op.query
    if op.subresource == "proxy":
        return {"path": _proxied_path(op)}
    if op.subresource == "portforward":
        return {"ports": [_port(text) for value in query.get("ports") or () for text in value.split(",")]}
    return {
        **{name: bool_value(query, name) for name in _FLAGS},
        "container": first_value(query, "container"),
        "command": query.get("command"),
    }


def _proxied_path(op: Operation) -> str:
    """Return the part of the path after `proxy`, with the slash at its end if there is one."""
    path = unquote(op.transport.path)
    # /api/v1/nodes/<name>/proxy, or /api/v1/namespaces/<namespace>/pods/<name>/proxy.
    own_segments = 7 if op.resource.namespaced else 5
    rest = "/".join(path.strip("/").split("/")[own_segments:])
    if rest and not rest.startswith("/"):
        rest = "/" + rest
    return rest + "/" if path.endswith("/") and not rest.endswith("/") else rest


def _port(text: str) -> int:
    """Return a port of a portforward request. Raise BadRequestError if the text is not a 16-bit number."""
    valid = text.isascii() and text.isdigit()
    if valid and len(text.lstrip("0")) < _LONGEST_PORT and int(text) < 1 << 16:
        return int(text)
    reason = f"strconv.ParseUint: parsing {go_quote(text)}: {'value out of range' if valid else 'invalid syntax'}"
    raise errors.BadRequestError(f"cannot convert to []int32: {reason}")
