from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.apis.autoscaling.types import SCALE
from polykind.apis.core.types import NAMESPACE
from polykind.apis.rbac.types import ROLE
from polykind.codec import json_codec
from polykind.codec.table import TableFormat

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(-1e300, 1e300)
    | st.sampled_from(["", "x", "2026-11-15T11:55:00Z"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.fixed_dictionaries({}, optional={"a": inner, "b": inner, "name": inner, "labels": inner, "x": inner})
    ),
)

METADATA = st.fixed_dictionaries(
    {}, optional={"name": st.just("red"), "labels": st.just({"x": "y"}), "annotations": st.just({"a": ""})}
)


def train(value: Any, **metadata: Any) -> dict[str, Any]:
    base = {"name": "red", "namespace": "default", "uid": "u", "resourceVersion": "7"}
    base["creationTimestamp"] = "2026-11-15T11:55:00Z"
    return {"apiVersion": "x/v1", "kind": "Train", "metadata": base | metadata, "spec": {"any": value}}


ANY = TableFormat(
    [
        {"name": kind, "type": kind, "jsonPath": ".spec.any"}
        for kind in ("integer", "number", "boolean", "date", "string")
    ]
)


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        ("hello", [None, None, None, "<invalid>", "hello"]),
        (42, [42, 42, None, None, "42"]),
        (2.75, [2, 2.75, None, None, "2.75"]),
        (1234567.5, [1234567, 1234567.5, None, None, "1.2345675e+06"]),
        (True, [None, None, True, None, "true"]),
        ({"b": 1, "a": ["x"]}, [None, None, None, None, '{"a":["x"],"b":1}']),
        ([1, "two", 3.5], [None, None, None, None, '[1,"two",3.5]']),
        (None, [None, None, None, None, "<no value>"]),
        ("2999-12-31T23:59:59Z", [None, None, None, "<invalid>", "2999-12-31T23:59:59Z"]),
        ("2026-11-15T13:55:00+02:00", [None, None, None, "5m", "2026-11-15T13:55:00+02:00"]),
        ("", [None, None, None, "<unknown>", ""]),
        ("0001-01-01T00:00:00Z", [None, None, None, "<unknown>", "0001-01-01T00:00:00Z"]),
        ("0000-05-01T00:00:00Z", [None, None, None, "292y", "0000-05-01T00:00:00Z"]),
        ("2026-02-30T00:00:00Z", [None, None, None, "<invalid>", "2026-02-30T00:00:00Z"]),
    ],
)
def test_cells_by_type(value: Any, cells: list[Any]) -> None:
    assert ANY.row(train(value), NOW)["cells"] == ["red", *cells]


def test_definitions() -> None:
    formats = TableFormat(
        [
            {"name": "Line", "type": "string", "jsonPath": ".spec.line"},
            {
                "name": "Cars",
                "type": "integer",
                "jsonPath": ".c",
                "description": "How many cars",
                "priority": 1,
                "format": "int32",
            },
        ]
    )
    assert [column["name"] for column in formats.definitions] == ["Name", "Line", "Cars"]
    assert formats.definitions[0]["format"] == "name"
    assert formats.definitions[1] == {
        "name": "Line",
        "type": "string",
        "format": "",
        "description": "Custom resource definition column (in JSONPath format): .spec.line",
        "priority": 0,
    }
    assert formats.definitions[2] == {
        "name": "Cars",
        "type": "integer",
        "format": "int32",
        "description": "How many cars",
        "priority": 1,
    }


def test_default_column_is_age() -> None:
    nothing: tuple[list[dict[str, Any]] | None, ...] = (None, [])
    for columns in nothing:
        formats = TableFormat(columns)
        assert [(c["name"], c["type"]) for c in formats.definitions] == [("Name", "string"), ("Age", "date")]
        assert formats.row(train(1), NOW)["cells"] == ["red", "5m"]


def test_malformed_path_drops_remaining_columns() -> None:
    columns: list[dict[str, Any]] = [
        {"name": n, "type": "string", "jsonPath": p} for n, p in (("A", ".a"), ("B", ".b[x"), ("C", ".c"))
    ]
    assert [c["name"] for c in TableFormat(columns).definitions] == ["Name", "A"]


def test_row_include_option() -> None:
    obj = train(1, labels={"a": "b"}, managedFields=[{"time": "t", "manager": "m"}])
    formats = TableFormat(None)
    assert formats.row(obj, NOW, "None")["object"] is None
    assert formats.row(obj, NOW, "Object")["object"] == obj
    carried = formats.row(obj, NOW, "Metadata")["object"]
    assert (carried["kind"], carried["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert list(carried["metadata"]) == [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "labels",
        "managedFields",
    ]
    assert list(carried["metadata"]["managedFields"][0]) == ["manager", "time"]


def test_tables() -> None:
    formats = TableFormat(None)
    integers_only = formats.table([train(1)], {"resourceVersion": "9", "continue": "", "remainingItemCount": None}, NOW)
    assert list(integers_only) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert integers_only["metadata"] == {"resourceVersion": "9"}
    assert integers_only["columnDefinitions"] == formats.definitions
    later = formats.table(
        [], {"resourceVersion": "9", "continue": "c", "remainingItemCount": 0}, NOW, version="v1beta1", headers=False
    )
    assert later == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": {"resourceVersion": "9", "continue": "c", "remainingItemCount": 0},
        "columnDefinitions": None,
        "rows": [],
    }


def test_bookmark_row_has_no_name() -> None:
    bookmark = {"kind": "Train", "apiVersion": "x/v1", "metadata": {"resourceVersion": "12"}}
    row = TableFormat(None).row(bookmark, NOW)
    assert row["cells"] == ["", None]
    assert row["object"]["metadata"] == {"resourceVersion": "12"}


def test_initial_events_end_row_includes_metadata() -> None:
    bookmark = {"metadata": {"resourceVersion": "12", "annotations": {"k8s.io/initial-events-end": "true"}}}
    row = TableFormat(None).row(bookmark, NOW, "None")
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_builtin_tables() -> None:
    namespace = {
        "metadata": {"name": "default", "creationTimestamp": "2026-11-13T12:00:00Z"},
        "status": {"phase": "Active"},
    }
    assert [c["name"] for c in NAMESPACE.table.definitions] == ["Name", "Status", "Age"]
    assert NAMESPACE.table.row(namespace, NOW)["cells"] == ["default", "Active", "2d"]
    assert [(c["name"], c["type"]) for c in ROLE.table.definitions] == [("Name", "string"), ("Created At", "date")]
    assert ROLE.table.row(namespace, NOW)["cells"] == ["default", "2026-11-13T12:00:00Z"]
    scale = {"metadata": {"name": "p"}, "spec": {"replicas": 3}, "status": {}}
    assert [c["name"] for c in SCALE.table.definitions] == ["Name", "Desired", "Available", "Age"]
    assert SCALE.table.row(scale, NOW)["cells"] == ["p", 3, None, None]


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": []}, {"metadata": {"name": 5}, "status": None}])
def test_malformed_objects_have_rows(obj: dict[str, Any]) -> None:
    for formats in (ANY, SCALE.table):
        assert len(formats.row(obj, NOW)["cells"]) == len(formats.definitions)


@given(
    st.lists(st.sampled_from([".spec.a", ".spec", ".metadata.labels.x", ".spec.a.b", ".items[0].a", ".n"]), max_size=4),
    st.sampled_from(["string", "integer", "number", "boolean", "date"]),
    st.fixed_dictionaries({}, optional={"spec": VALUES, "n": VALUES, "items": VALUES, "metadata": METADATA}),
    st.sampled_from(["Metadata", "Object", "None"]),
)
def test_encoded_rows_equal_decoded_rows(paths: list[str], kind: str, obj: dict[str, Any], include: str) -> None:
    columns = TableFormat([{"name": path, "type": kind, "jsonPath": path} for path in paths])
    data = json_codec.encode(obj)
    assert columns.encode_row(data, NOW, include) == json_codec.encode_ordered(
        columns.row(json_codec.decode(data), NOW, include)
    )
