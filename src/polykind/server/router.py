"""From a request's path and method to the verb that answers it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from polykind import errors
from polykind.apis.authorization.strategy import ReviewStrategy
from polykind.auth.authentication import Authentication
from polykind.contract import UnavailableError, UnknownOutcomeError
from polykind.conversion.observer import Counted
from polykind.golang.fmt import go_quote
from polykind.http.messages import TEXT, Request, Response, Stream, bad_escape, bool_value, parse_query, warning_headers
from polykind.http.options import request_timeout
from polykind.metrics.requests import Monitor
from polykind.resources.resource import ServedVersion
from polykind.server.endpoints import BUILT_IN, Documents
from polykind.verbs.context import Backend, RequestContext
from polykind.verbs.create import create
from polykind.verbs.delete import delete
from polykind.verbs.deletecollection import deletecollection
from polykind.verbs.get import get
from polykind.verbs.list import list_
from polykind.verbs.patch import patch, patch_type
from polykind.verbs.review import review
from polykind.verbs.scale import get_scale, patch_scale, update_scale
from polykind.verbs.update import update
from polykind.verbs.watch import watch

if TYPE_CHECKING:
    from polykind.auth.request_authorization import RequestAuthorization

Verb = Callable[[RequestContext], Coroutine[Any, Any, Response | Stream]]

_ITEM: dict[str, Verb] = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch, "DELETE": delete, "POST": create}
_STATUS: dict[str, Verb] = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch}
_SCALE: dict[str, Verb] = {"GET": get_scale, "HEAD": get_scale, "PUT": update_scale, "PATCH": patch_scale}
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

_LABELS: dict[Verb, str] = {
    get: "GET",
    list_: "LIST",
    watch: "WATCH",
    create: "POST",
    update: "PUT",
    patch: "PATCH",
    delete: "DELETE",
    deletecollection: "DELETECOLLECTION",
    review: "POST",
    get_scale: "GET",
    update_scale: "PUT",
    patch_scale: "PATCH",
}
"""The verbs as metrics name them."""

_OF_NAMESPACES = ("status", "finalize")
"""What may follow a namespace's name and be about the namespace itself."""

_NO_GROUP = "/"
"""What no group is called: an empty name is not that of the core here."""

_NOT_SNIFFED = (b"X-Content-Type-Options", b"nosniff")
NOT_FOUND = Response(404, b"404 page not found\n", TEXT, (_NOT_SNIFFED,))


class Router:
    """The application: authenticates, finds the resource or document, and runs the verb."""

    def __init__(self, api: Backend, authentication: Authentication, documents: Documents, monitor: Monitor) -> None:
        self._api = api
        self._monitor = monitor
        self._authentication = authentication
        self._documents = documents

    async def __call__(self, request: Request) -> Response | Stream:
        path = request.path
        if self._documents.is_open(path) and _is_stranger(request):
            return await self._document(request)
        try:
            if "timeout=" in request.query:
                request.timeout = _timeout(request)
            request.user = self._authentication.user(request)
        except errors.APIError as error:
            return _of_nothing(request) if _names_nothing(path) else self._documents.refuse(request, error)
        if "%" in path:
            if bad_escape(path):
                return Response(400, b"400 Bad Request", TEXT)
            path = unquote(path)
        parts = path.strip("/").split("/")
        if not self._api.authorizer.allows_everything or b"impersonate" in request.headers:
            try:
                request.user = self._permission.check(request, request.user, parts)
            except errors.APIError as error:
                if _names_nothing(path):
                    return _of_nothing(request)
                refusal = self._documents.refuse(request, error)
                refusal.headers = (*refusal.headers, _NOT_SNIFFED)
                return refusal
        if path.startswith("//"):
            # Nothing is served there, though it may name something to be watched.
            return _of_nothing(request) if _names_nothing(path) else NOT_FOUND
        # A resource path has at least /apis/<group>/<version>/<plural> or /api/v1/<plural>.
        if len(parts) > 3 and parts[0] == "apis":
            return await self._resource(request, parts[1] or _NO_GROUP, parts[2], parts[3:])
        if len(parts) > 2 and parts[0] == "api":
            return await self._resource(request, "", parts[1], parts[2:])
        return await self._document(request)

    @cached_property
    def _permission(self) -> RequestAuthorization:
        """Where everything is allowed it is rarely asked, and only then imported."""
        from polykind.auth.request_authorization import RequestAuthorization

        return RequestAuthorization(self._api.authorizer)

    async def _document(self, request: Request) -> Response:
        started = perf_counter()
        try:
            answer = await self._documents.answer(request)
        except errors.APIError as error:
            answer = self._documents.refuse(request, error)
        except UnavailableError as error:
            answer = self._documents.refuse(request, _out_of_reach(error))
        self._monitor.document(request, answer, started)
        return answer

    async def _resource(self, request: Request, group: str, version: str, rest: list[str]) -> Response | Stream:
        # A store that must ask another for its newest revision does so while the request is looked at.
        asking = self._api.store.start_revision_read() if request.method == "GET" else None
        asked = None if asking is None else await asking
        legacy_watch = rest[0] == "watch" and len(rest) > 1
        if legacy_watch:
            rest = rest[1:]
        namespace: str | None = None
        if rest[0] == "namespaces" and len(rest) > 1:
            if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
                namespace, rest = rest[1] or None, rest[2:]
            elif group:
                # What a custom resource of that name has is taken for a namespace, so that nothing is found.
                namespace = rest[1] or None
        plural = rest[0]
        name = rest[1] if len(rest) > 1 else ""
        subresource = rest[2] if len(rest) > 2 else ""
        if not plural:
            return await self._document(request)
        served = self._api.registry.find(group, version, plural)
        if served is None or (served.is_builtin and len(rest) > 3):
            if rest[0] in ("watch", "proxy") and len(rest) == 1:
                return _of_nothing(request)
            return (
                self._documents.refuse(request, errors.unknown_resource())
                if not group or group in BUILT_IN
                else NOT_FOUND
            )
        call = RequestContext(self._api, request, served, namespace, name, subresource)
        call.asked = asked
        verb = self._built_in(call, legacy_watch) if served.is_builtin else self._verb(call, legacy_watch)
        if verb is None:
            return NOT_FOUND
        if served.deprecation and (verb in _LABELS or not served.is_builtin):
            request.warn(served.deprecation)
        started = perf_counter()
        under_way = self._monitor.reading if request.method in ("GET", "HEAD") else self._monitor.writing
        under_way.value += 1
        try:
            if served.unavailable:
                raise served.unavailable()
            answer = await (self._converting(call, verb) if served.converts else verb(call))
        except errors.APIError as error:
            answer = self._documents.refuse(request, error)
        except UnavailableError as error:
            answer = self._documents.refuse(request, _out_of_reach(error))
        finally:
            under_way.value -= 1
        if request.warnings:
            answer.headers = (*answer.headers, *warning_headers(request.warnings))
        self._monitor.done(call, _LABELS.get(verb, "other"), answer, started)
        return answer

    async def _converting(self, call: RequestContext, verb: Verb) -> Response | Stream:
        counted = Counted(verb(call))
        try:
            return await counted
        finally:
            self._monitor.converted(counted.spent.seconds)

    def _verb(self, call: RequestContext, legacy_watch: bool) -> Verb | None:
        """The verb, None where the path means nothing for the resource's scope. Raises what the reference answers."""
        method, kind = call.request.method, call.resource
        if legacy_watch:
            return watch if kind.namespaced or call.namespace is None else None
        if not call.name and not call.subresource:
            return self._collection(call)
        if kind.namespaced != (call.namespace is not None):
            return None
        table = self._subresource(call.version, call.subresource) if call.subresource else _ITEM
        if table is None:
            return _raise(kind.not_found(call.name))
        verb = table.get(method)
        if verb is None:
            return _raise(call.version.method_not_allowed(_VERBS.get(method, "")))
        return verb

    @staticmethod
    def _subresource(version: ServedVersion, subresource: str) -> dict[str, Verb] | None:
        if subresource == "status" and version.has_status:
            return _STATUS
        if subresource == "scale" and version.scale is not None:
            return _SCALE
        return None

    @staticmethod
    def _built_in(call: RequestContext, legacy_watch: bool) -> Verb:
        """The verb for a resource that has routes of its own: what they lack is not found or not allowed there."""
        version, kind, method = call.version, call.resource, call.request.method
        across = kind.namespaced and call.namespace is None
        if (call.namespace is not None and not kind.namespaced) or (across and call.name):
            return _raise(errors.unknown_resource())
        table: dict[str, Verb]
        if isinstance(version.strategy, ReviewStrategy):
            if legacy_watch or across or call.name or call.subresource:
                return _raise(errors.unknown_resource())
            table = {"POST": review}
        elif legacy_watch:
            if call.subresource:
                return _raise(errors.unknown_resource())
            table = {"GET": watch}
        elif not call.name and not call.subresource:
            table = {"GET": watch if _watching(call) else list_}
            if not across:
                table |= {"POST": create, "DELETE": deletecollection} if kind.has_deletecollection else {"POST": create}
        elif not call.subresource:
            table = {"GET": get, "PUT": update, "PATCH": patch, "DELETE": delete}
        elif call.subresource == "status" and version.has_status:
            table = {"GET": get, "PUT": update, "PATCH": patch}
        elif call.subresource == "finalize" and version.has_finalize:
            table = {"PUT": update}
        else:
            return _raise(errors.unknown_resource())
        return table.get(method) or _raise(errors.method_not_allowed())

    def _collection(self, call: RequestContext) -> Verb | None:
        method, kind = call.request.method, call.resource
        across = kind.namespaced and call.namespace is None
        if call.namespace is not None and not kind.namespaced:
            return None
        if method in ("GET", "HEAD"):
            return watch if _watching(call) else list_
        if across:
            return None
        if method == "POST":
            return create
        if method == "DELETE":
            return deletecollection
        if method in ("PUT", "PATCH"):
            if method == "PATCH":
                patch_type(call)
            return _raise(errors.BadRequestError("name must be provided"))
        return _raise(call.version.method_not_allowed(""))


def _watching(call: RequestContext) -> bool:
    return bool(call.request.query) and bool(bool_value(call.query, "watch"))


def _is_stranger(request: Request) -> bool:
    """Whether somebody reads who does not say who he is."""
    said = request.headers.get(b"authorization", b"").removeprefix(b"Bearer").strip()
    return not said and request.method in ("GET", "HEAD") and b"impersonate" not in request.headers


def _names_nothing(path: str) -> bool:
    """Whether an old path does not say what is to be watched: then nobody even asks who wants to know."""
    parts = unquote(path).strip("/").split("/")
    at = {"api": 2, "apis": 3}.get(parts[0])
    return at is not None and len(parts) == at + 1 and parts[at] in ("watch", "proxy")


def _of_nothing(request: Request) -> Response:
    """What is said of an old path that does not say what is to be watched, in the reference's own text."""
    from polykind.auth.forbidden import sanitize

    target = f"{request.path}?{request.query}" if request.query else request.path
    why = f"failed to create RequestInfo: unable to determine kind and namespace from url, {target}"
    text = sanitize(f"Internal Server Error: {go_quote(target)}: {why}\n")
    return Response(500, text.encode(), TEXT, (_NOT_SNIFFED,))


def _timeout(request: Request) -> float | None:
    """The seconds that a client is ready to wait. A watch has another parameter for that."""
    query = parse_query(request.query)
    return None if bool_value(query, "watch") else request_timeout(query)


def _out_of_reach(error: UnavailableError) -> errors.APIError:
    """A store that does not answer is nobody's fault here; a write whose fate is unknown says so."""
    if isinstance(error, UnknownOutcomeError):
        return errors.RequestTimeoutError(f"Timeout: {error}")
    return errors.ServiceUnavailableError(f"the store is out of reach: {error}", retry_after=1)


def _raise(error: errors.APIError) -> Verb:
    async def refuse(_: RequestContext) -> Response:
        raise error

    return refuse
