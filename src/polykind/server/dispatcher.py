"""The innermost application: it calls the verb or the endpoint that serves a request, and records the response."""

from __future__ import annotations

from collections.abc import Coroutine
from time import perf_counter
from typing import Any

from polykind import errors
from polykind.contract import UnavailableError, UnknownOutcomeError
from polykind.conversion.conversion_observer import ConversionTimer
from polykind.http.messages import TEXT, Request, warning_headers
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.responses import Response, Stream
from polykind.resources.resource import ServedVersion
from polykind.server.endpoints import NO_SNIFF, Endpoints, error_response
from polykind.server.request_monitor import RequestMonitor
from polykind.server.routes import ResourcePath, Route, find_route, operation, resource_path
from polykind.server.unserved_requests import UnservedRequests

NOT_FOUND = Response(404, b"404 page not found\n", TEXT, (NO_SNIFF,))


class Dispatcher:
    """Serves requests that have passed all filters."""

    def __init__(self, backend: Backend, endpoints: Endpoints, monitor: RequestMonitor) -> None:
        self._backend = backend
        self._endpoints = endpoints
        self._monitor = monitor
        self.unserved = UnservedRequests()
        self._builtin_groups = {group for group, _ in backend.registry.builtin_versions}

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response | Stream]:
        if request.path.startswith("//"):
            return respond_with(NOT_FOUND)
        path = resource_path(request.segments)
        return self.endpoint(request) if path is None else self._resource(request, path)

    async def endpoint(self, request: Request) -> Response:
        """Serve a request for a path that is not a resource."""
        started = perf_counter()
        try:
            response = await self._endpoints.respond(request)
        except errors.APIError as error:
            response = error_response(request, error)
        except UnavailableError as error:
            response = error_response(request, _store_error(error))
        self._monitor.record_endpoint(request, response, started)
        return response

    async def _resource(self, request: Request, path: ResourcePath) -> Response | Stream:
        # A read must be at least as new as the store's current revision. Ask a remote store for its revision early, so
        # that the round trip overlaps with the work below.
        asking = self._backend.store.start_revision_read() if request.method == "GET" else None
        revision_read = None if asking is None else await asking
        version = self._backend.registry.find(path.group, path.version, path.plural)
        if version is None or (version.is_builtin and path.length > 3 and path.subresource != "proxy"):
            return self._not_served(request, path, version)
        op = operation(self._backend, request, path, version, revision_read)
        route = find_route(op, request.method, is_watch=path.is_watch)
        if route is None:
            return NOT_FOUND
        return await self._run(op, request, route)

    def _not_served(self, request: Request, path: ResourcePath, version: ServedVersion | None) -> Response:
        if version is None:
            self.unserved.record(request.method, path.group, path.version, path.plural)
        if not path.group or path.group in self._builtin_groups:
            return error_response(request, errors.unknown_resource())
        return NOT_FOUND

    async def _run(self, op: Operation, request: Request, route: Route) -> Response | Stream:
        """Call the function of a route. Turn its errors into responses, add the warnings, and record the response."""
        version, monitor = op.version, self._monitor
        if version.deprecation and (not version.is_builtin or route.serves):
            request.notes.warn(version.deprecation)
            request.notes.annotate("k8s.io/deprecated", "true")
        started = perf_counter()
        inflight = monitor.reading if request.method in ("GET", "HEAD") else monitor.writing
        inflight.value += 1
        try:
            if version.unavailable:
                raise version.unavailable()
            response = await (self._run_converting(op, route) if version.converts else route.verb(op))
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
        monitor.record(op, request, route.label, response, started)
        return response

    async def _run_converting(self, op: Operation, route: Route) -> Response | Stream:
        """Call the function of a route, and record the time that it waits for converters."""
        counted = ConversionTimer(route.verb(op))
        try:
            return await counted
        finally:
            self._monitor.record_conversion(counted.time.seconds)


async def respond_with(response: Response) -> Response:
    """Return a response that needs no work."""
    return response


def _store_error(error: UnavailableError) -> errors.APIError:
    """Return a 503 error for a store that cannot be reached or written, or a 504 error for a write with unknown
    outcome.
    """
    if isinstance(error, UnknownOutcomeError):
        return errors.RequestTimeoutError(f"Timeout: {error}")
    return errors.ServiceUnavailableError(f"the store is not available: {error}", retry_after=1)
