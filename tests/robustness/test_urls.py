"""Malformed paths and query values get a 4xx or kube-apiserver's interpretation, never an unexpected 500."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.client import Answer
from tests.robustness.conftest import CRDS, Ask
from tests.support.raw import exchange, head, statuses
from tests.support.server import ServerProcess

ABSURD = ["", "-1", "0", "99999999999999999999999", "1e9", "NaN", "true", "null", "%00", "%ff", "a,b", "[]", "x" * 3000]
PARAMETERS = [
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "labelSelector",
    "fieldSelector",
    "fieldManager",
    "fieldValidation",
    "dryRun",
    "pretty",
    "timeout",
    "includeObject",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "propagationPolicy",
    "gracePeriodSeconds",
    "orphanDependents",
    "force",
    "unknown",
]


RECORDED = (b"resourceVersion: Invalid value: ", b"invalid key: ")
"""Messages that kube-apiserver itself returns with a 500."""


def accepted(answer: Answer) -> None:
    recorded = answer.status == 500 and any(text in answer.body for text in RECORDED)
    assert answer.status < 500 or recorded, (answer.status, answer.body[:500])


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_absurd_parameter_values(ask: Ask, tabs: str, parameter: str) -> None:
    for value in ABSURD:
        accepted(ask("GET", f"{tabs}?{parameter}={value}"))
        accepted(ask("GET", f"{tabs}/my-crontab?{parameter}={value}"))
        accepted(ask("GET", f"{tabs}?watch=1&timeoutSeconds=1&resourceVersion=junk&{parameter}={value}"))
        accepted(ask("POST", f"{tabs}?dryRun=All&{parameter}={value}", b"{}"))
        accepted(ask("PATCH", f"{tabs}/absent?{parameter}={value}", b"{}", Content_Type="application/merge-patch+json"))
        accepted(ask("DELETE", f"{tabs}/absent?{parameter}={value}"))


JUNK = [
    b"/%",
    b"/%zz",
    b"/%2",
    b"/%00",
    b"/%ff%fe",
    b"/apis/%2e%2e/%2e%2e",
    b"/../../etc/passwd",
    b"//apis//",
    b"/apis/a/b/c/d/e/f/g/h/i/j",
    b"/apis/" + b"x" * 5000,
    b"/" + b"a/" * 2000,
    b"/apis?%zz=1",
    b"/apis?;&;&=&==",
    b"*",
    b"http://[::1/",
    b"/apis#fragment",
    b"/\xc3\xa9",
    b"/\xff",
]


@pytest.mark.parametrize("path", JUNK, ids=[repr(p[:20]) for p in JUNK])
def test_junk_path_is_not_found_or_rejected(server: ServerProcess, ask: Ask, path: bytes) -> None:
    for method in (b"GET", b"POST", b"DELETE"):
        answer = exchange(server, head(server, method, path, b"Content-Length: 0"))
        assert all(code < 500 for code in statuses(answer)), answer[:500]


@pytest.mark.parametrize("junk", ["%2F", "%00", "a%2Fb", "%25", "%0A", "..", "%2e%2e", "a b".replace(" ", "%20")])
def test_junk_name_is_not_found_or_rejected(ask: Ask, tabs: str, junk: str) -> None:
    accepted(ask("GET", f"{tabs}/{junk}"))
    accepted(ask("DELETE", f"{tabs}/{junk}"))
    accepted(ask("GET", f"{CRDS}/{junk}"))
    accepted(ask("GET", tabs.replace("default", junk)))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#?"), max_size=60))
def test_any_path_gets_a_response(server: ServerProcess, ask: Ask, text: str) -> None:
    answer = exchange(server, head(server, b"GET", b"/" + text.encode()))
    codes = statuses(answer)
    assert codes
    assert codes[0] < 500, answer[:500]


@pytest.mark.parametrize(
    "selector",
    ["a=b=c", "(", "a in (", "a in ()", "!", "!!a", ",", "a notin", "x" * 400, "a>b", "a<1,", "é=1", "a=" + "v" * 100],
)
def test_bad_selector_is_rejected(ask: Ask, tabs: str, selector: str) -> None:
    accepted(ask("GET", f"{tabs}?labelSelector={quote(selector)}"))
    accepted(ask("GET", f"{tabs}?fieldSelector={quote(selector)}"))
    accepted(ask("DELETE", f"{tabs}?dryRun=All&labelSelector={quote(selector)}"))
