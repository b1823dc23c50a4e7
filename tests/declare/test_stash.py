from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.convert import Conversions, put, take
from tests.declare.test_conversions import JSON, KIND, crontab

KEY = "stable.example.com/conversion-stash"


@given(JSON)
def test_put_and_take_leave_no_trace(value: Any) -> None:
    obj = crontab()
    put(obj, "hosts", value)
    assert take(obj, "hosts") == value
    assert take(obj, "hosts") is None
    assert obj == crontab()


@given(st.dictionaries(st.text(max_size=4), JSON, min_size=1, max_size=3))
def test_entries_are_independent(values: dict[str, Any]) -> None:
    obj = crontab()
    for name, value in values.items():
        put(obj, name, value)
    assert {name: take(obj, name) for name in values} == values
    assert obj == crontab()


def test_other_annotations_are_kept() -> None:
    obj = crontab(metadata={"name": "one", "annotations": {"a": "b"}})
    put(obj, "x", 1)
    assert set(obj["metadata"]["annotations"]) == {"a", KEY}
    take(obj, "x")
    assert obj["metadata"]["annotations"] == {"a": "b"}


def test_edit_beside_the_stash_wins() -> None:
    obj = crontab(spec={"host": "a"})
    put(obj, "hosts", ["a", "b"], beside=["spec.host"])
    obj["spec"]["host"] = "c"
    assert take(obj, "hosts") is None
    assert "annotations" not in obj["metadata"]


@pytest.mark.parametrize(("before", "after"), [({"host": None}, {}), ({}, {"host": None}), ({"host": {"a": 1}}, {})])
def test_added_or_removed_field_counts_as_edited(before: dict[str, Any], after: dict[str, Any]) -> None:
    obj = crontab(spec=before)
    put(obj, "hosts", ["a"], beside=["spec.host"])
    obj["spec"] = after
    assert take(obj, "hosts") is None


def test_unrelated_edit_keeps_the_stash() -> None:
    obj = crontab(spec={"host": "a", "port": 1})
    put(obj, "hosts", ["a", "b"], beside=["spec.host"])
    obj["spec"]["port"] = 2
    assert take(obj, "hosts") == ["a", "b"]


def test_stashed_value_is_copied() -> None:
    obj, hosts = crontab(), ["a"]
    put(obj, "hosts", hosts)
    hosts.append("b")
    assert take(obj, "hosts") == ["a"]


def test_stash_works_without_metadata() -> None:
    obj = {"apiVersion": "stable.example.com/v1", "kind": "CronTab"}
    put(obj, "x", 1)
    assert take(obj, "x") == 1


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", '{"hosts":1}', '{"hosts":{}}', '{"hosts":{"value":1,"digest":"?","beside":[1]}}']
)
def test_unreadable_annotation_counts_as_empty(text: str) -> None:
    obj = crontab(metadata={"annotations": {KEY: text}})
    assert take(obj, "hosts") is None


def test_large_stash_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        put(crontab(), "hosts", "x" * 40_000)
    assert "the stash of an object has 40" in caplog.text


def test_stash_needs_a_group() -> None:
    with pytest.raises(ValueError, match="with a group"):
        put({"apiVersion": "v1"}, "x", 1)


def test_round_trip_through_a_version_without_the_field() -> None:
    crontabs = Conversions(KIND)

    @crontabs.step("v2", "v1")
    def down(obj: dict[str, Any]) -> None:
        hosts = obj["spec"].pop("hosts", None)
        if hosts:
            obj["spec"]["host"] = hosts[0]
            put(obj, "hosts", hosts, beside=["spec.host"])

    @crontabs.step("v1", "v2")
    def up(obj: dict[str, Any]) -> None:
        hosts, host = take(obj, "hosts"), obj["spec"].pop("host", None)
        if hosts is not None:
            obj["spec"]["hosts"] = hosts
        elif host is not None:
            obj["spec"]["hosts"] = [host]

    there = crontabs.convert(crontab("v2", spec={"hosts": ["a", "b"]}), "v1")
    assert json.loads(there["metadata"]["annotations"][KEY])["hosts"]["value"] == ["a", "b"]
    assert crontabs.convert(there, "v2") == crontab("v2", spec={"hosts": ["a", "b"]})
    there["spec"]["host"] = "c"
    assert crontabs.convert(there, "v2") == crontab("v2", spec={"hosts": ["c"]})
