"""The endpoints that are not resources: health, version, discovery, OpenAPI, metrics and Polykind's own endpoints."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import unquote

from polykind import errors
from polykind.apis.apidiscovery.types import encode_document
from polykind.apis.machinery.protobuf_envelope import encode_object
from polykind.apis.meta.types import STATUS
from polykind.auth.service_account_tokens import CONFIGURATION_PATH, JWKS_PATH, ServiceAccountTokens
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.json_indent import indent
from polykind.codec.negotiation import MEDIA_TYPES
from polykind.discovery.accept import (
    AGGREGATED_PARAMETERS,
    OPENAPI_V2_PROTOBUF,
    aggregated_media_type,
    openapi_v2_media_type,
    openapi_v3_media_type,
)
from polykind.discovery.snapshot import Discovery
from polykind.golang.fmt import go_quote
from polykind.golang.query import first_value
from polykind.http.conditional import Headers, compress, document_response, expires_in_a_year
from polykind.http.messages import TEXT, Request
from polykind.metrics.metrics import Metrics
from polykind.operations.responses import JSON, Response
from polykind.server.debug_flags import respond_about_flags
from polykind.server.debugging_pages import DEBUGGING_PAGES, DebuggingPages
from polykind.server.kubernetes_version import GIT_VERSION, KUBERNETES_MINOR
from polykind.server.store_restore import StoreRestore
from polykind.server.version_report import VersionReporter

_PUBLIC = ("/healthz", "/livez", "/readyz", "/version")
_VERSIONS = "/polykind/versions/"
_JWK_SET = "application/jwk-set+json"
_RESTORE = "/polykind/restore"
_PROTOBUF = MEDIA_TYPES["protobuf"].encode()
_THREAD_THRESHOLD = 64 * 1024
"""Documents with more bytes than this are converted to protobuf in a thread."""
_MAX_DATES = 4096
NO_SNIFF = (b"X-Content-Type-Options", b"nosniff")
_NO_SNIFF = (NO_SNIFF,)
_VARY_ACCEPT = ((b"Vary", b"Accept"),)
Check = Callable[[], str]
"""A health check. It returns "" if healthy, else the reason of the failure."""


def is_public(path: str, *, single_checks: bool) -> bool:
    """True for health and version paths, which need no credentials.

    If `single_checks` is true, this includes the paths of single health checks, such as /livez/ping. The default roles
    of RBAC do not allow them.
    """
    if path in _PUBLIC:
        return True
    return single_checks and path.startswith(_PUBLIC) and path.split("/", 2)[1] in ("healthz", "livez", "readyz")


def error_response(
    request: Request, error: errors.APIError, offers: tuple[str, ...] = negotiation.BUILTIN_MEDIA
) -> Response:
    """Return the error's Status in the media type that the client accepts."""
    status = error.status()
    request.notes.record_status(status)
    headers: tuple[tuple[bytes, bytes], ...] = ()
    retry_after = error.details.get("retryAfterSeconds")
    if retry_after:
        headers = ((b"Retry-After", str(retry_after).encode()),)
    accept = request.header(b"accept")
    accepted = negotiation.negotiate_error(accept, offers)
    if accepted is not None and accepted.media == "protobuf":
        return Response(error.code, encode_object(status, STATUS), _PROTOBUF, headers)
    if accepted is not None and accepted.media == "yaml":
        return Response(error.code, yaml_codec.encode(status), b"application/yaml", headers)
    if accepted is None or accepted.pretty or negotiation.is_pretty(request.parameters, request.agent):
        return Response(error.code, indent(json_codec.encode_ordered(status)), JSON, headers)
    return Response(error.code, error.encode(), JSON, headers)


class Endpoints:
    """The endpoints of one server that are not resources.

    `address` returns the host:port for the document at /api. `builtin_versions` are the groups and versions that
    are served without a CRD.
    """

    def __init__(
        self,
        metrics: Metrics,
        discovery: Callable[[], Discovery],
        checks: dict[str, Check],
        versions: VersionReporter,
        restore: StoreRestore,
        address: Callable[[], str],
        service_account_tokens: ServiceAccountTokens,
        pages: DebuggingPages,
        builtin_versions: Iterable[tuple[str, str]] = (("", "v1"),),
        notes: Callable[[], list[str]] = list,
        readiness: dict[str, Check] | None = None,
    ) -> None:
        """`notes` returns lines that the health checks show besides their results.

        `readiness` are the checks of /readyz that /healthz and /livez do not have.
        """
        self._notes = notes
        self._readiness = readiness or {}
        self._service_account_tokens = service_account_tokens
        self._pages = pages
        self._metrics = metrics
        self._versions = versions
        self._restore = restore
        self._discovery = discovery
        self._checks = checks
        self._address = address
        self._read_only = frozenset(
            ("/version", "/api", *(f"/apis/{g}/{v}" if g else f"/api/{v}" for g, v in builtin_versions))
        )
        """Paths that respond 405 to every method except GET, even to HEAD. All other endpoints ignore the method."""
        groups = {group for group, _ in builtin_versions if group}
        self._status_404_prefixes = ("/api/", "/version/", *(f"/apis/{group}/" for group in groups))
        """Paths below which a 404 response has a Status body. Other 404 responses are plain text."""
        self._dates: dict[str, tuple[str, int]] = {}
        """By path: the ETag of a document, and the time of the first request for the document with this ETag."""

    async def respond(self, request: Request) -> Response:
        exact = unquote(request.path)
        path = exact.rstrip("/") or "/"
        if not exact.startswith("/") or exact in ("/apis//", "/index.html/"):
            return _not_found()
        if request.method != "GET" and path in self._read_only:
            return error_response(request, errors.method_not_allowed())
        root = path[1:].partition("/")[0]
        if root in ("healthz", "livez", "readyz"):
            return self._health(request, exact)
        if path == "/version":
            negotiation.check_names_media_type(request.header(b"accept"), offers=negotiation.JSON_ONLY)
            return Response(200, _version())
        if exact == "/metrics":
            body = await self._metrics.render()
            return Response(200, body, b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
        if exact in DEBUGGING_PAGES:
            try:
                return self._pages.respond(request, exact)
            except errors.NotAcceptableError as error:
                return error_response(request, error, negotiation.CUSTOM_MEDIA)
        if root == "debug" and (flags := respond_about_flags(request, exact)) is not None:
            return flags
        if path in (JWKS_PATH, CONFIGURATION_PATH):
            return await self._openid(request, path)
        if root == "openapi":
            return await self._openapi(request, exact)
        if exact.startswith(_VERSIONS):
            report = await self._versions.report(exact.removeprefix(_VERSIONS))
            if report is None:
                return _not_found()
            return Response(200, indent(json_codec.encode_ordered(report)) + b"\n")
        if exact == _RESTORE and request.method == "POST" and request.user is not None:
            return Response(200, json_codec.encode({"keys": await self._restore.run(request.user)}))
        response = await self._discover(request, path, aggregable=exact != "/apis/")
        if response.status == 404 and path.startswith(self._status_404_prefixes):
            return error_response(request, errors.unknown_resource())
        return response

    async def _openid(self, request: Request, path: str) -> Response:
        """Respond with a document that other services need to verify tokens of service accounts."""
        if request.method != "GET":
            raise errors.method_not_allowed()
        tokens, headers = self._service_account_tokens, ((b"Cache-Control", b"public, max-age=3600"),)
        if path == JWKS_PATH:
            negotiation.check_names_document_type(request.header(b"accept"), _JWK_SET)
            return Response(200, await tokens.key_set(), _JWK_SET.encode(), headers)
        negotiation.check_names_media_type(request.header(b"accept"), offers=negotiation.JSON_ONLY)
        return Response(200, await tokens.openid_configuration(self._address()), JSON, headers)

    # ------------------------------------------------------------------ health

    def _health(self, request: Request, path: str) -> Response:
        name, slash, rest = path[1:].partition("/")
        query = request.parameters
        excluded = set(query.get("exclude", ()))
        checks = self._checks | self._readiness if name == "readyz" else self._checks
        if slash:
            if rest not in checks:
                return _not_found()
            reason = checks[rest]()
            if reason:
                return Response(500, f"internal server error: {reason}\n".encode(), TEXT, _NO_SNIFF)
            return Response(200, b"ok", TEXT)
        lines, failed, unknown = [], False, sorted(excluded - checks.keys())
        for check, run in checks.items():
            if check in excluded:
                lines.append(f"[+]{check} excluded: ok")
                continue
            reason = run()
            failed = failed or bool(reason)
            lines.append(f"[-]{check} failed: reason withheld" if reason else f"[+]{check} ok")
        lines += self._notes()
        if unknown:
            names = ",".join(map(go_quote, unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            return Response(500, ("\n".join(lines) + f"\n{name} check failed\n").encode(), TEXT, _NO_SNIFF)
        if "verbose" in query:
            return Response(200, ("\n".join(lines) + f"\n{name} check passed\n").encode(), TEXT, _NO_SNIFF)
        return Response(200, b"ok", TEXT, _NO_SNIFF)

    # ------------------------------------------------------------------ discovery

    async def _discover(self, request: Request, path: str, *, aggregable: bool) -> Response:
        discovery, accept = self._discovery(), request.header(b"accept")
        if not discovery.prepared:
            await asyncio.to_thread(discovery.prepare)
        if path in ("/api", "/apis"):
            media = aggregated_media_type(accept) if aggregable else None
            if media is not None:
                document = discovery.aggregated(core=path == "/api")
                unchanged = request.header(b"if-none-match") == f'"{document.etag}"'
                return await _with_etag(document.body, document.etag, media, AGGREGATED_PARAMETERS, cached=unchanged)
            if path == "/api":
                negotiation.check_names_media_type(accept)
            body = discovery.api_versions(self._address()) if path == "/api" else discovery.groups()
            return await self._respond_negotiated(request, body)
        if path in ("/", "/index.html"):
            paths = [*discovery.paths(), *_PUBLIC, *DEBUGGING_PAGES, "/metrics", "/openapi/v2", "/openapi/v3"]
            return Response(200, indent(json_codec.encode_line({"paths": sorted(set(paths))})))
        parts = path.split("/")
        found: bytes | None = None
        if parts[1] == "apis" and len(parts) == 3:
            found = discovery.group(parts[2])
        elif parts[1] == "apis" and len(parts) == 4 and parts[2]:
            found = discovery.resources(parts[2], parts[3])
        elif parts[1] == "api" and len(parts) == 3:
            found = discovery.resources("", parts[2])
        if found is None:
            return _not_found()
        if path in self._read_only:
            negotiation.check_names_media_type(accept)
        return await self._respond_negotiated(request, found)

    async def _respond_negotiated(self, request: Request, body: bytes) -> Response:
        """Respond with a JSON document in the media type that the client accepts."""
        accept = request.header(b"accept")
        accepted = negotiation.negotiate(accept, offers=negotiation.BUILTIN_MEDIA, transforms=negotiation.NO_TRANSFORMS)
        if accepted.media == "protobuf":
            return Response(200, await _to_protobuf(body), _PROTOBUF)
        if accepted.media == "yaml":
            return Response(200, yaml_codec.encode(json_codec.decode(body)), b"application/yaml")
        if accepted.pretty or negotiation.is_pretty(request.parameters, request.agent):
            return Response(200, indent(body))
        return Response(200, body)

    # ------------------------------------------------------------------ OpenAPI

    async def _openapi(self, request: Request, path: str) -> Response:
        discovery, accept = self._discovery(), request.header(b"accept")
        if path == "/openapi/v2":
            media = openapi_v2_media_type(accept)
            if media is None:
                return Response(406, b"", b"")
            build = discovery.openapi_v2_protobuf if media == OPENAPI_V2_PROTOBUF else discovery.openapi_v2
            document = await asyncio.to_thread(build)
            when = self._modified(path, document.etag)
            response = document_response(
                request, document.body, media.encode(), _VARY_ACCEPT, etag=document.etag, modified=when
            )
            return await asyncio.to_thread(compress, request, response)
        if path == "/openapi/v3":
            index = await asyncio.to_thread(discovery.openapi_v3_index)
            return document_response(request, index, TEXT, modified=int(time.time()))
        if not path.startswith("/openapi/v3/"):
            return _not_found()
        found = await asyncio.to_thread(discovery.openapi_v3, path.removeprefix("/openapi/v3/"))
        if found is None:
            return Response(404, b"", b"")
        if openapi_v3_media_type(accept) is None:
            return Response(406, b"", b"")
        requested_hash = first_value(request.parameters, "hash")
        headers: Headers = _VARY_ACCEPT
        if requested_hash and requested_hash != found.etag:
            location = f"{path}?hash={found.etag}".encode()
            return Response(301, b"", JSON, ((b"Etag", f'"{found.etag}"'.encode()), (b"Location", location), *headers))
        if requested_hash:
            cache_headers = (b"Cache-Control", b"public, immutable"), (b"Expires", expires_in_a_year(time.time()))
            headers = (*cache_headers, *headers)
        return document_response(
            request, found.body, JSON, headers, etag=found.etag, modified=self._modified(path, found.etag)
        )

    def _modified(self, path: str, etag: str) -> int:
        """Return the Last-Modified time of a document: the time of the first request for it with this ETag."""
        cached = self._dates.pop(path, ("", 0))
        when = cached[1] if cached[0] == etag else int(time.time())
        self._dates[path] = etag, when
        if len(self._dates) > _MAX_DATES:
            del self._dates[next(iter(self._dates))]
        return when


async def _with_etag(body: bytes, etag: str, media: str, parameters: str, *, cached: bool) -> Response:
    """Respond with a document and its ETag, or with 304 if the client has cached the document."""
    headers = ((b"Cache-Control", b"public"), (b"Etag", f'"{etag}"'.encode()), *_VARY_ACCEPT)
    if cached:
        return Response(304, b"", b"", headers)
    if media == MEDIA_TYPES["protobuf"]:
        body = await _to_protobuf(body)
    elif media.endswith("yaml"):
        body = yaml_codec.encode(json_codec.decode(body))
    return Response(200, body, (media + parameters).encode(), headers)


async def _to_protobuf(body: bytes) -> bytes:
    """Encode a document as protobuf. A long document is encoded in a thread."""
    return await asyncio.to_thread(_encode_protobuf, body) if len(body) > _THREAD_THRESHOLD else _encode_protobuf(body)


@lru_cache(maxsize=16)
def _encode_protobuf(body: bytes) -> bytes:
    return encode_document(json_codec.decode(body))


def _not_found() -> Response:
    return Response(404, b"404 page not found\n", TEXT, _NO_SNIFF)


def _version() -> bytes:
    return indent(
        json_codec.encode_ordered(
            {
                "major": "1",
                "minor": KUBERNETES_MINOR,
                "emulationMajor": "1",
                "emulationMinor": KUBERNETES_MINOR,
                "minCompatibilityMajor": "1",
                "minCompatibilityMinor": "35",
                "gitVersion": GIT_VERSION,
                "gitCommit": "",
                "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z",
                "goVersion": "",
                "compiler": platform.python_implementation(),
                "platform": f"{platform.system().lower()}/{platform.machine()}",
            }
        )
    )
