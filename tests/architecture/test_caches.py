"""Every cache of the source is bounded, or holds only what the source itself names.

`functools.cache` and `lru_cache` count entries and not bytes. So what clients send is kept in a `BoundedCache`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from contextlib import ExitStack
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import polykind
from polykind.bounded_cache import BoundedCache
from tests.conformance.client import Server
from tests.robustness.probe import memory
from tests.support.server import ServerProcess

_OFFLINE = ("polykind.toolkit", "polykind.testing", "polykind.benchmark", "polykind.launchers", "polykind.cli")
_FIXED = {
    "polykind.admission.plugins.pod_security_checks": "the versions of the Pod security standards",
    "polykind.apis.batch.time_zones": "the names of time zones",
    "polykind.apis.groups": "built-in kinds",
    "polykind.apis.machinery.apply_types": "built-in types",
    "polykind.apis.machinery.decoding_program": "built-in types",
    "polykind.apis.machinery.empty_lists": "built-in types",
    "polykind.apis.machinery.protobuf_reader": "built-in types",
    "polykind.apis.machinery.protobuf_writer": "built-in types",
    "polykind.apis.machinery.type_tables": "built-in types",
    "polykind.apis.machinery.version_conversion": "built-in types",
    "polykind.codec.negotiation": "the media types that resources offer",
    "polykind.discovery.builtins": "built-in kinds",
    "polykind.discovery.openapi.openapi_protobuf": "names in OpenAPI documents, which are shorter than CRDs",
    "polykind.discovery.openapi.templates": "the templates of OpenAPI documents",
    "polykind.grpc.grpc_connection": "the heads of requests to etcd",
    "polykind.http2.huffman": "one table",
    "polykind.http.client_handshake": "the TLS context of the server",
    "polykind.http.conditional": "two documents of the server",
    "polykind.http.http2.http2_request": "one value",
    "polykind.http.http2.http2_response": "names of the server's own headers",
    "polykind.operations.operation": "64 verbs",
    "polykind.resources.schema_digests": "built-in types",
    "polykind.schema.plain_schema": "one table",
    "polykind.server.endpoints": "16 documents of the server",
    "polykind.store.sqlite.write_log": "statements",
    "polykind.verbs.binding": "one kind",
    "polykind.verbs.builtin_scale": "built-in kinds",
    "polykind.verbs.eviction": "one kind",
    "polykind.verbs.subresources": "built-in subresources",
    "polykind.verbs.token_request": "one kind",
    "polykind.webhook.transport_errors": "one table",
}
"""Modules with a cache that counts entries, and what it holds. Requests cannot make it grow."""
_OF_STORED_OBJECTS = ("polykind.resources.protobuf_messages",)
"""Modules whose caches hold forms of stored objects, and not what a request sends."""
_MAX_TOTAL = 64 * 1024 * 1024


def _modules() -> Iterator[Any]:
    for module in pkgutil.walk_packages(polykind.__path__, "polykind."):
        if not module.name.startswith(_OFFLINE) and not module.name.endswith("__main__"):
            yield importlib.import_module(module.name)


def _bounded(value: object) -> Iterator[BoundedCache[Any, Any]]:
    """Yield the bounded cache that a value is, or that the decorator `remember` has put into a function."""
    if isinstance(value, BoundedCache):
        yield value
    for cell in getattr(value, "__closure__", None) or ():
        if isinstance(cell.cell_contents, BoundedCache):
            yield cell.cell_contents


def test_each_cache_that_counts_entries_is_known() -> None:
    found = {
        value.__module__
        for module in _modules()
        for value in vars(module).values()
        if isinstance(value, _lru_cache_wrapper) and value.__module__.startswith("polykind.")
    }
    assert found - _FIXED.keys() == set(), "use polykind.bounded_cache, or say what the cache holds"


def test_bounded_caches_of_modules_are_small_together() -> None:
    modules = (module for module in _modules() if module.__name__ not in _OF_STORED_OBJECTS)
    caches = {id(cache): cache for module in modules for value in vars(module).values() for cache in _bounded(value)}
    assert len(caches) > 5
    assert sum(cache.max_bytes for cache in caches.values()) < _MAX_TOTAL


def test_requests_with_many_and_with_long_texts_leave_no_memory(tmp_path: Path) -> None:
    """Fill every cache that is keyed by a text of a request, as a reader and without credentials."""
    with ServerProcess(tmp_path / "data") as server, ExitStack() as closing:
        api = Server(server.url, server.token)
        connection = api.open()
        closing.callback(connection.close)

        def ask(method: str, path: str, body: bytes | None = None, **headers: str | None) -> None:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            api.request(connection, method, path, body, named).read()

        def fill(count: int, length: int, first: int) -> None:
            for number in range(first, first + count):
                text = f"{number}{'x' * length}"
                headers = {"Accept": f"application/{text}, */*", "User_Agent": text, "Content_Type": f"a/{text}"}
                ask("GET", f"/{text}", None, Authorization=None, **headers)
                ask("GET", f"/api/v1/namespaces/default/configmaps/c?pretty={number}", None, **headers)
                ask("GET", f"/apis/{text[:200]}/v1/{text}", None, Impersonate_User=text)
                ask("GET", f"/api/v1/namespaces/{text}/pods?labelSelector=a!={text}&limit={number}")
                ask("GET", "/api", None, Authorization=f"Bearer {text}.{text}.{text}")
                review = {"spec": {"resourceAttributes": {"resource": text, "verb": text}}}
                body = json.dumps(review).encode()
                ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)

        fill(20, 100, 0)
        before = memory(server.pid, "VmRSS")
        fill(60, 50_000, 100)
        fill(400, 1_500, 1_000)
        assert memory(server.pid, "VmRSS") - before < _MAX_TOTAL // 2
