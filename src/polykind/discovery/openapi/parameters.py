"""The path and query parameters of requests, and the parameters that each action has."""

from __future__ import annotations

from typing import Final

import msgspec

from polykind.contract import JsonObject


class Parameter(msgspec.Struct, frozen=True):
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
_CONNECT_PARAMETERS: Final = {
    parameter.name: parameter
    for parameter in (
        Parameter("command", "string", "The command to run."),
        Parameter("container", "string", "The container; by default the only one of the pod."),
        Parameter("follow", "boolean", "If true, follow the log."),
        Parameter("insecureSkipTLSVerifyBackend", "boolean", "If true, do not verify the certificate of the kubelet."),
        Parameter("limitBytes", "integer", "The maximum number of bytes of the log."),
        Parameter("path", "string", "The path of the request to the target."),
        Parameter("ports", "integer", "The ports to forward."),
        Parameter("previous", "boolean", "If true, return the log of the previous container."),
        Parameter("sinceSeconds", "integer", "The age of the first line of the log."),
        Parameter("stderr", "boolean", "If true, return the standard error."),
        Parameter("stdin", "boolean", "If true, send a standard input."),
        Parameter("stdout", "boolean", "If true, return the standard output."),
        Parameter("stream", "string", "The stream of the log: All, Stdout or Stderr."),
        Parameter("tailLines", "integer", "The number of lines from the end of the log."),
        Parameter("timestamps", "boolean", "If true, start each line of the log with its time."),
        Parameter("tty", "boolean", "If true, allocate a terminal."),
    )
}
_STREAMS: Final = ("container", "stderr", "stdin", "stdout", "tty")
_BY_OPTIONS: Final = {
    "PodAttachOptions": _STREAMS,
    "PodExecOptions": ("command", *_STREAMS),
    "PodPortForwardOptions": ("ports",),
    "NodeProxyOptions": ("path",),
    "PodProxyOptions": ("path",),
    "ServiceProxyOptions": ("path",),
    "log": (
        *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous"),
        *("sinceSeconds", "stream", "tailLines", "timestamps"),
    ),
}
"""The query parameters of subresources that connect to a pod or node, by the kind of their options (PodExecOptions)."""
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
    "watch": _LIST,
    "watchlist": _LIST,
    "connect": (),
}


def parameters(action: str, path: str, kind: str, *, builtin: bool, options: str = "") -> list[Parameter]:
    """Return the parameters of an action, such as list, on a path, sorted by name.

    `options` is the kind whose fields are additional parameters, such as PodExecOptions. As in kube-apiserver,
    deletecollection of a custom resource has the parameters of list.
    """
    names: tuple[str, ...] = _BY_ACTION[action]
    if builtin:
        names = {"deletecollection": (*_LIST_OPTIONS, *_DELETE), "get": ()}.get(action, names)
    result = [_QUERY_PARAMETERS[name] for name in names]
    if action != "connect":
        result.append(_QUERY_PARAMETERS["pretty"])
    result += [_CONNECT_PARAMETERS[name] for name in _BY_OPTIONS.get(options, ())]
    if "{namespace}" in path:
        result.append(Parameter("namespace", "string", "The namespace of the objects.", "path"))
    if "{name}" in path:
        result.append(Parameter("name", "string", f"name of the {kind}", "path"))
    if "{path}" in path:
        result.append(Parameter("path", "string", "The path of the request to the target.", "path"))
    return sorted(result, key=lambda parameter: (parameter.name, parameter.location))


def shared_parameters() -> dict[str, Parameter]:
    """Return the parameters that a v2 document defines only once, so that its operations refer to them.

    dryRun and fieldValidation are not shared: kubectl checks their presence in each operation.
    """
    return {
        name: parameter for name, parameter in _QUERY_PARAMETERS.items() if name not in ("dryRun", "fieldValidation")
    }
