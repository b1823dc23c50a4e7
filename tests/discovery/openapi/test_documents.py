from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.discovery.builtins import builtins, default_builtins
from polykind.discovery.resource_entries import CrdEntries
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
    openapi = discovery.openapi_v3(path)
    assert openapi is not None
    out = json.loads(openapi.body)
    assert isinstance(out, dict)
    return out


def references(value: Any) -> set[str]:
    return set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(value)))


def test_document_of_a_custom_group() -> None:
    openapi = document(Discovery([bells()]), "apis/music.example.com/v1")
    assert list(openapi) == ["openapi", "info", "paths", "components"]
    assert openapi["openapi"] == "3.0.0"
    assert openapi["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    kind = openapi["components"]["schemas"]["com.example.music.v1.Bell"]
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
    listed = openapi["components"]["schemas"]["com.example.music.v1.BellList"]
    assert listed["description"] == "BellList is a list of Bell"
    assert listed["properties"]["items"]["items"] == {"$ref": "#/components/schemas/com.example.music.v1.Bell"}
    assert listed["x-kubernetes-group-version-kind"][0]["kind"] == "BellList"
    assert "io.k8s.api.autoscaling.v1.Scale" not in openapi["components"]["schemas"]


def test_document_is_ordered_and_escaped() -> None:
    openapi = Discovery([bells()]).openapi_v3("apis/music.example.com/v1")
    assert openapi is not None
    assert rb"5 \u003c 6 \u0026 more" in openapi.body
    parsed = json.loads(openapi.body)
    for part in (parsed["paths"], parsed["components"]["schemas"]):
        assert list(part) == sorted(part)


def test_scale_subresource_adds_its_models() -> None:
    openapi = document(Discovery([crontabs()]), "apis/stable.example.com/v1")
    scale = openapi["paths"]["/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}/scale"]
    response = scale["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert response == {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}
    assert {"io.k8s.api.autoscaling.v1.Scale", "io.k8s.api.autoscaling.v1.ScaleSpec"} <= openapi["components"][
        "schemas"
    ].keys()


def test_index_points_to_every_document() -> None:
    discovery = Discovery([bells(), crontabs()])
    paths = json.loads(discovery.openapi_v3_index())["paths"]
    assert list(paths) == sorted(paths)
    assert [path for path in paths if "example" in path] == [
        "apis/music.example.com/v1",
        "apis/stable.example.com/v1",
        "apis/stable.example.com/v1beta1",
    ]
    assert {"api/v1", "apis/apps/v1", "apis/autoscaling/v1", "apis/autoscaling/v2"} <= paths.keys()
    for path, entry in paths.items():
        openapi = discovery.openapi_v3(path)
        assert openapi is not None
        assert entry == {"serverRelativeURL": f"/openapi/v3/{path}?hash={openapi.etag}"}
        assert re.fullmatch("[0-9A-F]{128}", openapi.etag)


@pytest.mark.parametrize("path", ["", "api/v2", "apis/none/v1", "apis/music.example.com", "music.example.com/v1"])
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
        openapi = discovery.openapi_v3(path)
        assert openapi is not None
        return openapi.etag

    assert tag(before, "apis/music.example.com/v1") != tag(after, "apis/music.example.com/v1")
    for path in ("api/v1", "apis/stable.example.com/v1"):
        assert tag(before, path) == tag(after, path)
    assert before.openapi_v2_etag() != after.openapi_v2_etag()
    rebuilt = Discovery([crontabs(), bells()])
    assert rebuilt.openapi_v2() == before.openapi_v2()
    assert rebuilt.openapi_v3("apis/music.example.com/v1") == before.openapi_v3("apis/music.example.com/v1")
    assert rebuilt.openapi_v2_etag() == before.openapi_v2_etag()
    assert rebuilt.openapi_v3_index() == before.openapi_v3_index()


def test_v2_etag_depends_on_the_builtins() -> None:
    assert Discovery([]).openapi_v2_etag() != Discovery([], builtins()).openapi_v2_etag()


def test_documents_are_cached_across_snapshots() -> None:
    before = Discovery([bells(), crontabs()])
    cached = before.openapi_v3("apis/music.example.com/v1")
    after = Discovery([bells()], previous=before).openapi_v3("apis/music.example.com/v1")
    assert cached is not None
    assert after is not None
    assert after.body is cached.body


@pytest.mark.parametrize("path", ["api/v1", "apis/apiextensions.k8s.io/v1", "apis/apiextensions.k8s.io/v1beta1"])
def test_builtin_documents_are_complete(path: str) -> None:
    openapi = document(Discovery([], builtins()), path)
    assert {f"components/schemas/{name}" for name in openapi["components"]["schemas"]} >= references(openapi)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("api/v1", "Namespace"),
        ("apis/apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apis/music.example.com/v1", "Bell"),
    ],
)
def test_field_validation_parameter_is_found_by_kubectl(path: str, kind: str) -> None:
    openapi = document(Discovery([bells()]), path)
    for method in ("post", "patch"):
        operations = [item[method] for item in openapi["paths"].values() if method in item]
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
    discovery = Discovery([bells(), crontabs()], default_builtins())
    openapi = json.loads(discovery.openapi_v2().body)
    assert list(openapi) == [
        *("swagger", "info", "paths", "definitions", "parameters", "securityDefinitions", "security")
    ]
    assert openapi["swagger"] == "2.0"
    defined = {f"definitions/{name}" for name in openapi["definitions"]} | {
        f"parameters/{name}" for name in openapi["parameters"]
    }
    assert references(openapi) <= defined
    spec = openapi["definitions"]["com.example.music.v1.Bell"]["properties"]["spec"]
    assert spec == {
        "type": "object",
        "properties": {
            "marks": {"additionalProperties": {"type": "string"}},
            "tone": {"type": "string", "enum": ["low", "high"]},
            "weight": {"x-kubernetes-int-or-string": True},
        },
    }
    assert "/apis/stable.example.com/v1beta1/namespaces/{namespace}/crontabs/{name}" in openapi["paths"]
    assert "/api/v1/namespaces/{name}/finalize" in openapi["paths"]
    assert b"".join(discovery.openapi_v2_parts()) == discovery.openapi_v2().body


def test_v2_definitions_named_default_survive() -> None:
    openapi = json.loads(Discovery([]).openapi_v2().body)["definitions"]
    schema = openapi["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]
    assert {"default", "description", "$ref"} <= schema["properties"].keys()


def test_endpoints_have_documents() -> None:
    discovery = Discovery([])
    version = document(discovery, "version")
    assert list(version["paths"]) == ["/version/"]
    assert "io.k8s.apimachinery.pkg.version.Info" in version["components"]["schemas"]
    assert list(document(discovery, "api")["paths"]) == ["/api/"]
    assert list(document(discovery, "apis")["paths"]) == ["/apis/"]
    assert list(document(discovery, "apis/apps")["paths"]) == ["/apis/apps/"]


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        (".well-known/openid-configuration", "application/json"),
        ("openid/v1/jwks", "application/jwk-set+json"),
    ],
)
def test_openid_endpoints_have_documents(name: str, media_type: str) -> None:
    discovery = Discovery([])
    text = {"type": "string"}
    v3 = document(discovery, name)
    read = v3["paths"][f"/{name}/"]["get"]
    assert read["responses"]["200"]["content"] == {media_type: {"schema": text}}
    assert list(v3["components"]) == ["securitySchemes"]
    v2 = json.loads(discovery.openapi_v2().body)["paths"][f"/{name}/"]["get"]
    assert (v2["produces"], v2["responses"]["200"]["schema"]) == ([media_type], text)
    assert "consumes" not in v2


def test_reviews_can_only_be_created() -> None:
    openapi = document(Discovery([]), "apis/authorization.k8s.io/v1")
    root = "/apis/authorization.k8s.io/v1"
    assert sorted(openapi["paths"]) == [
        f"{root}/",
        f"{root}/namespaces/{{namespace}}/localsubjectaccessreviews",
        f"{root}/selfsubjectaccessreviews",
        f"{root}/selfsubjectrulesreviews",
        f"{root}/subjectaccessreviews",
    ]
    del openapi["paths"][f"{root}/"]
    assert all(set(item) == {"post", "parameters"} for item in openapi["paths"].values())
    schemas = openapi["components"]["schemas"]
    assert "io.k8s.api.authorization.v1.SubjectAccessReview" in schemas
    assert not [name for name in schemas if name.endswith(("ReviewList", "DeleteOptions", "ListMeta", "Patch"))]


def test_roles_have_namespaced_and_cluster_paths() -> None:
    openapi = document(Discovery([]), "apis/rbac.authorization.k8s.io/v1")
    root = "/apis/rbac.authorization.k8s.io/v1"
    collections = [
        "/clusterrolebindings",
        "/clusterroles",
        "/namespaces/{namespace}/rolebindings",
        "/namespaces/{namespace}/roles",
        "/rolebindings",
        "/roles",
    ]
    found = [path.removeprefix(root) for path in openapi["paths"] if not path.endswith("{name}")]
    assert sorted(found) == sorted(["/", *collections, *(f"/watch{path}" for path in collections)])
    schemas = openapi["components"]["schemas"]
    assert schemas["io.k8s.api.rbac.v1.RoleBinding"]["required"] == ["roleRef"]
    for owned in ("RoleRef", "Subject"):
        assert schemas[f"io.k8s.api.rbac.v1.{owned}"]["x-kubernetes-map-type"] == "atomic"
    rules = schemas["io.k8s.api.rbac.v1.ClusterRole"]["properties"]["rules"]
    assert rules["items"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.rbac.v1.PolicyRule"}],
        "default": {},
    }


def test_a_change_of_one_crd_encodes_only_this_crd(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    structural_schemas = CrdEntries.structural_schemas

    def counted(self: CrdEntries) -> dict[str, JsonObject]:
        decoded.append(self.name)
        return structural_schemas(self)

    monkeypatch.setattr(CrdEntries, "structural_schemas", counted)
    crds = [bells(), crontabs()]
    first = Discovery(crds)
    expected = first.openapi_v2().body, first.openapi_v2_protobuf().body
    assert decoded.count("crontabs.stable.example.com") == 2
    decoded.clear()
    changed = copy.deepcopy(crds[0])
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Changed <b>."
    changed["metadata"]["generation"] = 7
    changed["metadata"]["resourceVersion"] = "77"
    second = Discovery([changed, crds[1]], previous=first)
    assert b"Changed <b>." in second.openapi_v2().body
    assert b"Changed <b>." in second.openapi_v2_protobuf().body
    assert b"Changed \\u003cb\\u003e." in b"".join(
        document.body
        for version in changed["spec"]["versions"]
        if (document := second.openapi_v3(f"apis/{changed['spec']['group']}/{version['name']}")) is not None
    )
    assert set(decoded) == {changed["metadata"]["name"]}
    again = Discovery(crds)
    assert (again.openapi_v2().body, again.openapi_v2_protobuf().body) == expected
