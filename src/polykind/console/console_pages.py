"""The responses at /console/: static files, and the settings that the console needs before sign-in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from polykind.codec import json_codec
from polykind.console.console_files import INDEX, ConsoleFile, load_files
from polykind.contract import JsonObject
from polykind.http.conditional import accepts_gzip
from polykind.http.messages import TEXT, Request
from polykind.operations.responses import JSON, Header, Response

ROOT: Final = "/console/"
_CONFIG: Final = "config.json"
_HASHED: Final = "assets/"
_SECURITY: Final[tuple[Header, ...]] = (
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"Cross-Origin-Opener-Policy", b"same-origin"),
    (b"Cross-Origin-Resource-Policy", b"same-origin"),
)
_NOT_BUILT: Final = b"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Polykind</title></head>
<body><h1>The console is not built</h1>
<p>This server runs from a source tree without the built files of the console.
Install Node.js 20 or later with npm, run <code>make console</code>, and start the server again.</p>
<p>The API works without the console. Released packages of Polykind contain it.</p></body></html>
"""


class ConsolePages:
    """Serves the console. It needs no credentials: the files contain no data, and the API checks each request."""

    def __init__(self, issuers: Callable[[], Sequence[JsonObject]]) -> None:
        """`issuers` returns the issuers that users can sign in with, each with `issuer` and `clientID`."""
        self._issuers = issuers
        self._files = load_files()

    def respond(self, request: Request) -> Response:
        """Return the response to a request below /console, or the redirect of a browser to it."""
        path = unquote(request.path)
        if path in ("/", "/console"):
            headers: tuple[Header, ...] = ((b"Location", ROOT.encode()), (b"Vary", b"Accept, Authorization"))
            return Response(302, b"", b"", (*headers, (b"Cache-Control", b"no-store"), *_SECURITY))
        if request.method not in ("GET", "HEAD"):
            return Response(405, b"405 method not allowed\n", TEXT, ((b"Allow", b"GET, HEAD"), *_SECURITY))
        name = path.removeprefix(ROOT)
        if name == _CONFIG:
            body = json_codec.encode({"issuers": list(self._issuers())})
            return Response(200, body, JSON, ((b"Cache-Control", b"no-store"), *_SECURITY))
        if not self._files:
            return Response(503, _NOT_BUILT, b"text/html; charset=utf-8", (self._policy(), *_SECURITY))
        file = self._files.get(name)
        if file is None and name.startswith(_HASHED):
            return Response(404, b"404 page not found\n", TEXT, ((b"Cache-Control", b"no-store"), *_SECURITY))
        # All other paths are pages of the application, which reads the path itself.
        return self._file(request, file if file is not None else self._files[INDEX])

    def _file(self, request: Request, file: ConsoleFile) -> Response:
        tag = f'"{file.etag}"'
        caching = b"public, max-age=31536000, immutable" if file.immutable else b"no-cache"
        headers = (
            (b"Cache-Control", caching),
            (b"Etag", tag.encode()),
            (b"Vary", b"Accept-Encoding"),
            self._policy(),
            *_SECURITY,
        )
        if tag in request.header(b"if-none-match"):
            return Response(304, b"", b"", headers)
        if accepts_gzip(request.header(b"accept-encoding")):
            return Response(200, file.compressed, file.content_type, (*headers, (b"Content-Encoding", b"gzip")))
        return Response(200, file.content, file.content_type, headers)

    def _policy(self) -> Header:
        """Return the Content-Security-Policy. It allows connections to this server and to the issuers' addresses."""
        connect = " ".join(["'self'", *sorted({_origin(issuer["issuer"]) for issuer in self._issuers()})])
        directives = (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "font-src 'self'",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
        return b"Content-Security-Policy", "; ".join(directives).encode()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
