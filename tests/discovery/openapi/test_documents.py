from __future__ import annotations

import json
import re
from typing import Any

import pytest

from polykind.discovery.builtins import BUILTINS, builtins
from polykind.discovery.snapshot import Discovery
from tests.discovery.crds import crd, crontabs, version

SCHEMA = {
    "openAPIV3Schema": {
        "type": "object",
        "description": "A bell in a tower, 5 < 6 & more.",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "tone": {"type": "string", "enum": ["low", "high"], "default": "low"},
                    "weight": {"x-kubernetes-int-or-string": True},
                    "marks": {"type": "object", "nullable": True, "additionalProperties": {"type": "string"}},
                },
            },
        },
    }
}


def bells() -> dict[str, Any]:
    fields = [{"jsonPath": ".spec.tone"}]
    return crd(
        "bells", "Bell", version("v1", storage=True, schema=SCHEMA, selectableFields=fields), group="music.example.com"
    )


def document(discovery: Discovery, path: str) -> dict[str, Any]:
    found = discovery.openapi_v3(path)
    assert found is not None
    out = json.loads(found.body)
    assert isinstance(out, dict)
    return out


def references(value: Any) -> set[str]:
    return set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(value)))


def test_document_of_a_custom_group() -> None:
    found = document(Discovery([bells()]), "apis/music.example.com/v1")
    assert list(found) == ["openapi", "info", "paths", "components"]
    assert found["openapi"] == "3.0.0"
    assert found["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    kind = found["components"]["schemas"]["com.example.music.v1.Bell"]
    for name in ("apiVersion", "kind", "metadata"):
        del kind["properties"][name]["description"]
    meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1."
    assert kind == {
        "description": "A bell in a tower, 5 < 6 & more.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": f"{meta}ObjectMeta"}]},
            "spec": {
                "type": "object",
                "properties": {
                    "marks": {"type": "object", "nullable": True, "additionalProperties": {"type": "string"}},
                    "tone": {"type": "string", "default": "low", "enum": ["low", "high"]},
                    "weight": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
                },
            },
        },
        "x-kubernetes-group-version-kind": [{"group": "music.example.com", "kind": "Bell", "version": "v1"}],
        "x-kubernetes-selectable-fields": [{"fieldPath": "spec.tone"}],
    }
    listed = found["components"]["schemas"]["com.example.music.v1.BellList"]
    assert listed["description"] == "BellList is a list of Bell"
    assert listed["properties"]["items"]["items"] == {"$ref": "#/components/schemas/com.example.music.v1.Bell"}
    assert listed["x-kubernetes-group-version-kind"][0]["kind"] == "BellList"
    assert "io.k8s.api.autoscaling.v1.Scale" not in found["components"]["schemas"]


def test_document_is_ordered_and_escaped() -> None:
    found = Discovery([bells()]).openapi_v3("apis/music.example.com/v1")
    assert found is not None
    assert rb"5 \u003c 6 \u0026 more" in found.body
    parsed = json.loads(found.body)
    for part in (parsed["paths"], parsed["components"]["schemas"]):
        assert list(part) == sorted(part)


def test_scale_subresource_adds_its_models() -> None:
    found = document(Discovery([crontabs()]), "apis/stable.example.com/v1")
    scale = found["paths"]["/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}/scale"]
    answer = scale["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}
    assert {"io.k8s.api.autoscaling.v1.Scale", "io.k8s.api.autoscaling.v1.ScaleSpec"} <= found["components"][
        "schemas"
    ].keys()


def test_index_points_to_every_document() -> None:
    discovery = Discovery([bells(), crontabs()])
    paths = json.loads(discovery.openapi_v3_index())["paths"]
    assert list(paths) == [
        "api/v1",
        "apis/admissionregistration.k8s.io/v1",
        "apis/apiextensions.k8s.io/v1",
        "apis/authentication.k8s.io/v1",
        "apis/authorization.k8s.io/v1",
        "apis/music.example.com/v1",
        "apis/rbac.authorization.k8s.io/v1",
        "apis/stable.example.com/v1",
        "apis/stable.example.com/v1beta1",
        "apis/storagemigration.k8s.io/v1beta1",
    ]
    for path, entry in paths.items():
        found = discovery.openapi_v3(path)
        assert found is not None
        assert entry == {"serverRelativeURL": f"/openapi/v3/{path}?hash={found.etag}"}
        assert re.fullmatch("[0-9A-F]{128}", found.etag)


@pytest.mark.parametrize(
    "path", ["", "api", "apis", "api/v2", "apis/none/v1", "apis/music.example.com", "music.example.com/v1"]
)
def test_unknown_documents(path: str) -> None:
    assert Discovery([bells()]).openapi_v3(path) is None


def test_unestablished_crd_is_not_published() -> None:
    discovery = Discovery([crontabs(conditions=())])
    assert discovery.openapi_v3("apis/stable.example.com/v1") is None
    assert b"stable.example.com" not in discovery.openapi_v3_index()
    assert b"stable.example.com" not in discovery.openapi_v2().body


def test_etag_changes_only_with_its_own_crd() -> None:
    changed = bells()
    changed["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object"}}
    before, after = Discovery([bells(), crontabs()]), Discovery([changed, crontabs()])

    def tag(discovery: Discovery, path: str) -> str:
        found = discovery.openapi_v3(path)
        assert found is not None
        return found.etag

    assert tag(before, "apis/music.example.com/v1") != tag(after, "apis/music.example.com/v1")
    for path in ("api/v1", "apis/stable.example.com/v1"):
        assert tag(before, path) == tag(after, path)
    assert before.openapi_v2_etag() != after.openapi_v2_etag()
    again = Discovery([crontabs(), bells()])
    assert again.openapi_v2() == before.openapi_v2()
    assert again.openapi_v3("apis/music.example.com/v1") == before.openapi_v3("apis/music.example.com/v1")
    assert again.openapi_v2_etag() == before.openapi_v2_etag()
    assert again.openapi_v3_index() == before.openapi_v3_index()


def test_v2_etag_depends_on_the_builtins() -> None:
    assert Discovery([]).openapi_v2_etag() != Discovery([], builtins(v1beta1=True)).openapi_v2_etag()


def test_documents_are_cached_across_snapshots() -> None:
    before = Discovery([bells(), crontabs()])
    kept = before.openapi_v3("apis/music.example.com/v1")
    after = Discovery([bells()], previous=before).openapi_v3("apis/music.example.com/v1")
    assert kept is not None
    assert after is not None
    assert after.body is kept.body


@pytest.mark.parametrize("path", ["api/v1", "apis/apiextensions.k8s.io/v1", "apis/apiextensions.k8s.io/v1beta1"])
def test_builtin_documents_are_complete(path: str) -> None:
    found = document(Discovery([], builtins(v1beta1=True)), path)
    assert {f"components/schemas/{name}" for name in found["components"]["schemas"]} >= references(found)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("api/v1", "Namespace"),
        ("apis/apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apis/music.example.com/v1", "Bell"),
    ],
)
def test_field_validation_parameter_is_found_by_kubectl(path: str, kind: str) -> None:
    found = document(Discovery([bells()]), path)
    for method in ("post", "patch"):
        operations = [item[method] for item in found["paths"].values() if method in item]
        mine = [op for op in operations if op["x-kubernetes-group-version-kind"]["kind"] == kind]
        assert mine
        for operation in mine:
            assert "fieldValidation" in [parameter["name"] for parameter in operation["parameters"]]


def test_crd_fields_have_descriptions() -> None:
    schemas = document(Discovery([]), "apis/apiextensions.k8s.io/v1")["components"]["schemas"]
    package = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
    spec = schemas[f"{package}CustomResourceDefinitionSpec"]
    assert list(spec["properties"]) == ["conversion", "group", "names", "preserveUnknownFields", "scope", "versions"]
    assert {"default", "description", "$ref", "x-kubernetes-validations"} <= schemas[f"{package}JSONSchemaProps"][
        "properties"
    ].keys()


def test_v2_document() -> None:
    discovery = Discovery([bells(), crontabs()], BUILTINS)
    found = json.loads(discovery.openapi_v2().body)
    assert list(found) == ["swagger", "info", "paths", "definitions", "parameters"]
    assert found["swagger"] == "2.0"
    known = {f"definitions/{name}" for name in found["definitions"]} | {
        f"parameters/{name}" for name in found["parameters"]
    }
    assert references(found) <= known
    spec = found["definitions"]["com.example.music.v1.Bell"]["properties"]["spec"]
    assert spec == {
        "type": "object",
        "properties": {
            "marks": {"additionalProperties": {"type": "string"}},
            "tone": {"type": "string", "enum": ["low", "high"]},
            "weight": {"x-kubernetes-int-or-string": True},
        },
    }
    assert "/apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name}" in found["paths"]
    assert "/api/v1/namespaces/{name}/finalize" in found["paths"]
    assert b"".join(discovery.openapi_v2_parts()) == discovery.openapi_v2().body


def test_v2_definitions_named_default_survive() -> None:
    found = json.loads(Discovery([]).openapi_v2().body)["definitions"]
    schema = found["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]
    assert {"default", "description", "$ref"} <= schema["properties"].keys()


def test_reviews_can_only_be_created() -> None:
    found = document(Discovery([]), "apis/authorization.k8s.io/v1")
    root = "/apis/authorization.k8s.io/v1"
    assert sorted(found["paths"]) == [
        f"{root}/namespaces/{{namespace}}/localsubjectaccessreviews",
        f"{root}/selfsubjectaccessreviews",
        f"{root}/selfsubjectrulesreviews",
        f"{root}/subjectaccessreviews",
    ]
    assert all(set(item) == {"post", "parameters"} for item in found["paths"].values())
    schemas = found["components"]["schemas"]
    assert "io.k8s.api.authorization.v1.SubjectAccessReview" in schemas
    assert not [name for name in schemas if name.endswith(("List", "DeleteOptions", "ListMeta", "Patch"))]


def test_roles_have_namespaced_and_cluster_paths() -> None:
    found = document(Discovery([]), "apis/rbac.authorization.k8s.io/v1")
    root = "/apis/rbac.authorization.k8s.io/v1"
    collections = [path.removeprefix(root) for path in found["paths"] if not path.endswith("{name}")]
    assert sorted(collections) == [
        "/clusterrolebindings",
        "/clusterroles",
        "/namespaces/{namespace}/rolebindings",
        "/namespaces/{namespace}/roles",
        "/rolebindings",
        "/roles",
    ]
    schemas = found["components"]["schemas"]
    assert schemas["io.k8s.api.rbac.v1.RoleBinding"]["required"] == ["roleRef"]
    for owned in ("RoleRef", "Subject"):
        assert schemas[f"io.k8s.api.rbac.v1.{owned}"]["x-kubernetes-map-type"] == "atomic"
    rules = schemas["io.k8s.api.rbac.v1.ClusterRole"]["properties"]["rules"]
    assert rules["items"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.rbac.v1.PolicyRule"}],
        "default": {},
    }
