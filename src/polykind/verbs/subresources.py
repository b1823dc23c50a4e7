"""The verbs of built-in resources that differ from the usual ones, such as the creation of a token or an eviction."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any

from polykind.apis.machinery.lazy_imports import import_by_path
from polykind.operations.operation import Operation
from polykind.operations.responses import Response, Stream

Verb = Callable[[Operation], Coroutine[Any, Any, Response | Stream]]
"""A function that serves one request."""

_ALL_VERBS = ("create", "delete", "get", "patch", "update")
_STREAM = dict.fromkeys(("create", "get"), "node_connections:open_stream")

_SPECIAL: dict[tuple[str, str, str], dict[str, str]] = {
    ("", "bindings", ""): {"create": "binding:create_binding"},
    ("", "componentstatuses", ""): {
        "get": "component_statuses:get_component_status",
        "list": "component_statuses:list_component_statuses",
    },
    ("", "nodes", "proxy"): dict.fromkeys(_ALL_VERBS, "node_connections:proxy_node"),
    ("", "pods", "attach"): _STREAM,
    ("", "pods", "binding"): {"create": "binding:create_pod_binding"},
    ("", "pods", "eviction"): {"create": "eviction:create_eviction"},
    ("", "pods", "exec"): _STREAM,
    ("", "pods", "log"): {"get": "node_connections:get_log"},
    ("", "pods", "portforward"): _STREAM,
    ("", "pods", "proxy"): dict.fromkeys(_ALL_VERBS, "node_connections:proxy_pod"),
    ("", "services", "proxy"): dict.fromkeys(_ALL_VERBS, "node_connections:proxy_service"),
    ("", "serviceaccounts", "token"): {"create": "token_request:create_token"},
    ("apiregistration.k8s.io", "apiservices", ""): {
        "get": "api_services:get_api_service",
        "list": "api_services:list_api_services",
        "watch": "api_services:watch_api_services",
        "create": "api_services:create_api_service",
        "update": "api_services:update_api_service",
        "patch": "api_services:patch_api_service",
        "delete": "api_services:delete_api_service",
        "deletecollection": "api_services:delete_api_services",
    },
}
"""The function of each verb as `module:function`, by group, plural and subresource ("" for the resource itself).

The modules are in `polykind.verbs` and are imported at the first request. Verbs have the names of discovery. A
subresource that is not listed here is read, replaced and patched like its object, with the strategy's
`prepare_subresource` and `subresource_errors`.
"""

_SCALE = {
    "get": "builtin_scale:get_scale",
    "update": "builtin_scale:update_scale",
    "patch": "builtin_scale:patch_scale",
}


def find(group: str, plural: str, subresource: str, verb: str) -> Verb | None:
    """Return the special function for a verb of a resource or subresource, or None if the usual function serves it."""
    special = _SCALE if subresource == "scale" else _SPECIAL.get((group, plural, subresource), {})
    path = special.get(verb)
    return None if path is None else _load(path)


@cache
def _load(path: str) -> Verb:
    function: Verb = import_by_path(f"polykind.verbs.{path}")
    return function
