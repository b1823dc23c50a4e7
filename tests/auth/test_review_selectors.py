from __future__ import annotations

from typing import Any

import pytest

from polykind.auth.review_selectors import not_understood, problems


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def told(name: str, **selector: Any) -> list[str]:
    return [str(problem).removeprefix(f"at.{name}.") for problem in problems({name: selector}, "at")]


@pytest.mark.parametrize("name", ["fieldSelector", "labelSelector"])
def test_a_selector_is_a_text_or_terms(name: str) -> None:
    assert problems({}, "at") == []
    assert told(name, rawSelector="a=b") == []
    assert told(name, requirements=[term("a", "In", "b"), term("c", "Exists"), term("d", "Near")]) == []
    assert told(name) == [
        f"requirements: Required value: when at.{name} is specified, requirements or rawSelector is required"
    ]
    assert told(name, rawSelector="a=b", requirements=[term("a", "In", "b")]) == [
        'rawSelector: Invalid value: "a=b": may not specified at the same time as requirements'
    ]


@pytest.mark.parametrize("name", ["fieldSelector", "labelSelector"])
def test_operators_take_values_or_none(name: str) -> None:
    assert told(name, requirements=[term("a", "In"), term("b", "DoesNotExist", "c")]) == [
        "requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ]


def test_a_field_has_a_name_and_a_label_a_good_one() -> None:
    assert told("fieldSelector", requirements=[term("", "Exists"), term("-", "In", "-")]) == [
        "requirements[0].key: Required value: must be specified"
    ]
    key, value = told("labelSelector", requirements=[term("-a", "In", "b", "-c")])
    assert key.startswith('requirements[0].key: Invalid value: "-a": name part must consist of')
    assert value.startswith('requirements[0].values[1]: Invalid value: "-c": a valid label must be')


@pytest.mark.parametrize(
    ("name", "selector", "how"),
    [
        ("fieldSelector", {"rawSelector": "a=b"}, None),
        ("fieldSelector", {"rawSelector": "a"}, ""),
        ("fieldSelector", {"requirements": [term("a", "In", "b")]}, None),
        ("fieldSelector", {"requirements": [term("a", "Exists")]}, ""),
        ("fieldSelector", {"requirements": [term("a", "In", "b", "c"), term("a", "NotIn", "b")]}, " partially"),
        ("labelSelector", {"rawSelector": "a in (b,c),!d"}, None),
        ("labelSelector", {"rawSelector": "a in ("}, ""),
        ("labelSelector", {"requirements": [term("a", "In", "b", "c"), term("d", "Exists")]}, None),
        ("labelSelector", {"requirements": [term("a", "Near")]}, ""),
        ("labelSelector", {"requirements": [term("a", "Near"), term("d", "Exists")]}, " partially"),
    ],
)
def test_what_is_not_understood_is_told(name: str, selector: dict[str, Any], how: str | None) -> None:
    said = "" if how is None else f"at.{name}{how} ignored due to parse error"
    assert not_understood({name: selector}, "at") == said


def test_both_may_be_misunderstood() -> None:
    both = {"labelSelector": {"rawSelector": "("}, "fieldSelector": {"rawSelector": "x"}}
    assert not_understood(both, "at") == (
        "at.fieldSelector ignored due to parse error; at.labelSelector ignored due to parse error"
    )
