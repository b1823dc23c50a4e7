"""Routes: which resource the path of a request names, and which function serves its method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from polykind import errors
from polykind.contract import RevisionRead
from polykind.golang.query import bool_value
from polykind.http.http_transport import HttpTransport
from polykind.http.messages import Request
from polykind.operations.backend import Backend
from polykind.operations.operation import Media, Operation
from polykind.operations.responses import Response
from polykind.resources.resource import ServedVersion
from polykind.strategies.authorization.strategy import ReviewStrategy
from polykind.verbs import subresources
from polykind.verbs.create import create
from polykind.verbs.create_review import create_review
from polykind.verbs.delete import delete, deletecollection
from polykind.verbs.get import get
from polykind.verbs.list import list_
from polykind.verbs.patch import patch, patch_type
from polykind.verbs.scale import get_scale, patch_scale, update_scale
from polykind.verbs.subresources import Verb
from polykind.verbs.update import update
from polykind.verbs.watch import watch

_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
"""Segments after /namespaces/<name>/ that are subresources of the namespace, and not resources in the namespace."""

_INVALID_GROUP: Final = "/"
"""The group for paths such as /apis//v1/pods. No resource has this group, whereas "" would be the core group."""


class ResourcePath(msgspec.Struct, frozen=True, gc=False):
    """The parts of a path such as /apis/<group>/<version>/namespaces/<namespace>/<plural>/<name>/<subresource>."""

    group: str
    version: str
    namespace: str | None
    """The namespace, which may be empty, or None if the path has none."""
    plural: str
    name: str
    subresource: str
    length: int
    """The number of segments from the plural on."""
    is_watch: bool
    """True for the deprecated paths with /watch/ before the resource."""


def resource_path(segments: Sequence[str]) -> ResourcePath | None:
    """Return the parts of a path from its segments, or None if the path names no resource.

    A resource path has at least /apis/<group>/<version>/<plural> or /api/v1/<plural>.
    """
    if len(segments) > 3 and segments[0] == "apis":
        group, version, rest = segments[1] or _INVALID_GROUP, segments[2], segments[3:]
    elif len(segments) > 2 and segments[0] == "api":
        group, version, rest = "", segments[1], segments[2:]
    else:
        return None
    is_watch = rest[0] == "watch" and len(rest) > 1
    if is_watch:
        rest = rest[1:]
    namespace: str | None = None
    if rest[0] == "namespaces" and len(rest) > 1:
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            namespace, rest = rest[1], rest[2:]
        elif group:
            # kube-apiserver parses /apis/<group>/<version>/namespaces/<name> as a namespace, even if <group> has a
            # resource called namespaces. Such a resource is therefore not found.
            namespace = rest[1] or None
    if not rest[0]:
        return None
    length = len(rest)
    return ResourcePath(
        group,
        version,
        namespace,
        rest[0],
        rest[1] if length > 1 else "",
        rest[2] if length > 2 else "",
        length,
        is_watch,
    )


def operation(
    backend: Backend, request: Request, path: ResourcePath, version: ServedVersion, revision_read: RevisionRead | None
) -> Operation:
    """Return the operation that a request asks for. `version` is the resource that its path names."""
    method, header = request.method, request.headers.get
    return Operation(
        backend,
        request.user,
        _verb_name(method, path.name),
        version,
        path.namespace or _empty_namespace(path, method, version),
        path.name,
        path.subresource,
        request.query,
        request.body,
        Media(
            header(b"content-type", b"").decode("latin-1"),
            header(b"accept", b"").decode("latin-1"),
            header(b"accept-encoding", b"").decode("latin-1"),
            header(b"user-agent", b""),
        ),
        notes=request.notes,
        deadline=request.deadline,
        revision_read=revision_read,
        transport=partial(HttpTransport, request),
    )


def _verb_name(method: str, name: str) -> str:
    """Return the verb of a request for an object or, if it has no name, for a collection."""
    return (None if name else _COLLECTION.get(method)) or _CUSTOM_ITEM.get(method, method.lower())


def _empty_namespace(path: ResourcePath, method: str, version: ServedVersion) -> str | None:
    """Return the namespace of a path in which it is missing or empty: None if that stands for all namespaces.

    kube-apiserver rejects some requests for a built-in resource whose path has an empty namespace. It lists the objects
    of all namespaces. The validation rejects a create.
    """
    keeps_empty = path.name or method in ("DELETE", "POST") or not version.resource.namespaced
    return path.namespace if version.is_builtin and keeps_empty else None


class Route(NamedTuple):
    """The function that serves a request, and the value of the metrics label `verb`.

    The label is "other" if the function only raises an error.
    """

    verb: Verb
    label: str

    @property
    def serves(self) -> bool:
        """True if the function does more than raise an error."""
        return self.label != _OTHER


_OTHER: Final = "other"
_ROUTES: Final = {
    "get": Route(get, "GET"),
    "list": Route(list_, "LIST"),
    "watch": Route(watch, "WATCH"),
    "create": Route(create, "POST"),
    "update": Route(update, "PUT"),
    "patch": Route(patch, "PATCH"),
    "delete": Route(delete, "DELETE"),
    "deletecollection": Route(deletecollection, "DELETECOLLECTION"),
}
"""The usual route of each verb, by its name in discovery."""
_REVIEW: Final = Route(create_review, "POST")
_SCALE_ROUTES: Final = {
    "get": Route(get_scale, "GET"),
    "update": Route(update_scale, "PUT"),
    "patch": Route(patch_scale, "PATCH"),
}

# The verb for each HTTP method.
_READ_AND_UPDATE: Final = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch"}
_CUSTOM_ITEM: Final = {**_READ_AND_UPDATE, "DELETE": "delete", "POST": "create"}
_BUILTIN_ITEM: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_BUILTIN_SUBRESOURCE: Final = {**_BUILTIN_ITEM, "POST": "create"}
_COLLECTION: Final = {"GET": "list", "DELETE": "deletecollection"}
_PROXY: Final = {**_BUILTIN_SUBRESOURCE, "HEAD": "get", "OPTIONS": "get"}
"""A proxy accepts every method."""


def find_route(op: Operation, method: str, *, is_watch: bool) -> Route | None:
    """Return the route of a request. `is_watch` is true for the deprecated paths with /watch/.

    Return None, for a 404 response in plain text, if the path does not match the scope of a custom resource.
    """
    return (_builtin_route if op.version.is_builtin else _custom_route)(op, method, is_watch)


def _custom_route(op: Operation, method: str, is_watch: bool) -> Route | None:
    resource, version = op.resource, op.version
    if is_watch:
        return _ROUTES["watch"] if resource.namespaced or op.namespace is None else None
    if not op.name and not op.subresource:
        return _custom_collection_route(op, method)
    if resource.namespaced != (op.namespace is not None):
        return None
    routes, verbs = _ROUTES, _CUSTOM_ITEM
    if op.subresource:
        verbs = _READ_AND_UPDATE
        if op.subresource == "scale" and version.scale is not None:
            routes = _SCALE_ROUTES
        elif op.subresource != "status" or not version.has_status:
            return _raise(resource.not_found(op.name))
    verb = verbs.get(method)
    if verb is None:
        return _raise(version.method_not_allowed(_CUSTOM_ITEM.get(method, "")))
    return routes[verb]


def _custom_collection_route(op: Operation, method: str) -> Route | None:
    resource = op.resource
    if op.namespace is not None and not resource.namespaced:
        return None
    if method in ("GET", "HEAD"):
        return _ROUTES[_list_or_watch(op)]
    if resource.namespaced and op.namespace is None:
        return None
    if method in ("POST", "DELETE"):
        return _ROUTES["create" if method == "POST" else "deletecollection"]
    if method in ("PUT", "PATCH"):
        if method == "PATCH":
            patch_type(op)
        return _raise(errors.BadRequestError("name must be provided"))
    return _raise(op.version.method_not_allowed(""))


def _builtin_route(op: Operation, method: str, is_watch: bool) -> Route:
    """Return the route of a request for a built-in resource.

    For a method and path that kube-apiserver does not serve, the function raises a 404 or 405 error.
    """
    version, resource = op.version, op.resource
    all_namespaces = resource.namespaced and op.namespace is None
    if (op.namespace is not None and not resource.namespaced) or (all_namespaces and op.name):
        return _raise(errors.unknown_resource())
    verbs = _builtin_verbs(op, is_watch, all_namespaces)
    served = version.subresources.get(op.subresource, frozenset()) if op.subresource else version.verbs
    verb = verbs.get(method, "")
    if verb in served:
        if op.namespace == "" and (op.name or verb != "create"):
            return _raise(errors.BadRequestError("Namespace parameter required."))
        return _builtin_function(op, verb)
    return _raise(errors.unknown_resource() if served.isdisjoint(verbs.values()) else errors.method_not_allowed())


def _builtin_verbs(op: Operation, is_watch: bool, all_namespaces: bool) -> Mapping[str, str]:
    """Return the verb for each HTTP method that a path of a built-in resource accepts."""
    if is_watch:
        return {} if op.subresource else {"GET": "watch"}
    if op.subresource:
        return _PROXY if op.subresource == "proxy" else _BUILTIN_SUBRESOURCE
    if op.name:
        return _BUILTIN_ITEM
    list_verb = _list_or_watch(op)
    return {"GET": list_verb} if all_namespaces else {"GET": list_verb, "POST": "create", "DELETE": "deletecollection"}


def _builtin_function(op: Operation, verb: str) -> Route:
    special = subresources.find(op.resource.group, op.resource.plural, op.subresource, verb)
    if special is not None:
        return Route(special, _ROUTES[verb].label)
    if verb == "create" and isinstance(op.version.strategy, ReviewStrategy):
        return _REVIEW
    return _ROUTES[verb]


def _list_or_watch(op: Operation) -> str:
    return "watch" if op.parameters and bool_value(op.query, "watch") else "list"


def _raise(error: errors.APIError) -> Route:
    async def raise_error(_: Operation) -> Response:
        raise error

    return Route(raise_error, _OTHER)
