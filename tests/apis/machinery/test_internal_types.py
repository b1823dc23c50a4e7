from __future__ import annotations

import json
from typing import Any

import orjson

from polykind.apis.core.internal_pod_types import show_pod_template
from polykind.apis.machinery.internal_types import InternalTypes, show_label_selector

TYPES = InternalTypes("""
Outer Name DNSPolicy Count:int Ready:bool Size:quantity Any:*
  One:Inner Maybe:*Inner Many:[]Inner CephFS:*Inner=cephfs
Inner Value
""")


def text(value: Any) -> str:
    return orjson.dumps(value).decode()


def test_unset_fields_have_their_zero_values() -> None:
    assert text(TYPES.show("Outer", {})) == (
        '{"Name":"","DNSPolicy":"","Count":0,"Ready":false,"Size":"0","Any":null,'
        '"One":{"Value":""},"Maybe":null,"Many":null,"CephFS":null}'
    )
    assert TYPES.show("Outer", None) is None


def test_fields_are_read_by_their_json_names() -> None:
    value = {"dnsPolicy": "<a>", "maybe": {"value": "x"}, "many": [{}], "cephfs": {}, "any": {"b": 1, "a": 2}}
    shown = json.loads(text(TYPES.show("Outer", value)))
    assert shown["DNSPolicy"] == "<a>"
    assert shown["Maybe"] == {"Value": "x"}
    assert shown["Many"] == [{"Value": ""}]
    assert shown["CephFS"] == {"Value": ""}
    assert '"Any":{"a":2,"b":1}' in text(TYPES.show("Outer", value))
    assert "\\u003ca\\u003e" in text(TYPES.show("Outer", value))


def test_selectors_have_the_order_of_go() -> None:
    selector = {"matchExpressions": [{"key": "k", "operator": "Exists"}], "matchLabels": {"b": "1", "a": "2"}}
    expected = '{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[{"key":"k","operator":"Exists"}]}'
    assert text(show_label_selector(selector)) == expected
    assert show_label_selector(None) is None


def test_pod_template_inlines_metadata_and_moves_host_fields() -> None:
    template = {"metadata": {"labels": {"a": "b"}, "name": "n"}, "spec": {"hostPID": True, "containers": []}}
    shown = text(show_pod_template(template))
    assert shown.startswith(
        '{"name":"n","labels":{"a":"b"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[],'
    )
    assert '"SecurityContext":{"HostNetwork":false,"HostPID":true,' in shown
    assert '"SecurityContext":null' in text(show_pod_template({"metadata": {}, "spec": {}}))
