"""The request parameters, and the parameters of each action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from polykind.contract import JsonObject


@dataclass(frozen=True)
class Parameter:
    """A query parameter (optional) or a path parameter (required)."""

    name: str
    type: str
    description: str
    location: str = "query"

    def v3(self) -> JsonObject:
        required = {"required": True} if self.location == "path" else {}
        schema = {"type": self.type, "uniqueItems": True}
        return {"name": self.name, "in": self.location, "description": self.description, **required, "schema": schema}

    def v2(self) -> JsonObject:
        required = {"required": True} if self.location == "path" else {}
        head = {"uniqueItems": True, "type": self.type, "description": self.description}
        return {**head, "name": self.name, "in": self.location, **required}


_QUERY_PARAMETERS: Final = {
    parameter.name: parameter
    for parameter in (
        Parameter("allowWatchBookmarks", "boolean", "If true, a watch may send BOOKMARK events."),
        Parameter("continue", "string", "The token of the previous page of a list that was limited by limit."),
        Parameter("dryRun", "string", "All: process the request without storing the change."),
        Parameter("fieldManager", "string", "The name of the field manager; required for apply."),
        Parameter("fieldSelector", "string", "Select objects by their fields."),
        Parameter("fieldValidation", "string", "How to treat unknown or duplicate fields: Ignore, Warn or Strict."),
        Parameter("force", "boolean", "Apply even if other field managers own the fields."),
        Parameter("gracePeriodSeconds", "integer", "Seconds before the object is removed."),
        Parameter(
            "ignoreStoreReadErrorWithClusterBreakingPotential",
            "boolean",
            "Delete an object that cannot be read from storage, ignoring its finalizers.",
        ),
        Parameter("labelSelector", "string", "Select objects by their labels."),
        Parameter("limit", "integer", "The maximum number of objects; continue returns the next ones."),
        Parameter("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
        Parameter("pretty", "string", "If true, indent the response."),
        Parameter("propagationPolicy", "string", "How to delete dependents: Orphan, Background or Foreground."),
        Parameter(
            "resourceVersion", "string", "The minimum version of a read, or the version at which a watch starts."
        ),
        Parameter("resourceVersionMatch", "string", "How to interpret resourceVersion: Exact or NotOlderThan."),
        Parameter("sendInitialEvents", "boolean", "If true, a watch starts with all existing objects."),
        Parameter("shardSelector", "string", "Select the objects of one shard."),
        Parameter("timeoutSeconds", "integer", "Duration of the list or watch."),
        Parameter("watch", "boolean", "Watch for changes instead of listing."),
    )
}
_LIST_OPTIONS: Final = (
    *("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch"),
    *("sendInitialEvents", "shardSelector", "timeoutSeconds"),
)
_LIST: Final = ("allowWatchBookmarks", *_LIST_OPTIONS, "watch")
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE: Final = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential"),
    *("orphanDependents", "propagationPolicy"),
)
_BY_ACTION: Final = {
    "get": ("resourceVersion",),
    "list": _LIST,
    "deletecollection": _LIST,
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
}


def parameters(action: str, path: str, kind: str, *, builtin: bool) -> list[Parameter]:
    """Return the parameters of an action on a path, by name.

    As in kube-apiserver, deletecollection of a custom resource has the parameters of list.
    """
    names: tuple[str, ...] = _BY_ACTION[action]
    if builtin:
        names = {"deletecollection": (*_LIST_OPTIONS, *_DELETE), "get": ()}.get(action, names)
    result = [_QUERY_PARAMETERS["pretty"], *(_QUERY_PARAMETERS[name] for name in names)]
    if "{namespace}" in path:
        result.append(Parameter("namespace", "string", "The namespace of the objects.", "path"))
    if "{name}" in path:
        result.append(Parameter("name", "string", f"name of the {kind}", "path"))
    return sorted(result, key=lambda parameter: parameter.name)


def shared_parameters() -> dict[str, Parameter]:
    """Return the parameters that v2 documents define once and refer to.

    dryRun and fieldValidation are not shared: kubectl checks their presence in each operation.
    """
    return {
        name: parameter for name, parameter in _QUERY_PARAMETERS.items() if name not in ("dryRun", "fieldValidation")
    }
