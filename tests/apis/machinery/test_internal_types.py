from __future__ import annotations

import json
from typing import Any

import orjson

from polykind.apis.core.internal_pod_types import show_pod_template
from polykind.apis.machinery.internal_types import show_internal, show_label_selector
from polykind.apis.machinery.type_tables import TypeTable

TYPES = """
internal Outer = name dnsPolicy count ready size any one maybe many cephfs Inner.value

struct Outer
    cephfs     1  *Inner             go=CephFS
    name       2  string
    dnsPolicy  3  string             go=DNSPolicy
    count      4  *int32             internal=value
    ready      5  bool
    size       6  Quantity
    any        7  map[string]string
    one        8  Inner
    maybe      9  *Inner
    many      10  []Inner
    hidden    11  string

struct Inner
    value  1  string
"""
OUTER = TypeTable("v1", lambda: TYPES).struct("Outer")


def text(value: Any) -> str:
    return orjson.dumps(value).decode()


def test_unset_fields_have_their_zero_values() -> None:
    assert text(show_internal(OUTER, {})) == (
        '{"Name":"","DNSPolicy":"","Count":0,"Ready":false,"Size":"0","Any":null,'
        '"One":{"Value":""},"Maybe":null,"Many":null,"CephFS":null,"Value":""}'
    )
    assert show_internal(OUTER, None) is None


def test_fields_are_read_by_their_json_names() -> None:
    value = {"dnsPolicy": "<a>", "maybe": {"value": "x"}, "many": [{}], "cephfs": {}, "any": {"b": "1", "a": "2"}}
    shown = json.loads(text(show_internal(OUTER, value)))
    assert shown["DNSPolicy"] == "<a>"
    assert shown["Maybe"] == {"Value": "x"}
    assert shown["Many"] == [{"Value": ""}]
    assert shown["CephFS"] == {"Value": ""}
    assert '"Any":{"a":"2","b":"1"}' in text(show_internal(OUTER, value))
    assert "\\u003ca\\u003e" in text(show_internal(OUTER, value))


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
