"""URLs as Go's net/url reads them, for the rules of webhook addresses and approval annotations."""

from __future__ import annotations

import re
from typing import NamedTuple

from polykind.golang.fmt import go_quote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&'()*+,;=:[]<>\"%")


class URLError(ValueError):
    """The text is no URL; says why as Go does."""


class URL(NamedTuple):
    """The parts of a URL that rules look at."""

    scheme: str
    host: str
    userinfo: str | None
    query: str
    fragment: str


def parse_url(text: str, *, request: bool = False) -> URL:
    """Read a URL; a `request` one must be absolute or a path, and has no fragment. Raises URLError."""
    rest, _, fragment = (text, "", "") if request else text.partition("#")
    try:
        url = _parse(rest, request)
        _check_escapes(fragment)
    except URLError as error:
        raise URLError(f"parse {go_quote(rest if not fragment else text)}: {error}") from None
    return url._replace(fragment=fragment)


def _parse(text: str, request: bool) -> URL:
    if any(char < " " or char == "\x7f" for char in text):
        raise URLError("net/url: invalid control character in URL")
    if not text and request:
        raise URLError("empty url")
    if text == "*":
        return URL("", "", None, "", "")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme, "", None, query, "")
        if request:
            raise URLError("invalid URI for request")
        if ":" in rest.split("/", 1)[0]:
            raise URLError("first path segment in URL cannot contain colon")
    host, userinfo = "", None
    if (scheme or (not request and not rest.startswith("///"))) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host, userinfo = _authority(authority)
    _check_escapes(rest)
    return URL(scheme, host, userinfo, query, "")


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise URLError("missing protocol scheme")
    found = _SCHEME.match(text)
    if found is None or text[found.end() : found.end() + 1] != ":":
        return "", text
    return found[0].lower(), text[found.end() + 1 :]


def _authority(text: str) -> tuple[str, str | None]:
    userinfo, at, host = text.rpartition("@")
    _check_host(host)
    if not at:
        return host, None
    if not _USERINFO.fullmatch(userinfo):
        raise URLError("net/url: invalid userinfo")
    _check_escapes(userinfo)
    return host, userinfo


def _check_host(host: str) -> None:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise URLError("missing ']' in host")
        port = host[end + 1 :]
    else:
        colon = host.rfind(":")
        port = host[colon:] if colon >= 0 else ""
    if port and not re.fullmatch(r":\d*", port, re.ASCII):
        raise URLError(f"invalid port {go_quote(port)} after host")
    for char in host:
        if char not in _HOST_ALLOWED and char.isascii():
            raise URLError(f"invalid character {go_quote(char)} in host name")
    _check_escapes(host)


def _check_escapes(text: str) -> None:
    broken = _ESCAPE.search(text)
    if broken is not None:
        raise URLError(f"invalid URL escape {go_quote(text[broken.start() : broken.start() + 3])}")
