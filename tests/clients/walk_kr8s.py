"""Drive a server with kr8s in a process of its own, because kr8s cannot close its connections.

python -m tests.clients.walk_kr8s WALK KUBECONFIG GROUP, where the group serves CronTabs.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

warnings.filterwarnings("ignore", "Kubernetes version .* is not supported", UserWarning)

import kr8s  # noqa: E402
from kr8s.objects import Namespace, new_class, object_from_spec  # noqa: E402

from tests.support.builtin_objects import CLUSTER_SCOPED, KINDS, builtin_object  # noqa: E402
from tests.support.crontabs import crontab  # noqa: E402


def stored(api: Any, group: str) -> Any:
    kind = new_class(kind="CronTab", version=f"{group}/v1", namespaced=True, plural="crontabs")
    obj = kind({**crontab(group), "metadata": {"name": "one", "namespace": "default"}}, api=api)
    obj.create()
    return obj


def discovery(api: Any, group: str) -> None:
    assert f"{group}/v1" in list(api.api_versions())
    assert ("crontabs", "CronTab") in [(r["name"], r["kind"]) for r in api.api_resources()]
    assert api.whoami() == "admin"


def names(api: Any, group: str) -> None:
    one = stored(api, group)
    for name in (f"crontabs.{group}", f"crontabs.v1.{group}", f"crontab.{group}"):
        assert [found.name for found in api.get(name)] == ["one"], name
    one.label(x="y")
    assert [found.name for found in api.get(f"crontabs.{group}", label_selector={"x": "y"})] == ["one"]
    assert [found.name for found in api.get(f"crontabs.{group}", field_selector={"metadata.name": "two"})] == []


def objects(api: Any, group: str) -> None:
    one = stored(api, group)
    one.patch({"spec": {"image": "patched"}})
    one.wait("jsonpath='{.spec.image}'=patched", timeout=20)
    one.annotate({"a": "b"})
    one.refresh()
    assert (one.spec.image, one.annotations) == ("patched", {"a": "b"})
    one.delete()
    one.wait("delete", timeout=20)
    assert not one.exists()


def namespaces(api: Any, group: str) -> None:
    namespace = Namespace(group.partition(".")[0], api=api)
    namespace.create()
    namespace.delete()
    namespace.wait("delete", timeout=20)
    assert not namespace.exists()


def builtins(api: Any, group: str) -> None:
    name = group.replace(".", "-")
    namespace = Namespace(name, api=api)
    namespace.create()
    for kind in KINDS:
        body = builtin_object(kind, name)
        try:
            obj: Any = object_from_spec(body, api=api)
        except KeyError:  # kr8s has no class for the kind
            unknown: Any = new_class(kind=kind, version=body["apiVersion"], namespaced=kind not in CLUSTER_SCOPED)
            obj = unknown(body, api=api)
        obj.create()
        obj.label(x=name)
        found = list(api.get(obj.endpoint, namespace=name, label_selector={"x": name}))
        assert [other.name for other in found] == [name], kind
        if kind == "Deployment":
            obj.scale(3)
            assert obj.replicas == 3
        obj.delete(grace_period=0)
        obj.wait("delete", timeout=20)
    namespace.delete()


WALKS = {walk.__name__: walk for walk in (discovery, names, objects, namespaces, builtins)}

if __name__ == "__main__":
    WALKS[sys.argv[1]](kr8s.api(kubeconfig=sys.argv[2]), sys.argv[3])
