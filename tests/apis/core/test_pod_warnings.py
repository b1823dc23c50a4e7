"""Tests of the warnings about pods and pod templates."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

import pytest

from polykind.apis.core.pod_warnings import pod_template_warnings, pod_warnings
from polykind.contract import JsonObject
from tests.apis.core.pods import container, pod, template


def test_ordinary_pods_have_no_warnings() -> None:
    assert pod_warnings(pod()) == pod_template_warnings(template(), None, "template") == []
    assert pod_template_warnings(None, None, "template") == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}, ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead']),
        ({"volumes": [{"name": "v", "gitRepo": {"repository": "r"}}]}, ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"]),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s", "items": [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}]}}]}, ['volume "v" (Secret "s"): overlapping paths: "x/y" with "x"']),
        ({"volumes": [{"name": "v", "projected": {"sources": [{}]}}]}, ['volume "v" (Projected) has no sources provided']),
        ({"imagePullSecrets": [{}, {"name": "a"}, {"name": "a"}]}, ['spec.imagePullSecrets[2].name: duplicate name "a"', 'spec.imagePullSecrets[0].name: invalid empty name ""']),
        ({"containers": [container(resources={"requests": {"memory": "100m"}})]}, ['spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer']),
        ({"containers": [container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"}])]}, ['spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply']),
        ({"containers": [container(ports=[{"containerPort": 80}, {"containerPort": 80, "hostPort": 8}])]}, ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"]),
        ({"containers": [container(ports=[{"containerPort": 80, "hostIP": "::1"}])]}, ["spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:::1}"]),
        ({"topologySpreadConstraints": [{"topologyKey": "zone"}]}, ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"]),
    ],
)  # fmt: skip
def test_warnings(spec: JsonObject, expected: list[str]) -> None:
    assert pod_warnings(pod(**spec)) == expected
    assert pod_template_warnings(template(**spec), None, "t") == [text.replace("spec.", "t.spec.") for text in expected]


def test_negative_grace_period_of_a_template() -> None:
    assert pod_template_warnings(template(terminationGracePeriodSeconds=-1), None, "t") == [
        "t.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    ]


def test_seccomp_annotations_have_no_effect() -> None:
    found = pod_warnings(pod(annotations={"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}))
    assert found == [
        "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: "
        'non-functional in v1.27+; use the "seccompProfile" field instead'
    ]


TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"affinity": {"nodeAffinity": {TERMS: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}]}}}}, [f"affinity.nodeAffinity.{TERMS}.nodeSelectorTerms[0].matchExpressions[0].key"]),
        ({"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}}]}}}, [f"affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].values[0]"]),
        ({"affinity": {"podAffinity": {TERMS: [{}], PREFERRED: [{"podAffinityTerm": {}}]}}}, [f"affinity.podAffinity.{TERMS}[0].labelSelector", f"affinity.podAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector"]),
        ({"topologySpreadConstraints": [{"topologyKey": "beta.kubernetes.io/arch", "labelSelector": {}}]}, ["topologySpreadConstraints[0].topologyKey"]),
        ({"overhead": {"memory": "1m"}}, ["overhead[memory]"]),
        ({"dnsConfig": {"nameservers": ["FE80::1"]}, "hostAliases": [{"ip": "FE80::1"}]}, ["dnsConfig.nameservers[0]", "hostAliases[0].ip"]),
        ({"containers": [container(ports=[{"containerPort": 80, "hostPort": 8, "name": "a"}, {"containerPort": 80, "hostPort": 8, "hostIP": "1.1.1.1", "name": "a"}])]}, ["containers[0].ports[1]", "containers[0].ports[1]"]),
        ({"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1m"}}}}}}]}, ["volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]"]),
    ],
)  # fmt: skip
def test_paths_of_warnings(spec: JsonObject, paths: list[str]) -> None:
    assert [text.partition(": ")[0].removeprefix("spec.") for text in pod_warnings(pod(**spec))] == paths


@pytest.mark.parametrize(
    ("sources", "overlap"),
    [
        ([{"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}, {"secret": {"name": "s", "items": [{"key": "k", "path": "p/"}]}}], '"p" (Secret "s") with "p" (ConfigMap "c")'),
        ([{"downwardAPI": {"items": [{"path": "t"}]}}, {"serviceAccountToken": {"path": "t/u"}}], '"t/u" (ServiceAccountToken) with "t" (DownwardAPI)'),
    ],
)  # fmt: skip
def test_projected_files_that_overlap(sources: list[JsonObject], overlap: str) -> None:
    found = pod_warnings(pod(volumes=[{"name": "v", "projected": {"sources": sources}}]))
    assert found == [f'volume "v" (Projected): overlapping paths: {overlap}']
