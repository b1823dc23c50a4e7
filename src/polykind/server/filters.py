"""Filters: what a request passes before a verb or an endpoint serves it. Each is an application around another one.

The order is that of kube-apiserver's handler chain. A filter that never waits returns the coroutine of the next
application, so that it costs a function call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec

from polykind import errors
from polykind.auth.authentication import Authentication
from polykind.auth.authorizer import Access, AuthorizationFailedError, Authorizer, Decision
from polykind.auth.user import ADMIN_GROUP, ANONYMOUS, User
from polykind.golang.fmt import go_quote
from polykind.golang.query import Query, bad_escape, bool_value
from polykind.http.connection import App
from polykind.http.messages import TEXT, Request
from polykind.operations.options import request_timeout
from polykind.operations.responses import Response, Stream
from polykind.server.dispatcher import respond_with
from polykind.server.endpoints import NO_SNIFF, error_response, is_public
from polykind.server.request_monitor import RequestMonitor
from polykind.server.routes import resource_path

if TYPE_CHECKING:
    from polykind.auth.request_authorization import RequestAuthorization
    from polykind.console.console_pages import ConsolePages
    from polykind.server.rate_limits import RateLimits, UserLimits

Answer = Coroutine[Any, Any, Response | Stream]
Filter = Callable[[App], App]

_ALLOWED: Final = Decision(True)
_LEGACY_VERBS: Final = ("watch", "proxy")
_STREAMS: Final = ("attach", "exec", "log", "portforward", "proxy")
"""Subresources whose requests may run as long as the client wants."""


class FilterOptions(msgspec.Struct, frozen=True):
    """Values that the filters of a server need. A filter whose option is None is left out."""

    authentication: Authentication
    authorizer: Authorizer
    monitor: RequestMonitor
    endpoint: App
    """Serves the paths that are not resources."""
    trace: Filter | None = None
    audit: Filter | None = None
    """Emits the audit events of the response, and lets the filters below record the request."""
    load_console: Callable[[], ConsolePages] | None = None
    """Returns the console at its first request."""
    rate_limits: RateLimits | None = None


def add_filters(app: App, options: FilterOptions) -> App:
    """Return `app` within the filters that the options need."""
    authentication, authorizer, monitor = options.authentication, options.authorizer, options.monitor
    load_console, audit, rate_limits = options.load_console, options.audit, options.rate_limits
    audit_public = audit and partial(audit_public_request, authentication=authentication, authorizer=authorizer)
    public = partial(fold, filters=(audit_public,))
    return fold(
        app,
        (
            options.trace,
            audit,
            read_path,
            load_console and partial(show_console, console=public(console(load_console))),
            partial(serve_public_paths, endpoint=public(options.endpoint), authorizer=authorizer),
            limit_time,
            partial(authenticate, authentication=authentication, monitor=monitor),
            audit and audit_request,
            None if rate_limits is None else partial(limit_rate, rate_limits=rate_limits),
            partial(authorize, authorizer=authorizer, monitor=monitor),
        ),
    )


def fold(app: App, filters: Iterable[Filter | None]) -> App:
    """Return `app` within filters, the outermost first. Leave out those that are None."""
    for surround in reversed([surround for surround in filters if surround is not None]):
        app = surround(app)
    return app


# ---------------------------------------------------------------------- paths


def read_path(app: App) -> App:
    """Decode the path of a request. Reject a path that kube-apiserver cannot parse, even without credentials."""

    def read(request: Request) -> Answer:
        path = request.path
        if "%" in path:
            if bad_escape(path):
                return respond_with(Response(400, b"400 Bad Request", TEXT))
            path = unquote(path)
        request.decoded_path = path
        segments = request.segments = path.strip("/").split("/")
        if segments[-1] in _LEGACY_VERBS and len(segments) == {"api": 3, "apis": 4}.get(segments[0]):
            text = f"failed to create RequestInfo: unable to determine kind and namespace from url, {request.target}"
            return respond_with(_internal_error(request, text))
        return app(request)

    return read


def show_console(app: App, console: App) -> App:
    """Serve the paths of the console, and a browser at the root. API clients at the root are not affected."""

    def show(request: Request) -> Answer:
        path = request.path
        if (path.startswith("/console") or path == "/") and _is_for_console(request):
            return console(request)
        return app(request)

    return show


def _is_for_console(request: Request) -> bool:
    return request.path == "/console" or request.path.startswith("/console/") or _is_browser_at_root(request)


def _is_browser_at_root(request: Request) -> bool:
    """True for a browser that opens the server's address: it accepts HTML and sends no token."""
    return (
        request.path == "/"
        and request.method in ("GET", "HEAD")
        and b"authorization" not in request.headers
        and "text/html" in request.header(b"accept")
    )


def console(load: Callable[[], ConsolePages]) -> App:
    """Return the application that serves the console. It is loaded at its first request: most servers have none."""
    loaded = cache(load)

    async def respond(request: Request) -> Response:
        return loaded().respond(request)

    return respond


def serve_public_paths(app: App, endpoint: App, authorizer: Authorizer) -> App:
    """Serve reads of health and version paths that have no token, without authentication."""

    def serve(request: Request) -> Answer:
        if _is_anonymous_read(request) and is_public(request.path, single_checks=authorizer.allows_everything):
            return endpoint(request)
        return app(request)

    return serve


def _is_anonymous_read(request: Request) -> bool:
    """True for a GET or HEAD without a token and without impersonation."""
    token = request.headers.get(b"authorization", b"").removeprefix(b"Bearer").strip()
    return not token and request.method in ("GET", "HEAD") and b"impersonate" not in request.headers


# ---------------------------------------------------------------------- time and clients


def limit_time(app: App) -> App:
    """Let a request end after the client's `timeout`. Watches use `timeoutSeconds` instead, and streams never end."""

    def limit(request: Request) -> Answer:
        if "timeout=" in request.query:
            query = request.parameters
            try:
                timeout = None if _runs_long(request, query) else request_timeout(query)
            except errors.APIError as error:
                return _reject(request, error)
            if timeout is not None:
                request.limit_time(timeout)
        return app(request)

    return limit


def _runs_long(request: Request, query: Query) -> bool:
    """True if a request has no limit of time: a watch of a collection, or a stream from a node."""
    path = resource_path(request.segments)
    if path is None:
        return False
    if path.is_watch or path.plural == "proxy" or path.subresource in _STREAMS:
        return True
    return not path.name and request.method in ("GET", "HEAD") and bool(bool_value(query, "watch"))


def authenticate(app: App, authentication: Authentication, monitor: RequestMonitor) -> App:
    """Find the user of a request. Respond 401 if its credentials are missing or wrong."""

    def check(request: Request) -> Answer:
        try:
            user = request.user = authentication.user(request)
        except errors.APIError as error:
            return fail(request, error)
        return app(request) if user is not None else check_remotely(request)

    async def check_remotely(request: Request) -> Response | Stream:
        try:
            request.user = await authentication.remote_user(request)
        except errors.APIError as error:
            return await fail(request, error)
        return await app(request)

    def fail(request: Request, error: errors.APIError) -> Answer:
        if error.code == 401:
            monitor.record_unauthenticated()
        return _reject(request, error)

    return check


def _reject(request: Request, error: errors.APIError) -> Answer:
    """Respond with an error to a request whose user is unknown."""
    request.notes.reject(request.decoded_path, request.segments)
    return respond_with(error_response(request, error))


def user_of(request: Request) -> User:
    """Return the user of an authenticated request."""
    assert request.user is not None
    return request.user


# ---------------------------------------------------------------------- audit


def audit_request(app: App) -> App:
    """Evaluate the audit policy for a request, and emit its first event."""

    async def audit(request: Request) -> Response | Stream:
        if not await request.notes.begin(user_of(request), request.decoded_path, request.segments):
            return _audit_failed(request)
        return await app(request)

    return audit


def audit_public_request(app: App, authentication: Authentication, authorizer: Authorizer) -> App:
    """Evaluate the audit policy for a request that needs no permission, and emit its first event."""

    async def audit(request: Request) -> Response | Stream:
        try:
            user = authentication.user(request) or ANONYMOUS
        except errors.APIError:
            user = ANONYMOUS
        if not await request.notes.begin(user, request.decoded_path, request.segments):
            return _audit_failed(request)
        decision = await authorizer.decide(Access(user, request.method.lower(), path=request.path))
        request.notes.decide(Decision(True, decision.reason if decision.allowed else ""))
        return await app(request)

    return audit


def _audit_failed(request: Request) -> Response:
    return _internal_error(request, "failed to store audit event")


# ---------------------------------------------------------------------- limits and permissions


def limit_rate(app: App, rate_limits: RateLimits) -> App:
    """Limit the requests and the open watches of each user."""

    def limit(request: Request) -> Answer:
        limits = rate_limits.of(user_of(request))
        if limits is None:
            return app(request)
        try:
            limits.take(request.method)
            if _opens_watch(request):
                limits.begin_watch()
                return limited_watch(request, limits)
        except errors.APIError as error:
            return respond_with(error_response(request, error))
        return app(request)

    async def limited_watch(request: Request, limits: UserLimits) -> Response | Stream:
        try:
            response = await app(request)
        except BaseException:
            limits.end_watch()
            raise
        if isinstance(response, Stream):
            limits.end_with(response)
        else:
            limits.end_watch()
        return response

    return limit


def _opens_watch(request: Request) -> bool:
    """True for a GET that opens a watch."""
    if request.method != "GET" or "watch" not in request.target:
        return False
    path = resource_path(request.segments)
    return path is not None and (path.is_watch or (not path.name and bool(bool_value(request.parameters, "watch"))))


def authorize(app: App, authorizer: Authorizer, monitor: RequestMonitor) -> App:
    """Check the permission of a request's user, and impersonate another user if the request asks for it.

    Every authorizer allows everything to the group system:masters, so the check is skipped for administrators.
    """

    @cache
    def permission() -> RequestAuthorization:
        # Imported on first use, because administrators do not need it.
        from polykind.auth.request_authorization import RequestAuthorization

        return RequestAuthorization(authorizer)

    def check(request: Request) -> Answer:
        if (authorizer.allows_everything or ADMIN_GROUP in user_of(request).groups) and (
            b"impersonate" not in request.headers
        ):
            request.notes.decide(_ALLOWED)
            monitor.allowed += 1
            return app(request)
        return check_permission(request)

    async def check_permission(request: Request) -> Response | Stream:
        try:
            request.user = await permission().check(request, user_of(request), request.segments)
        except errors.APIError as error:
            if error.code == 403:
                monitor.record_forbidden()
            response = error_response(request, error)
            response.headers = (*response.headers, NO_SNIFF)
            return response
        except AuthorizationFailedError as error:
            return _internal_error(request, str(error))
        monitor.allowed += 1
        return await app(request)

    return check


def _internal_error(request: Request, message: str) -> Response:
    """Return a 500 response in plain text, as kube-apiserver's filters do."""
    from polykind.auth.forbidden import sanitize

    text = sanitize(f"Internal Server Error: {go_quote(request.target)}: {message}\n")
    return Response(500, text.encode(), TEXT, (NO_SNIFF,))
