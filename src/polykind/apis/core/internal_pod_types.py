"""Pod templates as kube-apiserver's internal type, for error messages that show a pod template."""

from __future__ import annotations

import orjson

from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.contract import JsonObject

_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Fields of the pod spec that are in the security context of kube-apiserver's internal type."""


def show_pod_template(template: JsonObject) -> orjson.Fragment | None:
    """Return the JSON of a pod template that kube-apiserver's error messages show."""
    return show_internal(
        CORE_V1.struct("PodTemplateSpec"), {**template, "spec": _internal_spec(template.get("spec") or {})}
    )


def show_pod_spec(spec: JsonObject) -> orjson.Fragment | None:
    """Return the JSON of a pod spec that kube-apiserver's error messages show."""
    return show_internal(CORE_V1.struct("PodSpec"), _internal_spec(spec))


def _internal_spec(spec: JsonObject) -> JsonObject:
    host = {name: spec[name] for name in _HOST_FIELDS if name in spec}
    context = spec.get("securityContext")
    return {**spec, "securityContext": {**(context or {}), **host}} if host or context is not None else spec
