"""Validation of annotations that Kubernetes interprets in pods."""

from __future__ import annotations

import re

from polykind.apis.core.path_validation import relative_path_errors
from polykind.apis.core.pod_resources import all_containers
from polykind.apis.core.pod_spec_validation import MIRROR_POD_ANNOTATION
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, invalid
from polykind.golang.fmt import go_quote

APP_ARMOR_CONTAINER_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_LOCALHOST = "localhost/"
_SECCOMP_NAMES = {"RuntimeDefault": ("runtime/default", "docker/default"), "Unconfined": ("unconfined",)}
_APP_ARMOR_NAMES = {"RuntimeDefault": ("runtime/default",), "Unconfined": ("unconfined",)}
_INT32 = range(-(2**31), 2**31)


def validate_pod_annotations(annotations: dict[str, str], spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the annotations of a pod or pod template that Kubernetes interprets."""
    found: list[FieldError] = []
    if MIRROR_POD_ANNOTATION in annotations and not spec.get("nodeName"):
        reason = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid(f"{at}[{MIRROR_POD_ANNOTATION}]", annotations[MIRROR_POD_ANNOTATION], reason))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (re.fullmatch("0|-[0-9]+|[1-9][0-9]*", cost) and int(cost) in _INT32):
        found.append(invalid(f"{at}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    for key, profile in sorted(annotations.items(), key=lambda item: (item[0] != SECCOMP_POD_ANNOTATION, item[0])):
        if key == SECCOMP_POD_ANNOTATION or key.startswith(SECCOMP_CONTAINER_PREFIX):
            found += _seccomp_profile_errors(profile, f"{at}.{key}")
    for key, profile in sorted(annotations.items()):
        if key.startswith(APP_ARMOR_CONTAINER_PREFIX):
            found += _app_armor_profile_errors(key, profile, spec, f"{at}[{key}]")
    return found


def _seccomp_profile_errors(profile: str, at: str) -> list[FieldError]:
    if any(profile in names for names in _SECCOMP_NAMES.values()):
        return []
    if profile.startswith(_LOCALHOST):
        return relative_path_errors(profile.removeprefix(_LOCALHOST), at)
    return [invalid(at, profile, "must be a valid seccomp profile")]


def _app_armor_profile_errors(key: str, profile: str, spec: JsonObject, at: str) -> list[FieldError]:
    found = []
    container = key.removeprefix(APP_ARMOR_CONTAINER_PREFIX)
    if all(container != other.get("name") for _, other in all_containers(spec)):
        found.append(invalid(at, container, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCALHOST):
        found.append(invalid(at, profile, f"invalid AppArmor profile name: {go_quote(profile)}"))
    return found


def app_armor_profile(annotation: str) -> JsonObject | None:
    """Return the AppArmor profile that an annotation stands for. Return None if the annotation is invalid."""
    for kind, texts in _APP_ARMOR_NAMES.items():
        if annotation in texts:
            return {"type": kind}
    path = annotation.removeprefix(_LOCALHOST)
    return {"type": "Localhost", "localhostProfile": path} if path and path != annotation else None


def validate_profiles_match(annotations: dict[str, str], spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that profiles in deprecated annotations equal the profiles in the spec. `at` is the path of the spec."""
    found: list[FieldError] = []
    context = spec.get("securityContext") or {}
    if SECCOMP_POD_ANNOTATION in annotations and (profile := context.get("seccompProfile")) is not None:
        here = f"{at}.securityContext.seccompProfile"
        found += _mismatch_errors("seccomp", annotations[SECCOMP_POD_ANNOTATION], profile, here)
    kinds = [("seccomp", SECCOMP_CONTAINER_PREFIX, "seccompProfile", None)]
    if (spec.get("os") or {}).get("name") != "windows":
        kinds.append(("apparmor", APP_ARMOR_CONTAINER_PREFIX, "appArmorProfile", context.get("appArmorProfile")))
    for kind, prefix, field, pod_profile in kinds:
        for path, container in all_containers(spec):
            annotation = annotations.get(prefix + (container.get("name") or ""))
            profile = (container.get("securityContext") or {}).get(field) or pod_profile
            if annotation is not None and profile is not None:
                found += _mismatch_errors(kind, annotation, profile, f"{at}.{path}.securityContext.{field}")
    return found


def _mismatch_errors(system: str, annotation: str, profile: JsonObject, at: str) -> list[FieldError]:
    kind = profile.get("type") or ""
    names = (_SECCOMP_NAMES if system == "seccomp" else _APP_ARMOR_NAMES).get(kind, ())
    if (names and annotation not in names) or (kind == "Localhost" and not annotation.startswith(_LOCALHOST)):
        return [forbidden(f"{at}.type", f"{system} type in annotation and field must match")]
    if kind == "Localhost" and annotation.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
        return [forbidden(f"{at}.localhostProfile", f"{system} profile in annotation and field must match")]
    return []
