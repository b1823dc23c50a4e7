"""The LimitRanger plugin: default resources and bounds."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.plugins.limit_ranger import LimitRanger
from polykind.contract import JsonObject
from tests.admission.plugins.plugin_support import FakeObjects, mutate, pod, rejection, request, services


def ranger(*limits: JsonObject) -> LimitRanger:
    objects = FakeObjects()
    meta = {"name": "l", "namespace": "default"}
    objects.put("", "limitranges", {"metadata": meta, "spec": {"limits": list(limits)}})
    return LimitRanger(services(objects))


def with_resources(requests: JsonObject | None = None, limits: JsonObject | None = None, **spec: Any) -> JsonObject:
    resources = {name: value for name, value in (("requests", requests), ("limits", limits)) if value}
    return pod(containers=[{"name": "c", "image": "i", "resources": resources}], **spec)


def test_defaults_are_set_and_recorded() -> None:
    limit = {"type": "Container", "default": {"memory": "2Gi", "cpu": "1"}, "defaultRequest": {"cpu": "500m"}}
    obj = mutate(ranger(limit), request(with_resources(limits={"cpu": "2"})))
    resources = obj["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "500m"}}
    assert obj["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container c; memory limit for container c"
    )


@pytest.mark.parametrize(
    ("limit", "requests", "limits", "reason"),
    [
        ({"min": {"cpu": "1"}}, {}, {}, "minimum cpu usage per Container is 1.  No request is specified"),
        ({"min": {"cpu": "1"}}, {"cpu": "999m"}, {}, "minimum cpu usage per Container is 1, but request is 999m"),
        (
            {"min": {"cpu": "1"}},
            {"cpu": "1"},
            {"cpu": "500m"},
            "minimum cpu usage per Container is 1, but limit is 500m",
        ),
        ({"max": {"cpu": "1"}}, {"cpu": "1"}, {}, "maximum cpu usage per Container is 1.  No limit is specified"),
        ({"max": {"memory": "1Gi"}}, {}, {"memory": "1Gi"}, ""),
        (
            {"max": {"memory": "1Gi"}},
            {},
            {"memory": "1025Mi"},
            "maximum memory usage per Container is 1Gi, but limit is 1025Mi",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"cpu": "1"},
            {"cpu": "3"},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"cpu": "1"},
            {},
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
        (
            {"min": {"cpu": "1", "memory": "1"}},
            {},
            {},
            "[minimum cpu usage per Container is 1.  No request is specified, "
            "minimum memory usage per Container is 1.  No request is specified]",
        ),
    ],
)
def test_bounds_of_containers(limit: JsonObject, requests: JsonObject, limits: JsonObject, reason: str) -> None:
    found = rejection(ranger({"type": "Container", **limit}), request(with_resources(requests, limits)))
    assert found == (f'pods "p" is forbidden: {reason}' if reason else "")


def test_bounds_of_pods_count_sidecars_and_the_largest_init_container() -> None:
    def container(name: str, cpu: str, **more: str) -> JsonObject:
        return {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}, **more}

    obj = pod(
        containers=[container("a", "1"), container("b", "1")],
        initContainers=[container("s", "1", restartPolicy="Always"), container("i", "3")],
    )
    found = rejection(ranger({"type": "Pod", "max": {"cpu": "3"}}), request(obj))
    assert found.endswith("maximum cpu usage per Pod is 3, but limit is 4")


def test_bounds_of_claims() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "v"}}
    obj: JsonObject = {**claim, "spec": {"resources": {"requests": {"storage": "5Gi"}}}}
    found = rejection(
        ranger({"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}),
        request(obj, plural="persistentvolumeclaims"),
    )
    assert found.endswith("maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi")


def test_update_of_a_pod_is_not_checked() -> None:
    plugin = ranger({"type": "Container", "min": {"cpu": "1"}})
    assert rejection(plugin, request(pod(), pod())) == ""
    assert "No request is specified" in rejection(plugin, request(pod(), pod(), subresource="resize"))
