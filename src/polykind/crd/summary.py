"""CRD summaries: CRDs without schemas. The schemas are loaded from the store when needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from polykind.contract import JsonObject

Load = Callable[[], JsonObject]


class CRDSummary(dict[str, Any]):
    """A v1 CRD whose version entries have no schema. `load` returns the full CRD.

    This saves memory: schemas make up nearly all of a CRD's size, and most CRDs are not used at a given time.
    """

    __slots__ = ("load", "spec_digest")

    def __init__(self, summary: JsonObject, digest: bytes, load: Load) -> None:
        super().__init__(summary)
        self.spec_digest = digest
        """A digest of the encoded spec. Two CRDs with equal digests have equal specs."""
        self.load = load


def load_full(crd: JsonObject) -> JsonObject:
    """Return a CRD with its schemas. Load the full CRD if `crd` is a summary."""
    return crd.load() if isinstance(crd, CRDSummary) else crd


def summarize(crd: JsonObject, encoded_spec: bytes, load: Load) -> CRDSummary:
    """Return the summary of a decoded CRD."""
    versions = crd["spec"]["versions"]
    if versions:
        versions = [{key: item for key, item in version.items() if key != "schema"} for version in versions]
    spec = {**crd["spec"], "versions": versions}
    return CRDSummary({**crd, "spec": spec}, spec_digest(encoded_spec), load)


def spec_digest(encoded_spec: bytes) -> bytes:
    """Return the digest of an encoded spec."""
    return hashlib.blake2b(encoded_spec, digest_size=16).digest()


class CRDParts(msgspec.Struct):
    """The top-level fields of a CRD's JSON. The spec is not decoded."""

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
"""Splits the JSON of a CRD into its top-level fields. Raises msgspec.MsgspecError if a field has a wrong type."""
_spec = msgspec.json.Decoder(_Spec).decode


def decode_without_schemas(parts: CRDParts) -> JsonObject:
    """Decode a v1 CRD without its schemas, which the decoder skips.

    Raise msgspec.MsgspecError if the spec has an unexpected type. The caller then has to decode the full CRD.
    """
    spec = msgspec.to_builtins(_spec(parts.spec))
    crd: JsonObject = {"apiVersion": parts.apiVersion, "kind": parts.kind, "metadata": parts.metadata, "spec": spec}
    if parts.status is not None:
        crd["status"] = parts.status
    return crd
