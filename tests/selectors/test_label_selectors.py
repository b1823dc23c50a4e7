from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.errors import BadRequestError
from polykind.selectors import label_selectors

NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("=red", "found '=', expected: !, identifier, or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a=b,", "found '', expected: identifier after ','"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=(b", "unable to parse requirement: found '(', expected: identifier"),
        (
            "UPPER.example.com/x=1",
            f'unable to parse requirement: <nil>: Invalid value: "UPPER.example.com/x": {SUBDOMAIN}',
        ),
        ("-a=1", f'unable to parse requirement: <nil>: Invalid value: "-a": {NAME}'),
        ("/a", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'),
        ("a/", f'unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; {NAME}'),
        ("a=_bad", f'unable to parse requirement: values[0][a]: Invalid value: "_bad": {VALUE}'),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be "
            "an integer",
        ),
        (
            "a in (_x,_y)",
            f'unable to parse requirement: [values[0][a]: Invalid value: "_x": {VALUE}, '
            f'values[1][a]: Invalid value: "_y": {VALUE}]',
        ),
        (
            "a=" + "b" * 64,
            f'unable to parse requirement: values[0][a]: Invalid value: "{"b" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_invalid_selector_raises_bad_request(text: str, says: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        label_selectors.parse_label_selector(text)
    assert refused.value.message == says


@pytest.mark.parametrize(
    ("text", "given_labels", "selected"),
    [
        ("", {"a": "1"}, True),
        ("a=1", {"a": "1"}, True),
        ("a==1", {"a": "2"}, False),
        ("a=1", None, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=1", {"a": "2"}, True),
        ("a!=1", None, True),
        ("a!=1", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a in (1, 2)", {"a": "3"}, False),
        ("a in ()", {"a": ""}, True),
        ("a notin (1,2)", {"a": "3"}, True),
        ("a notin (1,2)", {}, True),
        ("a notin (,1)", {"a": ""}, False),
        ("in in (in, notin)", {"in": "notin"}, True),
        ("a", {"a": "x"}, True),
        ("a", None, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("a>5", {"a": "6"}, True),
        ("a>5", {"a": "5"}, False),
        ("a<5", {"a": "-6"}, True),
        ("a<5", {"a": "x"}, False),
        ("a<5", {}, False),
        ("a=1,b=2", {"a": "1", "b": "2", "c": "3"}, True),
        ("a=1,b=2", {"a": "1"}, False),
        ("a=1,a=2", {"a": "1"}, False),
        ("a=1,a=2", {"a": "2"}, False),
        ("a=1,b,!c", {"a": "1", "b": ""}, True),
        ("a=1,b,!c", {"a": "1", "b": "", "c": ""}, False),
        ("example.com/a = x", {"example.com/a": "x"}, True),
    ],
)
def test_matches(text: str, given_labels: dict[str, str] | None, selected: bool) -> None:
    assert label_selectors.parse_label_selector(text).matches(given_labels) is selected


def test_empty_is_true_only_without_requirements() -> None:
    assert label_selectors.parse_label_selector("").empty
    assert label_selectors.parse_label_selector("  ").empty
    assert not label_selectors.parse_label_selector("a").empty


def test_text_is_sorted_by_key() -> None:
    assert str(label_selectors.parse_label_selector("z,!y,b in (2,1), a = 1,c>3")) == "a=1,b in (1,2),c>3,!y,z"


@given(st.text(alphabet="ab=!(),<> \x00\tin/._-é", max_size=20))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        selector = label_selectors.parse_label_selector(text)
    except BadRequestError:
        return
    assert str(label_selectors.parse_label_selector(str(selector))) == str(selector)


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"])), st.sampled_from("abc"))
def test_requirement_and_its_negation_never_match_both(given_labels: dict[str, str], key: str) -> None:
    for term, opposite in ((f"{key}=1", f"{key}!=1"), (f"{key} in (1,2)", f"{key} notin (1,2)"), (key, f"!{key}")):
        assert label_selectors.parse_label_selector(term).matches(
            given_labels
        ) is not label_selectors.parse_label_selector(opposite).matches(given_labels)
