"""Validation of probes and lifecycle hooks of containers."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.meta.field_validation import validate_nonnegative
from polykind.apis.meta.validation import port_errors, port_number_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, invalid, not_supported, required
from polykind.names import http_header_name

_SCHEMES = ("HTTP", "HTTPS")
_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def validate_probes(container: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    """Validate the liveness, readiness and startup probes of a container."""
    found: list[FieldError] = []
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(name)) is None:
            continue
        here = f"{at}.{name}"
        found += _validate_probe(probe, grace_period, here)
        grace, successes = probe.get("terminationGracePeriodSeconds"), probe.get("successThreshold") or 0
        if name == "readinessProbe":
            if grace is not None:
                reason = "must not be set for readinessProbes"
                found.append(invalid(f"{here}.terminationGracePeriodSeconds", grace, reason))
        elif successes != 1:
            found.append(invalid(f"{here}.successThreshold", successes, "must be 1"))
    return found


def validate_lifecycle(lifecycle: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    """Validate the hooks that run after the start and before the end of a container."""
    found: list[FieldError] = []
    for name in ("postStart", "preStop"):
        if (handler := lifecycle.get(name)) is not None:
            found += _validate_handler(handler, grace_period, f"{at}.{name}")
    return found


def _validate_probe(probe: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    found = _validate_handler(probe, grace_period, at)
    for name in _PROBE_NUMBERS:
        found += validate_nonnegative(probe.get(name), f"{at}.{name}")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        found.append(invalid(f"{at}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return found


def _validate_handler(handler: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    """Validate that a probe or hook has exactly one action.

    `handler` is the probe or hook, which may have other fields.
    """
    found: list[FieldError] = []
    used = False
    for name, check in _actions.items():
        if (action := handler.get(name)) is None:
            continue
        if used:
            found.append(forbidden(f"{at}.{name}", "may not specify more than 1 handler type"))
        else:
            used = True
            found += check(action, grace_period, f"{at}.{name}")
    return found if used else [*found, required(at, "must specify a handler type")]


def _validate_exec(action: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    return [] if action.get("command") else [required(f"{at}.command")]


def _validate_http_get(action: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    found = [] if action.get("path") else [required(f"{at}.path")]
    found += port_errors(action.get("port", 0), f"{at}.port")
    scheme = action.get("scheme") or ""
    if scheme not in _SCHEMES:
        found.append(not_supported(f"{at}.scheme", scheme, _SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        found += [invalid(f"{at}.httpHeaders", name, reason) for reason in http_header_name(name)]
    return found


def _validate_tcp_socket(action: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    return port_errors(action.get("port", 0), f"{at}.port")


def _validate_grpc(action: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    return port_number_errors(action.get("port") or 0, f"{at}.port")


def _validate_sleep(action: JsonObject, grace_period: int, at: str) -> list[FieldError]:
    seconds = action.get("seconds") or 0
    if 0 <= seconds <= grace_period:
        return []
    reason = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    return [invalid(at, seconds, reason)]


_actions: dict[str, Callable[[JsonObject, int, str], list[FieldError]]] = {
    "exec": _validate_exec,
    "httpGet": _validate_http_get,
    "tcpSocket": _validate_tcp_socket,
    "grpc": _validate_grpc,
    "sleep": _validate_sleep,
}
