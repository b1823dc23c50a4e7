"""Validation of IP addresses and CIDR values, with kube-apiserver's messages."""

from __future__ import annotations

import pytest

from polykind.apis.meta import ip_validation

_NO_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("10.9.8.7", None),
        ("2001:db8::1", None),
        ("", _NO_IP),
        ("10.9.8", _NO_IP),
        ("10.9.8.256", _NO_IP),
        ("fe80::1%eth0", _NO_IP),
        ("10.09.8.7", "must not have leading 0s"),
        ("::ffff:10.9.8.7", "must not be an IPv4-mapped IPv6 address"),
        ("2001:DB8::1", 'must be in canonical form ("2001:db8::1")'),
        ("2001:db8:0:0::1", 'must be in canonical form ("2001:db8::1")'),
    ],
)
def test_ip_address(value: str, message: str | None) -> None:
    assert [error.detail for error in ip_validation.validate_ip(value, "ip")] == ([message] if message else [])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("10.0.0.0/8", None),
        ("2001:db8::/64", None),
        ("10.0.0.0", _NO_CIDR),
        ("10.0.0.0/33", _NO_CIDR),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("2001:DB8::/64", 'must be in canonical form ("2001:db8::/64")'),
    ],
)
def test_cidr(value: str, message: str | None) -> None:
    assert [error.detail for error in ip_validation.validate_cidr(value, "cidr")] == ([message] if message else [])


def test_legacy_fields_accept_other_spellings_and_old_values() -> None:
    assert not ip_validation.validate_legacy_ip("2001:DB8::1", "ip")
    assert not ip_validation.validate_legacy_cidr("2001:DB8::/64", "cidr")
    assert not ip_validation.validate_legacy_ip("010.0.0.1", "ip", ["010.0.0.1"])
    assert not ip_validation.validate_legacy_cidr("10.0.0.1/8", "cidr", ["10.0.0.1/8"])


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("10.0.0.1", None),
        ("010.0.0.1", 'ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'),
        ("::ffff:1.2.3.4", 'ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"'),
        ("2001:DB8::1", 'ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'),
    ],
)
def test_ip_warnings(value: str, warning: str | None) -> None:
    assert ip_validation.ip_warnings(value, "ip") == ([warning] if warning else [])


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        ("10.0.0.0/8", []),
        (
            "10.0.0.5/08",
            [
                'c: CIDR value "10.0.0.5/08" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.5/32"?)',
                'c: non-standard CIDR value "10.0.0.5/08" is invalid: use "10.0.0.0/8"',
            ],
        ),
        ("::ffff:1.2.3.0/120", ['c: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use "1.2.3.0/24"']),
        (
            "2001:DB8::/64",
            ['c: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")'],
        ),
    ],
)
def test_cidr_warnings(value: str, warnings: list[str]) -> None:
    assert ip_validation.cidr_warnings(value, "c") == warnings


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("192.168.1.5/24", None),
        ("192.168.1.5", "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"),
        ("::ffff:192.168.0.1/120", 'must be in canonical form ("192.168.0.1/24")'),
    ],
)
def test_interface_address(value: str, message: str | None) -> None:
    found = ip_validation.validate_interface_address(value, "ip")
    assert [error.detail for error in found] == ([message] if message else [])
