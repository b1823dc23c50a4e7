from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.errors import BadRequestError
from polykind.selectors import field_selectors

ALLOWED = {"metadata.name", "metadata.namespace", "spec.colour"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("spec.size=big", "field label not supported: spec.size"),
        (".spec.colour=red", "field label not supported: .spec.colour"),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (
            "metadata.name in (crow)",
            "invalid selector: 'metadata.name in (crow)'; can't understand 'metadata.name in (crow)'",
        ),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_invalid_selector_raises_bad_request(text: str, says: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        field_selectors.parse_field_selector(text, ALLOWED)
    assert refused.value.message == says


def test_builtin_kinds_have_their_own_message() -> None:
    with pytest.raises(BadRequestError) as refused:
        field_selectors.parse_field_selector("x=1", {"metadata.name"}, field_selectors.unknown_field)
    assert refused.value.message == '"x" is not a known field selector: only "metadata.name", "metadata.namespace"'


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("=", True),
        (",", True),
        ("spec.colour=red", True),
        ("spec.colour==red", True),
        ("spec.colour!=red", False),
        ("metadata.name=a,spec.colour!=blue", True),
        ("metadata.name=a,spec.colour=blue", False),
        ("metadata.namespace=", True),
        ("metadata.namespace!=", False),
    ],
)
def test_matches(text: str, selected: bool) -> None:
    have = {"metadata.name": "a", "spec.colour": "red"}
    assert field_selectors.parse_field_selector(text, ALLOWED).matches(have.get) is selected


def test_escapes() -> None:
    selector = field_selectors.parse_field_selector(r"spec.colour=a\,b\=c\\d", ALLOWED)
    assert selector.requirements == (("spec.colour", True, r"a,b=c\d"),)
    assert str(selector) == r"spec.colour=a\,b\=c\\d"


def test_required_name_and_namespace() -> None:
    selector = field_selectors.parse_field_selector("metadata.namespace==ns,metadata.name=n", ALLOWED)
    assert (selector.name, selector.namespace) == ("n", "ns")
    assert field_selectors.parse_field_selector("metadata.name=n").name == "n"
    assert field_selectors.parse_field_selector("metadata.name!=n").name is None
    assert field_selectors.parse_field_selector("").empty


@given(st.text(alphabet="ab=!,\\ .é", max_size=20))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        selector = field_selectors.parse_field_selector(text)
    except BadRequestError:
        return
    assert set(field_selectors.parse_field_selector(str(selector)).requirements) == set(selector.requirements)


def test_some_kinds_have_their_own_messages_for_unsupported_fields() -> None:
    assert field_selectors.unsupported_field_of_jobs("spec.x") == 'field label "spec.x" not supported for Job'
    message = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x"
    assert field_selectors.unsupported_field_of_resource_slices("spec.x") == message
