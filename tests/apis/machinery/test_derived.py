"""Tests of the types, models and entries that are derived from declarations."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1
from polykind.apis.core.types import CONFIG_MAP, CORE_V1, NAMESPACE, SERVICE
from polykind.apis.groups import find_decodable_kind, find_kind, kinds_by_group_version
from polykind.apis.machinery.apply_types import apply_model, merge_strategy
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.openapi_models import models
from polykind.apply.model import Type
from polykind.apply.typemodel import META
from polykind.discovery.openapi.documents import rendered
from polykind.discovery.openapi.schemas import V3

KINDS = [kind for kinds in kinds_by_group_version().values() for kind in kinds]


def described(value_type: Type) -> Any:
    """Return the types of an acyclic type as nested values."""
    fields, items = value_type.map, value_type.list
    return (
        value_type.scalar,
        fields and (fields.atomic, {name: (f.default, described(f.type)) for name, f in fields.fields.items()}),
        items and (items.atomic, items.keys, described(items.element) if items.element is not value_type else "same"),
    )


def test_metadata_of_custom_resources_has_the_types_of_object_meta() -> None:
    root = apply_model(NAMESPACE).root
    assert root.map is not None
    assert described(root.map.fields["metadata"].type) == described(META)


def test_openapi_model_of_a_kind() -> None:
    model = rendered(models([CONFIG_MAP])[CONFIG_MAP.model], V3)
    assert (
        model["properties"]["data"].items()
        >= {
            "type": "object",
            "additionalProperties": {"type": "string", "default": ""},
        }.items()
    )
    assert model["properties"]["binaryData"]["additionalProperties"] == {"type": "string", "format": "byte"}
    assert model["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "ConfigMap", "version": "v1"}]
    assert "required" not in model


def test_models_contain_lists_and_all_references() -> None:
    found = models([SERVICE])
    assert list(found) == sorted(found)
    assert {SERVICE.model, f"{SERVICE.model}List", "io.k8s.api.core.v1.ServicePort"} <= found.keys()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.group}/{kind.version}/{kind.kind}")
def test_every_kind_is_complete(kind: Kind) -> None:
    assert kind.doc
    assert find_kind(kind.group_version.api_version, kind.kind) is kind
    assert find_decodable_kind(kind.group_version.api_version, kind.kind) is not None
    assert "Name" in [definition["name"] for definition in kind.table.definitions]
    numbers = [field.number for field in kind.numbered]
    assert len(set(numbers)) == len(numbers)


def test_lists_merge_by_their_merge_keys() -> None:
    assert merge_strategy(SERVICE).fields["spec"].fields["ports"].key == "port"
    assert merge_strategy(SERVICE).fields["metadata"].fields["finalizers"].key == ""
    assert "versions" not in merge_strategy(CUSTOM_RESOURCE_DEFINITION_V1).fields["spec"].fields


def test_missing_keys_of_list_maps_stand_for_zero() -> None:
    """A container port without a number has the key 0, as in kube-apiserver."""
    ports = apply_model(CORE_V1.struct("Container")).root.map
    assert ports is not None
    items = ports.fields["ports"].type.list
    assert items is not None
    port = items.element.map
    assert port is not None
    assert [port.fields[name].default for name in items.keys] == [0, "TCP"]
