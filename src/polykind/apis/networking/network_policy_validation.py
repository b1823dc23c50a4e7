"""Validation of NetworkPolicies."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from polykind import addresses, errors, names
from polykind.apis.machinery.listed import listed
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.selectors.selector_objects import validate_label_selector

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_POLICY_TYPES = ("Ingress", "Egress")
_PEERS = (("ingress", "from"), ("egress", "to"))


def validate_network_policy_spec(spec: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a NetworkPolicy. `old` is the stored spec of an update, None for a create.

    An update may keep invalid CIDRs, and have invalid label values if the stored podSelector is invalid.
    """
    lenient = old is not None and bool(validate_label_selector(old.get("podSelector"), ""))
    existing = {
        cidr for block, _ in _ip_blocks(old or {}) for cidr in (block.get("cidr"), *(block.get("except") or ()))
    }
    found = validate_label_selector(spec.get("podSelector"), "spec.podSelector", lenient=lenient)
    for direction, peers in _PEERS:
        for at, rule in listed(spec, direction, "spec"):
            for here, port in listed(rule, "ports", at):
                found += _validate_port(port, here)
            for here, peer in listed(rule, peers, at):
                found += _validate_peer(peer, here, lenient=lenient, existing=existing)
    types = spec.get("policyTypes") or []
    if len(types) > len(_POLICY_TYPES):
        return [*found, errors.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    for index, policy_type in enumerate(types):
        if policy_type not in _POLICY_TYPES:
            found.append(errors.not_supported(f"spec.policyTypes[{index}]", policy_type, _POLICY_TYPES))
    return found


def network_policy_warnings(spec: JsonObject) -> list[str]:
    """Return the warnings about CIDRs that are ambiguous or not in canonical form."""
    warnings = []
    for block, at in _ip_blocks(spec):
        warnings += addresses.cidr_warnings(block.get("cidr", ""), f"{at}.cidr")
        for index, cidr in enumerate(block.get("except") or ()):
            warnings += addresses.cidr_warnings(cidr, f"{at}.except[{index}]")
    return warnings


def _ip_blocks(spec: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """Yield the IP blocks of all peers with their paths."""
    for direction, peers in _PEERS:
        for index, rule in enumerate(spec.get(direction) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                if peer.get("ipBlock") is not None:
                    yield peer["ipBlock"], f"spec.{direction}[{index}].{peers}[{number}].ipBlock"


def _validate_port(port: JsonObject, at: str) -> list[FieldError]:
    found = []
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        found.append(errors.not_supported(f"{at}.protocol", protocol, _PROTOCOLS))
    if number is None:
        if end is not None:
            reason = "may not be specified when `port` is not specified"
            found.append(errors.invalid(f"{at}.endPort", end, reason))
        return found
    if isinstance(number, str):
        if end is not None:
            reason = "may not be specified when `port` is non-numeric"
            found.append(errors.invalid(f"{at}.endPort", end, reason))
        return found + errors.all_invalid(f"{at}.port", number, names.port_name(number))
    found += errors.all_invalid(f"{at}.port", number, names.port_number(number))
    if end is not None:
        if end < number:
            # As in kube-apiserver, the error shows `port` as the invalid value, although its path is that of `endPort`.
            found.append(errors.invalid(f"{at}.endPort", number, "must be greater than or equal to `port`"))
        found += errors.all_invalid(f"{at}.endPort", end, names.port_number(end))
    return found


def _validate_peer(peer: JsonObject, at: str, *, lenient: bool, existing: Collection[str]) -> list[FieldError]:
    found: list[FieldError] = []
    for selector in ("podSelector", "namespaceSelector"):
        if peer.get(selector) is not None:
            found += validate_label_selector(peer[selector], f"{at}.{selector}", lenient=lenient)
    block = peer.get("ipBlock")
    if block is not None:
        found += _validate_ip_block(block, f"{at}.ipBlock", existing)
    peers = sum(peer.get(name) is not None for name in ("podSelector", "namespaceSelector", "ipBlock"))
    if not peers:
        found.append(errors.required(at, "must specify a peer"))
    elif peers > 1 and block is not None:
        found.append(errors.forbidden(at, "may not specify both ipBlock and another peer"))
    return found


def _validate_ip_block(block: JsonObject, at: str, existing: Collection[str]) -> list[FieldError]:
    cidr = block.get("cidr", "")
    if not cidr:
        return [errors.required(f"{at}.cidr")]
    found = addresses.cidr_errors(cidr, f"{at}.cidr", existing)
    parsed = addresses.parse_cidr(cidr)
    if parsed is None:
        return found
    network = parsed[1]
    for index, exception in enumerate(block.get("except") or ()):
        here = f"{at}.except[{index}]"
        found += addresses.cidr_errors(exception, here, existing)
        inner = addresses.parse_cidr(exception)
        if inner is None:
            continue
        inside = inner[1].network_address in network
        if not inside or network.prefixlen >= inner[1].prefixlen:
            found.append(errors.invalid(here, exception, "must be a strict subset of `cidr`"))
    return found
