from __future__ import annotations

from typing import Any

import pytest

from polykind.toolkit.crd_versions import CRD, RejectedError, accept_converted
from tests.toolkit.crds import HOST, HOSTS, crd
from tests.toolkit.declare.test_conversions import KIND, crontab


def test_a_definition_is_read() -> None:
    definition = CRD(crd(HOST, HOSTS))
    assert (definition.kind, definition.name, definition.storage) == (KIND, "crontabs.stable.example.com", "v2")
    assert [(v.name, v.served, v.storage) for v in definition.versions.values()] == [
        ("v1", True, False),
        ("v2", True, True),
    ]


def test_one_of_v1beta1_is_read_as_well() -> None:
    one, other = ({"properties": {name: {"type": "string"}}} for name in ("host", "hosts"))
    old = crd(one, other, preserveUnknownFields=False)
    old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    assert list(CRD(old).versions) == ["v1", "v2"]


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (None, "not a CustomResourceDefinition"),
        ({"apiVersion": "v1", "kind": "Pod"}, "not a CustomResourceDefinition"),
        (crd({"properties": {"host": {}}}), r"properties\[host\]\.type: Required value: must not be empty"),
        ({**crd(HOST), "spec": []}, "cannot unmarshal array"),
        ({**crd(HOST), "metadata": {"name": "x"}}, "must be spec.names.plural"),
        (crd({"x-kubernetes-validations": [{"rule": "self.gone"}]}), "undefined field 'gone'"),
    ],
)
def test_what_is_no_good_definition_is_refused_in_the_api_servers_words(manifest: Any, says: str) -> None:
    with pytest.raises(RejectedError, match=says):
        CRD(manifest)


def test_an_object_finds_its_version() -> None:
    definition = CRD(crd(HOST, HOSTS))
    assert definition.version_of(crontab("v2")).name == "v2"
    for stranger in (crontab("v3"), {**crontab(), "kind": "Other"}, {}):
        with pytest.raises(RejectedError, match=r"is not a CronTab.stable.example.com of v1, v2"):
            definition.version_of(stranger)


def test_a_write_is_pruned_and_defaulted_and_says_what_it_does_not_know() -> None:
    version = CRD(crd(HOST, HOSTS)).versions["v1"]
    obj = crontab(spec={"host": "a", "hosts": []})
    assert version.admit(obj) == (crontab(spec={"host": "a", "port": 80}), ["spec.hosts"])
    assert obj["spec"] == {"host": "a", "hosts": []}


def test_after_a_conversion_it_is_pruned_and_not_defaulted() -> None:
    version = CRD(crd(HOST, HOSTS)).versions["v2"]
    assert version.pruned(crontab("v2", spec={"host": "a"})) == crontab("v2", spec={})
    assert version.defaulted(crontab("v2", spec={})) == crontab("v2", spec={"port": 80})


def test_values_and_rules_are_judged_and_a_namespace_may_be_left_out() -> None:
    version = CRD(crd(HOST, HOSTS)).versions["v2"]
    obj = crontab("v2", metadata={"name": "one"}, spec={"hosts": ["a"], "port": 1})
    assert version.validation_errors(obj) == []
    assert version.validation_errors({**obj, "spec": {"port": 0}}) == [
        "spec.port: Invalid value: 0: spec.port in body should be greater than or equal to 1"
    ]
    assert version.validation_errors({**obj, "spec": {"hosts": []}}) == ["spec: Invalid value: hosts is empty"]
    assert version.validation_errors({**obj, "metadata": {}}) == [
        "metadata.name: Required value: name or generateName is required"
    ]


def test_of_an_answer_labels_and_annotations_are_taken_and_the_rest_of_the_metadata_is_restored() -> None:
    target = CRD(crd(HOST, HOSTS)).versions["v2"]
    original = crontab(metadata={"name": "one", "namespace": "team", "generation": 3, "labels": {"a": "b"}})
    answer = crontab("v2", spec={"hosts": ["a"], "host": "a"})
    answer["metadata"] |= {"generation": 9, "annotations": {"x": "y"}}
    metadata = {"name": "one", "namespace": "team", "generation": 3, "annotations": {"x": "y"}}
    assert accept_converted(original, answer, target) == crontab("v2", metadata=metadata, spec={"hosts": ["a"]})


def test_an_answer_about_another_object_is_refused() -> None:
    target = CRD(crd(HOST, HOSTS)).versions["v2"]
    with pytest.raises(RejectedError, match="must have the same name: one != two"):
        accept_converted(crontab(), crontab("v2", metadata={"name": "two", "namespace": "team"}), target)
