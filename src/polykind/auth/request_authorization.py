"""Authorization of a request by its method, path and query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from polykind import errors
from polykind.auth.authorizer import Access, AuthorizationFailedError, Authorizer
from polykind.auth.forbidden import forbidden
from polykind.auth.user import User
from polykind.golang.query import Query, bool_value, first_value
from polykind.http.messages import Request
from polykind.names import path_segment
from polykind.operations.options import int_value
from polykind.selectors import field_selectors, label_selectors

if TYPE_CHECKING:
    from polykind.auth.impersonation import Impersonation

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PATH_VERBS = ("watch", "proxy")
"""Path segments that can precede the resource in a path and determine the verb."""
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_MAX_SELECTORS = 4096
"""The length of selectors up to which they are parsed before the request is authorized. Longer ones name no object."""


class RequestAuthorization:
    """Authorizes requests before the server looks up objects, so that a 404 never reveals if an object exists."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._impersonation: Impersonation | None = None

    async def check(self, request: Request, user: User, parts: list[str]) -> User:
        """Return the user on whose behalf the request runs: the impersonated user, or else `user`.

        Raise APIError if the request is forbidden, and AuthorizationFailedError if that is not known.
        """
        access = request_access(user, request.method, request.decoded_path, parts, request.parameters)
        if b"impersonate" in request.headers:
            from polykind.auth.impersonation import Impersonation, requested_user

            other = requested_user(request.headers)
            if other is not None:
                self._impersonation = self._impersonation or Impersonation(self._authorizer)
                impersonated = await self._impersonation.impersonate(other, access)
                request.notes.impersonate(impersonated, self._impersonation.latest_constraint(user.name))
                access = replace(access, user=impersonated)
        if request.notes.audited or not self._authorizer.allows_everything:
            decision = await self._authorizer.decide(access)
            request.notes.decide(decision)
            if not decision.allowed and decision.error:
                raise AuthorizationFailedError(decision.error)
            if not decision.allowed:
                raise forbidden(access, decision.reason)
        return access.user


def request_access(user: User, method: str, path: str, parts: Sequence[str], query: Query) -> Access:
    """Return the access that a request needs. `parts` are the unescaped segments of the path."""
    if len(parts) > 2 and parts[0] == "api":
        return _resource_access(user, method, "", parts[1], parts[2:], query)
    if len(parts) > 3 and parts[0] == "apis":
        return _resource_access(user, method, parts[1], parts[2], parts[3:], query)
    return Access(user, method.lower(), path=path)


def _resource_access(user: User, method: str, group: str, version: str, rest: Sequence[str], query: Query) -> Access:
    verb, namespace = _VERBS.get(method, ""), ""
    if rest[0] in _PATH_VERBS and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        verb, name = _collection_access(query) if query else ("list", "")
    if not name and verb == "delete":
        verb = "deletecollection"
    return Access(user, verb, group, version, rest[0], subresource, namespace, name)


def _collection_access(query: Query) -> tuple[str, str]:
    """Return the verb (list or watch), and the object name that the fieldSelector selects or ""."""
    verb = "watch" if bool_value(query, "watch") else "list"
    labels, fields = first_value(query, "labelSelector"), first_value(query, "fieldSelector")
    if "metadata.name" not in fields or len(labels) + len(fields) > _MAX_SELECTORS:
        return verb, ""
    try:
        int_value(query, "timeoutSeconds")
        int_value(query, "limit")
        label_selectors.parse_label_selector(labels)
        name = field_selectors.parse_field_selector(fields).name or ""
    except errors.BadRequestError:
        return verb, ""
    return verb, "" if path_segment(name) else name
