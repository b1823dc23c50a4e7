"""A definition without its schemas: what names it, routes to it and discovers it. The schemas are read when needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from polykind.contract import JsonObject

Read = Callable[[], JsonObject]


class CRDSummary(dict[str, Any]):
    """A v1 definition whose versions lack their schema; `read` gives the whole of it.

    Schemas are nearly all of a definition, and of a thousand definitions few are in use at a time.
    """

    __slots__ = ("load", "spec_digest")

    def __init__(self, outline: JsonObject, mark: bytes, read: Read) -> None:
        super().__init__(outline)
        self.spec_digest = mark
        """Equal marks mean equal specs; specs that are written differently differ in it."""
        self.load = read


def load_full(crd: JsonObject) -> JsonObject:
    """A definition with its schemas, if it is only an outline."""
    return crd.load() if isinstance(crd, CRDSummary) else crd


def summarize(crd: JsonObject, encoded_spec: bytes, read: Read) -> CRDSummary:
    """The outline of a definition that has been decoded already."""
    versions = crd["spec"]["versions"]
    if versions:
        versions = [{key: item for key, item in version.items() if key != "schema"} for version in versions]
    spec = {**crd["spec"], "versions": versions}
    return CRDSummary({**crd, "spec": spec}, spec_digest(encoded_spec), read)


def spec_digest(encoded_spec: bytes) -> bytes:
    return hashlib.blake2b(encoded_spec, digest_size=16).digest()


class CRDParts(msgspec.Struct):
    """A definition's JSON, cut in pieces."""

    metadata: dict[str, Any]
    spec: msgspec.Raw
    apiVersion: str  # noqa: N815
    kind: str
    status: dict[str, Any] | None = None


class _Version(msgspec.Struct, omit_defaults=True):
    name: str
    served: bool
    storage: bool
    deprecated: Any = None
    deprecationWarning: Any = None  # noqa: N815
    subresources: Any = None
    additionalPrinterColumns: Any = None  # noqa: N815
    selectableFields: Any = None  # noqa: N815


class _Spec(msgspec.Struct, omit_defaults=True):
    group: str
    names: dict[str, Any]
    scope: str
    versions: list[_Version]
    conversion: Any = None
    preserveUnknownFields: Any = None  # noqa: N815


split_crd = msgspec.json.Decoder(CRDParts).decode
"""Raises msgspec.MsgspecError for what is not shaped like a definition."""
_spec = msgspec.json.Decoder(_Spec).decode


def decode_without_schemas(cut: CRDParts) -> JsonObject:
    """A v1 definition as it was written but for its schemas, which are skipped, not decoded.

    Raises msgspec.MsgspecError where that cannot be done; then the whole of it must be decoded.
    """
    spec = msgspec.to_builtins(_spec(cut.spec))
    crd: JsonObject = {"apiVersion": cut.apiVersion, "kind": cut.kind, "metadata": cut.metadata, "spec": spec}
    if cut.status is not None:
        crd["status"] = cut.status
    return crd
