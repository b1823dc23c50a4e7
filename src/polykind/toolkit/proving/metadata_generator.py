"""Generated metadata: fields that clients write, and fields that the server adds."""

from __future__ import annotations

from polykind import names
from polykind.contract import JsonObject
from polykind.schema.node import SchemaNode
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.proving import scalar_generators
from polykind.toolkit.proving.choices import Choices, chance, pick

_ATTEMPTS = 12
_TIME = "2026-01-02T03:04:05Z"
_LABELS = ("app", "app.kubernetes.io/name", "tier", "example.com/team")
_ANNOTATIONS = ("note", "example.com/owner", "kubectl.kubernetes.io/last-applied-configuration")


def generate_head(choices: Choices, version: CRDVersion, limits: JsonObject) -> JsonObject:
    """Generate apiVersion, kind and metadata. `limits` are the schema's restrictions on metadata fields."""
    kind = version.crd.kind.partition(".")[0]
    metadata: JsonObject = {"name": _generate_name(choices, limits.get("name") or {})}
    if version.crd.namespaced:
        metadata["namespace"] = pick(choices, ("default", "team-a"))
    if chance(choices, 30):
        metadata["labels"] = {
            pick(choices, _LABELS): scalar_generators.generate_name(choices) for _ in range(1 + choices.up_to(1))
        }
    if chance(choices, 30):
        metadata["annotations"] = {
            pick(choices, _ANNOTATIONS): scalar_generators.plain_string(choices) for _ in range(1 + choices.up_to(1))
        }
    if chance(choices, 40):
        _add_server_metadata(choices, version, metadata)
    return {"apiVersion": version.api_version, "kind": kind, "metadata": metadata}


def _add_server_metadata(choices: Choices, version: CRDVersion, metadata: JsonObject) -> None:
    """Add the metadata that an object has when a client reads it from a server, such as uid and resourceVersion."""
    low = choices.up_to(0xFFFF)
    metadata |= {
        "uid": f"0000{low:04x}-1111-4222-8333-444455556666",
        "resourceVersion": str(1 + choices.up_to(9999)),
        "generation": 1 + choices.up_to(5),
        "creationTimestamp": _TIME,
    }
    if chance(choices, 30):
        metadata["finalizers"] = ["example.com/cleanup"]
    if chance(choices, 30):
        owner = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": scalar_generators.generate_name(choices),
            "uid": metadata["uid"],
        }
        metadata["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    if chance(choices, 40):
        entry = {"manager": "kubectl", "operation": pick(choices, ("Update", "Apply")), "fieldsType": "FieldsV1"}
        fields: JsonObject = {"f:spec": {".": {}}}
        metadata["managedFields"] = [{**entry, "apiVersion": version.api_version, "time": _TIME, "fieldsV1": fields}]


def make_embedded_resource(choices: Choices, out: JsonObject) -> None:
    """Add apiVersion, kind and metadata to an embedded resource."""
    api_version, kind = pick(choices, (("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("example.com/v1", "Thing")))
    out |= {"apiVersion": api_version, "kind": kind, "metadata": {"name": scalar_generators.generate_name(choices)}}


def _generate_name(choices: Choices, limits: JsonObject) -> str:
    """Generate a name. Try to match the pattern of the schema, and respect its maximum length."""
    if not limits:
        return scalar_generators.generate_name(choices)
    node = SchemaNode(limits)
    for _ in range(_ATTEMPTS if node.pattern else 0):
        found = scalar_generators.generate_string(choices, node)
        if found and not names.subdomain_name(found, False):
            return found
    return scalar_generators.generate_name(choices)[: node.max_length]
