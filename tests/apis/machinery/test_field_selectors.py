"""Tests of the selectable fields of built-in kinds."""

from __future__ import annotations

import pytest

from polykind.apis.batch.types import JOB
from polykind.apis.core.types import EVENT, NODE, POD, REPLICATION_CONTROLLER
from polykind.apis.machinery.kinds import Kind
from polykind.contract import JsonObject
from polykind.selectors.selectable_fields import selectable_field_texts

EMPTY: JsonObject = {"metadata": {"name": "a"}, "spec": {}, "status": {}}


@pytest.mark.parametrize(
    ("kind", "obj", "name", "text"),
    [
        (POD, EMPTY, "spec.hostNetwork", "false"),
        (POD, {"spec": {"hostNetwork": True}}, "spec.hostNetwork", "true"),
        (POD, {"spec": {"nodeName": "n"}}, "spec.nodeName", "n"),
        (POD, {"spec": {"nodeName": "n"}}, "spec.host", "n"),
        (POD, {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, "status.podIPs", ""),
        (POD, EMPTY, "status.phase", ""),
        (NODE, EMPTY, "spec.unschedulable", "false"),
        (NODE, {"spec": {"unschedulable": True}}, "spec.unschedulable", "true"),
        (REPLICATION_CONTROLLER, EMPTY, "status.replicas", "0"),
        (JOB, EMPTY, "status.successful", "0"),
        (JOB, {"status": {"succeeded": 2}}, "status.successful", "2"),
        (EVENT, {"source": {"component": "kubelet"}, "reportingComponent": "other"}, "source", "kubelet"),
        (EVENT, {"source": {}, "reportingComponent": "other"}, "source", "other"),
    ],
)
def test_text_of_a_selectable_field(kind: Kind, obj: JsonObject, name: str, text: str) -> None:
    assert selectable_field_texts(obj, kind.selectable or ())[name] == text
