"""The pages /statusz and /flagz."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from polykind import errors
from polykind.http.messages import Request
from polykind.operations.responses import Response
from polykind.server.debugging_pages import DebuggingPages
from polykind.server.settings import Settings

STARTED = datetime(2026, 11, 7, 22, 13, 58, 900_000, tzinfo=UTC)


class AdvancingClock:
    """A clock that advances by 25 hours, 2 minutes and 3 seconds after its first use."""

    def __init__(self) -> None:
        self._times = [STARTED, STARTED + timedelta(hours=25, minutes=2, seconds=3)]

    def now(self) -> datetime:
        return self._times.pop(0)

    def monotonic(self) -> float:
        return 0.0


def page(path: str, accept: str = "", agent: str = "") -> Response:
    """Return a page of a server that started 25 hours, 2 minutes and 3 seconds ago."""
    pages = DebuggingPages(AdvancingClock(), Settings(authorization_mode=("RBAC",)).flags)
    headers = {b"accept": accept.encode(), b"user-agent": agent.encode()}
    return pages.respond(Request("GET", path, "", headers, b""), path)


def text(response: Response) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()


def accept_of(kind: str, version: str = "v1beta1", media: str = "application/json") -> str:
    return f"{media};v={version};g=config.k8s.io;as={kind}"


@pytest.mark.parametrize("accept", ["", " ", "*/*", "text/*", "text/plain", "application/json, text/plain;q=0.5"])
def test_status_is_plain_text_by_default(accept: str) -> None:
    response = page("/statusz", accept)
    assert response.content_type == b"text/plain; charset=utf-8"
    lines = text(response).split("\n")
    assert lines[:2] == ["", "apiserver statusz"]
    assert lines[2].startswith("Warning: This endpoint is not meant to be machine parseable")
    assert lines[3] == lines[-1] == ""
    assert [re.split(r":  |: |= |  ", line, maxsplit=1) for line in lines[4:-1]] == [
        ["Started", "Sat Nov  7 22:13:58 UTC 2026"],
        ["Up", "25 hr 02 min 03 sec"],
        ["Go version", ""],
        ["Binary version", "1.36.0"],
        ["Emulation version", "1.36"],
        ["Paths", "/flagz /healthz /livez /metrics /readyz /statusz /version"],
    ]


def test_status_is_an_object_if_the_client_asks_for_it() -> None:
    response = page("/statusz", accept_of("Statusz"))
    assert response.content_type == b"application/json;g=config.k8s.io;v=v1beta1;as=Statusz"
    assert response.headers == ()
    assert text(response) == (
        '{"kind":"Statusz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"apiserver"},'
        '"startTime":"2026-11-07T22:13:58Z","uptimeSeconds":90123,"goVersion":"","binaryVersion":"1.36.0",'
        '"emulationVersion":"1.36",'
        '"paths":["/flagz","/healthz","/livez","/metrics","/readyz","/statusz","/version"]}\n'
    )


def test_yaml_and_indented_json_have_the_same_content() -> None:
    plain = json.loads(text(page("/statusz", accept_of("Statusz"))))
    in_yaml = page("/statusz", accept_of("Statusz", media="application/yaml"))
    assert in_yaml.content_type == b"application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz"
    assert yaml.safe_load(text(in_yaml)) == plain
    indented = text(page("/statusz", accept_of("Statusz"), agent="curl/8"))
    assert indented.startswith('{\n  "kind": "Statusz",\n')
    assert json.loads(indented) == plain


@pytest.mark.parametrize(("path", "kind"), [("/statusz", "Statusz"), ("/flagz", "Flagz")])
def test_alpha_version_is_deprecated(path: str, kind: str) -> None:
    response = page(path, accept_of(kind, "v1alpha1"))
    assert json.loads(text(response))["apiVersion"] == "config.k8s.io/v1alpha1"
    warning = f'299 - "This version of the {path[1:]} endpoint is deprecated. Please use a newer version."'
    assert response.headers == ((b"Warning", warning.encode()),)


@pytest.mark.parametrize(
    "accept",
    [
        *("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/html"),
        *(accept_of("Flagz"), accept_of("Statusz", "v1"), accept_of("Statusz", media="text/plain")),
        f"{accept_of('Statusz')};stream=watch",
    ],
)
def test_other_formats_are_not_acceptable(accept: str) -> None:
    message = "only the following media types are accepted: application/json, application/yaml, text/plain"
    with pytest.raises(errors.NotAcceptableError, match=message):
        page("/statusz", accept)


def test_flags_have_go_formats() -> None:
    flags = json.loads(text(page("/flagz", accept_of("Flagz"))))["flags"]
    assert list(flags) == sorted(flags)
    expected = {
        "authorization-mode": "[RBAC]",
        "etcd-servers": "[]",
        "event-ttl": "1h0m0s",
        "feature-gates": "",
        "garbage-collector": "true",
        "request-timeout": "1m0s",
        "secure-port": "6443",
        "token-auth-file": "",
    }
    assert {name: flags[name] for name in expected} == expected
    assert re.search(r"^request-timeout(:|: |=| )1m0s$", text(page("/flagz")), re.MULTILINE)
