"""Validation of the status of pods, which the kubelet reports."""

from __future__ import annotations

from polykind.addresses import ip_errors, ip_family
from polykind.apis.core.pod_update_validation import validate_annotation_update
from polykind.apis.machinery.listed import listed
from polykind.apis.meta.validation import range_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, forbidden, internal, invalid, not_supported, required, too_long
from polykind.golang.utf8 import byte_length
from polykind.names import dns1123_label, dns1123_subdomain, qualified_name

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_STATUS_LISTS = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
)
_HEALTH_VALUES = ("Healthy", "Unhealthy", "Unknown")
_MAX_HEALTH_MESSAGE = 1000
_MAX_ID = 2**31 - 1
_NON_NEGATIVE = "must be a non-negative integer"


def validate_pod_status_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate an update of the status of a pod, without the common rules for metadata."""
    status, old_status, spec = new.get("status") or {}, old.get("status") or {}, old["spec"]
    found = validate_annotation_update(new, old)
    found += _validate_conditions(status.get("conditions") or [])
    found += _validate_nominated_node(status, old_status, spec)
    if (observed := status.get("observedGeneration") or 0) < 0:
        found.append(invalid("status.observedGeneration", observed, _NON_NEGATIVE))
    if status.get("qosClass") != old_status.get("qosClass"):
        found.append(invalid("status.qosClass", status.get("qosClass") or "", "field is immutable"))
    for field, containers in _STATUS_LISTS:
        statuses, old_statuses = status.get(field) or [], old_status.get(field) or []
        found += _validate_transitions(statuses, old_statuses, spec, containers, f"status.{field}")
    found += _validate_claim_statuses(status.get("resourceClaimStatuses") or [], spec)
    found += _validate_extended_claim(status.get("extendedResourceClaimStatus"), spec)
    found += _validate_ips(status, old_status, "podIPs")
    found += _validate_host_ips(status, old_status)
    return found + _validate_container_statuses(status, spec)


def _validate_host_ips(status: JsonObject, old_status: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    if (host_ips := status.get("hostIPs") or []) and host_ips[0].get("ip") != status.get("hostIP"):
        found.append(invalid("status.hostIPs[0].ip", host_ips[0].get("ip") or "", "must be equal to `hostIP`"))
    return found + _validate_ips(status, old_status, "hostIPs")


def _validate_container_statuses(status: JsonObject, spec: JsonObject) -> list[FieldError]:
    """Validate the users and the devices in the status of each container."""
    found: list[FieldError] = []
    for field, _ in _STATUS_LISTS:
        found += _validate_users(status.get(field) or [], spec, f"status.{field}")
    for field, containers in _STATUS_LISTS[:2]:
        found += _validate_resource_health(status.get(field) or [], spec.get(containers) or [], f"status.{field}")
    for here, container in listed(status, "ephemeralContainerStatuses", "status"):
        if container.get("allocatedResourcesStatus"):
            found.append(forbidden(f"{here}.allocatedResourcesStatus", "must not be specified in container status"))
    return found


def _validate_conditions(conditions: list[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    for index, condition in enumerate(conditions):
        here, kind = f"status.conditions[{index}]", condition.get("type") or ""
        if (observed := condition.get("observedGeneration") or 0) < 0:
            found.append(invalid(f"{here}.observedGeneration", observed, _NON_NEGATIVE))
        if kind not in _SYSTEM_CONDITIONS:
            found += [invalid(f"{here}.Type", kind, reason) for reason in qualified_name(kind)]
    return found


def _validate_nominated_node(status: JsonObject, old_status: JsonObject, spec: JsonObject) -> list[FieldError]:
    """Validate nominatedNodeName: the node that the scheduler has chosen for a pod that is not bound yet."""
    name, at = status.get("nominatedNodeName") or "", "status.nominatedNodeName"
    if not name or name == old_status.get("nominatedNodeName"):
        return []
    found = [invalid(at, name, reason) for reason in dns1123_subdomain(name)]
    if spec.get("nodeName"):
        found.append(forbidden(at, "may not be set on pods that are already bound to a node"))
    return found


def _validate_transitions(
    statuses: list[JsonObject], old_statuses: list[JsonObject], spec: JsonObject, field: str, at: str
) -> list[FieldError]:
    """Validate that terminated containers stay terminated if they cannot restart.

    `field` is the name of the list of these containers in the spec.
    """
    is_ephemeral = field == "ephemeralContainers"
    if not is_ephemeral and _can_restart_all(spec):
        return []
    found = []
    containers = {} if is_ephemeral else {container.get("name"): container for container in spec.get(field) or ()}
    running = {status.get("name") for status in statuses if not _is_terminated(status)}
    for index, old in enumerate(old_statuses):
        terminated = (old.get("state") or {}).get("terminated")
        if terminated is None or old.get("name") not in running:
            continue
        container = containers.get(old.get("name"))
        if container is None or not _restarts(container, spec, terminated.get("exitCode") or 0):
            found.append(forbidden(f"{at}[{index}].state", "may not be transitioned to non-terminated state"))
    return found


def _is_terminated(status: JsonObject) -> bool:
    return (status.get("state") or {}).get("terminated") is not None


def _can_restart_all(spec: JsonObject) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: JsonObject, spec: JsonObject, exit_code: int) -> bool:
    """True if the kubelet restarts a container that has ended with this exit code."""
    policy = container.get("restartPolicy")
    for rule in container.get("restartPolicyRules") or () if policy is not None else ():
        codes = rule.get("exitCodes")
        if codes is not None and (exit_code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return True
    policy = policy or spec.get("restartPolicy")
    return exit_code != 0 if policy == "OnFailure" else policy != "Never"


def _validate_claim_statuses(statuses: list[JsonObject], spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    names = set()
    for index, status in enumerate(statuses):
        here, name = f"status.resourceClaimStatuses[{index}]", status.get("name") or ""
        if name not in known:
            reason = "must match the name of an entry in `spec.resourceClaims`"
            found.append(invalid(f"{here}.name", name, reason))
        if name in names:
            found.append(duplicate(f"{here}.name", name))
        names.add(name)
        if (claim := status.get("resourceClaimName")) is not None:
            found += [invalid(f"{here}.resourceClaimName", claim, reason) for reason in dns1123_subdomain(claim)]
    return found


def _validate_extended_claim(status: JsonObject | None, spec: JsonObject) -> list[FieldError]:
    """Validate the claim that the scheduler has created for extended resources of the pod."""
    if status is None:
        return []
    at = "status.extendedResourceClaimStatus"
    found = _validate_request_mappings(status, spec, at)
    claim = status.get("resourceClaimName") or ""
    if not claim:
        return [*found, required(f"{at}.resourceClaimName")]
    return found + [invalid(f"{at}.resourceClaimName", claim, reason) for reason in dns1123_subdomain(claim)]


def _validate_request_mappings(status: JsonObject, spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the containers and the resources for which the scheduler has created the claim."""
    containers = {c.get("name"): c for field in ("initContainers", "containers") for c in spec.get(field) or ()}
    mappings = status.get("requestMappings") or []
    found = [] if mappings else [required(f"{at}.requestMappings", "at least one request mapping is required")]
    used = set()
    for here, mapping in listed(status, "requestMappings", at):
        name, resource, request = (mapping.get(key) or "" for key in ("containerName", "resourceName", "requestName"))
        if name not in containers:
            reason = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            found.append(invalid(f"{here}.containerName", name, reason))
        elif resource not in _requests(containers[name]):
            reason = (
                "must match the extended resource name of an entry in spec.initContainers.resources.requests "
                "or spec.containers.resources.requests"
            )
            found.append(invalid(f"{here}.resourceName", resource, reason))
        found += [invalid(f"{at}.requestName", request, reason) for reason in dns1123_label(request)]
        if (name, resource, request) in used:
            fields = (("containerName", name), ("resourceName", resource), ("requestName", request))
            found += [duplicate(f"{here}.{field}", value) for field, value in fields]
        used.add((name, resource, request))
    return found


def _requests(container: JsonObject) -> JsonObject:
    return (container.get("resources") or {}).get("requests") or {}


def _validate_ips(status: JsonObject, old_status: JsonObject, field: str) -> list[FieldError]:
    """Validate the addresses of a pod or of its node: at most one of each IP family."""
    at = f"status.{field}"
    addresses, old_addresses = ([item.get("ip") or "" for item in s.get(field) or ()] for s in (status, old_status))
    found: list[FieldError] = []
    for index, address in enumerate(addresses):
        found += ip_errors(address, f"{at}[{index}]", old_addresses)
    families = [ip_family(address) for address in addresses]
    if len(addresses) > 1 and "" in families:
        index = families.index("")
        reason = f"failed to check for dual stack with error:invalid IP[{index}]: {addresses[index]}"
        found.append(internal(at, reason))
    if len(addresses) > 2 or (len(addresses) == 2 and set(families) != {"IPv4", "IPv6"}):
        reason = "may specify no more than one IP for each IP family"
        found.append(invalid(at, [{"IP": address} for address in addresses], reason))
    return found


def _validate_users(statuses: list[JsonObject], spec: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    is_windows = (spec.get("os") or {}).get("name") == "windows"
    for index, status in enumerate(statuses):
        user, here = (status.get("user") or {}).get("linux"), f"{at}[{index}].user.linux"
        if user is None:
            continue
        if is_windows:
            found.append(forbidden(here, "cannot be set for a windows pod"))
            continue
        for field in ("uid", "gid"):
            found += range_errors(user.get(field) or 0, f"{here}.{field}", 0, _MAX_ID)
        for position, group in enumerate(user.get("supplementalGroups") or ()):
            found += range_errors(group, f"{here}.supplementalGroups[{position}]", 0, _MAX_ID)
    return found


def _validate_resource_health(statuses: list[JsonObject], containers: list[JsonObject], at: str) -> list[FieldError]:
    """Validate the health of the devices that containers use."""
    found: list[FieldError] = []
    by_name = {container.get("name"): container for container in containers}
    for index, status in enumerate(statuses):
        for position, allocated in enumerate(status.get("allocatedResourcesStatus") or ()):
            here, name = f"{at}[{index}].allocatedResourcesStatus[{position}]", allocated.get("name") or ""
            if status.get("name") in by_name:
                found += _validate_allocated_name(name, by_name[status.get("name")], f"{here}.name")
            found += _validate_devices(allocated.get("resources") or [], f"{here}.resources")
    return found


def _validate_allocated_name(name: str, container: JsonObject, at: str) -> list[FieldError]:
    resources = container.get("resources") or {}
    if name.startswith("claim:"):
        claims = [(claim.get("name") or "", claim.get("request") or "") for claim in resources.get("claims") or ()]
        known = [f"claim:{claim}/{request}" if request else f"claim:{claim}" for claim, request in claims]
        reason = (
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
            "or 'claim:<claimName>' if request is empty"
        )
    else:
        known = list(resources.get("requests") or ())
        reason = "must match one of the container's resource requests"
    return [] if name in known else [invalid(at, name, reason)]


def _validate_devices(devices: list[JsonObject], at: str) -> list[FieldError]:
    found = []
    ids = set()
    for index, device in enumerate(devices):
        here, health, message = f"{at}[{index}]", device.get("health") or "", device.get("message")
        if health not in _HEALTH_VALUES:
            found.append(not_supported(f"{here}.health", health, _HEALTH_VALUES))
        if message == "":
            found.append(required(f"{here}.message", "must be non-empty if specified"))
        elif message is not None and byte_length(message) > _MAX_HEALTH_MESSAGE:
            found.append(too_long(f"{here}.message", _MAX_HEALTH_MESSAGE))
        if (device_id := device.get("resourceID") or "") in ids:
            found.append(duplicate(f"{here}.resourceID", device_id))
        ids.add(device_id)
    return found
