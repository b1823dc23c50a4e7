"""Pods and pod templates for tests."""

from __future__ import annotations

from typing import Any

from polykind.apis.core.pod_defaults import default_pod, default_pod_template
from polykind.apis.core.pod_options import pod_options
from polykind.apis.core.pod_validation import validate_new_pod, validate_pod_template_spec
from polykind.contract import JsonObject


def container(name: str = "app", **fields: Any) -> JsonObject:
    return {"name": name, "image": "app:1", **fields}


def pod(*, annotations: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    """Return a defaulted pod with one container, unless `spec` has others."""
    metadata: JsonObject = {"name": "web", "namespace": "default"}
    if annotations:
        metadata["annotations"] = annotations
    made: JsonObject = {"metadata": metadata, "spec": {"containers": [container()], **spec}}
    default_pod(made)
    return made


def template(**spec: Any) -> JsonObject:
    """Return a defaulted pod template with one container, unless `spec` has others."""
    made: JsonObject = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container()], **spec}}
    default_pod_template(made)
    return made


def pod_errors(*, annotations: dict[str, str] | None = None, **spec: Any) -> list[str]:
    """Return the errors of a new pod, as texts."""
    return [str(error) for error in validate_new_pod(pod(annotations=annotations, **spec), pod_options(None))]


def container_errors(**fields: Any) -> list[str]:
    """Return the errors of a new pod whose container has these fields. Paths start in the container."""
    return [text.removeprefix("spec.containers[0].") for text in pod_errors(containers=[container(**fields)])]


def template_errors(**spec: Any) -> list[str]:
    """Return the errors of a pod template, as texts."""
    return [str(error) for error in validate_pod_template_spec(template(**spec), "template")]
