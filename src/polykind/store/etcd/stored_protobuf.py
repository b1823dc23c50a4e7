"""Decoding of built-in objects that kube-apiserver has stored as protobuf.

kube-apiserver stores custom resources and CRDs as JSON. It also reads JSON wherever it would write protobuf.
"""

from __future__ import annotations

import orjson

from polykind.apis import machinery
from polykind.apis.admissionregistration.types import (
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from polykind.apis.core.types import NAMESPACE
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.rbac.types import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from polykind.apis.storagemigration.types import STORAGE_VERSION_MIGRATION
from polykind.codec.protobuf_envelope import MAGIC, decode_envelope
from polykind.errors import APIError

__all__ = ["MAGIC", "decode_stored"]


_STRUCTS = {
    ("v1", NAMESPACE.kind): NAMESPACE,
    ("storagemigration.k8s.io/v1beta1", STORAGE_VERSION_MIGRATION.kind): STORAGE_VERSION_MIGRATION,
    **{
        ("admissionregistration.k8s.io/v1", struct.kind): struct
        for struct in (
            MUTATING_WEBHOOK_CONFIGURATION,
            VALIDATING_WEBHOOK_CONFIGURATION,
            VALIDATING_ADMISSION_POLICY,
            VALIDATING_ADMISSION_POLICY_BINDING,
        )
    },
    **{
        ("rbac.authorization.k8s.io/v1", struct.kind): struct
        for struct in (ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)
    },
    # kube-apiserver stores these at a version that is no longer served. Their messages are the same.
    **{
        (f"admissionregistration.k8s.io/{version}", struct.kind): struct
        for struct in (MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING)
        for version in ("v1", "v1beta1")
    },
}


def decode_stored(value: bytes) -> bytes:
    """Convert a stored protobuf object of a known kind to JSON. Return any other value unchanged."""
    try:
        api_version, kind, message = decode_envelope(value)
        struct = _STRUCTS.get((api_version, kind))
        if struct is None:
            return value
        fields = {"apiVersion": api_version, "kind": kind, **decode_message(message, struct)}
        decoded, _ = machinery.decode(fields, struct, report=False)
        return orjson.dumps(decoded, option=orjson.OPT_SORT_KEYS)
    except (APIError, ValueError, TypeError):
        return value
