"""Generators of random metadata: names, labels, annotations, and what the server sets."""

from __future__ import annotations

from polykind import names
from polykind.contract import JsonObject
from polykind.schema.node import SchemaNode
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.proving import scalar_generators
from polykind.toolkit.proving.choices import Choices, chance, pick

_NAME_ATTEMPTS = 12
_TIME = "2026-01-02T03:04:05Z"
_LABELS = ("app", "app.kubernetes.io/name", "tier", "example.com/team", "Upper", "a.b_c")
_ANNOTATIONS = ("note", "example.com/owner", "kubectl.kubernetes.io/last-applied-configuration", "Upper", "a.b_c")
_FINALIZERS = (
    ("example.com/cleanup",),
    ("example.com/z", "example.com/a"),
    ("foregroundDeletion", "example.com/cleanup"),
)
_OWN_NAMES = ("owner", "reviewed-by", "cost-center", "Imported-From")
"""Names of labels and annotations whose prefix is the CRD's own group. They belong to users, not to the converter."""
_LABEL_VALUES = ("a", "Web", "1.2.3", "", "true", "a" * 63, "a_b-C")
_ANNOTATION_VALUES = ("a", "", "line\nline", '{"a": 1}', "x" * 300, " a ", "true")
_LONG_NAMES = (
    "a.b.example.com",
    "a" * 64,
    "0",
    "1-a",
    "name-of-more-than-sixty-three-letters-in-one-single-label-of-dns-x.y",
)


def generate_head(choices: Choices, version: CRDVersion, limits: JsonObject) -> JsonObject:
    """Generate apiVersion, kind and metadata of an object. `limits` are the schemas of metadata fields in the CRD."""
    kind = version.crd.kind.partition(".")[0]
    metadata: JsonObject = {"name": _generate_name(choices, limits.get("name") or {})}
    own = tuple(f"{version.crd.group}/{name}" for name in _OWN_NAMES)
    if version.crd.namespaced:
        metadata["namespace"] = pick(choices, ("default", "team-a"))
    if chance(choices, 30):
        metadata["labels"] = {
            pick(choices, own if chance(choices, 30) else _LABELS): _label_value(choices)
            for _ in range(1 + choices.up_to(2))
        }
    if chance(choices, 30):
        metadata["annotations"] = {
            pick(choices, own if chance(choices, 40) else _ANNOTATIONS): _annotation_value(choices)
            for _ in range(1 + choices.up_to(2))
        }
    if chance(choices, 40):
        _add_server_metadata(choices, version, metadata)
    return {"apiVersion": version.api_version, "kind": kind, "metadata": metadata}


def _label_value(choices: Choices) -> str:
    return pick(choices, _LABEL_VALUES) if chance(choices, 40) else scalar_generators.generate_name(choices)


def _annotation_value(choices: Choices) -> str:
    return pick(choices, _ANNOTATION_VALUES) if chance(choices, 40) else scalar_generators.plain_string(choices)


def _add_server_metadata(choices: Choices, version: CRDVersion, metadata: JsonObject) -> None:
    """Add the metadata that the server sets, such as uid and resourceVersion."""
    low = choices.up_to(0xFFFF)
    metadata |= {
        "uid": f"0000{low:04x}-1111-4222-8333-444455556666",
        "resourceVersion": str(1 + choices.up_to(9999)),
        "generation": 1 + choices.up_to(5),
        "creationTimestamp": _TIME,
    }
    if chance(choices, 30):
        metadata["finalizers"] = list(pick(choices, _FINALIZERS))
        if chance(choices, 30):  # A client has deleted the object, and a finalizer keeps it.
            metadata |= {"deletionTimestamp": _TIME, "deletionGracePeriodSeconds": 0}
    if chance(choices, 30):
        owner = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": scalar_generators.generate_name(choices),
            "uid": metadata["uid"],
        }
        other = {**owner, "kind": "ReplicaSet", "uid": f"0001{low:04x}-1111-4222-8333-444455556666"}
        controller = {**owner, "controller": True, "blockOwnerDeletion": True}
        metadata["ownerReferences"] = pick(choices, ([controller], [owner], [other, controller], [owner, other]))
    if chance(choices, 40):
        entry = {"manager": "kubectl", "operation": pick(choices, ("Update", "Apply")), "fieldsType": "FieldsV1"}
        fields: JsonObject = {"f:spec": {".": {}}}
        metadata["managedFields"] = [{**entry, "apiVersion": version.api_version, "time": _TIME, "fieldsV1": fields}]


def make_embedded_resource(choices: Choices, out: JsonObject) -> None:
    """Add a random apiVersion, kind and metadata.name to `out`, the value of an embedded resource."""
    api_version, kind = pick(choices, (("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("example.com/v1", "Thing")))
    out |= {"apiVersion": api_version, "kind": kind, "metadata": {"name": scalar_generators.generate_name(choices)}}


def _generate_name(choices: Choices, limits: JsonObject) -> str:
    """Generate an object name. `limits` is the CRD's schema for metadata.name, with a pattern or a maximum length."""
    if not limits:
        if chance(choices, 8):
            return pick(choices, _LONG_NAMES)
        return scalar_generators.generate_name(choices)
    node = SchemaNode(limits)
    for _ in range(_NAME_ATTEMPTS if node.pattern else 0):
        found = scalar_generators.generate_string(choices, node)
        if found and not names.subdomain_name(found, False):
            return found
    return scalar_generators.generate_name(choices)[: node.max_length]
