from __future__ import annotations

from typing import Any

import pytest

from polykind.toolkit.crd_versions import CRD, RejectedError, accept_converted
from tests.declare.test_conversions import KIND, crontab
from tests.toolkit.crds import HOST, HOSTS, crd_manifest


def test_crd_is_read() -> None:
    crd = CRD(crd_manifest(HOST, HOSTS))
    assert (crd.kind, crd.name, crd.storage) == (KIND, "crontabs.stable.example.com", "v2")
    assert [(v.name, v.served, v.storage) for v in crd.versions.values()] == [
        ("v1", True, False),
        ("v2", True, True),
    ]


def test_v1beta1_crd_is_read() -> None:
    one, other = ({"properties": {name: {"type": "string"}}} for name in ("host", "hosts"))
    old = crd_manifest(one, other, preserveUnknownFields=False)
    old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    assert list(CRD(old).versions) == ["v1", "v2"]


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (None, "not a CustomResourceDefinition"),
        ({"apiVersion": "v1", "kind": "Pod"}, "not a CustomResourceDefinition"),
        (crd_manifest({"properties": {"host": {}}}), r"properties\[host\]\.type: Required value: must not be empty"),
        ({**crd_manifest(HOST), "spec": []}, "cannot unmarshal array"),
        ({**crd_manifest(HOST), "metadata": {"name": "x"}}, "must be spec.names.plural"),
        (crd_manifest({"x-kubernetes-validations": [{"rule": "self.gone"}]}), "undefined field 'gone'"),
    ],
)
def test_invalid_crd_is_rejected_with_the_api_servers_message(manifest: Any, says: str) -> None:
    with pytest.raises(RejectedError, match=says):
        CRD(manifest)


def test_version_of_object() -> None:
    crd = CRD(crd_manifest(HOST, HOSTS))
    assert crd.version_of(crontab("v2")).name == "v2"
    for stranger in (crontab("v3"), {**crontab(), "kind": "Other"}, {}):
        with pytest.raises(RejectedError, match=r"is not a CronTab.stable.example.com of v1, v2"):
            crd.version_of(stranger)


def test_admit_prunes_defaults_and_reports_unknown_fields() -> None:
    version = CRD(crd_manifest(HOST, HOSTS)).versions["v1"]
    obj = crontab(spec={"host": "a", "hosts": []})
    assert version.admit(obj) == (crontab(spec={"host": "a", "port": 80}), ["spec.hosts"])
    assert obj["spec"] == {"host": "a", "hosts": []}


def test_converted_object_is_pruned_but_not_defaulted() -> None:
    version = CRD(crd_manifest(HOST, HOSTS)).versions["v2"]
    assert version.pruned(crontab("v2", spec={"host": "a"})) == crontab("v2", spec={})
    assert version.defaulted(crontab("v2", spec={})) == crontab("v2", spec={"port": 80})


def test_validation_checks_values_and_rules_without_namespace() -> None:
    version = CRD(crd_manifest(HOST, HOSTS)).versions["v2"]
    obj = crontab("v2", metadata={"name": "one"}, spec={"hosts": ["a"], "port": 1})
    assert version.validation_errors(obj) == []
    assert version.validation_errors({**obj, "spec": {"port": 0}}) == [
        "spec.port: Invalid value: 0: spec.port in body should be greater than or equal to 1"
    ]
    assert version.validation_errors({**obj, "spec": {"hosts": []}}) == ["spec: Invalid value: hosts is empty"]
    assert version.validation_errors({**obj, "metadata": {}}) == [
        "metadata.name: Required value: name or generateName is required"
    ]


def test_converted_metadata_keeps_only_label_and_annotation_changes() -> None:
    target = CRD(crd_manifest(HOST, HOSTS)).versions["v2"]
    original = crontab(metadata={"name": "one", "namespace": "team", "generation": 3, "labels": {"a": "b"}})
    answer = crontab("v2", spec={"hosts": ["a"], "host": "a"})
    answer["metadata"] |= {"generation": 9, "annotations": {"x": "y"}}
    metadata = {"name": "one", "namespace": "team", "generation": 3, "annotations": {"x": "y"}}
    assert accept_converted(original, answer, target) == crontab("v2", metadata=metadata, spec={"hosts": ["a"]})


def test_converted_object_with_other_identity_is_rejected() -> None:
    target = CRD(crd_manifest(HOST, HOSTS)).versions["v2"]
    with pytest.raises(RejectedError, match="must have the same name: one != two"):
        accept_converted(crontab(), crontab("v2", metadata={"name": "two", "namespace": "team"}), target)
