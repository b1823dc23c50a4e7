"""Options of pod validation that depend on the kind of the object and on its stored state."""

from __future__ import annotations

from dataclasses import dataclass

from polykind.contract import JsonObject


@dataclass(frozen=True, slots=True)
class PodValidationOptions:
    """Options of pod validation."""

    is_pod: bool = False
    """True for a Pod, False for a pod template. Some rules do not apply to templates, which a controller completes."""
    allows_any_selinux_policy: bool = False
    """True if the stored object sets seLinuxChangePolicy. Otherwise only the value Recursive is valid."""


def pod_options(old_spec: JsonObject | None) -> PodValidationOptions:
    """Return the options for a Pod. `old_spec` is the spec of the stored pod, or None on a create."""
    return PodValidationOptions(is_pod=True, allows_any_selinux_policy=_has_selinux_policy(old_spec))


def template_options(old_template: JsonObject | None = None) -> PodValidationOptions:
    """Return the options for a pod template. `old_template` is the stored template, or None on a create."""
    return PodValidationOptions(allows_any_selinux_policy=_has_selinux_policy((old_template or {}).get("spec")))


def _has_selinux_policy(spec: JsonObject | None) -> bool:
    return "seLinuxChangePolicy" in ((spec or {}).get("securityContext") or {})
