"""What selectors of webhooks and policies select: by the labels of a namespace, and by those of an object."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.admission.attributes import DELETE, Attributes
from polykind.contract import JsonObject
from polykind.selectors.label_selectors import LabelSelector
from polykind.selectors.selector_objects import labels_of


def in_namespace(wanted: LabelSelector, asked: Attributes) -> bool:
    """Whether the namespace of a write is selected; what lies in none always is. NotFound if there is no such one."""
    if wanted.empty or (not asked.namespace and asked.resource.plural != "namespaces"):
        return True
    return wanted.matches(_namespace_labels(asked))


def _namespace_labels(asked: Attributes) -> dict[str, str]:
    resource = asked.resource
    if resource.plural == "namespaces" and not resource.subresource and asked.operation != DELETE:
        return labels_of(asked.obj)
    namespace = asked.old if (resource.group, resource.plural) == ("", "namespaces") else asked.namespace_object()
    if namespace is None:
        raise errors.NotFoundError("namespaces", "", asked.namespace)
    return labels_of(namespace)


def selects(wanted: LabelSelector, asked: Attributes) -> bool:
    """Whether an object is selected, as it is or as it shall be."""
    return wanted.empty or any(obj is not None and wanted.matches(_labels(obj)) for obj in (asked.obj, asked.old))


def _labels(obj: JsonObject) -> dict[str, str]:
    """The labels of an object, none if others have made of them what labels are not."""
    labels: Any = labels_of(obj)
    return labels if isinstance(labels, dict) and all(isinstance(value, str) for value in labels.values()) else {}
