"""Validation of the security contexts of pods and containers."""

from __future__ import annotations

import re

from polykind.apis.core.path_validation import relative_path_errors
from polykind.apis.core.pod_options import PodValidationOptions
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.windows_validation import validate_windows_options
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.validation import range_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, invalid, not_supported, required, too_long
from polykind.golang.utf8 import byte_length

_MAX_ID = 2**31 - 1
_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PROFILE_LENGTH = 4095
_MAX_SYSCTL_LENGTH = 253
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}"
_sysctl = re.compile(r"[a-z0-9]+(?:[-_]+[a-z0-9]+)*(?:[./][a-z0-9]+(?:[-_]+[a-z0-9]+)*)*").fullmatch
_IPC_SYSCTLS = frozenset(
    (
        *("kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced"),
        *("kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"),
    )
)


def validate_pod_security_context(spec: JsonObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    """Validate the security context of a pod. `at` is the path of the pod spec."""
    context, here = spec.get("securityContext") or {}, f"{at}.securityContext"
    found: list[FieldError] = []
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        found += _id_errors(context.get(field), f"{here}.{field}")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        found += _id_errors(group, f"{here}.supplementalGroups[{index}]")
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        reason = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(f"{here}.shareProcessNamespace", True, reason))
    found += _validate_sysctls(spec, context.get("sysctls") or [], f"{here}.sysctls")
    found += _policy_errors(context, here, "fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    found += _validate_seccomp_profile(context.get("seccompProfile"), f"{here}.seccompProfile")
    found += validate_windows_options(context.get("windowsOptions"), f"{here}.windowsOptions")
    found += _validate_app_armor_profile(context.get("appArmorProfile"), f"{here}.appArmorProfile")
    found += _policy_errors(context, here, "supplementalGroupsPolicy", ("Merge", "Strict"))
    policies = ("MountOption", "Recursive") if options.allows_any_selinux_policy else ("Recursive",)
    return found + _policy_errors(context, here, "seLinuxChangePolicy", policies)


def validate_container_security_context(context: JsonObject | None, at: str, *, host_users: bool) -> list[FieldError]:
    """Validate the security context of a container. `host_users` is False if the pod has its own user namespace."""
    if context is None:
        return []
    found = [_privileged_error(at)] if context.get("privileged") else []
    found += _id_errors(context.get("runAsUser"), f"{at}.runAsUser")
    found += _id_errors(context.get("runAsGroup"), f"{at}.runAsGroup")
    proc_mount = context.get("procMount")
    found += _policy_errors(context, at, "procMount", ("Default", "Unmasked"))
    if host_users and proc_mount == "Unmasked":
        found.append(invalid(f"{at}.procMount", proc_mount, "`hostUsers` must be false to use `Unmasked`"))
    found += _validate_seccomp_profile(context.get("seccompProfile"), f"{at}.seccompProfile")
    found += _validate_escalation(context, at)
    found += validate_windows_options(context.get("windowsOptions"), f"{at}.windowsOptions")
    return found + _validate_app_armor_profile(context.get("appArmorProfile"), f"{at}.appArmorProfile")


def _privileged_error(at: str) -> FieldError:
    reason = "disallowed by cluster policy"
    return FieldError("FieldValueForbidden", f"{at}.privileged", "", reason, privileged=True)


def sysctl_namespace_errors(name: str, spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that a pod sets no sysctl of a network or IPC namespace that it shares with its node."""
    normalized = _dotted(name).partition("*")[0]
    if spec.get("hostNetwork") and normalized.startswith("net."):
        return [invalid(at, name, "may not be specified when 'hostNetwork' is true")]
    if spec.get("hostIPC") and (normalized in _IPC_SYSCTLS or normalized.startswith("fs.mqueue.")):
        return [invalid(at, name, "may not be specified when 'hostIPC' is true")]
    return []


def _dotted(sysctl: str) -> str:
    """Return the name of a sysctl with dots as separators.

    If the name contains a slash before any dot, slashes are its separators.
    """
    first = next((char for char in sysctl if char in "./"), ".")
    return sysctl if first == "." else sysctl.translate(str.maketrans("./", "/."))


def _id_errors(number: int | None, at: str) -> list[FieldError]:
    return [] if number is None else range_errors(number, at, 0, _MAX_ID)


def _policy_errors(context: JsonObject, at: str, field: str, supported: tuple[str, ...]) -> list[FieldError]:
    value = context.get(field)
    return [] if value is None or value in supported else [not_supported(f"{at}.{field}", value, supported)]


def _validate_sysctls(spec: JsonObject, sysctls: list[JsonObject], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    used = set()
    for index, sysctl in enumerate(sysctls):
        here, name = f"{at}[{index}].name", sysctl.get("name") or ""
        if not name:
            found.append(required(here))
        elif byte_length(name) > _MAX_SYSCTL_LENGTH or not _sysctl(name):
            reason = f"must have at most {_MAX_SYSCTL_LENGTH} characters and match regex ^{_SYSCTL}$"
            found.append(invalid(here, name, reason))
        elif name in used:
            found.append(duplicate(here, name))
        found += sysctl_namespace_errors(name, spec, here)
        used.add(name)
    return found


def _validate_seccomp_profile(profile: JsonObject | None, at: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    found = []
    if not kind:
        found.append(required(f"{at}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        found.append(not_supported(f"{at}.type", kind, _PROFILE_TYPES))
    if kind == "Localhost":
        if local is None:
            found.append(required(f"{at}.localhostProfile", "must be set when seccomp type is Localhost"))
        else:
            found += relative_path_errors(local, f"{at}.localhostProfile")
    elif local is not None:
        reason = "can only be set when seccomp type is Localhost"
        found.append(
            invalid(f"{at}.localhostProfile", show_internal(CORE_V1.struct("SeccompProfile"), profile), reason)
        )
    return found


def _validate_app_armor_profile(profile: JsonObject | None, at: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, local, here = profile.get("type") or "", profile.get("localhostProfile"), f"{at}.localhostProfile"
    if kind == "Localhost":
        found = []
        if local is not None and local.strip() != local:
            found.append(invalid(here, local, "must not be padded with whitespace"))
        elif not local:
            found.append(required(here, "must be set when AppArmor type is Localhost"))
        return (
            [*found, too_long(here, _MAX_PROFILE_LENGTH)] if byte_length(local or "") > _MAX_PROFILE_LENGTH else found
        )
    if kind in _PROFILE_TYPES:
        reason = "can only be set when AppArmor type is Localhost"
        return [] if local is None else [invalid(here, local, reason)]
    if not kind:
        return [required(f"{at}.type", "type is required when appArmorProfile is set")]
    return [not_supported(f"{at}.type", kind, _PROFILE_TYPES)]


def _validate_escalation(context: JsonObject, at: str) -> list[FieldError]:
    """Validate that a container with allowPrivilegeEscalation=false is neither privileged nor has CAP_SYS_ADMIN."""
    if context.get("allowPrivilegeEscalation") is not False:
        return []
    found = []
    shown = show_internal(CORE_V1.struct("SecurityContext"), context)
    if context.get("privileged"):
        reason = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        found.append(invalid(at, shown, reason))
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            reason = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            found.append(invalid(at, shown, reason))
    return found
