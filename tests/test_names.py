"""Syntax of object names, label keys and label values."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind import names


@pytest.mark.parametrize("good", ["a", "a-b", "1.2", "a.b-c.d", "x" * 253])
def test_subdomains(good: str) -> None:
    assert names.dns1123_subdomain(good) == []


@pytest.mark.parametrize("bad", ["", "-a", "a-", "a..b", "A", "a_b", "a\n", "ä"])
def test_invalid_subdomains(bad: str) -> None:
    [problem] = names.dns1123_subdomain(bad)
    assert problem.startswith("a lowercase RFC 1123 subdomain must consist of")


def test_length_errors_name_characters_or_bytes() -> None:
    assert names.dns1123_subdomain("a" * 254) == ["must be no more than 253 characters"]
    assert names.dns1123_label("a" * 64) == ["must be no more than 63 characters"]
    assert names.dns1035_label("a" * 64) == ["must be no more than 63 characters"]
    assert names.label_value("a" * 64) == ["must be no more than 63 bytes"]
    assert names.qualified_name("a" * 64) == ["name part must be no more than 63 bytes"]
    assert names.qualified_name("a" * 254 + "/b") == ["prefix part must be no more than 253 bytes"]


def test_labels() -> None:
    assert names.dns1123_label("a.b") == ["must not contain dots"]
    assert names.dns1035_label("1a") == [
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character "
        "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
        "'[a-z]([-a-z0-9]*[a-z0-9])?')"
    ]


def test_qualified_names() -> None:
    assert names.qualified_name("example.com/My_Name.1") == []
    assert names.qualified_name("/x") == ["prefix part must be non-empty"]
    assert names.qualified_name("a/b/c") == [
        "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
        "(e.g. 'example.com/MyName')"
    ]


def test_label_values_may_be_empty() -> None:
    assert names.label_value("") == []
    assert names.label_value("no spaces here") == [
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
        "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ]


_TEXTS = st.text("aZ9-_./\n", max_size=4) | st.sampled_from(["a" * 63, "a" * 64, "a\nb"])


@given(st.dictionaries(_TEXTS, _TEXTS, min_size=1, max_size=3))
def test_simple_labels_are_valid(labels: dict[str, str]) -> None:
    if names.are_simple_labels(labels):
        assert not any(names.qualified_name(key) + names.label_value(value) for key, value in labels.items())


def test_are_simple_labels() -> None:
    assert names.are_simple_labels({"app": "web", "tier": "a" * 63})
    assert not names.are_simple_labels({"a\nb": "c"})
    assert not names.are_simple_labels({"app": 1})


def test_path_segments() -> None:
    assert names.path_segment("Anything goes") == []
    assert names.path_segment("..") == ["may not be '..'"]
    assert names.path_segment("..", True) == []
    assert names.path_segment("a/b%") == ["may not contain '/'", "may not contain '%'"]


def test_generate_name_may_end_with_a_dash() -> None:
    assert names.subdomain_name("a-", True) == []
    assert names.subdomain_name("a-", False) != []


def test_checks_take_linear_time() -> None:
    start = time.perf_counter()
    names.dns1123_subdomain("a-" * 50_000 + "!")
    names.qualified_name("a.-_" * 50_000 + "!")
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("value", ["*.example.com", "*.a"])
def test_wildcard_subdomain(value: str) -> None:
    assert names.wildcard_subdomain(value) == []
    assert names.wildcard_subdomain(value[2:])[0].startswith("a wildcard DNS-1123 subdomain must start with '*.'")


def test_port_name_reports_every_broken_rule() -> None:
    assert names.port_name("http-2") == []
    assert names.port_name("-8080--8080-8080") == [
        "must be no more than 15 characters",
        "must contain at least one letter (a-z)",
        "must not contain consecutive hyphens",
        "must not begin or end with a hyphen",
    ]
    assert names.port_name("A") == [
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        "must contain at least one letter (a-z)",
    ]


def test_port_number() -> None:
    assert names.port_number(65535) == []
    assert names.port_number(0) == names.port_number(65536) == ["must be between 1 and 65535, inclusive"]


@pytest.mark.parametrize(("name", "valid"), [("_srv.example.com", True), ("a_b", True), ("a_", False), ("__a", False)])
def test_subdomains_with_underscores(name: str, valid: bool) -> None:
    assert (names.subdomain_with_underscore(name) == []) is valid


@pytest.mark.parametrize(("name", "valid"), [("PATH", True), ("1 a!", True), ("a=b", False), ("ä", False), ("", False)])
def test_environment_variable_names(name: str, valid: bool) -> None:
    assert (names.env_var_name(name) == []) is valid


@pytest.mark.parametrize(("name", "valid"), [("X-Header", True), ("", False), ("a b", False), ("a_b", False)])
def test_http_header_names(name: str, valid: bool) -> None:
    assert (names.http_header_name(name) == []) is valid


def test_long_names_count_bytes_and_allow_any_prefix() -> None:
    assert names.long_name("a" * 254) == ["must be no more than 253 bytes"]
    assert names.long_name("Bad_", True) == []


def test_many_labels_are_checked_in_parts() -> None:
    labels = {f"label-{number}": "value" for number in range(2_500)}
    assert names.are_simple_labels(labels)
    assert not names.are_simple_labels({**labels, "last": "-"})
