"""Clients cache discovery by ETag, so a 304 response must not change the cached headers."""

from __future__ import annotations

import pytest

from tests.conformance.client import Server
from tests.support.server import ServerProcess

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@pytest.mark.parametrize("path", ["/api", "/apis", "/openapi/v2"])
def test_304_has_neither_body_nor_content_headers(server: ServerProcess, path: str) -> None:
    api = Server(server.url, server.token)
    first = api.call("GET", path, headers={"Accept": AGGREGATED})
    tag = first.headers["etag"]
    assert tag[0] == tag[-1] == '"', "an entity tag is quoted"
    again = api.call("GET", path, headers={"Accept": AGGREGATED, "If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == tag
    # A client copies the headers of a 304 over the cached ones, so these headers would corrupt the cached document.
    assert "content-type" not in again.headers
    assert "content-length" not in again.headers
    other = api.call("GET", path, headers={"Accept": AGGREGATED, "If-None-Match": '"other"'})
    assert other.status == 200
