"""Objects that kube-apiserver stores as protobuf are decoded; all other values are unchanged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.apis.admissionregistration.types import MUTATING_ADMISSION_POLICY, MUTATING_WEBHOOK_CONFIGURATION
from polykind.apis.machinery.protobuf_envelope import MAGIC, encode_object
from polykind.codec.protobuf_wire import iter_fields
from polykind.golang.varint import encode_varint
from polykind.store.etcd.rpc_messages import (
    bytes_field,
    decode_stored,
    decode_varint,
    message_field,
    parse_revision,
    varint_field,
)

# The namespace "default" as stored by kube-apiserver 1.36.
DEFAULT = bytes.fromhex(
    "6b3873000a0f0a02763112094e616d6573706163651286020aeb010a0764656661756c7412001a0022002a2435373063643737662d64"
    "6538342d343134392d626665652d36616265303564663365633832003800420808c6d8e8d70610005a260a1b6b756265726e65746573"
    "2e696f2f6d657461646174612e6e616d65120764656661756c748a017d0a0e6b7562652d61706973657276657212065570646174651a"
    "027631220808c6d8e8d706100032084669656c647356313a490a477b22663a6d65746164617461223a7b22663a6c6162656c73223a7b"
    "222e223a7b7d2c22663a6b756265726e657465732e696f2f6d657461646174612e6e616d65223a7b7d7d7d7d4200120c0a0a6b756265"
    "726e657465731a080a064163746976651a002200"
)
# A StorageVersionMigration as stored by kube-apiserver 1.36.
MIGRATION = bytes.fromhex(
    "6b3873000a3a0a1f73746f726167656d6967726174696f6e2e6b38732e696f2f76316265746131121753746f7261676556657273696f"
    "6e4d6967726174696f6e12aa010a400a046b65707412001a0022002a2439626431643563342d633335612d343135612d623131322d38"
    "323534336131316437623332003800420808bbd6ead706100012180a160a0b6578616d706c652e636f6d1207776964676574731a4c0a"
    "470a0752756e6e696e67120454727565180022080880f2d6ca0610002a104d6967726174696f6e52756e6e696e673218546865206d69"
    "67726174696f6e2069732072756e6e696e671201371a002200"
)
# The ClusterRoleBinding system:public-info-viewer as stored by kube-apiserver 1.36.
PUBLIC = bytes.fromhex(
    "6b3873000a320a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f76311212436c7573746572526f6c6542696e6469"
    "6e671282050ac0030a1973797374656d3a7075626c69632d696e666f2d76696577657212001a0022002a2464326562323438302d6461"
    "37322d346533622d626466392d30666162386331373838343932003800420808dcbeead70610005a2c0a1b6b756265726e657465732e"
    "696f2f626f6f74737472617070696e67120d726261632d64656661756c747362330a2b726261632e617574686f72697a6174696f6e2e"
    "6b756265726e657465732e696f2f6175746f7570646174651204747275658a0184020a0e6b7562652d61706973657276657212065570"
    "646174651a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f7631220808dcbeead706100032084669656c64735631"
    "3ab5010ab2017b22663a6d65746164617461223a7b22663a616e6e6f746174696f6e73223a7b222e223a7b7d2c22663a726261632e61"
    "7574686f72697a6174696f6e2e6b756265726e657465732e696f2f6175746f757064617465223a7b7d7d2c22663a6c6162656c73223a"
    "7b222e223a7b7d2c22663a6b756265726e657465732e696f2f626f6f74737472617070696e67223a7b7d7d7d2c22663a726f6c655265"
    "66223a7b7d2c22663a7375626a65637473223a7b7d7d4200123a0a0547726f75701219726261632e617574686f72697a6174696f6e2e"
    "6b38732e696f1a1473797374656d3a61757468656e746963617465642200123c0a0547726f75701219726261632e617574686f72697a"
    "6174696f6e2e6b38732e696f1a1673797374656d3a756e61757468656e7469636174656422001a430a19726261632e617574686f7269"
    "7a6174696f6e2e6b38732e696f120b436c7573746572526f6c651a1973797374656d3a7075626c69632d696e666f2d7669657765721a"
    "002200"
)


def test_namespace_is_decoded() -> None:
    assert json.loads(decode_stored(DEFAULT)) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "default",
            "uid": "570cd77f-de84-4149-bfee-6abe05df3ec8",
            "creationTimestamp": "2026-11-15T22:03:50Z",
            "labels": {"kubernetes.io/metadata.name": "default"},
            "managedFields": [
                {
                    "manager": "kube-apiserver",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-11-15T22:03:50Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}},
                }
            ],
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_terminating_namespace_is_decoded() -> None:
    moment = varint_field(1, 1_700_000_000)
    owner = (
        bytes_field(1, b"Team")
        + bytes_field(3, b"a")
        + bytes_field(4, b"u")
        + bytes_field(5, b"example.com/v1")
        + varint_field(6, 1)
    )
    meta = (
        bytes_field(1, b"gone")
        + bytes_field(5, b"uid")
        + message_field(9, moment)
        + message_field(13, owner)
        + bytes_field(14, b"example.com/hold")
    )
    meta += message_field(12, bytes_field(1, b"note") + bytes_field(2, b"text")) + message_field(
        12, bytes_field(1, b"empty")
    )
    condition = (
        bytes_field(1, b"NamespaceDeletionContentFailure")
        + bytes_field(2, b"False")
        + message_field(4, moment)
        + bytes_field(5, b"Why")
    )
    raw = (
        message_field(1, meta)
        + message_field(2, b"")
        + message_field(3, bytes_field(1, b"Terminating") + message_field(2, condition))
    )
    value = MAGIC + message_field(1, bytes_field(1, b"v1") + bytes_field(2, b"Namespace")) + message_field(2, raw)
    assert json.loads(decode_stored(value)) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "gone",
            "uid": "uid",
            "deletionTimestamp": "2023-11-14T22:13:20Z",
            "annotations": {"note": "text", "empty": ""},
            "ownerReferences": [
                {"kind": "Team", "name": "a", "uid": "u", "apiVersion": "example.com/v1", "controller": True}
            ],
            "finalizers": ["example.com/hold"],
        },
        "spec": {},
        "status": {
            "phase": "Terminating",
            "conditions": [
                {
                    "type": "NamespaceDeletionContentFailure",
                    "status": "False",
                    "lastTransitionTime": "2023-11-14T22:13:20Z",
                    "reason": "Why",
                }
            ],
        },
    }


@pytest.mark.parametrize("kind", [b"Lamp", b""])
def test_unknown_kinds_are_unchanged(kind: bytes) -> None:
    value = MAGIC + message_field(1, bytes_field(1, b"v1") + bytes_field(2, kind)) + message_field(2, b"\x0a\x00")
    assert decode_stored(value) == value


@given(st.binary(max_size=60))
def test_malformed_values_are_unchanged(noise: bytes) -> None:
    for value in (
        MAGIC + noise,
        MAGIC + message_field(1, bytes_field(1, b"v1") + bytes_field(2, b"Namespace")) + message_field(2, noise),
    ):
        read = decode_stored(value)
        assert read == value or json.loads(read)["kind"] == "Namespace"


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 2**64 - 1) | st.binary(min_size=1, max_size=300))))
def test_fields_round_trip(written: list[tuple[int, int | bytes]]) -> None:
    raw = b"".join(varint_field(f, v) if isinstance(v, int) else bytes_field(f, v) for f, v in written)
    assert list(iter_fields(raw)) == written


@given(st.integers(0, 2**64 - 1))
def test_varint_round_trip(value: int) -> None:
    assert list(iter_fields(b"\x08" + encode_varint(value))) == [(1, value)]
    assert decode_varint(encode_varint(value)) == value


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, 5]), st.integers(0, 2**63)), unique_by=lambda f: f[0]))
def test_header_revision_at_any_position(header: list[tuple[int, int]]) -> None:
    raw = b"".join(varint_field(field, value) for field, value in header)
    assert parse_revision(message_field(1, raw)) == dict(header).get(3, 0)


def test_webhook_configuration_with_nested_rules_is_decoded() -> None:
    webhook = {
        "name": "a.b.c",
        "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 443}, "caBundle": "Zm9v"},
        "rules": [
            {"operations": ["CREATE"], "apiGroups": ["x"], "apiVersions": ["*"], "resources": ["r"], "scope": "*"}
        ],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]},
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
        "reinvocationPolicy": "Never",
    }
    configuration = {
        "kind": "MutatingWebhookConfiguration",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "m"},
        "webhooks": [webhook],
    }
    encoded = encode_object(configuration, MUTATING_WEBHOOK_CONFIGURATION)
    # Field 3 of a webhook is a RuleWithOperations: field 1 has the operations, field 2 the embedded Rule.
    assert b"\x1a\x16\x0a\x06CREATE\x12\x0c\x0a\x01x\x12\x01*\x1a\x01r\x22\x01*" in encoded
    assert json.loads(decode_stored(encoded)) == configuration


def test_mutating_policies_are_decoded_at_their_stored_version() -> None:
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1beta1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "mutations": [{"jsonPatch": {"expression": "[JSONPatch{}]"}, "patchType": "JSONPatch"}],
            "reinvocationPolicy": "Never",
        },
    }
    encoded = encode_object(policy, MUTATING_ADMISSION_POLICY)
    # Field 4 of the spec is a mutation: field 2 is its patchType, field 4 its jsonPatch.
    assert b"\x22\x1c\x12\x09JSONPatch\x22\x0f\x0a\x0d[JSONPatch{}]" in encoded
    assert json.loads(decode_stored(encoded)) == policy


def test_role_binding_is_decoded() -> None:
    read = json.loads(decode_stored(PUBLIC))
    group = "rbac.authorization.k8s.io"
    assert (read["apiVersion"], read["kind"]) == (f"{group}/v1", "ClusterRoleBinding")
    assert read["roleRef"] == {"apiGroup": group, "kind": "ClusterRole", "name": "system:public-info-viewer"}
    assert read["subjects"] == [
        {"kind": "Group", "apiGroup": group, "name": "system:authenticated"},
        {"kind": "Group", "apiGroup": group, "name": "system:unauthenticated"},
    ]


def test_migration_is_decoded() -> None:
    read = json.loads(decode_stored(MIGRATION))
    assert (read["apiVersion"], read["kind"]) == ("storagemigration.k8s.io/v1beta1", "StorageVersionMigration")
    assert read["spec"] == {"resource": {"group": "example.com", "resource": "widgets"}}
    assert read["status"] == {
        "conditions": [
            {
                "type": "Running",
                "status": "True",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "MigrationRunning",
                "message": "The migration is running",
            }
        ],
        "resourceVersion": "7",
    }
