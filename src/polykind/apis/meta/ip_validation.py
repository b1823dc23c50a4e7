"""Validation of IP addresses and CIDR values, and the warnings about unusual spellings of them.

A legacy field is one that was validated leniently in older releases of Kubernetes. Such a field accepts any spelling
of an IPv6 address, and an update may keep a value that is no longer accepted.
"""

from __future__ import annotations

from collections.abc import Collection

from polykind import errors
from polykind.errors import FieldError
from polykind.golang import net
from polykind.golang.fmt import go_quote
from polykind.golang.netip import Addr, AddressError, parse_addr

_NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_NOT_AN_INTERFACE = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"


def validate_ip(value: str, at: str) -> list[FieldError]:
    """Validate an IP address, which must be in canonical form."""
    return [errors.invalid(at, value, message) for message in ip_messages(value)]


def ip_messages(value: str) -> list[str]:
    """Return the reasons why an IP address is invalid or not in canonical form."""
    messages = _legacy_ip_messages(value)
    addr = net.parse_ip(value)
    if not messages and addr is not None and net.format_ip(addr) != value:
        messages = [f"must be in canonical form ({go_quote(net.format_ip(addr))})"]
    return messages


def validate_legacy_ip(value: str, at: str, old: Collection[str] = ()) -> list[FieldError]:
    """Validate an IP address in a legacy field. `old` contains the addresses of the object before an update."""
    if value in old:
        return []
    return [errors.invalid(at, value, message) for message in _legacy_ip_messages(value)]


def _legacy_ip_messages(value: str) -> list[str]:
    addr = net.parse_ip(value)
    if addr is None:
        return [_NOT_AN_IP]
    if _strict_addr(value) is None:
        return ["must not have leading 0s"]
    return ["must not be an IPv4-mapped IPv6 address"] if net.is_mapped(addr) else []


def ip_warnings(value: str, at: str) -> list[str]:
    """Return the warnings about the spelling of a valid IP address in a legacy field."""
    addr = net.parse_ip(value)
    if addr is None:
        return []
    canonical = go_quote(net.format_ip(addr))
    if _strict_addr(value) is None or net.is_mapped(addr):
        return [f"{at}: non-standard IP address {go_quote(value)} is invalid: use {canonical}"]
    if addr.version == 6 and net.format_ip(addr) != value:
        return [f"{at}: IPv6 address {go_quote(value)} should be in RFC 5952 canonical format ({canonical})"]
    return []


def validate_cidr(value: str, at: str) -> list[FieldError]:
    """Validate a CIDR value, which must be in canonical form."""
    found = validate_legacy_cidr(value, at)
    parsed = net.parse_cidr(value)
    if not found and parsed is not None and net.format_net(parsed[1]) != value:
        found = [errors.invalid(at, value, f"must be in canonical form ({go_quote(net.format_net(parsed[1]))})")]
    return found


def validate_legacy_cidr(value: str, at: str, old: Collection[str] = ()) -> list[FieldError]:
    """Validate a CIDR value in a legacy field. `old` contains the values of the object before an update."""
    if value in old:
        return []
    parsed = net.parse_cidr(value)
    if parsed is None:
        return [errors.invalid(at, value, _NOT_A_CIDR)]
    addr, network = parsed
    if not _is_strict_prefix(value):
        return [errors.invalid(at, value, "must not have leading 0s in IP or prefix length")]
    if net.is_mapped(addr):
        return [errors.invalid(at, value, "must not have an IPv4-mapped IPv6 address")]
    if addr.number != network.number:
        return [errors.invalid(at, value, "must not have bits set beyond the prefix length")]
    return []


def cidr_warnings(value: str, at: str) -> list[str]:
    """Return the warnings about the spelling of a valid CIDR value in a legacy field."""
    parsed = net.parse_cidr(value)
    if parsed is None:
        return []
    addr, network = parsed
    quoted, canonical, warnings = go_quote(value), go_quote(net.format_net(network)), []
    if addr.number != network.number:
        single = go_quote(f"{net.format_ip(addr)}/{32 if addr.version == 4 else 128}")
        warnings.append(f"{at}: CIDR value {quoted} is ambiguous in this context (should be {canonical} or {single}?)")
    if not _is_strict_prefix(value) or net.is_mapped(addr):
        warnings.append(f"{at}: non-standard CIDR value {quoted} is invalid: use {canonical}")
    if not warnings and addr.version == 6 and net.format_net(network) != value:
        warnings.append(f"{at}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format ({canonical})")
    return warnings


def validate_interface_address(value: str, at: str) -> list[FieldError]:
    """Validate an IP address with the length of its network's prefix, such as 192.168.1.5/24, in canonical form."""
    parsed = net.parse_cidr(value)
    if parsed is None:
        return [errors.invalid(at, value, _NOT_AN_INTERFACE)]
    addr, network = parsed
    bits = network.bits - 96 if net.is_mapped(addr) and network.bits > 32 else network.bits
    canonical = f"{net.format_ip(addr)}/{bits}"
    return (
        [] if value == canonical else [errors.invalid(at, value, f"must be in canonical form ({go_quote(canonical)})")]
    )


def _strict_addr(value: str) -> Addr | None:
    try:
        return parse_addr(value)
    except AddressError:
        return None


def _is_strict_prefix(value: str) -> bool:
    """True if netip.ParsePrefix accepts a valid CIDR value, because no number has leading zeros."""
    address, _, bits = value.partition("/")
    return _strict_addr(address) is not None and str(int(bits)) == bits
