"""What a request is about to do, from its method, its path and its query alone: it is decided before all else."""

from __future__ import annotations

from collections.abc import Sequence

from polykind import errors
from polykind.auth.authorizer import Access
from polykind.auth.user import User
from polykind.http.query import Query, first, integer, parse_query, truth
from polykind.schema.names import path_segment
from polykind.selectors import fields, labels

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_IN_PATHS = ("watch", "proxy")
_OF_NAMESPACES = ("status", "finalize")
"""What may follow a namespace's name and be about the namespace itself."""


def requested(user: User, method: str, path: str, parts: Sequence[str], query: str) -> Access:
    """The access that a request asks for; `parts` are those of the path, unescaped."""
    if len(parts) > 2 and parts[0] == "api":
        return _resource(user, method, "", parts[1], parts[2:], query)
    if len(parts) > 3 and parts[0] == "apis":
        return _resource(user, method, parts[1], parts[2], parts[3:], query)
    return Access(user, method.lower(), path=path)


def _resource(user: User, method: str, group: str, version: str, rest: Sequence[str], query: str) -> Access:
    verb, namespace = _VERBS.get(method, ""), ""
    if rest[0] in _VERBS_IN_PATHS and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        verb, name = _many(parse_query(query)) if query else ("list", "")
    if not name and verb == "delete":
        verb = "deletecollection"
    return Access(user, verb, group, version, rest[0], subresource, namespace, name)


def _many(query: Query) -> tuple[str, str]:
    """Whether many are listed or watched, and the name if it is but one that is selected by it."""
    verb = "watch" if truth(query, "watch") else "list"
    try:
        integer(query, "timeoutSeconds")
        integer(query, "limit")
        labels.parse(first(query, "labelSelector"))
        name = fields.parse(first(query, "fieldSelector")).name or ""
    except errors.BadRequestError:
        return verb, ""
    return verb, "" if path_segment(name) else name
