"""Properties that the declarations of all built-in kinds have."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from polykind.apis.groups import find_subresource_kind, kinds_by_group_version
from polykind.apis.machinery import decode
from polykind.apis.machinery.apply_types import apply_model, merge_strategy
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.openapi_models import models
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.machinery.structs import Struct
from tests.support.declared_values import random_value

_SUBRESOURCE_KINDS = (
    ("authentication.k8s.io/v1", "TokenRequest"),
    ("autoscaling/v1", "Scale"),
    ("policy/v1", "Eviction"),
)
KINDS = [
    *(kind for kinds in kinds_by_group_version().values() for kind in kinds),
    *filter(None, (find_subresource_kind(*known) for known in _SUBRESOURCE_KINDS)),
]
IDS = [f"{kind.group_version.api_version}/{kind.kind}" for kind in KINDS]


def canonical(value: Any, kind: Kind) -> dict[str, Any]:
    type_meta = {"apiVersion": kind.group_version.api_version, "kind": kind.kind}
    decoded, unknown = decode({**value, **type_meta}, kind, report=True)
    assert unknown == []
    return decoded


def without_type_meta(value: Any) -> Any:
    """Return a value without the apiVersion and kind of claims in StatefulSets, which protobuf does not carry."""
    for claim in (value.get("spec") or {}).get("volumeClaimTemplates") or ():
        claim.pop("apiVersion", None)
        claim.pop("kind", None)
    return value


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_objects_survive_json_and_protobuf(kind: Kind) -> None:
    random = Random(kind.kind)
    for _ in range(8):
        obj = without_type_meta(canonical(random_value(random, kind), kind))
        assert canonical(obj, kind) == obj
        message = encode_message(obj, kind)
        read = canonical(decode_message(message, kind), kind)
        assert read == obj
        assert encode_message(read, kind) == message


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_derived_types_are_complete(kind: Kind) -> None:
    assert apply_model(kind).root.map is not None
    assert merge_strategy(kind).fields["metadata"].fields["ownerReferences"].key == "uid"
    found = models([kind])
    for model in found.values():
        assert set(_references(model)) <= set(found), kind.kind


def _references(model: Any) -> list[str]:
    if isinstance(model, dict):
        own = [model["$ref"]] if isinstance(model.get("$ref"), str) else []
        return own + [found for value in model.values() for found in _references(value)]
    return [found for value in model for found in _references(value)] if isinstance(model, list) else []


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_lists_of_maps_have_keys_that_their_items_declare(kind: Kind) -> None:
    seen: set[Struct] = set()
    pending: list[Struct] = [kind]
    while pending:
        struct = pending.pop()
        if struct in seen:
            continue
        seen.add(struct)
        numbers = [field.number for field in struct.numbered]
        assert len(set(numbers)) == len(numbers), struct.go
        for field in struct.fields:
            item = getattr(field.type, "item", field.type)
            names = {own.name for own in item.fields} if isinstance(item, Struct) else set()
            assert set(field.keys) <= names, f"{struct.go}.{field.name}"
            assert not field.merge_key or field.merge_key in names, f"{struct.go}.{field.name}"
            if isinstance(item, Struct):
                pending.append(item)
