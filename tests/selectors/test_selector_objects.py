"""LabelSelector objects of the API."""

from __future__ import annotations

import pytest

from polykind.contract import JsonObject
from polykind.errors import InternalError
from polykind.selectors.selector_objects import compile_label_selector, matches_labels, validate_label_selector


def test_absent_or_empty_selector_matches_everything() -> None:
    assert compile_label_selector(None).empty
    assert compile_label_selector({}).empty


def test_all_labels_and_expressions_must_match() -> None:
    found = compile_label_selector(
        {
            "matchLabels": {"a": "b"},
            "matchExpressions": [
                {"key": "c", "operator": "NotIn", "values": ["d"]},
                {"key": "e", "operator": "Exists"},
                {"key": "f", "operator": "DoesNotExist"},
            ],
        }
    )
    assert found.matches({"a": "b", "e": ""})
    assert not found.matches({"a": "b", "c": "d", "e": ""})
    assert not found.matches({"a": "b", "e": "", "f": ""})
    assert not found.matches({"a": "b"})


def test_validation_reports_kube_apiserver_messages() -> None:
    wrong = {
        "matchLabels": {"a b": "c"},
        "matchExpressions": [
            {"key": "k", "operator": "In"},
            {"key": "k", "operator": "Exists", "values": ["v"]},
            {"key": "", "operator": "Near"},
            {"key": "k", "operator": "NotIn", "values": ["a b"]},
        ],
    }
    found = [str(problem).split(" (e.g.")[0] for problem in validate_label_selector(wrong, "s")]
    assert found == [
        's.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '
        "'-', '_' or '.', and must start and end with an alphanumeric character",
        "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        's.matchExpressions[2].operator: Invalid value: "Near": not a valid selector operator',
        's.matchExpressions[2].key: Invalid value: "": name part must be non-empty',
        's.matchExpressions[2].key: Invalid value: "": name part must consist of alphanumeric characters, '
        "'-', '_' or '.', and must start and end with an alphanumeric character",
        's.matchExpressions[3].values[0]: Invalid value: "a b": a valid label must be an empty string or consist of '
        "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    ]
    assert len(validate_label_selector(wrong, "s", lenient=True)) == len(found) - 1
    assert validate_label_selector(None, "s") == validate_label_selector({}, "s") == []


def test_unknown_stored_operator_raises_internal_error() -> None:
    with pytest.raises(InternalError, match='"Near" is not a valid label selector operator'):
        compile_label_selector({"matchExpressions": [{"key": "k", "operator": "Near"}]})


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "b"}}, True),
        ({"matchLabels": {"a": "c"}}, False),
        ({"matchLabels": {"a": "not valid!"}}, None),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, None),
    ],
)
def test_labels_match_a_selector_of_a_workload(selector: JsonObject | None, selected: bool | None) -> None:
    assert matches_labels(selector, {"a": "b"}) is selected
