from __future__ import annotations

from typing import Any

from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.shrink import shrink, without_defaults
from tests.declare.test_conversions import crontab
from tests.toolkit.crds import crd_manifest


def shrunk(obj: dict[str, Any], fails: Any) -> dict[str, Any]:
    found, _ = shrink(obj, True, lambda candidate: fails(candidate) or None)
    return found


def test_shrink_removes_and_simplifies_everything_irrelevant() -> None:
    obj = crontab(
        metadata={"name": "my-app", "namespace": "team", "labels": {"a": "b"}, "uid": "1"},
        spec={"hosts": ["one", "two", "three"], "port": 8080, "on": True, "deep": {"er": {"x": [1, 2, 3]}}},
        status={"ready": True},
    )
    assert shrunk(obj, lambda o: len(o.get("spec", {}).get("hosts", [])) > 1) == crontab(
        metadata={"name": "a", "namespace": "a"}, spec={"hosts": ["a", "a"]}
    )
    assert shrunk(obj, lambda o: o.get("spec", {}).get("port", 0) >= 17)["spec"] == {"port": 17}
    assert shrunk(obj, lambda o: "labels" in o["metadata"])["metadata"] == {"name": "a", "namespace": "a", "labels": {}}


def test_shrink_keeps_identity() -> None:
    assert shrunk(crontab(), lambda o: True) == {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "a", "namespace": "a"},
    }


def test_shrink_drops_values_equal_to_defaults() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "integer", "default": 3}, "c": {"type": "integer"}}}
    schema = crd_manifest({"properties": {"a": inner, "list": {"type": "array", "items": inner}}})
    root = CRD(schema).versions["v1"].schema.root
    obj = {"spec": {"a": {"b": 3, "c": 3}, "list": [{"b": 4}, {"b": 3}]}}
    assert without_defaults(root, obj) == {"spec": {"a": {"c": 3}, "list": [{"b": 4}, {}]}}
