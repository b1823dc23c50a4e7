"""Validation of Ingresses."""

from __future__ import annotations

from polykind import addresses, errors, names
from polykind.apis.machinery.listed import listed
from polykind.contract import JsonObject
from polykind.errors import FieldError

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_INVALID_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_INVALID_SUFFIXES = ("/..", "/.")
_IS_IP = "must be a DNS name, not an IP address"


def validate_ingress_spec(spec: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of an Ingress. `old` is the stored spec of an update, None for a create.

    If the stored spec has invalid names of Secrets or invalid rules for wildcard hosts, the update may have them, too.
    """
    found: list[FieldError] = []
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        found.append(errors.invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        found += _validate_backend(backend, "spec.defaultBackend")
    old_rules = (old or {}).get("rules") or ()
    lenient = any("*" in rule.get("host", "") and _validate_rule_value(rule, "") for rule in old_rules)
    for index, rule in enumerate(rules):
        found += _validate_rule(rule, f"spec.rules[{index}]", lenient_wildcards=lenient)
    found += _validate_tls(spec, lenient=any(map(_secret_name_messages, (old or {}).get("tls") or ())))
    class_name = spec.get("ingressClassName")
    if class_name is not None:
        found += errors.all_invalid("spec.ingressClassName", class_name, names.dns1123_subdomain(class_name))
    return found


def _validate_tls(spec: JsonObject, *, lenient: bool) -> list[FieldError]:
    """Validate the hosts with TLS, and the names of their Secrets unless `lenient` is true."""
    found: list[FieldError] = []
    for at, tls in listed(spec, "tls", "spec"):
        for number, host in enumerate(tls.get("hosts") or ()):
            found += errors.all_invalid(f"{at}.hosts[{number}]", host, _host_messages(host))
        if not lenient:
            found += errors.all_invalid(f"{at}.secretName", tls.get("secretName", ""), _secret_name_messages(tls))
    return found


def validate_class_annotation(ingress: JsonObject) -> list[FieldError]:
    """Validate that the class in the spec of a new Ingress equals the class in its annotation, if both are set."""
    annotated = (ingress["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name = ingress["spec"].get("ingressClassName")
    if annotated is None or name is None or annotated == name:
        return []
    reason = "must match `ingressClassName` when both are specified"
    return [errors.invalid(f"annotations.{CLASS_ANNOTATION}", annotated, reason)]


def validate_load_balancer(status: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the load balancer addresses in the status of an Ingress."""
    existing = [point["ip"] for point in _load_balancer_points(old) if point.get("ip")]
    found: list[FieldError] = []
    for index, point in enumerate(_load_balancer_points(status)):
        at, ip, host = f"status.loadBalancer.ingress[{index}]", point.get("ip", ""), point.get("hostname", "")
        if ip:
            found += addresses.ip_errors(ip, f"{at}.ip", existing)
        if host:
            found += errors.all_invalid(f"{at}.hostname", host, names.dns1123_subdomain(host))
            if addresses.parse_ip(host) is not None:
                found.append(errors.invalid(f"{at}.hostname", host, _IS_IP))
    return found


def load_balancer_warnings(status: JsonObject) -> list[str]:
    """Return the warnings about load balancer addresses that are not in canonical form."""
    return [
        warning
        for index, point in enumerate(_load_balancer_points(status))
        if point.get("ip")
        for warning in addresses.ip_warnings(point["ip"], f"status.loadBalancer.ingress[{index}]")
    ]


def _load_balancer_points(status: JsonObject) -> list[JsonObject]:
    return (status.get("loadBalancer") or {}).get("ingress") or []


def _host_messages(host: str) -> list[str]:
    return names.wildcard_subdomain(host) if "*" in host else names.dns1123_subdomain(host)


def _secret_name_messages(tls: JsonObject) -> list[str]:
    name = tls.get("secretName", "")
    return names.dns1123_subdomain(name) if name else []


def _validate_rule(rule: JsonObject, at: str, *, lenient_wildcards: bool) -> list[FieldError]:
    found, host = [], rule.get("host", "")
    if host:
        if addresses.parse_ip(host) is not None:
            found.append(errors.invalid(f"{at}.host", host, _IS_IP))
        found += errors.all_invalid(f"{at}.host", host, _host_messages(host))
    if "*" in host and lenient_wildcards:
        return found
    return found + _validate_rule_value(rule, at)


def _validate_rule_value(rule: JsonObject, at: str) -> list[FieldError]:
    http = rule.get("http")
    if http is None:
        return []
    paths = http.get("paths") or ()
    found = [] if paths else [errors.required(f"{at}.http.paths")]
    for index, path in enumerate(paths):
        found += _validate_path(path, f"{at}.http.paths[{index}]")
    return found


def _validate_path(path: JsonObject, at: str) -> list[FieldError]:
    path_type, value = path.get("pathType"), path.get("path", "")
    if path_type is None:
        return [errors.required(f"{at}.pathType", "pathType must be specified")]
    found: list[FieldError] = []
    if path_type not in _PATH_TYPES:
        found.append(errors.not_supported(f"{at}.pathType", path_type, _PATH_TYPES))
    else:
        found += errors.all_invalid(f"{at}.path", value, _path_messages(path_type, value))
    return found + _validate_backend(path.get("backend") or {}, f"{at}.backend")


def _path_messages(path_type: str, path: str) -> list[str]:
    if path_type == "ImplementationSpecific":
        return [] if not path or path.startswith("/") else ["must be an absolute path"]
    messages = [] if path.startswith("/") else ["must be an absolute path"]
    messages += [f"must not contain '{sequence}'" for sequence in _INVALID_SEQUENCES if sequence in path]
    return messages + [f"cannot end with '{suffix}'" for suffix in _INVALID_SUFFIXES if path.endswith(suffix)]


def _validate_backend(backend: JsonObject, at: str) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [errors.invalid(at, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _validate_resource_backend(resource, f"{at}.resource")
    if service is None:
        return [errors.invalid(at, "", "resource or service backend is required")]
    name = service.get("name", "")
    if name:
        found = errors.all_invalid(f"{at}.service.name", name, names.dns1123_label(name))
    else:
        found = [errors.required(f"{at}.service.name")]
    port = service.get("port") or {}
    port_name, number = port.get("name", ""), port.get("number", 0)
    if port_name and number:
        found.append(errors.invalid(at, "", "cannot set both port name & port number"))
    elif port_name:
        found += errors.all_invalid(f"{at}.service.port.name", port_name, names.port_name(port_name))
    elif number:
        found += errors.all_invalid(f"{at}.service.port.number", number, names.port_number(number))
    else:
        found.append(errors.required(at, "port name or number is required"))
    return found


def _validate_resource_backend(reference: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    if reference.get("apiGroup") is not None:
        group = reference["apiGroup"]
        found += errors.all_invalid(f"{at}.apiGroup", group, names.dns1123_subdomain(group))
    return found + validate_path_segments(reference, at, "kind", "name")


def validate_path_segments(reference: JsonObject, at: str, *fields: str) -> list[FieldError]:
    """Validate the required fields of a reference that must each be one segment of a URL path."""
    found: list[FieldError] = []
    for field in fields:
        value = reference.get(field, "")
        if not value:
            found.append(errors.required(f"{at}.{field}"))
        else:
            found += errors.all_invalid(f"{at}.{field}", value, names.path_segment(value))
    return found
