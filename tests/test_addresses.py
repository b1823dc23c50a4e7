from __future__ import annotations

import pytest

from polykind import addresses
from polykind.errors import FieldError


def texts(found: list[FieldError]) -> list[str]:
    return [error.detail for error in found]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("010.000.0.01", "10.0.0.1"),
        ("2001:0db8::00001", "2001:db8::1"),
        ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("::ffff:01.2.3.4", "1.2.3.4"),
        ("::1.2.3.4", "::102:304"),
        ("1.2.3", "None"),
        ("1.2.3.256", "None"),
        ("fe80::1%eth0", "None"),
        ("", "None"),
    ],
)
def test_parse_ip(text: str, parsed: str) -> None:
    assert str(addresses.parse_ip(text)) == parsed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", []),
        ("x", ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]),
        ("10.0.0.01", ["must not have leading 0s"]),
        ("::ffff:1.2.3.4", ["must not be an IPv4-mapped IPv6 address"]),
        ("2001:db8:0::1", ['must be in canonical form ("2001:db8::1")']),
    ],
)
def test_canonical_ip_errors(text: str, expected: list[str]) -> None:
    assert texts(addresses.canonical_ip_errors(text, "ip")) == expected


def test_existing_addresses_stay_valid() -> None:
    assert addresses.ip_errors("10.0.0.01", "ip", ["10.0.0.01"]) == []
    assert addresses.cidr_errors("10.0.0.1/8", "cidr", ["10.0.0.1/8"]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.0/8", []),
        ("10.0.0.0", ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]),
        ("10.0.0.0/33", ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]),
        ("10.0.0.0/08", ["must not have leading 0s in IP or prefix length"]),
        ("::ffff:10.0.0.0/104", ["must not have an IPv4-mapped IPv6 address"]),
        ("10.0.0.1/8", ["must not have bits set beyond the prefix length"]),
        ("2001:DB8::/64", ['must be in canonical form ("2001:db8::/64")']),
    ],
)
def test_canonical_cidr_errors(text: str, expected: list[str]) -> None:
    assert texts(addresses.canonical_cidr_errors(text, "cidr")) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1.2.3.4", []),
        ("nope", ["must be a valid IP address"]),
        ("0.0.0.0", ["may not be unspecified (0.0.0.0)"]),
        ("::1", ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
        ("169.254.1.1", ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]),
        ("ff12::1", ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"]),
        ("224.0.1.1", []),
    ],
)
def test_endpoint_ip_errors(text: str, words: list[str]) -> None:
    assert texts(addresses.endpoint_ip_errors(text, "ip")) == words


def test_warnings() -> None:
    assert addresses.ip_warnings("010.1.1.1", "at") == [
        'at: non-standard IP address "010.1.1.1" is invalid: use "10.1.1.1"'
    ]
    assert addresses.ip_warnings("1:0::2", "at") == [
        'at: IPv6 address "1:0::2" should be in RFC 5952 canonical format ("1::2")'
    ]
    assert addresses.cidr_warnings("10.1.0.0/8", "at") == [
        'at: CIDR value "10.1.0.0/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.0.0/32"?)'
    ]
    assert addresses.cidr_warnings("1:0::/64", "at") == [
        'at: IPv6 CIDR value "1:0::/64" should be in RFC 5952 canonical format ("1::/64")'
    ]
    assert addresses.ip_warnings("10.0.0.1", "at") == addresses.cidr_warnings("10.0.0.0/8", "at") == []


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("192.168.1.5/24", None),
        ("192.168.1.5", "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"),
        ("::ffff:192.168.0.1/120", 'must be in canonical form ("192.168.0.1/24")'),
    ],
)
def test_interface_address(address: str, message: str | None) -> None:
    found = addresses.interface_address_errors(address, "ip")
    assert [error.detail for error in found] == ([message] if message else [])
