"""Decoding of built-in objects that kube-apiserver has stored as protobuf.

kube-apiserver stores custom resources and CRDs as JSON. It also reads JSON wherever it would write protobuf.
"""

from __future__ import annotations

import orjson

from polykind.apis import machinery
from polykind.apis.groups import find_decodable_kind
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.codec.protobuf_envelope import MAGIC, decode_envelope
from polykind.errors import APIError

__all__ = ["MAGIC", "decode_stored"]


def decode_stored(value: bytes) -> bytes:
    """Convert a stored protobuf object of a known kind to JSON. Return any other value unchanged."""
    try:
        api_version, kind, message = decode_envelope(value)
        struct = find_decodable_kind(api_version, kind)
        if struct is None:
            return value
        fields = {"apiVersion": api_version, "kind": kind, **decode_message(message, struct)}
        decoded, _ = machinery.decode(fields, struct, report=False)
        return orjson.dumps(decoded, option=orjson.OPT_SORT_KEYS)
    except (APIError, ValueError, TypeError):
        return value
