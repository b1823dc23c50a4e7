"""The URL library: parsing of URLs and access to their parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import KIND_BY_CLASS
from polykind.golang.url import URLError, parse_url

_is_unescaped_path = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%]*").fullmatch


class URL(NamedTuple):
    """A parsed absolute URL or absolute path."""

    text: str
    scheme: str
    host: str
    path: str
    query: str


KIND_BY_CLASS[URL] = "kubernetes.URL"


def _url(text: str) -> URL:
    try:
        parse_url(text, request=True)
        parsed = parse_url(text)
    except URLError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None
    rest = text.partition("#")[0].partition("?")[0]
    if parsed.scheme:
        rest = rest.partition(":")[2]
        if not rest.startswith("/"):
            rest = ""
    if rest.startswith("//") and parsed.host:
        rest = rest[2:]
        slash = rest.find("/")
        rest = rest[slash:] if slash >= 0 else ""
    elif rest.startswith("//") and parsed.scheme:
        rest = rest[2:]
    return URL(text, parsed.scheme, parsed.host, rest, parsed.query)


def _is_url(text: str) -> bool:
    try:
        parse_url(text, request=True)
    except URLError:
        return False
    return True


def _hostname(url: URL) -> str:
    host = _split_port(url.host)[0]
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _split_port(host: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.*):([0-9]*)", host, re.DOTALL)
    return (match[1], match[2]) if match else (host, "")


def _escaped_path(url: URL) -> str:
    if _is_unescaped_path(url.path):
        return url.path
    return "".join(
        char if _is_unescaped_path(char) else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
        for char in url.path
    )


def _query(url: URL) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for pair in url.query.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        if re.search(r"%(?![0-9A-Fa-f]{2})", pair):
            continue
        values.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return values


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "url string_to_url string -> url": _url,
    "isURL is_url_string string -> bool": _is_url,
    ".getScheme url_get_scheme url -> string": lambda url: url.scheme,
    ".getHost url_get_host url -> string": lambda url: url.host,
    ".getHostname url_get_hostname url -> string": _hostname,
    ".getPort url_get_port url -> string": lambda url: _split_port(url.host)[1],
    ".getEscapedPath url_get_escaped_path url -> string": _escaped_path,
    ".getQuery url_get_query url -> map(string,list(string))": _query,
}
