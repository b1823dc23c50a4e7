"""Valid objects of built-in kinds, for the tests of clients."""

from __future__ import annotations

import base64
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from polykind.contract import JsonObject

POD_SPEC: JsonObject = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}

CLUSTER_SCOPED = ("Node", "CertificateSigningRequest")

KINDS = ("Pod", "ConfigMap", "Secret", "Deployment", "Job", "Event", "Lease", *CLUSTER_SCOPED)


def builtin_object(kind: str, namespace: str) -> JsonObject:
    """Return an object of one of `KINDS` with the name `namespace`, in that namespace unless cluster-scoped."""
    api_version, content = _content(kind, namespace)
    metadata = {"name": namespace} if kind in CLUSTER_SCOPED else {"name": namespace, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def _content(kind: str, namespace: str) -> tuple[str, JsonObject]:
    """Return the API version of a kind, and the fields of the object besides its metadata."""
    labels = {"app": "web"}
    web = {"containers": [{"name": "c", "image": "nginx"}]}
    deployment = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": web}}
    regarding = {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": namespace}
    contents: dict[str, tuple[str, JsonObject]] = {
        "Pod": ("v1", {"spec": POD_SPEC}),
        "ConfigMap": ("v1", {"data": {"a": "b"}}),
        "Secret": ("v1", {"type": "Opaque", "data": {"a": "Yg=="}}),
        "Node": ("v1", {"spec": {"podCIDR": "10.1.0.0/24"}}),
        "Event": ("v1", {"involvedObject": regarding, "reason": "Started", "message": "Started", "type": "Normal"}),
        "Deployment": ("apps/v1", {"spec": deployment}),
        "Job": ("batch/v1", {"spec": {"template": {"spec": POD_SPEC}}}),
        "Lease": ("coordination.k8s.io/v1", {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}),
    }
    if kind == "CertificateSigningRequest":
        return "certificates.k8s.io/v1", {"spec": _signing_request()}
    return contents[kind]


def _signing_request() -> dict[str, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "robot")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    encoded = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
    return {"request": encoded, "signerName": "example.com/robots", "usages": ["client auth"]}
