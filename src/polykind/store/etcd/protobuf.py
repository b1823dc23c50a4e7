"""Values that Kubernetes keeps as Protocol Buffers, read as JSON: of the types served here, only namespaces are.

Custom resources and their definitions it keeps as JSON; and it reads JSON wherever it would write the other.
"""

from __future__ import annotations

import orjson

from polykind import typed
from polykind.errors import APIError
from polykind.typed.core import NAMESPACE
from polykind.typed.messagereader import decode_message
from polykind.typed.protobuf import MAGIC, open_envelope

__all__ = ["MAGIC", "as_json"]


def as_json(value: bytes) -> bytes:
    """The value as JSON if it is a namespace in Protocol Buffers, else as it is."""
    try:
        api_version, kind, message = open_envelope(value)
        if (api_version, kind) != ("v1", "Namespace"):
            return value
        read = {"apiVersion": api_version, "kind": kind, **decode_message(message, NAMESPACE)}
        namespace, _ = typed.decode(read, NAMESPACE, report=False)
        return orjson.dumps(namespace, option=orjson.OPT_SORT_KEYS)
    except (APIError, ValueError, TypeError):
        return value
