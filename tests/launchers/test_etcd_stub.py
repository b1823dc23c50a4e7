"""The etcd stub: its flags and its responses."""

from __future__ import annotations

import pytest

from polykind.launchers.etcd_stub import UrlError, client_urls, listen, main, response


@pytest.mark.parametrize(
    ("arguments", "urls"),
    [
        ([], ["http://localhost:2379"]),
        (["--listen-client-urls=http://a:1,http://b:2"], ["http://a:1", "http://b:2"]),
        (["-listen-client-urls", "http://a:1", "-wal-dir", "/w"], ["http://a:1"]),
        (["-data-dir", "listen-client-urls=http://a:1"], ["http://localhost:2379"]),
    ],
)
def test_client_urls_are_found_among_all_flags(arguments: list[str], urls: list[str]) -> None:
    assert client_urls(arguments) == urls


@pytest.mark.parametrize(
    ("request_", "status", "body"),
    [
        (b"GET /health HTTP/1.1\r\n\r\n", b"200 OK", b'{"health":"true","reason":""}'),
        (b"GET /health?serializable=true HTTP/1.1\r\n\r\n", b"200 OK", b'{"health":"true","reason":""}'),
        (b"GET /readyz HTTP/1.1\r\n\r\n", b"200 OK", b"ok"),
        (b"POST /v3/kv/range HTTP/1.1\r\n\r\n", b"404 Not Found", b"404 page not found\n"),
        (b"nonsense", b"404 Not Found", b"404 page not found\n"),
    ],
)
def test_responses(request_: bytes, status: bytes, body: bytes) -> None:
    answer = response(request_)
    assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert answer.endswith(b"\r\n\r\n" + body)
    assert b"Content-Length: %d\r\n" % len(body) in answer


@pytest.mark.parametrize("url", ["https://localhost:1", "http://localhost", "localhost:1", "unix://x:1"])
def test_urls_must_be_http(url: str) -> None:
    with pytest.raises(UrlError, match=url):
        list(listen(url))


@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_help_and_version_exit_with_0(flag: str) -> None:
    assert main([flag]) == 0
