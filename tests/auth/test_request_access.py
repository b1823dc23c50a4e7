"""The access that a request needs, derived from its method, path and query."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from polykind.auth.authorizer import Access
from polykind.auth.request_authorization import request_access
from polykind.auth.user import User
from polykind.golang.query import parse_query

ANN = User("ann")
CUSTOM = "/apis/example.com/v1"


def access_of(method: str, target: str) -> Access:
    path, _, query = target.partition("?")
    return request_access(ANN, method, unquote(path), unquote(path).strip("/").split("/"), parse_query(query))


def attributes_of(method: str, target: str) -> tuple[str, str, str, str, str, str]:
    """Return verb, group, resource, subresource, namespace and name."""
    access = access_of(method, target)
    assert access.path is None
    return access.verb, access.group, access.resource, access.subresource, access.namespace, access.name


@pytest.mark.parametrize(
    ("method", "verb"),
    [
        ("GET", "get"),
        ("HEAD", "get"),
        ("POST", "create"),
        ("PUT", "update"),
        ("PATCH", "patch"),
        ("DELETE", "delete"),
        ("OPTIONS", ""),
    ],
)
def test_verb_for_an_object_follows_the_method(method: str, verb: str) -> None:
    expected = (verb, "example.com", "widgets", "", "team", "a")
    assert attributes_of(method, f"{CUSTOM}/namespaces/team/widgets/a") == expected


@pytest.mark.parametrize(
    ("method", "query", "verb", "name"),
    [
        ("GET", "", "list", ""),
        ("GET", "?watch=1", "watch", ""),
        ("GET", "?watch=false", "list", ""),
        ("HEAD", "?watch", "watch", ""),
        ("GET", "?fieldSelector=metadata.name%3Da", "list", "a"),
        ("GET", "?watch=1&fieldSelector=metadata.name=a", "watch", "a"),
        ("GET", "?fieldSelector=metadata.name!=a", "list", ""),
        ("GET", "?fieldSelector=metadata.name%3Da%2Fb", "list", ""),
        ("GET", "?fieldSelector=metadata.name%3Da&limit=x", "list", ""),
        ("GET", "?fieldSelector=nonsense&watch=1", "watch", ""),
        ("GET", "?fieldSelector=metadata.name%3Da&labelSelector=!!", "list", ""),
        ("DELETE", "", "deletecollection", ""),
        ("DELETE", "?fieldSelector=metadata.name%3Da", "deletecollection", ""),
        ("POST", "", "create", ""),
    ],
)
def test_verb_for_a_collection_follows_the_query(method: str, query: str, verb: str, name: str) -> None:
    expected = (verb, "example.com", "widgets", "", "team", name)
    assert attributes_of(method, f"{CUSTOM}/namespaces/team/widgets{query}") == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/namespaces", ("list", "", "namespaces", "", "", "")),
        ("/api/v1/namespaces/team", ("get", "", "namespaces", "", "team", "team")),
        ("/api/v1/namespaces/team/status", ("get", "", "namespaces", "status", "team", "team")),
        ("/api/v1/namespaces/team/finalize", ("get", "", "namespaces", "finalize", "team", "team")),
        ("/api/v1/namespaces/team/services", ("list", "", "services", "", "team", "")),
        (f"{CUSTOM}/widgets", ("list", "example.com", "widgets", "", "", "")),
        (f"{CUSTOM}/gadgets/a/status", ("get", "example.com", "gadgets", "status", "", "a")),
        (f"{CUSTOM}/gadgets/a/b/c/d", ("get", "example.com", "gadgets", "b", "", "a")),
        (f"{CUSTOM}/watch/widgets", ("watch", "example.com", "widgets", "", "", "")),
        (f"{CUSTOM}/watch/namespaces/team/widgets/a", ("watch", "example.com", "widgets", "", "team", "a")),
        ("/api/v1/proxy/namespaces/team/services/a/b", ("proxy", "", "services", "", "team", "a")),
        (f"{CUSTOM}/widgets/", ("list", "example.com", "widgets", "", "", "")),
        (f"{CUSTOM}/gadgets/a%2Fstatus", ("get", "example.com", "gadgets", "status", "", "a")),
    ],
)
def test_path_names_the_resource(path: str, expected: tuple[str, ...]) -> None:
    assert attributes_of("GET", path) == expected


@pytest.mark.parametrize(
    "path", ["/", "/foo", "/api", "/api/v1", "/apis", "/apis/example.com/v1", "/foo/a/b/c", "/a%20b"]
)
def test_non_resource_path_keeps_path_and_method(path: str) -> None:
    assert access_of("GET", f"{path}?x=y") == Access(ANN, "get", path=unquote(path))
    assert access_of("POST", path).verb == "post"
