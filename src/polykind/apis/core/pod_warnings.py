"""Warnings about pods and pod templates that are valid but questionable."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.addresses import ip_warnings
from polykind.apis.core.node_labels import deprecated_node_label
from polykind.apis.core.pod_annotation_validation import (
    APP_ARMOR_CONTAINER_PREFIX,
    SECCOMP_CONTAINER_PREFIX,
    SECCOMP_POD_ANNOTATION,
    app_armor_profile,
)
from polykind.apis.core.pod_resources import all_containers
from polykind.apis.core.volume_warnings import overlapping_path_warnings, volume_warnings
from polykind.apis.machinery.listed import listed
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.names import label_value
from polykind.quantity import parse_quantity

_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_PORT_FIELDS: tuple[tuple[str, str, int | str], ...] = (
    ("Name", "name", ""),
    ("HostPort", "hostPort", 0),
    ("ContainerPort", "containerPort", 0),
    ("Protocol", "protocol", ""),
    ("HostIP", "hostIP", ""),
)
"""The fields of a container port in Go: each with its Go name, its JSON name and its zero value."""
_NULL_SELECTOR = "a null labelSelector results in matching no pod"
_SECCOMP_FIELD = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def pod_warnings(pod: JsonObject) -> list[str]:
    """Return the warnings about a pod."""
    return list(_warnings(pod["metadata"], pod["spec"], "", is_template=False))


def pod_template_warnings(template: JsonObject | None, old_template: JsonObject | None, at: str) -> list[str]:
    """Return the warnings about a pod template.

    The old template has no effect, because each update repeats the warnings.
    """
    if template is None:
        return []
    return list(_warnings(template.get("metadata") or {}, template.get("spec") or {}, f"{at}.", is_template=True))


def _warnings(metadata: JsonObject, spec: JsonObject, at: str, *, is_template: bool) -> Iterator[str]:
    annotations: dict[str, str] = metadata.get("annotations") or {}
    spec_at, annotations_at = f"{at}spec", f"{at}metadata.annotations"
    yield from _node_label_warnings(spec, spec_at)
    for key, message in _DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            yield f"{annotations_at}[{key}]: {message}"
    volumes = spec.get("volumes") or []
    yield from volume_warnings(volumes, f"{spec_at}.volumes")
    yield from overlapping_path_warnings(volumes)
    yield from _duplicate_warnings(spec, spec_at)
    yield from _fraction_warnings(spec.get("overhead"), f"{spec_at}.overhead", ("memory", "ephemeral-storage"))
    context = spec.get("securityContext") or {}
    if SECCOMP_POD_ANNOTATION in annotations and context.get("seccompProfile") is None:
        yield f"{annotations_at}[{SECCOMP_POD_ANNOTATION}]: {_SECCOMP_FIELD}"
    for path, container in all_containers(spec):
        yield from _profile_warnings(container, annotations, annotations_at, context, is_template=is_template)
        yield from _container_warnings(container, f"{spec_at}.{path}")
    yield from _port_warnings(spec, spec_at)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        reason = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{spec_at}.terminationGracePeriodSeconds: {reason}"
    yield from _affinity_warnings(spec.get("affinity") or {}, f"{spec_at}.affinity")
    yield from _address_warnings(spec, spec_at)


def _address_warnings(spec: JsonObject, at: str) -> Iterator[str]:
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from ip_warnings(server, f"{at}.dnsConfig.nameservers[{index}]")
    for here, alias in listed(spec, "hostAliases", at):
        yield from ip_warnings(alias.get("ip") or "", f"{here}.ip")


def _node_label_warnings(spec: JsonObject, at: str) -> Iterator[str]:
    """Yield warnings about deprecated node labels, and about topology spread constraints without a label selector."""
    for key in sorted(spec.get("nodeSelector") or {}):
        if message := deprecated_node_label(key):
            yield f"{at}.nodeSelector[{key}]: {message}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    here = f"{at}.affinity.nodeAffinity"
    for path, term in listed(affinity.get(_REQUIRED) or {}, "nodeSelectorTerms", f"{here}.{_REQUIRED}"):
        yield from node_selector_term_warnings(term, path)
    for path, term in listed(affinity, _PREFERRED, here):
        preference = term.get("preference") or {}
        yield from node_selector_term_warnings(preference, f"{path}.preference", check_values=True)
    for here, constraint in listed(spec, "topologySpreadConstraints", at):
        key = constraint.get("topologyKey") or ""
        if message := deprecated_node_label(key):
            yield f"{here}.topologyKey: {key} is {message}"
        if constraint.get("labelSelector") is None:
            yield f"{here}.labelSelector: {_NULL_SELECTOR}"


def node_selector_term_warnings(term: JsonObject, at: str, *, check_values: bool = False) -> Iterator[str]:
    """Yield warnings about deprecated node labels. If `check_values` is true, also warn about invalid label values."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        here, key = f"{at}.matchExpressions[{index}]", expression.get("key") or ""
        if message := deprecated_node_label(key):
            yield f"{here}.key: {key} is {message}"
        for position, value in enumerate(expression.get("values") or () if check_values else ()):
            for reason in label_value(value):
                yield f"{here}.values[{position}]: {value} is invalid, {reason}"


def _duplicate_warnings(spec: JsonObject, at: str) -> Iterator[str]:
    for field, key, label in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        used = set()
        for index, item in enumerate(spec.get(field) or ()):
            value = item.get(key) or ""
            if value in used:
                yield f"{at}.{field}[{index}].{key}: duplicate {label} {go_quote(value)}"
            used.add(value)
    for index, item in enumerate(spec.get("imagePullSecrets") or ()):
        if not item.get("name"):
            yield f'{at}.imagePullSecrets[{index}].name: invalid empty name ""'


def _profile_warnings(
    container: JsonObject, annotations: dict[str, str], at: str, pod_context: JsonObject, *, is_template: bool
) -> Iterator[str]:
    """Yield warnings about security profiles of a container that are set by annotations only."""
    context, name = container.get("securityContext") or {}, container.get("name") or ""
    seccomp_key, app_armor_key = SECCOMP_CONTAINER_PREFIX + name, APP_ARMOR_CONTAINER_PREFIX + name
    if seccomp_key in annotations and context.get("seccompProfile") is None:
        yield f"{at}[{seccomp_key}]: {_SECCOMP_FIELD}"
    if is_template and app_armor_key in annotations and context.get("appArmorProfile") is None:
        pod_profile = pod_context.get("appArmorProfile")
        if pod_profile is None or pod_profile != app_armor_profile(annotations[app_armor_key]):
            yield f'{at}[{app_armor_key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _container_warnings(container: JsonObject, at: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for field in ("limits", "requests"):
            yield from _fraction_warnings(resources.get(field), f"{at}.resources.{field}", (name,))
    used = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        extends = variable.get("valueFrom") is None and value != reference and reference in value
        if name in used and not extends:
            reason = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            yield f"{at}.env[{index}]: {reason}"
        used.add(name)


def _fraction_warnings(values: dict[str, str] | None, at: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        text = (values or {}).get(name)
        if text is not None and parse_quantity(text).milli_value() % 1000:
            yield f"{at}[{name}]: fractional byte value {go_quote(text)} is invalid, must be an integer"


_MAX_EQUAL_PORTS = 100
"""The number of equal ports with which a further one is compared. A response has room for fewer warnings."""


def _port_warnings(spec: JsonObject, at: str) -> Iterator[str]:
    """Yield warnings about ports that are defined twice, and then about port names that are used twice."""
    ports = [
        (f"{at}.{path}.ports[{index}]", port)
        for path, container in all_containers(spec)
        for index, port in enumerate(container.get("ports") or ())
    ]
    earlier: dict[tuple[int, str], list[tuple[str, JsonObject]]] = {}
    for path, port in ports:
        host, host_port = _host_address(port)
        if host and not host_port:
            yield f"{path}: hostIP set without hostPort: {_port_struct(port)}"
        others = earlier.setdefault(_port_key(port), [])
        for other_path, other in others:
            if relation := _port_relation(port, other):
                yield f"{path}: {relation} port definition with {other_path}"
        if len(others) < _MAX_EQUAL_PORTS:
            others.append((path, port))
    names: dict[str, str] = {}
    for path, port in ports:
        if name := port.get("name"):
            other_path = names.setdefault(name, path)
            if other_path != path:
                users = f"services and probes that select ports by name will use {other_path}"
                yield f"{path}: duplicate port name {go_quote(name)} with {other_path}, {users}"


def _host_address(port: JsonObject) -> tuple[str, int]:
    return port.get("hostIP") or "", port.get("hostPort") or 0


def _port_relation(port: JsonObject, other: JsonObject) -> str:
    """Return how two definitions of the same port of containers collide, or "" if they do not."""
    (host, host_port), (other_host, other_port) = _host_address(port), _host_address(other)
    if (host, host_port) == (other_host, other_port):
        return "duplicate"
    if not host_port or not other_port:
        return "overlapping"
    return "dangerously ambiguous" if host_port == other_port and bool(host) != bool(other_host) else ""


def _port_key(port: JsonObject) -> tuple[int, str]:
    return port.get("containerPort") or 0, port.get("protocol") or ""


def _port_struct(port: JsonObject) -> str:
    """Return a port as Go's format %+v prints the struct ContainerPort."""
    shown = (f"{name}:{port.get(field) or zero}" for name, field, zero in _PORT_FIELDS)
    return f"{{{' '.join(shown)}}}"


def _affinity_warnings(affinity: JsonObject, at: str) -> Iterator[str]:
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{at}.{name}.{_REQUIRED}[{index}].labelSelector: {_NULL_SELECTOR}"
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{at}.{name}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NULL_SELECTOR}"
