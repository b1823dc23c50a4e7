"""Selectors of webhooks and policies."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.selection import in_namespace, selector, selector_problems, selects
from polykind.errors import InternalError, NotFound
from tests.admission.support import asked

TEST = {"matchLabels": {"env": "test"}}
PROD = {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}]}


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "v", "labels": labels}}


def test_nothing_selects_everything() -> None:
    assert selector(None).empty
    assert selector({}).empty


def test_labels_and_terms_must_all_hold() -> None:
    found = selector(
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


def test_an_object_is_selected_as_it_is_or_as_it_shall_be() -> None:
    wanted = selector(TEST)
    assert selects(wanted, asked(labelled(env="test")))
    assert selects(wanted, asked(labelled(), labelled(env="test")))
    assert selects(wanted, asked(None, labelled(env="test")))
    assert not selects(wanted, asked(labelled(), labelled(env="prod")))
    assert selects(selector({}), asked(labelled()))


def test_a_namespace_is_selected_by_its_labels() -> None:
    assert in_namespace(selector(TEST), asked(labelled()))
    assert not in_namespace(selector(PROD), asked(labelled()))


def test_what_lies_in_no_namespace_is_always_selected() -> None:
    assert in_namespace(selector(PROD), asked(labelled(), namespace=""))


def test_a_namespace_itself_is_selected_by_what_it_shall_be_and_deleted_by_what_it_is() -> None:
    of: dict[str, Any] = {"group": "", "plural": "namespaces", "namespace": "v"}
    assert in_namespace(selector(PROD), asked(labelled(env="prod"), labelled(env="test"), **of))
    assert in_namespace(selector(TEST), asked(None, labelled(env="test"), **of))
    assert in_namespace(selector(TEST), asked(labelled(env="prod"), labelled(env="test"), subresource="status", **of))


def test_a_namespace_that_is_not_there_is_told() -> None:
    with pytest.raises(NotFound, match='namespaces "gone" not found'):
        in_namespace(selector(TEST), asked(labelled(), namespace="gone", namespace_object=lambda: None))


def test_a_selector_is_judged_in_the_reference_s_words() -> None:
    wrong = {
        "matchLabels": {"a b": "c"},
        "matchExpressions": [
            {"key": "k", "operator": "In"},
            {"key": "k", "operator": "Exists", "values": ["v"]},
            {"key": "", "operator": "Near"},
            {"key": "k", "operator": "NotIn", "values": ["a b"]},
        ],
    }
    found = [str(problem).split(" (e.g.")[0] for problem in selector_problems(wrong, "s")]
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
    assert len(selector_problems(wrong, "s", lenient=True)) == len(found) - 1
    assert selector_problems(None, "s") == selector_problems({}, "s") == []


def test_an_operator_that_nobody_knows_selects_nothing_at_all() -> None:
    with pytest.raises(InternalError, match='"Near" is not a valid label selector operator'):
        selector({"matchExpressions": [{"key": "k", "operator": "Near"}]})
