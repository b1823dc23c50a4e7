"""The parameters of requests, and which of them each action takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from polykind.contract import JsonObject


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query, or in the path, where it is required."""

    name: str
    type: str
    description: str
    place: str = "query"

    def v3(self) -> JsonObject:
        required = {"required": True} if self.place == "path" else {}
        schema = {"type": self.type, "uniqueItems": True}
        return {"name": self.name, "in": self.place, "description": self.description, **required, "schema": schema}

    def v2(self) -> JsonObject:
        required = {"required": True} if self.place == "path" else {}
        head = {"uniqueItems": True, "type": self.type, "description": self.description}
        return {**head, "name": self.name, "in": self.place, **required}


_QUERY: Final = {
    parameter.name: parameter
    for parameter in (
        Parameter("allowWatchBookmarks", "boolean", "Whether a watch may send BOOKMARK events."),
        Parameter("continue", "string", "Where to go on with a list that was cut by limit; given by its last page."),
        Parameter("dryRun", "string", "All: do everything but store the change."),
        Parameter("fieldManager", "string", "Who makes the change; required to apply."),
        Parameter("fieldSelector", "string", "Only objects whose fields match."),
        Parameter("fieldValidation", "string", "What to do about unknown or duplicate fields: Ignore, Warn or Strict."),
        Parameter("force", "boolean", "Take fields over from other managers when applying."),
        Parameter("gracePeriodSeconds", "integer", "How long to wait before the object is removed."),
        Parameter(
            "ignoreStoreReadErrorWithClusterBreakingPotential",
            "boolean",
            "Remove an object that cannot be read from storage, without its finalizers.",
        ),
        Parameter("labelSelector", "string", "Only objects whose labels match."),
        Parameter("limit", "integer", "How many objects at most; the rest follows by continue."),
        Parameter("orphanDependents", "boolean", "Deprecated, see propagationPolicy."),
        Parameter("pretty", "string", "true: answer with indented text."),
        Parameter("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
        Parameter("resourceVersion", "string", "How recent the answer must be, or where a watch begins."),
        Parameter("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
        Parameter("sendInitialEvents", "boolean", "Whether a watch begins with all objects there are."),
        Parameter("shardSelector", "string", "Only objects of one shard."),
        Parameter("timeoutSeconds", "integer", "When to end the list or watch."),
        Parameter("watch", "boolean", "Follow changes instead of listing."),
    )
}
_PAGES: Final = (
    *("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch"),
    *("sendInitialEvents", "shardSelector", "timeoutSeconds"),
)
_LIST: Final = ("allowWatchBookmarks", *_PAGES, "watch")
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
    """The parameters of an action on a path, by name.

    For custom resources the deletion of a collection is said to take those of a list.
    """
    names: tuple[str, ...] = _BY_ACTION[action]
    if builtin:
        names = {"deletecollection": (*_PAGES, *_DELETE), "get": ()}.get(action, names)
    out = [_QUERY["pretty"], *(_QUERY[name] for name in names)]
    if "{namespace}" in path:
        out.append(Parameter("namespace", "string", "The namespace the objects are in.", "path"))
    if "{name}" in path:
        out.append(Parameter("name", "string", f"name of the {kind}", "path"))
    return sorted(out, key=lambda parameter: parameter.name)


def shared_parameters() -> dict[str, Parameter]:
    """The parameters that v2 documents write once and refer to.

    Not those by which clients find out what a server can do: they look for them where they are used.
    """
    return {name: parameter for name, parameter in _QUERY.items() if name not in ("dryRun", "fieldValidation")}
