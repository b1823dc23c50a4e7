"""The verb of a resource request, chosen by its method and its path."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from polykind import errors
from polykind.apis.authorization.strategy import ReviewStrategy
from polykind.http.messages import Response, Stream, bool_value
from polykind.resources.resource import ServedVersion
from polykind.verbs.context import RequestContext
from polykind.verbs.create import create, create_review
from polykind.verbs.delete import delete, deletecollection
from polykind.verbs.get import get
from polykind.verbs.list import list_
from polykind.verbs.patch import patch, patch_type
from polykind.verbs.scale import get_scale, patch_scale, update_scale
from polykind.verbs.update import update
from polykind.verbs.watch import watch

Verb = Callable[[RequestContext], Coroutine[Any, Any, Response | Stream]]

_ITEM: dict[str, Verb] = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch, "DELETE": delete, "POST": create}
_STATUS: dict[str, Verb] = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch}
_SCALE: dict[str, Verb] = {"GET": get_scale, "HEAD": get_scale, "PUT": update_scale, "PATCH": patch_scale}
_VERB_NAMES = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

METRIC_LABELS: dict[Verb, str] = {
    get: "GET",
    list_: "LIST",
    watch: "WATCH",
    create: "POST",
    update: "PUT",
    patch: "PATCH",
    delete: "DELETE",
    deletecollection: "DELETECOLLECTION",
    create_review: "POST",
    get_scale: "GET",
    update_scale: "PUT",
    patch_scale: "PATCH",
}
"""The verb label of each verb in kube-apiserver's metrics."""


def custom_verb(ctx: RequestContext, legacy_watch: bool) -> Verb | None:
    """Return the verb for a custom resource, None if the path does not fit its scope: the response is a plain 404.

    Where kube-apiserver responds with a Status, the verb raises that error.
    """
    method, resource = ctx.request.method, ctx.resource
    if legacy_watch:
        return watch if resource.namespaced or ctx.namespace is None else None
    if not ctx.name and not ctx.subresource:
        return _collection_verb(ctx)
    if resource.namespaced != (ctx.namespace is not None):
        return None
    table = _subresource_table(ctx.version, ctx.subresource) if ctx.subresource else _ITEM
    if table is None:
        return _raise(resource.not_found(ctx.name))
    verb = table.get(method)
    if verb is None:
        return _raise(ctx.version.method_not_allowed(_VERB_NAMES.get(method, "")))
    return verb


def _subresource_table(version: ServedVersion, subresource: str) -> dict[str, Verb] | None:
    if subresource == "status" and version.has_status:
        return _STATUS
    if subresource == "scale" and version.scale is not None:
        return _SCALE
    return None


def _collection_verb(ctx: RequestContext) -> Verb | None:
    method, resource = ctx.request.method, ctx.resource
    all_namespaces = resource.namespaced and ctx.namespace is None
    if ctx.namespace is not None and not resource.namespaced:
        return None
    if method in ("GET", "HEAD"):
        return watch if _is_watch(ctx) else list_
    if all_namespaces:
        return None
    if method == "POST":
        return create
    if method == "DELETE":
        return deletecollection
    if method in ("PUT", "PATCH"):
        if method == "PATCH":
            patch_type(ctx)
        return _raise(errors.BadRequestError("name must be provided"))
    return _raise(ctx.version.method_not_allowed(""))


def builtin_verb(ctx: RequestContext, legacy_watch: bool) -> Verb:
    """Return the verb for a built-in resource. Like kube-apiserver, it has a fixed set of routes: 404 or 405 else."""
    version, resource, method = ctx.version, ctx.resource, ctx.request.method
    all_namespaces = resource.namespaced and ctx.namespace is None
    if (ctx.namespace is not None and not resource.namespaced) or (all_namespaces and ctx.name):
        return _raise(errors.unknown_resource())
    table: dict[str, Verb]
    if isinstance(version.strategy, ReviewStrategy):
        if legacy_watch or all_namespaces or ctx.name or ctx.subresource:
            return _raise(errors.unknown_resource())
        table = {"POST": create_review}
    elif legacy_watch:
        if ctx.subresource:
            return _raise(errors.unknown_resource())
        table = {"GET": watch}
    elif not ctx.name and not ctx.subresource:
        table = {"GET": watch if _is_watch(ctx) else list_}
        if not all_namespaces:
            table |= {"POST": create, "DELETE": deletecollection} if resource.has_deletecollection else {"POST": create}
    elif not ctx.subresource:
        table = {"GET": get, "PUT": update, "PATCH": patch, "DELETE": delete}
    elif ctx.subresource == "status" and version.has_status:
        table = {"GET": get, "PUT": update, "PATCH": patch}
    elif ctx.subresource == "finalize" and version.has_finalize:
        table = {"PUT": update}
    else:
        return _raise(errors.unknown_resource())
    return table.get(method) or _raise(errors.method_not_allowed())


def _is_watch(ctx: RequestContext) -> bool:
    return bool(ctx.request.query) and bool(bool_value(ctx.query, "watch"))


def _raise(error: errors.APIError) -> Verb:
    async def raise_error(_: RequestContext) -> Response:
        raise error

    return raise_error
