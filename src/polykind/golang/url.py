"""URLs as Go's net/url parses them."""

from __future__ import annotations

import re
from typing import NamedTuple

from polykind.golang.fmt import go_quote
from polykind.golang.net import is_ip

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r"(?::[0-9]*)?")
_HOST_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&'()*+,;=:[]<>\"%")
_is_host = re.compile(r"(?:[^\x00-\x20#%/?@\\^`{|}\x7f]|%25|%[89A-Fa-f][0-9A-Fa-f])*").fullmatch


class URLError(ValueError):
    """The text is not a URL. The message is the same as Go's."""


class URL(NamedTuple):
    """The parts of a URL that validation needs."""

    scheme: str
    host: str
    userinfo: str | None
    query: str
    fragment: str


def parse_url(text: str, *, request: bool = False) -> URL:
    """Parse a URL as Go's url.Parse does, or as url.ParseRequestURI does if `request` is true.

    ParseRequestURI accepts only absolute URLs and absolute paths, and does not split off a fragment. Raise URLError if
    the URL is invalid.
    """
    rest, _, fragment = (text, "", "") if request else text.partition("#")
    try:
        url = _parse(rest, request)
        _check_escapes(fragment)
    except URLError as error:
        raise URLError(f"parse {go_quote(rest if not fragment else text)}: {error}") from None
    return url._replace(fragment=fragment)


def is_request_uri(text: str) -> bool:
    """True if url.ParseRequestURI accepts the text, as the string format `uri` requires.

    Unlike `parse_url`, this function follows the Go versions that check the IP address and the port of a host strictly.
    """
    if not text or _has_control_character(text) or text[0] == ":":
        return False
    if text == "*":
        return True
    scheme, rest = _split_scheme(text)
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return bool(scheme)
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_strict_authority(scheme, authority) and not _ESCAPE.search(slash + path)
    return not _ESCAPE.search(rest)


def _parse(text: str, request: bool) -> URL:
    if _has_control_character(text):
        raise URLError("net/url: invalid control character in URL")
    if not text and request:
        raise URLError("empty url")
    if text == "*":
        return URL("", "", None, "", "")
    if text.startswith(":"):
        raise URLError("missing protocol scheme")
    scheme, rest = _split_scheme(text)
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
        host, userinfo = _parse_authority(authority)
    _check_escapes(rest)
    return URL(scheme, host, userinfo, query, "")


def _has_control_character(text: str) -> bool:
    return any(char < " " or char == "\x7f" for char in text)


def _split_scheme(text: str) -> tuple[str, str]:
    """Return the scheme in lower case and the rest of the URL. The scheme is empty if there is none."""
    scheme = _SCHEME.match(text)
    if scheme is None or text[scheme.end() : scheme.end() + 1] != ":":
        return "", text
    return scheme[0].lower(), text[scheme.end() + 1 :]


def _parse_authority(text: str) -> tuple[str, str | None]:
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
    if not _PORT.fullmatch(port):
        raise URLError(f"invalid port {go_quote(port)} after host")
    for char in host:
        if char not in _HOST_ALLOWED and char.isascii():
            raise URLError(f"invalid character {go_quote(char)} in host name")
    _check_escapes(host)


def _check_escapes(text: str) -> None:
    broken = _ESCAPE.search(text)
    if broken is not None:
        raise URLError(f"invalid URL escape {go_quote(text[broken.start() : broken.start() + 3])}")


def _is_strict_authority(scheme: str, authority: str) -> bool:
    userinfo, _, host = authority.rpartition("@")
    if not _USERINFO.fullmatch(userinfo) or _ESCAPE.search(userinfo):
        return False
    bracket = host.rfind("[")
    if bracket > 0:
        return False
    if bracket == 0:
        inside, close, port = host[1:].rpartition("]")
        if not close or not _PORT.fullmatch(port) or not _is_host(inside.partition("%25")[0]):
            return False
        address, _, zone = inside.partition("%25")
        return ":" in address and is_ip(address) and ("%25" not in inside or bool(zone))
    if ":" in host:
        at = host.find(":") if scheme in ("http", "https") else host.rfind(":")
        if not _PORT.fullmatch(host[at:]):
            return False
    return _is_host(host) is not None
