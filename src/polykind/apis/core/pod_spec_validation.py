"""Validation of pod specs, in pods and in pod templates."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.addresses import ip_errors
from polykind.apis.core.container_validation import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from polykind.apis.core.pod_options import PodValidationOptions
from polykind.apis.core.pod_resources import aggregate_resources, all_containers, quantities
from polykind.apis.core.resource_names import is_huge_pages
from polykind.apis.core.resource_requirements_validation import (
    validate_pod_resource_name,
    validate_resource_requirements,
)
from polykind.apis.core.scheduling_validation import (
    validate_affinity,
    validate_tolerations,
    validate_topology_spread_constraints,
)
from polykind.apis.core.security_context_validation import validate_pod_security_context
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.volume_validation import validate_volumes
from polykind.apis.core.windows_validation import validate_host_process, validate_os
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.machinery.listed import listed
from polykind.apis.meta.validation import range_errors, supported_errors
from polykind.contract import JsonObject
from polykind.errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from polykind.golang.utf8 import byte_length
from polykind.names import dns1123_label, dns1123_subdomain, qualified_name, subdomain_with_underscore
from polykind.schema.metadata_validation import validate_labels

MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror"
NO_FIELD = "[]"
"""The path that kube-apiserver's error messages contain if an error is about the whole object."""
_MAX_INT32 = 2**31 - 1
_MAX_HOSTNAME = 64
_MAX_NAMESERVERS, _MAX_SEARCHES, _MAX_SEARCH_BYTES = 3, 32, 2048
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_OS_NAMES = ("linux", "windows")


def _context(spec: JsonObject, volumes: Mapping[str, JsonObject]) -> PodContext:
    """Return what the validation of containers needs of their pod. `volumes` are the valid volumes of the pod."""
    return PodContext(
        volumes,
        {claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name")},
        spec.get("terminationGracePeriodSeconds") or 0,
        spec.get("restartPolicy") or "",
        spec.get("hostUsers") is not False,
    )


def validate_pod_spec(
    spec: JsonObject, at: str, options: PodValidationOptions, metadata: JsonObject | None = None
) -> list[FieldError]:
    """Validate a pod spec. `metadata` is the pod's metadata, or None for a template."""
    name = (metadata or {}).get("name") or ""
    volumes, found = validate_volumes(spec.get("volumes") or [], f"{at}.volumes", options, name)
    claims = spec.get("resourceClaims") or []
    pod = _context(spec, volumes)
    found += _validate_resource_claims(claims, metadata, f"{at}.resourceClaims")
    found += validate_containers(spec.get("containers") or [], pod, f"{at}.containers")
    found += validate_init_containers(spec, pod, f"{at}.initContainers")
    found += validate_ephemeral_containers(spec, pod, f"{at}.ephemeralContainers")
    found += _validate_pod_resources(spec, pod, at)
    found += _validate_host_network_ports(spec, options, at)
    found += supported_errors(spec.get("restartPolicy") or "", f"{at}.restartPolicy", _RESTART_POLICIES)
    found += supported_errors(spec.get("dnsPolicy") or "", f"{at}.dnsPolicy", _DNS_POLICIES)
    found += validate_labels(spec.get("nodeSelector"), f"{at}.nodeSelector")
    found += validate_pod_security_context(spec, at, options)
    found += validate_affinity(spec.get("affinity"), f"{at}.affinity")
    found += _validate_dns_config(spec, f"{at}.dnsConfig")
    for here, gate in listed(spec, "readinessGates", at):
        condition = gate.get("conditionType") or ""
        found += _name_errors(qualified_name(condition), condition, f"{here}.conditionType")
    found += _validate_scheduling_gates(spec.get("schedulingGates") or [], f"{at}.schedulingGates")
    constraints = spec.get("topologySpreadConstraints") or []
    found += validate_topology_spread_constraints(constraints, f"{at}.topologySpreadConstraints")
    found += validate_host_process(spec, at)
    found += _validate_host_users(spec, at)
    found += _validate_hostname_override(spec, f"{at}.hostnameOverride")
    found += _validate_names(spec, at)
    found += _validate_system(spec, at)
    return found + _validate_file_key_volumes(spec, at)


def _name_errors(reasons: list[str], value: str, at: str) -> list[FieldError]:
    return [invalid(at, value, reason) for reason in reasons]


def _validate_names(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate names, tolerations and other fields that do not depend on the rest of the spec."""
    found: list[FieldError] = []
    for field in ("serviceAccountName", "nodeName"):
        if value := spec.get(field):
            found += _name_errors(dns1123_subdomain(value), value, f"{at}.{field}")
    if (deadline := spec.get("activeDeadlineSeconds")) is not None:
        found += range_errors(deadline, f"{at}.activeDeadlineSeconds", 1, _MAX_INT32)
    for field in ("hostname", "subdomain"):
        if value := spec.get(field):
            found += _name_errors(dns1123_label(value), value, f"{at}.{field}")
    found += validate_tolerations(spec.get("tolerations") or [], f"{at}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        here = f"{at}.hostAliases[{index}]"
        found += ip_errors(alias.get("ip") or "", f"{here}.ip")
        for position, name in enumerate(alias.get("hostnames") or ()):
            found += _name_errors(dns1123_subdomain(name), name, f"{here}.hostnames[{position}]")
    if value := spec.get("priorityClassName"):
        found += _name_errors(dns1123_subdomain(value), value, f"{at}.priorityClassName")
    if (value := spec.get("runtimeClassName")) is not None:
        found += _name_errors(dns1123_subdomain(value), value, f"{at}.runtimeClassName")
    if (policy := spec.get("preemptionPolicy")) is not None:
        found += supported_errors(policy, f"{at}.preemptionPolicy", _PREEMPTION_POLICIES)
    return found


def _validate_system(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the overhead and the operating system of a pod."""
    found: list[FieldError] = []
    if (overhead := spec.get("overhead")) is not None:
        found += validate_resource_requirements({"limits": overhead}, f"{at}.overhead")
    if spec.get("os") is None:
        return found
    name = spec["os"].get("name") or ""
    if not name:
        return [*found, required(f"{at}.os.name")]
    if name not in _OS_NAMES:
        return [*found, not_supported(f"{at}.os", name, _OS_NAMES)]
    return found + validate_os(spec, at)


def _validate_resource_claims(claims: list[JsonObject], metadata: JsonObject | None, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    names: set[str] = set()
    is_mirror_pod = MIRROR_POD_ANNOTATION in ((metadata or {}).get("annotations") or {})
    for index, claim in enumerate(claims):
        if is_mirror_pod:
            found.append(forbidden(NO_FIELD, "static pods do not support resource claims"))
            continue
        here, name = f"{at}[{index}]", claim.get("name") or ""
        if not name:
            found.append(required(f"{here}.name"))
        elif name in names:
            found.append(duplicate(f"{here}.name", name))
        else:
            found += _name_errors(dns1123_label(name), name, f"{here}.name")
            names.add(name)
        found += _validate_claim_source(claim, here)
    return found


def _validate_claim_source(claim: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    fields = ("resourceClaimName", "resourceClaimTemplateName")
    used = [field for field in fields if claim.get(field) is not None]
    if len(used) != 1:
        reason = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        if used:
            reason = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        found.append(invalid(at, show_internal(CORE_V1.struct("PodResourceClaim"), claim), reason))
    for field in used:
        found += _name_errors(dns1123_subdomain(claim[field]), claim[field], f"{at}.{field}")
    return found


def _validate_pod_resources(spec: JsonObject, pod: PodContext, at: str) -> list[FieldError]:
    resources, here = spec.get("resources"), f"{at}.resources"
    if resources is None:
        return []
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(here, "may not be set for a windows pod")]
    found = []
    if resources.get("claims"):
        found.append(forbidden(f"{here}.claims", "claims may not be set for Resources at pod-level"))
    found += validate_resource_requirements(
        resources, here, claim_names=pod.claim_names, name_errors=validate_pod_resource_name
    )
    return found + _validate_container_totals(spec, here)


def _validate_container_totals(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that the containers together do not need more than the pod-level requests and limits."""
    found = []
    requests, limits = (quantities(spec["resources"].get(field)) for field in ("requests", "limits"))
    for name, total in sorted(aggregate_resources(spec, "requests").items()):
        if name in requests and total > requests[name]:
            reason = f"must be greater than or equal to aggregate container requests of {total.canonical()}"
            found.append(invalid(f"{at}.requests[{name}]", requests[name].canonical(), reason))
    for name, total in sorted(aggregate_resources(spec, "limits").items()):
        if is_huge_pages(name) and name in limits and total > limits[name]:
            reason = f"must be greater than or equal to aggregate container limits of {total.canonical()}"
            found.append(invalid(f"{at}.limits[{name}]", limits[name].canonical(), reason))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in sorted(quantities((container.get("resources") or {}).get("limits")).items()):
            if name in limits and limit > limits[name]:
                reason = f"must be less than or equal to pod limits of {limits[name].canonical()}"
                found.append(invalid(f"{at}.containers[{index}][{name}].limits", limit.canonical(), reason))
    return found


def _validate_host_network_ports(spec: JsonObject, options: PodValidationOptions, at: str) -> list[FieldError]:
    """Validate the ports of a pod in the network of its node. Templates may leave host ports unset."""
    found: list[FieldError] = []
    for index, container in enumerate(spec.get("containers") or () if spec.get("hostNetwork") else ()):
        for position, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort") or 0
            if (options.is_pod or host_port) and host_port != (port.get("containerPort") or 0):
                here = f"{at}.containers[{index}].ports[{position}].hostPort"
                reason = "must match `containerPort` when `hostNetwork` is true"
                found.append(invalid(here, host_port, reason))
    return found


def _validate_dns_config(spec: JsonObject, at: str) -> list[FieldError]:
    config = spec.get("dnsConfig")
    servers, searches = (config or {}).get("nameservers") or [], (config or {}).get("searches") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(at, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not servers:
            reason = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{at}.nameservers", reason)]
    found: list[FieldError] = []
    if len(servers) > _MAX_NAMESERVERS:
        reason = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        found.append(invalid(f"{at}.nameservers", servers, reason))
    for index, server in enumerate(servers):
        found += ip_errors(server, f"{at}.nameservers[{index}]")
    found += _validate_searches(searches, f"{at}.searches")
    for here, option in listed(config or {}, "options", at):
        if not option.get("name"):
            found.append(required(here, "must not be empty"))
    return found


def _validate_searches(searches: list[str], at: str) -> list[FieldError]:
    """Validate the domains in which a pod searches for names."""
    found: list[FieldError] = []
    if len(searches) > _MAX_SEARCHES:
        found.append(invalid(at, searches, f"must not have more than {_MAX_SEARCHES} search paths"))
    if byte_length(" ".join(searches)) > _MAX_SEARCH_BYTES:
        reason = f"must not have more than {_MAX_SEARCH_BYTES} characters (including spaces) in the search list"
        found.append(invalid(at, searches, reason))
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            found += _name_errors(subdomain_with_underscore(name), name, f"{at}[{index}]")
    return found


def _validate_scheduling_gates(gates: list[JsonObject], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    names = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        found += _name_errors(qualified_name(name), name, f"{at}[{index}]")
        if name in names:
            found.append(duplicate(f"{at}[{index}]", name))
        names.add(name)
    return found


def _validate_host_users(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that a pod with its own user namespace shares no other namespace with its node."""
    if spec.get("hostUsers") is not False:
        return []
    shared = [path for path in ("hostNetwork", "HostPID", "HostIPC") if spec.get(path[0].lower() + path[1:])]
    shared += [f"{path}.volumeDevices" for path, container in all_containers(spec) if container.get("volumeDevices")]
    return [forbidden(f"{at}.{path}", "when `hostUsers` is false") for path in shared]


def _validate_hostname_override(spec: JsonObject, at: str) -> list[FieldError]:
    name = spec.get("hostnameOverride")
    if name is None:
        return []
    found = []
    if spec.get("setHostnameAsFQDN"):
        found.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        found.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if byte_length(name) > _MAX_HOSTNAME:
        found.append(too_long(at, _MAX_HOSTNAME))
    return found + _name_errors(dns1123_subdomain(name), name, at)


def _validate_file_key_volumes(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that each fileKeyRef of an environment variable refers to a volume of type emptyDir."""
    found = []
    volumes = {volume.get("name") or "": volume for volume in spec.get("volumes") or ()}
    for path, container in all_containers(spec):
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            here, name = f"{at}.{path}.env[{index}].valueFrom.fileKeyRef.volumeName", reference.get("volumeName") or ""
            if name not in volumes:
                found.append(not_found(here, name))
            elif volumes[name].get("emptyDir") is None:
                found.append(invalid(here, name, "referenced volume must be of type emptyDir"))
    return found
