"""Syntax of IP addresses and CIDRs in built-in kinds. The functions *_errors return kube-apiserver's field errors."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from polykind.errors import FieldError, invalid
from polykind.golang.fmt import go_quote
from polykind.golang.net import is_cidr, is_ipv4, is_lenient_ipv6
from polykind.golang.netip import Addr, AddressError, parse_addr

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


def parse_ip(text: str) -> IPAddress | None:
    """Parse an IP address that may have leading zeros. Return None if the text is not an address.

    For an IPv4-mapped IPv6 address, return the IPv4 address, as Go's net.IP does.
    """
    if not is_ipv4(text) and not is_lenient_ipv6(text):
        return None
    head, colon, last = text.rpartition(":")
    if "." in last:
        last = ".".join(str(int(octet)) for octet in last.split("."))
    if not colon:
        return IPv4Address(last)
    groups = [group.lstrip("0") or "0" if group else "" for group in head.split(":")]
    last = last if "." in last or not last else last.lstrip("0") or "0"
    address = IPv6Address(":".join((*groups, last)))
    return address.ipv4_mapped or address


def parse_cidr(text: str) -> tuple[IPAddress, IPNetwork] | None:
    """Parse a CIDR that may have leading zeros. Return its address and its network, or None if it is not a CIDR."""
    if not is_cidr(text):
        return None
    address, _, bits = text.partition("/")
    ip = parse_ip(address)
    if isinstance(ip, IPv4Address):
        length = int(bits) - (96 if ":" in address else 0)
        return ip, IPv4Network((int(ip), max(length, 0)), strict=False)
    return (ip, IPv6Network((int(ip), int(bits)), strict=False)) if ip is not None else None


def ip_family(address: str) -> str:
    """Return the family of an address, IPv4 or IPv6. Return an empty string if the text is not an address."""
    ip = parse_ip(address)
    return f"IPv{ip.version}" if ip is not None else ""


def ip_errors(address: str, at: str, existing: Collection[str] = ()) -> list[FieldError]:
    """Validate an IP address. `existing` are the addresses of the old object, which are always valid, because older
    rules may have allowed them.
    """
    if address in existing:
        return []
    if parse_ip(address) is None:
        return [invalid(at, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    strict = _parse_strictly(address)
    if strict is None:
        return [invalid(at, address, "must not have leading 0s")]
    if _is_ipv4_mapped(strict):
        return [invalid(at, address, "must not be an IPv4-mapped IPv6 address")]
    return []


def canonical_ip_errors(address: str, at: str) -> list[FieldError]:
    """Validate an IP address that must have its canonical form."""
    found = ip_errors(address, at)
    canonical = str(parse_ip(address))
    if not found and address != canonical:
        found.append(invalid(at, address, f"must be in canonical form ({go_quote(canonical)})"))
    return found


def cidr_errors(cidr: str, at: str, existing: Collection[str] = ()) -> list[FieldError]:
    """Validate a CIDR. `existing` are the CIDRs of the old object. They are always valid, because older rules may have
    allowed them.
    """
    if cidr in existing:
        return []
    parsed = parse_cidr(cidr)
    if parsed is None:
        return [invalid(at, cidr, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    strict = _parse_cidr_strictly(cidr)
    if strict is None:
        return [invalid(at, cidr, "must not have leading 0s in IP or prefix length")]
    if _is_ipv4_mapped(strict):
        return [invalid(at, cidr, "must not have an IPv4-mapped IPv6 address")]
    if parsed[0] != parsed[1].network_address:
        return [invalid(at, cidr, "must not have bits set beyond the prefix length")]
    return []


def canonical_cidr_errors(cidr: str, at: str) -> list[FieldError]:
    """Validate a CIDR that must have its canonical form."""
    found = cidr_errors(cidr, at)
    parsed = parse_cidr(cidr)
    if not found and parsed is not None and cidr != str(parsed[1]):
        found.append(invalid(at, cidr, f"must be in canonical form ({go_quote(str(parsed[1]))})"))
    return found


def interface_address_errors(address: str, at: str) -> list[FieldError]:
    """Validate an address with the prefix length of its network, such as 192.168.1.5/24, in its canonical form."""
    parsed = parse_cidr(address)
    if parsed is None:
        text = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [invalid(at, address, text)]
    canonical = f"{parsed[0]}/{parsed[1].prefixlen}"
    if address == canonical:
        return []
    return [invalid(at, address, f"must be in canonical form ({go_quote(canonical)})")]


def endpoint_ip_errors(address: str, at: str) -> list[FieldError]:
    """Validate the IP address of an endpoint. Loopback, link-local and similar addresses are invalid, because other
    hosts cannot reach them.
    """
    ip = parse_ip(address)
    if ip is None:
        return [invalid(at, address, "must be a valid IP address")]
    found = []
    if ip.is_unspecified:
        found.append(f"may not be unspecified ({address})")
    if ip.is_loopback:
        found.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.is_link_local:
        found.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_link_local_multicast(ip):
        found.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return [invalid(at, address, text) for text in found]


def ip_warnings(address: str, at: str) -> list[str]:
    """Return a warning if a valid address does not have its canonical form."""
    ip = parse_ip(address)
    if ip is None:
        return []
    strict = _parse_strictly(address)
    if strict is None or _is_ipv4_mapped(strict):
        return [f"{at}: non-standard IP address {go_quote(address)} is invalid: use {go_quote(str(ip))}"]
    if ip.version == 6 and str(ip) != address:
        form = f"RFC 5952 canonical format ({go_quote(str(ip))})"
        return [f"{at}: IPv6 address {go_quote(address)} should be in {form}"]
    return []


def cidr_warnings(cidr: str, at: str) -> list[str]:
    """Return warnings about a valid CIDR that has bits after the prefix length or is not in its canonical form."""
    parsed = parse_cidr(cidr)
    if parsed is None:
        return []
    ip, network = parsed
    found = []
    if ip != network.network_address:
        choice = f"{go_quote(str(network))} or {go_quote(f'{ip}/{network.max_prefixlen}')}"
        found.append(f"{at}: CIDR value {go_quote(cidr)} is ambiguous in this context (should be {choice}?)")
    strict = _parse_cidr_strictly(cidr)
    if strict is None or _is_ipv4_mapped(strict):
        found.append(f"{at}: non-standard CIDR value {go_quote(cidr)} is invalid: use {go_quote(str(network))}")
    if not found and network.version == 6 and str(network) != cidr:
        form = f"RFC 5952 canonical format ({go_quote(str(network))})"
        found.append(f"{at}: IPv6 CIDR value {go_quote(cidr)} should be in {form}")
    return found


def _parse_strictly(address: str) -> Addr | None:
    try:
        return parse_addr(address)
    except AddressError:
        return None


def _parse_cidr_strictly(cidr: str) -> Addr | None:
    """Return the address of a CIDR if Go's netip.ParsePrefix accepts the CIDR, else None."""
    address, _, bits = cidr.partition("/")
    return None if len(bits) > 1 and bits[0] == "0" else _parse_strictly(address)


def _is_link_local_multicast(ip: IPAddress) -> bool:
    packed = ip.packed
    return packed[:3] == b"\xe0\0\0" if ip.version == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _is_ipv4_mapped(address: Addr) -> bool:
    return address.version == 6 and address.number >> 32 == 0xFFFF
