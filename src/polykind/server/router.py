"""The router: authenticates and authorizes a request, finds its resource or endpoint and runs the verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

from polykind import errors
from polykind.auth.authentication import Authentication
from polykind.auth.authorizer import Access, Decision
from polykind.auth.user import ADMIN_GROUP, ANONYMOUS
from polykind.contract import UnavailableError, UnknownOutcomeError
from polykind.conversion.conversion_observer import ConversionTimer
from polykind.golang.fmt import go_quote
from polykind.golang.query import bad_escape, bool_value, parse_query
from polykind.http.http_transport import HttpTransport
from polykind.http.messages import TEXT, Request, warning_headers
from polykind.operations.backend import Backend
from polykind.operations.operation import Media, Operation
from polykind.operations.options import request_timeout
from polykind.operations.responses import Response, Stream
from polykind.resources.resource import ServedVersion
from polykind.server.endpoints import NO_SNIFF, Endpoints, error_response, is_public
from polykind.server.request_monitor import RequestMonitor
from polykind.server.unserved_requests import UnservedRequests
from polykind.strategies.authorization.strategy import ReviewStrategy
from polykind.verbs import subresources
from polykind.verbs.create import create, create_review
from polykind.verbs.delete import delete, deletecollection
from polykind.verbs.get import get
from polykind.verbs.list import list_
from polykind.verbs.patch import patch, patch_type
from polykind.verbs.scale import get_scale, patch_scale, update_scale
from polykind.verbs.subresources import Verb
from polykind.verbs.update import update
from polykind.verbs.watch import watch

if TYPE_CHECKING:
    from polykind.auth.request_authorization import RequestAuthorization
    from polykind.console.console_pages import ConsolePages
    from polykind.server.rate_limits import RateLimits, UserLimits

_NAMESPACE_SUBRESOURCES = ("status", "finalize")
"""Segments after /namespaces/<name>/ that are subresources of the namespace, and not resources in the namespace."""

_INVALID_GROUP = "/"
"""The group for paths such as /apis//v1/pods. No resource has this group, whereas "" would be the core group."""

_AUDIT_FAILED = "failed to store audit event"
_ALLOWED = Decision(True)

NOT_FOUND = Response(404, b"404 page not found\n", TEXT, (NO_SNIFF,))


class Router:
    """The application that the HTTP server calls with each request."""

    def __init__(
        self,
        backend: Backend,
        authentication: Authentication,
        endpoints: Endpoints,
        monitor: RequestMonitor,
        load_console: Callable[[], ConsolePages] | None = None,
        rate_limits: RateLimits | None = None,
    ) -> None:
        """`load_console` returns the console at its first request. Without it, the server has no console."""
        self._backend = backend
        self._monitor = monitor
        self._authentication = authentication
        self._endpoints = endpoints
        self._load_console = load_console
        self._rate_limits = rate_limits
        self.unserved = UnservedRequests()
        self._builtin_groups = {group for group, _ in backend.registry.builtin_versions}

    async def __call__(self, request: Request) -> Response | Stream:
        path = request.path
        if (path.startswith("/console") or path == "/") and self._is_for_console(request):
            if request.notes.audited and not await self._audit_public(request):
                return _internal_error(request, _AUDIT_FAILED)
            return self._console.respond(request)
        if _is_anonymous_read(request) and is_public(path, single_checks=self._backend.authorizer.allows_everything):
            if request.notes.audited and not await self._audit_public(request):
                return _internal_error(request, _AUDIT_FAILED)
            return await self._endpoint(request)
        try:
            if "timeout=" in request.query and (timeout := _timeout(request)) is not None:
                request.limit_time(timeout)
            user = self._authentication.user(request)
            request.user = user if user is not None else await self._authentication.remote_user(request)
        except errors.APIError as error:
            if _is_bare_legacy_path(path):
                return _request_info_error(request)
            if error.code == 401:
                self._monitor.record_unauthenticated()
            request.notes.reject(unquote(path), unquote(path).strip("/").split("/"))
            return error_response(request, error)
        if "%" in path:
            if bad_escape(path):
                return Response(400, b"400 Bad Request", TEXT)
            path = unquote(path)
        parts = path.strip("/").split("/")
        # kube-apiserver does not audit paths that it cannot parse.
        if not _is_bare_legacy_path(path) and not await request.notes.begin(request.user, path, parts):
            return _internal_error(request, _AUDIT_FAILED)
        limits = self._rate_limits.of(request.user) if self._rate_limits is not None else None
        if limits is not None and not (request.method == "GET" and _opens_watch(request.query, parts)):
            try:
                limits.take(request.method)
            except errors.APIError as error:
                return error_response(request, error)
        # Every authorizer allows everything to the group system:masters, so the check is skipped for administrators.
        unrestricted = self._backend.authorizer.allows_everything or ADMIN_GROUP in request.user.groups
        if not unrestricted or b"impersonate" in request.headers:
            try:
                request.user = await self._permission.check(request, request.user, parts)
            except errors.APIError as error:
                if _is_bare_legacy_path(path):
                    return _request_info_error(request)
                if error.code == 403:
                    self._monitor.record_forbidden()
                response = error_response(request, error)
                response.headers = (*response.headers, NO_SNIFF)
                return response
        else:
            request.notes.decide(_ALLOWED)
        self._monitor.allowed += 1
        if path.startswith("//"):
            return _request_info_error(request) if _is_bare_legacy_path(path) else NOT_FOUND
        # A resource path has at least /apis/<group>/<version>/<plural> or /api/v1/<plural>.
        if len(parts) > 3 and parts[0] == "apis":
            return await self._resource(request, parts[1] or _INVALID_GROUP, parts[2], parts[3:], limits)
        if len(parts) > 2 and parts[0] == "api":
            return await self._resource(request, "", parts[1], parts[2:], limits)
        return await self._endpoint(request)

    def _is_for_console(self, request: Request) -> bool:
        """True for a path of the console, and for a browser at the root. API clients at the root are not affected."""
        if self._load_console is None:
            return False
        return request.path == "/console" or request.path.startswith("/console/") or is_browser_at_root(request)

    @cached_property
    def _console(self) -> ConsolePages:
        assert self._load_console is not None
        return self._load_console()

    @cached_property
    def _permission(self) -> RequestAuthorization:
        """The check of permissions. It is imported on first use, because administrators do not need it."""
        from polykind.auth.request_authorization import RequestAuthorization

        return RequestAuthorization(self._backend.authorizer)

    async def _audit_public(self, request: Request) -> bool:
        """Record a request for a path that needs no permission. Return False if the request must be rejected."""
        try:
            user = self._authentication.user(request) or ANONYMOUS
        except errors.APIError:
            user = ANONYMOUS
        parts = request.path.strip("/").split("/")
        if not await request.notes.begin(user, request.path, parts):
            return False
        decision = await self._backend.authorizer.decide(Access(user, request.method.lower(), path=request.path))
        request.notes.decide(Decision(True, decision.reason if decision.allowed else ""))
        return True

    async def _endpoint(self, request: Request) -> Response:
        started = perf_counter()
        try:
            response = await self._endpoints.respond(request)
        except errors.APIError as error:
            response = error_response(request, error)
        except UnavailableError as error:
            response = error_response(request, _store_error(error))
        self._monitor.record_endpoint(request, response, started)
        return response

    async def _resource(
        self, request: Request, group: str, version: str, rest: list[str], limits: UserLimits | None
    ) -> Response | Stream:
        # A read must be at least as new as the store's current revision. Ask a remote store for its revision early, so
        # that the round trip overlaps with the work below.
        asking = self._backend.store.start_revision_read() if request.method == "GET" else None
        revision_read = None if asking is None else await asking
        legacy_watch = rest[0] == "watch" and len(rest) > 1
        if legacy_watch:
            rest = rest[1:]
        namespace: str | None = None
        if rest[0] == "namespaces" and len(rest) > 1:
            if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
                namespace, rest = rest[1], rest[2:]
            elif group:
                # kube-apiserver parses /apis/<group>/<version>/namespaces/<name> as a namespace, even if <group> has a
                # resource called namespaces. Such a resource is therefore not found.
                namespace = rest[1] or None
        plural = rest[0]
        name = rest[1] if len(rest) > 1 else ""
        subresource = rest[2] if len(rest) > 2 else ""
        if not plural:
            return await self._endpoint(request)
        served = self._backend.registry.find(group, version, plural)
        if served is None or (served.is_builtin and len(rest) > 3 and subresource != "proxy"):
            if rest[0] in ("watch", "proxy") and len(rest) == 1:
                return _request_info_error(request)
            if served is None:
                self.unserved.record(request.method, group, version, plural)
            if not group or group in self._builtin_groups:
                return error_response(request, errors.unknown_resource())
            return NOT_FOUND
        if not namespace and not (served.is_builtin and _needs_namespace(request.method, served, name)):
            namespace = None
        header = request.headers.get
        op = Operation(
            self._backend,
            request.user,
            _verb(request.method, name),
            served,
            namespace,
            name,
            subresource,
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
            transport=HttpTransport(request),
        )
        find = builtin_verb if served.is_builtin else custom_verb
        verb = find(op, request.method, legacy_watch)
        if verb is None:
            return NOT_FOUND
        if served.deprecation and (verb in METRIC_LABELS or not served.is_builtin):
            request.notes.warn(served.deprecation)
            request.notes.annotate("k8s.io/deprecated", "true")
        started = perf_counter()
        inflight = self._monitor.reading if request.method in ("GET", "HEAD") else self._monitor.writing
        inflight.value += 1
        try:
            if served.unavailable:
                raise served.unavailable()
            run = partial(_limited_watch, limits=limits) if limits is not None and verb is watch else verb
            response = await (self._run_converting(op, run) if served.converts else run(op))
        except errors.APIError as error:
            if error.from_router:
                request.notes.warnings = {}
            response = error_response(request, error)
        except UnavailableError as error:
            response = error_response(request, _store_error(error))
        finally:
            inflight.value -= 1
            op.end()
        if request.notes.warnings:
            response.headers = (*response.headers, *warning_headers(request.notes.warnings))
        self._monitor.record(op, request, METRIC_LABELS.get(verb, "other"), response, started)
        return response

    async def _run_converting(self, op: Operation, verb: Verb) -> Response | Stream:
        """Run a verb and record the time that it waits for converters."""
        counted = ConversionTimer(verb(op))
        try:
            return await counted
        finally:
            self._monitor.record_conversion(counted.time.seconds)


def is_browser_at_root(request: Request) -> bool:
    """True for a browser that opens the server's address: it accepts HTML and sends no token."""
    return (
        request.path == "/"
        and request.method in ("GET", "HEAD")
        and b"authorization" not in request.headers
        and "text/html" in request.header(b"accept")
    )


async def _limited_watch(op: Operation, *, limits: UserLimits) -> Response | Stream:
    """Start a watch unless the user has too many open watches."""
    limits.begin_watch()
    try:
        response = await watch(op)
    except BaseException:
        limits.end_watch()
        raise
    if isinstance(response, Stream):
        limits.end_with(response)
    else:
        limits.end_watch()
    return response


def _opens_watch(query: str, parts: list[str]) -> bool:
    """True for a GET that opens a watch."""
    return ("watch" in query and bool_value(parse_query(query), "watch")) or "watch" in parts[2:4]


def _is_anonymous_read(request: Request) -> bool:
    """True for a GET or HEAD without a token and without impersonation."""
    token = request.headers.get(b"authorization", b"").removeprefix(b"Bearer").strip()
    return not token and request.method in ("GET", "HEAD") and b"impersonate" not in request.headers


def _is_bare_legacy_path(path: str) -> bool:
    """True for /api/v1/watch and similar paths without a resource.

    kube-apiserver cannot parse such a path. It reports this error before authentication errors.
    """
    parts = unquote(path).strip("/").split("/")
    at = {"api": 2, "apis": 3}.get(parts[0])
    return at is not None and len(parts) == at + 1 and parts[at] in ("watch", "proxy")


def _request_info_error(request: Request) -> Response:
    """Return kube-apiserver's response to a legacy watch or proxy path without a resource."""
    target = f"{request.path}?{request.query}" if request.query else request.path
    return _internal_error(
        request, f"failed to create RequestInfo: unable to determine kind and namespace from url, {target}"
    )


def _internal_error(request: Request, message: str) -> Response:
    """Return a 500 response in plain text, as kube-apiserver's filters do."""
    from polykind.auth.forbidden import sanitize

    target = f"{request.path}?{request.query}" if request.query else request.path
    text = sanitize(f"Internal Server Error: {go_quote(target)}: {message}\n")
    return Response(500, text.encode(), TEXT, (NO_SNIFF,))


def _timeout(request: Request) -> float | None:
    """Return the request's `timeout` parameter in seconds. Watches use `timeoutSeconds` instead."""
    query = parse_query(request.query)
    return None if bool_value(query, "watch") else request_timeout(query)


def _verb(method: str, name: str) -> str:
    """Return the verb of a request for an object or, if it has no name, for a collection."""
    return (None if name else _COLLECTION_VERBS.get(method)) or _VERB_NAMES.get(method, method.lower())


def _store_error(error: UnavailableError) -> errors.APIError:
    """Return a 503 error for a store that cannot be reached or written, or a 504 error for a write with unknown
    outcome.
    """
    if isinstance(error, UnknownOutcomeError):
        return errors.RequestTimeoutError(f"Timeout: {error}")
    return errors.ServiceUnavailableError(f"the store is not available: {error}", retry_after=1)


_ITEM: dict[str, Verb] = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch, "DELETE": delete, "POST": create}
_STATUS: dict[str, Verb] = {"GET": get, "HEAD": get, "PUT": update, "PATCH": patch}
_SCALE: dict[str, Verb] = {"GET": get_scale, "HEAD": get_scale, "PUT": update_scale, "PATCH": patch_scale}
_ITEM_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCE_VERBS = {**_ITEM_VERBS, "POST": "create"}
_PROXY_VERBS = {**_SUBRESOURCE_VERBS, "HEAD": "get", "OPTIONS": "get"}
"""The verb for each HTTP method of a proxy subresource. A proxy accepts every method."""
_FUNCTIONS: dict[str, Verb] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": deletecollection,
}
_COLLECTION_VERBS = {"GET": "list", "DELETE": "deletecollection"}
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
"""The value of the metrics label `verb` for each function that serves a verb."""


def custom_verb(op: Operation, method: str, legacy_watch: bool) -> Verb | None:
    """Return the function that serves a request for a custom resource.

    Return None, for a 404 response in plain text, if the path does not match the resource's scope. If kube-apiserver
    responds with a Status instead, return a function that raises this error.
    """
    resource = op.resource
    if legacy_watch:
        return watch if resource.namespaced or op.namespace is None else None
    if not op.name and not op.subresource:
        return _collection_verb(op, method)
    if resource.namespaced != (op.namespace is not None):
        return None
    table = _subresource_table(op.version, op.subresource) if op.subresource else _ITEM
    if table is None:
        return _raise(resource.not_found(op.name))
    verb = table.get(method)
    if verb is None:
        return _raise(op.version.method_not_allowed(_VERB_NAMES.get(method, "")))
    return verb


def _subresource_table(version: ServedVersion, subresource: str) -> dict[str, Verb] | None:
    if subresource == "status" and version.has_status:
        return _STATUS
    if subresource == "scale" and version.scale is not None:
        return _SCALE
    return None


def _collection_verb(op: Operation, method: str) -> Verb | None:
    resource = op.resource
    all_namespaces = resource.namespaced and op.namespace is None
    if op.namespace is not None and not resource.namespaced:
        return None
    if method in ("GET", "HEAD"):
        return watch if _is_watch(op) else list_
    if all_namespaces:
        return None
    if method == "POST":
        return create
    if method == "DELETE":
        return deletecollection
    if method in ("PUT", "PATCH"):
        if method == "PATCH":
            patch_type(op)
        return _raise(errors.BadRequestError("name must be provided"))
    return _raise(op.version.method_not_allowed(""))


def _needs_namespace(method: str, version: ServedVersion, name: str) -> bool:
    """True if kube-apiserver rejects a request for a built-in resource whose path has an empty namespace.

    It lists the objects of all namespaces. The validation rejects a create.
    """
    return bool(name) or method in ("DELETE", "POST") or not version.resource.namespaced


def builtin_verb(op: Operation, method: str, legacy_watch: bool) -> Verb:
    """Return the function that serves a request for a built-in resource.

    For a method and path that kube-apiserver does not serve, the function raises a 404 or 405 error.
    """
    version, resource = op.version, op.resource
    all_namespaces = resource.namespaced and op.namespace is None
    if (op.namespace is not None and not resource.namespaced) or (all_namespaces and op.name):
        return _raise(errors.unknown_resource())
    table: Mapping[str, str]
    if legacy_watch:
        table = {} if op.subresource else {"GET": "watch"}
    elif op.subresource:
        table = _PROXY_VERBS if op.subresource == "proxy" else _SUBRESOURCE_VERBS
    elif op.name:
        table = _ITEM_VERBS
    elif all_namespaces:
        table = {"GET": "watch" if _is_watch(op) else "list"}
    else:
        table = {"GET": "watch" if _is_watch(op) else "list", "POST": "create", "DELETE": "deletecollection"}
    served = version.subresources.get(op.subresource, frozenset()) if op.subresource else version.verbs
    verb = table.get(method, "")
    if verb in served:
        if op.namespace == "" and (op.name or verb != "create"):
            return _raise(errors.BadRequestError("Namespace parameter required."))
        return _builtin_function(op, verb)
    return _raise(errors.unknown_resource() if served.isdisjoint(table.values()) else errors.method_not_allowed())


def _builtin_function(op: Operation, verb: str) -> Verb:
    """Return the function that serves `verb`, a verb by its name in discovery, for a built-in resource."""
    special = subresources.find(op.resource.group, op.resource.plural, op.subresource, verb)
    if special is not None:
        METRIC_LABELS.setdefault(special, METRIC_LABELS[_FUNCTIONS[verb]])
        return special
    if verb == "create" and isinstance(op.version.strategy, ReviewStrategy):
        return create_review
    return _FUNCTIONS[verb]


def _is_watch(op: Operation) -> bool:
    return bool(op.parameters) and bool(bool_value(op.query, "watch"))


def _raise(error: errors.APIError) -> Verb:
    async def raise_error(_: Operation) -> Response:
        raise error

    return raise_error
