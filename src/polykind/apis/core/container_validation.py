"""Validation of containers, init containers and ephemeral containers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from polykind.apis.core.env_validation import validate_env, validate_env_from
from polykind.apis.core.pod_resources import is_sidecar
from polykind.apis.core.probe_validation import validate_lifecycle, validate_probes
from polykind.apis.core.resource_requirements_validation import validate_resource_requirements
from polykind.apis.core.security_context_validation import validate_container_security_context
from polykind.apis.core.volume_mount_validation import validate_volume_devices, validate_volume_mounts
from polykind.apis.core.volume_validation import PULL_POLICIES
from polykind.apis.machinery.listed import listed
from polykind.apis.meta.validation import port_number_errors, supported_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required, too_many
from polykind.names import dns1123_label, port_name

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_RULES_NEED_POLICY = "must specify restartPolicy when restart rules are used"
_MAX_RESTART_RULES, _MAX_EXIT_CODES = 20, 255
_NOT_FOR_INIT_CONTAINERS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NOT_FOR_EPHEMERAL_CONTAINERS = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)


@dataclass(frozen=True, slots=True)
class PodContext:
    """Values of the pod that the validation of its containers depends on."""

    volumes: Mapping[str, JsonObject]
    """The volumes of the pod that are valid, by name."""
    claim_names: Collection[str]
    """The names of the pod's resource claims."""
    grace_period: int
    restart_policy: str
    host_users: bool
    """False if the pod has its own user namespace."""


def validate_containers(containers: list[JsonObject], pod: PodContext, at: str) -> list[FieldError]:
    """Validate the containers of a pod."""
    if not containers:
        return [required(at)]
    found: list[FieldError] = []
    names: set[str] = set()
    for index, container in enumerate(containers):
        here, name = f"{at}[{index}]", container.get("name") or ""
        found += _validate_container(container, pod, here)
        if name in names:
            found.append(duplicate(f"{here}.name", name))
        names.add(name)
        if (lifecycle := container.get("lifecycle")) is not None:
            found += validate_lifecycle(lifecycle, pod.grace_period, f"{here}.lifecycle")
        found += validate_probes(container, pod.grace_period, here)
        found += _validate_restart_rules(container, here)
    return found + _validate_host_ports(containers, at)


def validate_init_containers(spec: JsonObject, pod: PodContext, at: str) -> list[FieldError]:
    """Validate the init containers of a pod spec."""
    found: list[FieldError] = []
    names = {container.get("name") or "" for container in spec.get("containers") or ()}
    for index, container in enumerate(spec.get("initContainers") or ()):
        here, name = f"{at}[{index}]", container.get("name") or ""
        found += _validate_container(container, pod, here)
        if container.get("restartPolicy") is None and container.get("restartPolicyRules"):
            found.append(required(f"{here}.restartPolicy", _RULES_NEED_POLICY))
        else:
            found += _validate_restart_rules(container, here)
        if name in names:
            found.append(duplicate(f"{here}.name", name))
        elif name:
            names.add(name)
        # Init containers run one after the other, so several of them may use the same host port.
        found += _validate_host_ports([container], at)
        found += _validate_init_container(container, pod, here)
    return found


def validate_ephemeral_containers(spec: JsonObject, pod: PodContext, at: str) -> list[FieldError]:
    """Validate the ephemeral containers of a pod spec, which clients add to a running pod."""
    found: list[FieldError] = []
    others = {c.get("name") or "" for field in ("containers", "initContainers") for c in spec.get(field) or ()}
    names = set(others)
    reason = "cannot be set for an Ephemeral Container"
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        here, name = f"{at}[{index}]", container.get("name") or ""
        found += _validate_container(container, pod, here)
        found += image_whitespace_errors(container, here)
        if name in names:
            found.append(duplicate(f"{here}.name", name))
        names.add(name)
        target = container.get("targetContainerName") or ""
        if target and target not in others:
            found.append(not_found(f"{here}.targetContainerName", target))
        found += [forbidden(path, reason) for path in _fields_of_others(container, here)]
    return found


def _fields_of_others(container: JsonObject, at: str) -> Iterator[str]:
    """Yield the paths of the fields that an ephemeral container must not have."""
    for field in _NOT_FOR_EPHEMERAL_CONTAINERS:
        if _is_set(container, field):
            yield f"{at}.{field}"
    for here, mount in listed(container, "volumeMounts", at):
        yield from (f"{here}.{field}" for field in ("subPath", "subPathExpr") if mount.get(field))


def _is_set(container: JsonObject, field: str) -> bool:
    """True if a field of a container is set. Empty lists and empty resources are unset, but an empty probe is set."""
    value = container.get(field)
    return value is not None and bool(
        value or field not in ("ports", "resources", "resizePolicy", "restartPolicyRules")
    )


def image_whitespace_errors(container: JsonObject, at: str) -> list[FieldError]:
    """Validate that an image does not start or end with whitespace.

    Pod templates are not checked, because older versions of Kubernetes accepted such images in them.
    """
    image = container.get("image") or ""
    if image == image.strip():
        return []
    return [invalid(f"{at}.image", image, "must not have leading or trailing whitespace")]


def _validate_container(container: JsonObject, pod: PodContext, at: str) -> list[FieldError]:
    """Validate the fields that containers, init containers and ephemeral containers have in common."""
    name = container.get("name") or ""
    found = (
        [invalid(f"{at}.name", name, reason) for reason in dns1123_label(name)] if name else [required(f"{at}.name")]
    )
    if not container.get("image"):
        found.append(required(f"{at}.image"))
    policy = container.get("terminationMessagePolicy") or ""
    found += supported_errors(policy, f"{at}.terminationMessagePolicy", _MESSAGE_POLICIES)
    found += _validate_ports(container.get("ports") or [], f"{at}.ports")
    found += validate_env(container.get("env") or [], f"{at}.env")
    found += validate_env_from(container.get("envFrom") or [], f"{at}.envFrom")
    found += validate_volume_mounts(container, pod.volumes, f"{at}.volumeMounts")
    found += validate_volume_devices(container, pod.volumes, f"{at}.volumeDevices")
    found += supported_errors(container.get("imagePullPolicy") or "", f"{at}.imagePullPolicy", PULL_POLICIES)
    resources = container.get("resources") or {}
    found += validate_resource_requirements(resources, f"{at}.resources", claim_names=pod.claim_names)
    found += _validate_resize_policy(container.get("resizePolicy") or [], pod.restart_policy, f"{at}.resizePolicy")
    context = container.get("securityContext")
    return found + validate_container_security_context(context, f"{at}.securityContext", host_users=pod.host_users)


def _validate_init_container(container: JsonObject, pod: PodContext, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    if is_sidecar(container):
        if (lifecycle := container.get("lifecycle")) is not None:
            found += validate_lifecycle(lifecycle, pod.grace_period, f"{at}.lifecycle")
        return found + validate_probes(container, pod.grace_period, at)
    reason = "may not be set for init containers without restartPolicy=Always"
    set_fields = [field for field in _NOT_FOR_INIT_CONTAINERS if container.get(field) is not None]
    found += [forbidden(f"{at}.{field}", reason) for field in set_fields]
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            here = f"{at}.resizePolicy[{index}].restartPolicy"
            reason = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            found.append(invalid(here, "RestartContainer", reason))
    return found


def _validate_ports(ports: list[JsonObject], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"{at}[{index}]", port.get("name") or ""
        if name:
            reasons = port_name(name)
            found += [invalid(f"{here}.name", name, reason) for reason in reasons]
            if not reasons and name in names:
                found.append(duplicate(f"{here}.name", name))
            names.update(() if reasons else (name,))
        number, host_port = port.get("containerPort") or 0, port.get("hostPort") or 0
        found += port_number_errors(number, f"{here}.containerPort") if number else [required(f"{here}.containerPort")]
        if host_port:
            found += port_number_errors(host_port, f"{here}.hostPort")
        found += supported_errors(port.get("protocol") or "", f"{here}.protocol", _PROTOCOLS)
    return found


def _validate_host_ports(containers: list[JsonObject], at: str) -> list[FieldError]:
    """Validate that no two ports use the same port of the node."""
    found = []
    used = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in used:
                found.append(duplicate(f"{at}[{index}].ports[{position}].hostPort", key))
            used.add(key)
    return found


def _validate_resize_policy(policies: list[JsonObject], pod_restart_policy: str, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    resources = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in resources:
            found.append(duplicate(f"{at}[{index}]", resource))
        resources.add(resource)
        found += supported_errors(resource, at, ("cpu", "memory"))
        found += supported_errors(restart, at, _RESIZE_POLICIES)
        if pod_restart_policy == "Never" and restart != "NotRequired":
            found.append(invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    return found


def _validate_restart_rules(container: JsonObject, at: str) -> list[FieldError]:
    """Validate the restart policy of one container, which overrides the policy of the pod."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    found: list[FieldError] = []
    if policy is None:
        if rules:
            found.append(required(f"{at}.restartPolicy", _RULES_NEED_POLICY))
    elif policy not in _RESTART_POLICIES:
        found.append(not_supported(f"{at}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > _MAX_RESTART_RULES:
        found.append(too_many(f"{at}.restartPolicyRules", len(rules), _MAX_RESTART_RULES))
    for index, rule in enumerate(rules):
        here, action = f"{at}.restartPolicyRules[{index}]", rule.get("action") or ""
        if action not in _RESTART_ACTIONS:
            found.append(not_supported(f"{here}.action", action, _RESTART_ACTIONS))
        if (exit_codes := rule.get("exitCodes")) is None:
            found.append(required(f"{here}.exitCodes", "must be specified"))
            continue
        operator, values = exit_codes.get("operator") or "", exit_codes.get("values") or []
        if operator not in ("In", "NotIn"):
            found.append(not_supported(f"{here}.exitCodes.operator", operator, ("In", "NotIn")))
        if len(values) > _MAX_EXIT_CODES:
            found.append(too_many(f"{here}.exitCodes.values", len(values), _MAX_EXIT_CODES))
    return found
