"""Namespaces' say in a create: they must exist, and not be on their way out."""

from __future__ import annotations

from polykind import errors
from polykind.golang.fmt import go_quote
from polykind.schema import names
from polykind.verbs.context import RequestContext


async def check_namespace(call: RequestContext, name: str) -> None:
    """A namespaced object can only be created in a namespace that is there to stay."""
    if not call.resource.namespaced:
        return
    namespaces = call.backend.registry.kind("", "namespaces")
    if namespaces is None:
        raise AssertionError("namespaces are always served")
    await call.backend.cache.load(namespaces.cache)
    namespace = call.namespace or ""
    entry = namespaces.cache.get(namespace)
    if entry is None:
        # It may have been made a moment ago through another replica.
        await call.backend.cache.wait_until_fresh(namespaces.cache)
        entry = namespaces.cache.get(namespace)
    if entry is None:
        if why := names.path_segment(namespace):
            # The reference asks itself over HTTP, and its client does not even send such a request.
            raise errors.InternalError(f"invalid resource name {go_quote(namespace)}: [{' '.join(why)}]")
        raise errors.NotFoundError("namespaces", "", namespace)
    if entry.terminating():
        reason = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise errors.ForbiddenError(call.resource.plural, call.resource.group, name, reason, causes=[cause])


def match_namespace(call: RequestContext, meta: dict[str, object]) -> None:
    """The body's namespace must be the path's; an absent one is filled in, and one of a cluster resource cleared."""
    if not call.resource.namespaced:
        meta.pop("namespace", None)
        return
    given = meta.get("namespace")
    if given and given != call.namespace:
        raise errors.BadRequestError(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = call.namespace or ""
