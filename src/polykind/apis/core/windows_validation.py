"""Validation of the security options of Windows pods."""

from __future__ import annotations

import re

import orjson

from polykind.apis.core.pod_resources import all_containers
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, invalid
from polykind.golang.json import go_json
from polykind.golang.utf8 import byte_length
from polykind.names import dns1123_subdomain

_HOST_PROCESS_REASON = "hostProcess containers are disallowed by cluster policy"
_MAX_CREDENTIAL_SPEC_KIB = 64
_MAX_DOMAIN_LENGTH, _MAX_USER_LENGTH = 256, 104
_control_characters = re.compile(r"[\x00-\x1f\x7f]").search
_net_bios_name = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}', re.DOTALL).fullmatch
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_dns_name = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_forbidden_characters = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_dots_and_spaces = re.compile("[. ]+").fullmatch
_LINUX_ONLY_IN_POD = (
    *("securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC"),
    *("securityContext.seccompProfile", "securityContext.fsGroup", "securityContext.fsGroupChangePolicy"),
    *("securityContext.sysctls", "shareProcessNamespace", "securityContext.runAsUser", "securityContext.runAsGroup"),
    *("securityContext.supplementalGroups", "securityContext.supplementalGroupsPolicy"),
    "securityContext.seLinuxChangePolicy",
)
_LINUX_ONLY_IN_CONTAINER = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def validate_windows_options(options: JsonObject | None, at: str) -> list[FieldError]:
    """Validate the Windows options of the security context of a pod or container."""
    found: list[FieldError] = []
    if options is None:
        return found
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        found += [_invalid(f"{at}.gmsaCredentialSpecName", name, reason) for reason in dns1123_subdomain(name)]
    if (credentials := options.get("gmsaCredentialSpec")) is not None:
        if not credentials:
            found.append(invalid(f"{at}.gmsaCredentialSpec", "", "gmsaCredentialSpec cannot be an empty string"))
        elif byte_length(credentials) > _MAX_CREDENTIAL_SPEC_KIB * 1024:
            reason = f"gmsaCredentialSpec size must be under {_MAX_CREDENTIAL_SPEC_KIB} KiB"
            found.append(_invalid(f"{at}.gmsaCredentialSpec", credentials, reason))
    if (user := options.get("runAsUserName")) is not None:
        found += [_invalid(f"{at}.runAsUserName", user, f"runAsUserName{reason}") for reason in _user_name_errors(user)]
    return found


def _invalid(at: str, text: str, reason: str) -> FieldError:
    """Return an error that shows the invalid string as JSON, because Go's messages do so for a pointer to a string."""
    return invalid(at, orjson.Fragment(go_json(text)), reason)


def _user_name_errors(name: str) -> list[str]:
    """Return the reasons why a Windows user name, with an optional domain and backslash, is invalid."""
    if not name:
        return [" cannot be an empty string"]
    if _control_characters(name):
        return [" cannot contain control characters"]
    if name.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    checks = (
        (
            byte_length(domain) >= _MAX_DOMAIN_LENGTH,
            f"'s Domain length must be under {_MAX_DOMAIN_LENGTH} characters",
        ),
        (
            backslash and not _net_bios_name(domain) and not _dns_name(domain),
            "'s Domain doesn't match the NetBios nor the DNS format",
        ),
        (not user, "'s User cannot be empty"),
        (
            byte_length(user) > _MAX_USER_LENGTH,
            f"'s User length must not be longer than {_MAX_USER_LENGTH} characters",
        ),
        (_dots_and_spaces(user), "'s User cannot contain only periods or spaces"),
        (_forbidden_characters(user), "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
    )
    return [reason for failed, reason in checks if failed]


def validate_host_process(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that either all containers of a pod or none are host process containers."""
    found: list[FieldError] = []
    pod_value = _host_process(spec)
    values = []
    for path, container in all_containers(spec):
        value = _host_process(container)
        if None not in (value, pod_value) and value != pod_value:
            shown = "true" if pod_value else "false"
            reason = f"pod hostProcess value must be identical if both are specified, was {shown}"
            found.append(invalid(f"{at}.{path}.securityContext.windowsOptions.hostProcess", value, reason))
        values.append(bool(pod_value if value is None else value))
    if not any(values):
        return found
    if not all(values):
        reason = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        found.append(invalid(at, "", reason))
    if not spec.get("hostNetwork"):
        reason = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(invalid(f"{at}.hostNetwork", False, reason))
    return [*found, FieldError("FieldValueForbidden", at, "", _HOST_PROCESS_REASON, privileged=True)]


def _host_process(source: JsonObject) -> bool | None:
    """Return the hostProcess of a pod spec or container, or None if it is unset."""
    value: bool | None = ((source.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    return value


def validate_os(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that a Linux pod has no Windows options, and that a Windows pod has no Linux options."""
    name = (spec.get("os") or {}).get("name") or ""
    if name == "linux":
        return _validate_linux(spec, at)
    return _validate_windows(spec, at)


def _validate_linux(spec: JsonObject, at: str) -> list[FieldError]:
    contexts = [("", spec.get("securityContext"))]
    contexts += [(f"{path}.", container.get("securityContext")) for path, container in all_containers(spec)]
    return [
        forbidden(f"{at}.{path}securityContext.windowsOptions", "windows options cannot be set for a linux pod")
        for path, context in contexts
        if (context or {}).get("windowsOptions") is not None
    ]


def _validate_windows(spec: JsonObject, at: str) -> list[FieldError]:
    reason = "cannot be set for a windows pod"
    paths = [path for path in _LINUX_ONLY_IN_POD if _is_set(spec, path)]
    for path, container in all_containers(spec):
        context = container.get("securityContext") or {}
        paths += [
            f"{path}.securityContext.{field}" for field in _LINUX_ONLY_IN_CONTAINER if context.get(field) is not None
        ]
    return [forbidden(f"{at}.{path}", reason) for path in paths]


def _is_set(spec: JsonObject, path: str) -> bool:
    parent, _, field = path.rpartition(".")
    value = ((spec.get(parent) or {}) if parent else spec).get(field)
    # In Go, hostPID and hostIPC are not pointers, so kube-apiserver cannot tell false from unset.
    return value is not None and not (value is False and field in ("hostPID", "hostIPC"))
