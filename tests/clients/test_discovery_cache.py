"""Clients keep discovery by its ETag: an answer of 304 must leave what they kept as it is."""

from __future__ import annotations

import pytest

from tests.conformance.client import Server
from tests.support.server import ServerProcess

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@pytest.mark.parametrize("path", ["/api", "/apis", "/openapi/v2"])
def test_what_is_unchanged_is_told_without_a_body_or_its_headers(server: ServerProcess, path: str) -> None:
    api = Server(server.url, server.token)
    first = api.call("GET", path, headers={"Accept": AGGREGATED})
    tag = first.headers["etag"]
    assert tag[0] == tag[-1] == '"', "an entity tag is quoted"
    again = api.call("GET", path, headers={"Accept": AGGREGATED, "If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == tag
    # A cache copies the headers of a 304 over those it kept, so these would turn one document into another.
    assert "content-type" not in again.headers
    assert "content-length" not in again.headers
    other = api.call("GET", path, headers={"Accept": AGGREGATED, "If-None-Match": '"other"'})
    assert other.status == 200
