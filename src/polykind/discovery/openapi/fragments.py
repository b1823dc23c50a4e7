"""The parts of OpenAPI documents that describe one version of one CRD.

A document of thousands of CRDs is joined from such parts, so that a change of one CRD encodes one part again. They are
kept compressed, at a tenth of their size: OpenAPI repeats itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from polykind.discovery.resource_entries import CrdEntries


class Fragment(NamedTuple):
    """Encoded paths and schemas, each with its name."""

    paths: list[tuple[str, bytes]]
    schemas: list[tuple[str, bytes]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Fragment).decode


def cached_fragment(member: CrdEntries, key: str, build: Callable[[], Fragment]) -> Fragment:
    """Return a part of a document. Build it if it is not kept with the CRD's entries."""
    packed = member.fragments.get(key)
    if packed is not None:
        return _decode(zlib.decompress(packed))
    fragment = build()
    member.fragments[key] = zlib.compress(_encode(fragment), 1)
    return fragment
