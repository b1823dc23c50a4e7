"""Validation of IngressClasses, IPAddresses and ServiceCIDRs."""

from __future__ import annotations

import re

from polykind import addresses, errors, names
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.field_validation import IMMUTABLE
from polykind.apis.networking.ingress_validation import validate_path_segments
from polykind.apis.networking.types import NETWORKING_V1
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length

_MAX_CONTROLLER = 250
_SCOPES = ("Cluster", "Namespace")
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_http_path = re.compile(_HTTP_PATH).fullmatch


def validate_ingress_class_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the controller and the parameters of an IngressClass."""
    controller = spec.get("controller", "")
    found = [errors.too_long("spec.controller", _MAX_CONTROLLER)] if byte_length(controller) > _MAX_CONTROLLER else []
    found += validate_domain_prefixed_path(controller, "spec.controller")
    parameters = spec.get("parameters")
    return found if parameters is None else found + _validate_parameters(parameters, "spec.parameters")


def validate_domain_prefixed_path(value: str, at: str) -> list[FieldError]:
    """Validate a path with a domain in front, such as acme.io/foo."""
    if not value:
        return [errors.required(at)]
    host, _, path = value.partition("/")
    if not host or not path:
        return [errors.invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = errors.all_invalid(at, host, names.dns1123_subdomain(host))
    if not _is_http_path(path):
        found.append(errors.invalid(at, path, names.regex_error("Invalid path", _HTTP_PATH)))
    return found


def _validate_parameters(parameters: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    group, scope, namespace = parameters.get("apiGroup"), parameters.get("scope"), parameters.get("namespace")
    if group is not None:
        found += errors.all_invalid(f"{at}.apiGroup", group, names.dns1123_subdomain(group))
    found += validate_path_segments(parameters, at, "kind", "name")
    if scope is None:
        found.append(errors.required(f"{at}.scope"))
    elif scope not in _SCOPES:
        found.append(errors.not_supported(f"{at}.scope", scope, _SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            found.append(errors.forbidden(f"{at}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        found.append(errors.required(f"{at}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        found += errors.all_invalid(f"{at}.namespace", namespace, names.dns1123_label(namespace))
    return found


def ip_address_name(value: str, prefix: bool = False) -> list[str]:
    """Return the reasons why the name of an IPAddress is not an IP address in canonical form."""
    return [error.detail for error in addresses.canonical_ip_errors(value, "")]


def validate_ip_address(address: JsonObject) -> list[FieldError]:
    """Validate the field parentRef, which names the object that uses the address."""
    parent = address["spec"].get("parentRef")
    if parent is None:
        return [errors.required("spec.parentRef")]
    at, group, namespace = "spec.parentRef", parent.get("group", ""), parent.get("namespace", "")
    found = errors.all_invalid(f"{at}.group", group, names.dns1123_subdomain(group)) if group else []
    found += validate_path_segments(parent, at, "resource", "name")
    return found + errors.all_invalid(f"{at}.namespace", namespace, names.path_segment(namespace))


def validate_ip_address_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change parentRef."""
    parent = new["spec"].get("parentRef")
    if parent == old["spec"].get("parentRef"):
        return []
    return [errors.invalid("spec.parentRef", show_internal(NETWORKING_V1.struct("ParentReference"), parent), IMMUTABLE)]


def validate_service_cidr(spec: JsonObject) -> list[FieldError]:
    """Validate the CIDRs of a ServiceCIDR: one, or one of each IP family."""
    at, cidrs = "spec.cidrs", spec.get("cidrs") or []
    if not cidrs:
        return [errors.required(at, "at least one CIDR required")]
    if len(cidrs) > 2:
        # As in kube-apiserver, the error shows the spec with the Go names of its fields.
        return [errors.invalid(at, {"CIDRs": cidrs}, "may only hold up to 2 values")]
    found: list[FieldError] = []
    for index, cidr in enumerate(cidrs):
        found += addresses.canonical_cidr_errors(cidr, f"{at}[{index}]")
    families = [addresses.ip_family(cidr.partition("/")[0]) if addresses.parse_cidr(cidr) else "" for cidr in cidrs]
    if len(cidrs) == 2 and families[0] and families[0] == families[1]:
        reason = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        found.append(errors.invalid(at, cidrs, reason))
    return found


def validate_service_cidr_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the CIDRs. It may add a second CIDR, of the other IP family."""
    at = "spec.cidrs"
    cidrs, before = new.get("cidrs") or [], old.get("cidrs") or []
    if len(cidrs) == len(before):
        pairs = enumerate(zip(before, cidrs, strict=True))
        return [errors.invalid(f"{at}[{index}]", cidr, IMMUTABLE) for index, (past, cidr) in pairs if cidr != past]
    if (len(before), len(cidrs)) == (1, 2):
        found = [] if cidrs[0] == before[0] else [errors.invalid(f"{at}[0]", cidrs[0], IMMUTABLE)]
        return found + validate_service_cidr(new)
    return [errors.invalid(at, new.get("cidrs"), IMMUTABLE)]
