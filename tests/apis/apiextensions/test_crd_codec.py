from __future__ import annotations

from typing import Any

import pytest

from polykind import crd
from polykind.apis.apiextensions import crd_codec
from polykind.contract import JsonObject
from polykind.crd.empty_values import drop_empty_values
from polykind.errors import InvalidError
from tests.crd.build import OBJECT, crd_body, created_crd, v1beta1_crd, version


def v1beta1_body(**spec: Any) -> JsonObject:
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tools.example.com"},
        "spec": {"group": "example.com", "names": {"plural": "tools", "kind": "Tool"}, **spec},
    }


def test_defaults_of_v1() -> None:
    asked = crd_body(conversion={"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "n"}}}})
    got, _ = crd_codec.decode(asked, "v1", True)
    assert got["spec"]["names"] == {"plural": "tools", "singular": "tool", "kind": "Tool", "listKind": "ToolList"}
    assert got["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": {"namespace": "", "name": "n", "port": 443}},
            "conversionReviewVersions": None,
        },
    }
    assert got["status"]["storedVersions"] == ["v1"]
    assert crd_codec.decode(crd_body(), "v1", True)[0]["spec"]["conversion"] == {"strategy": "None"}


def test_empty_webhook_is_dropped() -> None:
    got, _ = crd_codec.decode(
        crd_body(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": None}}), "v1", True
    )
    assert got["spec"]["conversion"] == {"strategy": "None"}


def test_webhook_with_empty_review_versions_is_dropped_when_stored() -> None:
    asked = {"strategy": "None", "webhook": {"conversionReviewVersions": []}}
    got, _ = crd_codec.decode(crd_body(conversion=asked), "v1", True)
    assert got["spec"]["conversion"] == asked
    assert drop_empty_values(got)["spec"]["conversion"] == {"strategy": "None"}


def test_defaults_of_v1beta1() -> None:
    got, unknown = crd_codec.decode(v1beta1_body(version="v1", odd=1), "v1beta1", True)
    assert unknown == ["spec.odd"]
    assert got["apiVersion"] == "apiextensions.k8s.io/v1"
    assert got["spec"] == {
        "group": "example.com",
        "names": {"plural": "tools", "singular": "tool", "kind": "Tool", "listKind": "ToolList"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True}],
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": True,
    }
    webhook = {"strategy": "Webhook", "webhookClientConfig": {"url": "https://x"}}
    got, _ = crd_codec.decode(v1beta1_body(version="v1", conversion=webhook), "v1beta1", True)
    assert got["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1beta1"]},
    }


def test_top_level_settings_move_to_every_version_and_back() -> None:
    top = {
        "validation": {"openAPIV3Schema": OBJECT},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".a"}],
    }
    versions = [{"name": name, "served": True, "storage": name == "v1"} for name in ("v1", "v2")]
    got, _ = crd_codec.decode(v1beta1_body(versions=versions, **top), "v1beta1", True)
    assert got["spec"]["versions"][1] == {
        "name": "v2",
        "served": True,
        "storage": False,
        "schema": {"openAPIV3Schema": OBJECT},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a"}],
    }
    shown = crd_codec.encode(got, "v1beta1")
    assert shown["apiVersion"] == "apiextensions.k8s.io/v1beta1"
    assert shown["spec"] == {
        "group": "example.com",
        "version": "v1",
        "names": got["spec"]["names"],
        "scope": "Namespaced",
        "versions": versions,
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": True,
        **top,
    }
    assert list(shown["spec"]) == [
        "group", "version", "names", "scope", "validation", "subresources", "versions", "additionalPrinterColumns",
        "conversion", "preserveUnknownFields",
    ]  # fmt: skip


def test_different_settings_stay_per_version() -> None:
    kept = created_crd(version(subresources={"status": {}}), version("v2"))
    spec = crd_codec.encode(kept, "v1beta1")["spec"]
    assert spec["validation"] == {"openAPIV3Schema": OBJECT}
    assert spec["preserveUnknownFields"] is False
    assert "subresources" not in spec
    assert [v.get("subresources") for v in spec["versions"]] == [{"status": {}}, None]
    assert crd_codec.encode(kept, "v1") == kept


def test_encoding_orders_server_fields() -> None:
    kept = created_crd()
    kept["metadata"] |= {"labels": {"a": "b"}, "uid": "u", "resourceVersion": "1"}
    shown = crd_codec.encode(dict(reversed(kept.items())), "v1")
    assert list(shown) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert list(shown["metadata"]) == ["name", "uid", "resourceVersion", "generation", "labels"]


def decode_errors(**spec: Any) -> list[str]:
    with pytest.raises(InvalidError) as told:
        crd_codec.decode(v1beta1_body(**spec), "v1beta1", True)
    assert told.value.message.startswith('CustomResourceDefinition.apiextensions.k8s.io "tools.example.com" is invalid')
    return [f"{error.field}: {error.detail}" for error in told.value.errors]


def test_v1beta1_crd_that_v1_cannot_express_is_rejected() -> None:
    schema = {"openAPIV3Schema": OBJECT}
    both = [
        {"name": "v1", "served": True, "storage": True, "schema": schema},
        {"name": "v2", "served": True, "storage": False},
    ]
    assert decode_errors(versions=both, validation=schema) == [
        "spec.validation: top-level and per-version schemas are mutually exclusive"
    ]
    assert decode_errors(versions=both[:1]) == [
        "spec.versions: per-version schemas may not all be set to identical values "
        "(top-level validation should be used instead)"
    ]
    assert decode_errors(version="v2", versions=[both[1] | {"name": "v1", "storage": True}]) == [
        "spec.version: must match the first version in spec.versions"
    ]
    assert decode_errors(validation=schema) == [
        "spec.versions: must have exactly one version marked as storage version",
        "status.storedVersions: must have at least one stored version",
    ]


def test_v1beta1_requires_fewer_fields() -> None:
    lax = v1beta1_crd(validation={"openAPIV3Schema": {"properties": {"a": {"type": "odd"}}}}, group="x.k8s.io")
    lax["metadata"]["name"] = "tools.x.k8s.io"
    assert crd.validate_create(crd.prepare_create(lax), "v1beta1") == []
    assert [str(error) for error in crd.validate_create(lax, "v1")] == [
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
        'spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: "odd": supported values: '
        '"array", "boolean", "integer", "number", "object", "string"',
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
        'annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
        "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
    ]
