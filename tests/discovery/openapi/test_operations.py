from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from polykind.discovery.openapi.operations import OpenAPIResource, OpenAPISubresource, operations, paths_v2, paths_v3
from polykind.discovery.openapi.schemas import V2, V3
from polykind.discovery.openapi.templates import encoded_paths

ALL = ("get", "put", "patch")
BELLS = OpenAPIResource(
    "music.example.com",
    "v1",
    "Bell",
    "bells",
    True,
    "m.Bell",
    "m.BellList",
    (OpenAPISubresource("status", "m.Bell", ALL),),
)
UNITS = OpenAPIResource(
    "example.com",
    "v2beta1",
    "Unit",
    "units",
    False,
    "m.Unit",
    "m.UnitList",
    (OpenAPISubresource("scale", "s.Scale", ALL),),
)
GLASSES = OpenAPIResource("example.com", "foo", "Glasses", "glasses", True, "m.Glasses", "m.GlassesList")
DASHED = OpenAPIResource("3d-print.example.com", "v1", "Big-Part", "parts", True, "m.Big-Part", "m.Parts")
SPACES = OpenAPIResource("", "v1", "Namespace", "namespaces", False, "c.Namespace", "c.NamespaceList", (), True)


def test_paths_and_methods() -> None:
    actual = {path: [key for key in item if key != "parameters"] for path, item in paths_v3(BELLS).items()}
    root = "/apis/music.example.com/v1"
    assert actual == {
        f"{root}/bells": ["get"],
        f"{root}/namespaces/{{namespace}}/bells": ["get", "post", "delete"],
        f"{root}/namespaces/{{namespace}}/bells/{{name}}": ["get", "put", "delete", "patch"],
        f"{root}/namespaces/{{namespace}}/bells/{{name}}/status": ["get", "put", "patch"],
    }


def test_operation_ids() -> None:
    assert [operation.id for operation in operations(BELLS)] == [
        "listMusicExampleComV1BellForAllNamespaces",
        "listMusicExampleComV1NamespacedBell",
        "createMusicExampleComV1NamespacedBell",
        "deleteMusicExampleComV1CollectionNamespacedBell",
        "readMusicExampleComV1NamespacedBell",
        "replaceMusicExampleComV1NamespacedBell",
        "deleteMusicExampleComV1NamespacedBell",
        "patchMusicExampleComV1NamespacedBell",
        "readMusicExampleComV1NamespacedBellStatus",
        "replaceMusicExampleComV1NamespacedBellStatus",
        "patchMusicExampleComV1NamespacedBellStatus",
    ]
    assert next(operations(DASHED)).id == "listDPrintExampleComV1BigPartForAllNamespaces"
    assert "createCoreV1Namespace" in [operation.id for operation in operations(SPACES)]


def test_descriptions_have_their_articles() -> None:
    created = {r.kind: o.description for r in (BELLS, UNITS, GLASSES) for o in operations(r) if o.verb == "create"}
    assert created == {"Bell": "create a Bell", "Unit": "create an Unit", "Glasses": "create Glasses"}


def test_common_parameters_are_listed_once_per_path() -> None:
    item = paths_v3(UNITS)["/apis/example.com/v2beta1/units/{name}"]
    assert [parameter["name"] for parameter in item["parameters"]] == ["name", "pretty"]
    assert [parameter["name"] for parameter in item["patch"]["parameters"]] == [
        *("dryRun", "fieldManager", "fieldValidation", "force")
    ]
    everywhere = paths_v3(BELLS)["/apis/music.example.com/v1/bells"]
    assert "parameters" not in everywhere["get"]
    assert len(everywhere["parameters"]) == 12


def test_patch_operation() -> None:
    patch = {"schema": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}}
    response = {"schema": {"$ref": "#/components/schemas/m.Unit"}}
    actual: dict[str, Any] = paths_v3(UNITS)["/apis/example.com/v2beta1/units/{name}"]["patch"]
    del actual["parameters"]
    assert actual == {
        "tags": ["exampleCom_v2beta1"],
        "description": "partially update the specified Unit",
        "operationId": "patchExampleComV2beta1Unit",
        "requestBody": {
            "content": {
                "application/apply-patch+yaml": patch,
                "application/json-patch+json": patch,
                "application/merge-patch+json": patch,
            },
            "required": True,
        },
        "responses": {
            "200": {"description": "OK", "content": {"application/json": response, "application/yaml": response}},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": "example.com", "version": "v2beta1", "kind": "Unit"},
    }


def test_parameters_that_kubectl_checks_are_inlined_in_v2() -> None:
    item = paths_v2(UNITS)["/apis/example.com/v2beta1/units/{name}"]
    assert [parameter.get("name", parameter.get("$ref")) for parameter in item["patch"]["parameters"]] == [
        *("body", "dryRun", "#/parameters/fieldManager", "fieldValidation", "#/parameters/force")
    ]


@pytest.mark.parametrize("resource", [BELLS, UNITS, GLASSES, DASHED, SPACES, replace(BELLS, group='"', model="<")])
def test_templates_give_the_same_paths_as_direct_encoding(resource: OpenAPIResource) -> None:
    assert dict(encoded_paths(resource, V3)) == {path: orjson.dumps(item) for path, item in paths_v3(resource).items()}
    assert dict(encoded_paths(resource, V2)) == {path: orjson.dumps(item) for path, item in paths_v2(resource).items()}
