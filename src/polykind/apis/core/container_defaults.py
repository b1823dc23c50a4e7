"""Defaults of containers, their ports, probes and resources."""

from __future__ import annotations

from polykind.apis.core.image_reference import image_tag
from polykind.apis.core.resource_defaults import round_resources
from polykind.contract import JsonObject

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def default_container(container: JsonObject) -> None:
    """Set the defaults of a container of any type, in place."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    _default(container, "terminationMessagePath", "/dev/termination-log")
    _default(container, "terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        _default(port, "protocol", "TCP")
    for variable in container.get("env") or ():
        _default_value_source(variable.get("valueFrom") or {})
    round_resources(container.get("resources"))
    for name in _PROBES:
        if (probe := container.get(name)) is not None:
            _default_probe(probe)
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict) and (http_get := handler.get("httpGet")) is not None:
            _default_http_get(http_get)


def pull_policy(image: str) -> str:
    """Return the default pull policy of an image: Always for the tag `latest`, which may move to another image."""
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def default_field_ref(source: JsonObject) -> None:
    """Set the API version of the `fieldRef` of an environment variable or a file, in place."""
    if (field_ref := source.get("fieldRef")) is not None:
        _default(field_ref, "apiVersion", "v1")


def _default(obj: JsonObject, field: str, value: object) -> None:
    if not obj.get(field):
        obj[field] = value


def _default_value_source(source: JsonObject) -> None:
    default_field_ref(source)
    if (file_key_ref := source.get("fileKeyRef")) is not None and file_key_ref.get("optional") is None:
        file_key_ref["optional"] = False


def _default_probe(probe: JsonObject) -> None:
    for field, value in _PROBE_DEFAULTS.items():
        _default(probe, field, value)
    if (http_get := probe.get("httpGet")) is not None:
        _default_http_get(http_get)
    if (grpc := probe.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_http_get(action: JsonObject) -> None:
    _default(action, "path", "/")
    _default(action, "scheme", "HTTP")
