"""The ResourceQuota plugin: evaluators, scopes and the recorded usage."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.plugins.resource_quota import ResourceQuotas
from polykind.contract import JsonObject
from tests.admission.plugins.plugin_support import FakeObjects, pod, request, services


def quota(hard: JsonObject, used: JsonObject | None = None, **spec: Any) -> JsonObject:
    used = dict.fromkeys(hard, "0") if used is None else used
    meta = {"name": "q", "namespace": "default"}
    return {"metadata": meta, "spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": used}}


def admit(objects: FakeObjects, attributes: Attributes) -> JsonObject:
    """Check a request and return the usage of the quota `q`."""
    asyncio.run(ResourceQuotas(services(objects)).admit(attributes))
    used: JsonObject = objects.stored["", "resourcequotas", "default", "q"]["status"]["used"]
    return used


def with_quota(*args: Any, **spec: Any) -> FakeObjects:
    objects = FakeObjects()
    objects.put("", "resourcequotas", quota(*args, **spec))
    return objects


def claim(storage: str, storage_class: str) -> JsonObject:
    resources = {"requests": {"storage": storage}}
    return {"metadata": {"name": "v"}, "spec": {"storageClassName": storage_class, "resources": resources}}


def selector(scope: str, operator: str, *values: str) -> JsonObject:
    return {"scopeSelector": {"matchExpressions": [{"scopeName": scope, "operator": operator, "values": list(values)}]}}


def sized(cpu: str, **more: Any) -> JsonObject:
    return pod(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}], **more)


@pytest.mark.parametrize(
    ("obj", "more", "hard", "used"),
    [
        (pod(), {}, {"pods": "2"}, {"pods": "1"}),
        (sized("1500m"), {}, {"requests.cpu": "2", "count/pods": "5"}, {"requests.cpu": "1500m", "count/pods": "1"}),
        ({"metadata": {"name": "c"}}, {"plural": "configmaps"}, {"configmaps": "1"}, {"configmaps": "1"}),
        (
            {"metadata": {"name": "w"}},
            {"plural": "widgets", "group": "x.io"},
            {"count/widgets.x.io": "1"},
            {"count/widgets.x.io": "1"},
        ),
        (
            {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{}, {}]}},
            {"plural": "services"},
            {"services.nodeports": "5", "services.loadbalancers": "1"},
            {"services.nodeports": "2", "services.loadbalancers": "1"},
        ),
        (
            {
                "metadata": {"name": "v"},
                "spec": {"storageClassName": "g", "resources": {"requests": {"storage": "1Gi"}}},
            },
            {"plural": "persistentvolumeclaims"},
            {"requests.storage": "2Gi", "g.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
            {"requests.storage": "1Gi", "g.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
        ),
    ],
)
def test_usage_is_recorded(obj: JsonObject, more: JsonObject, hard: JsonObject, used: JsonObject) -> None:
    assert admit(with_quota(hard), request(obj, **more)) == used


def test_exceeded_quota() -> None:
    objects = with_quota({"requests.cpu": "2", "pods": "1"}, {"requests.cpu": "1", "pods": "1"})
    with pytest.raises(errors.ForbiddenError) as caught:
        admit(objects, request(sized("1500m")))
    assert caught.value.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1500m, '
        "used: pods=1,requests.cpu=1, limited: pods=1,requests.cpu=2"
    )


@pytest.mark.parametrize(
    ("hard", "used", "reason"),
    [
        ({"limits.cpu": "1", "requests.memory": "1"}, None, "must specify limits.cpu for: c; requests.memory for: c"),
        ({"pods": "1"}, {}, "status unknown for quota: q, resources: pods"),
    ],
)
def test_unchecked_quota(hard: JsonObject, used: JsonObject | None, reason: str) -> None:
    with pytest.raises(errors.ForbiddenError) as caught:
        admit(with_quota(hard, used), request(pod()))
    assert caught.value.message.endswith(reason)


@pytest.mark.parametrize(
    ("spec", "obj", "counts"),
    [
        ({"scopes": ["BestEffort"]}, pod(), True),
        ({"scopes": ["BestEffort"]}, sized("1"), False),
        ({"scopes": ["NotBestEffort", "NotTerminating"]}, sized("1"), True),
        ({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), True),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}]
                }
            },
            pod(priorityClassName="a"),
            True,
        ),
        (
            selector("PriorityClass", "DoesNotExist"),
            pod(priorityClassName="a"),
            False,
        ),
        ({"scopes": ["CrossNamespacePodAffinity"]}, pod(), False),
    ],
)
def test_scopes(spec: JsonObject, obj: JsonObject, counts: bool) -> None:
    assert admit(with_quota({"pods": "5"}, **spec), request(obj)) == {"pods": "1" if counts else "0"}


def test_update_counts_the_increase() -> None:
    objects = with_quota({"services.nodeports": "5"}, {"services.nodeports": "1"})
    old, new = ({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{}] * n}} for n in (1, 3))
    assert admit(objects, request(new, old, plural="services")) == {"services.nodeports": "3"}
    assert admit(objects, request(old, new, plural="services")) == {"services.nodeports": "3"}


def test_dry_run_records_nothing() -> None:
    assert admit(with_quota({"pods": "1"}), request(pod(), dry_run=True)) == {"pods": "0"}


def test_lost_races_are_repeated() -> None:
    objects = with_quota({"pods": "1"})
    objects.conflicts = 11
    assert admit(objects, request(pod())) == {"pods": "1"}
    objects.conflicts = 12
    objects.put("", "resourcequotas", quota({"pods": "1"}))
    with pytest.raises(errors.ConflictError):
        admit(objects, request(pod()))


def test_concurrent_requests_do_not_exceed_the_quota() -> None:
    objects = with_quota({"pods": "3"})
    quotas = ResourceQuotas(services(objects))

    async def run() -> list[BaseException | None]:
        calls = (quotas.admit(request(pod(f"p{index}"))) for index in range(5))
        return await asyncio.gather(*calls, return_exceptions=True)

    assert sum(isinstance(result, errors.ForbiddenError) for result in asyncio.run(run())) == 2


def test_events_are_never_counted() -> None:
    event = {"metadata": {"name": "e"}}
    assert admit(with_quota({"count/events": "0"}), request(event, plural="events")) == {"count/events": "0"}
