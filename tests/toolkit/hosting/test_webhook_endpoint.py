"""Host addresses, and the patches of a CRD that point to them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from polykind.pki.authority import make_authority
from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CA = make_authority("polykind-host-ca", NOW).certificate_pem
OTHER = make_authority("other", NOW).certificate_pem
SERVICE = {"namespace": "crontabs", "name": "converter", "port": 443, "path": "/convert"}


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def stanza(bundle: bytes = CA, **config: Any) -> dict[str, Any]:
    client = {"service": SERVICE, "caBundle": encoded(bundle)} | config
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("crontabs/converter", WebhookEndpoint("crontabs", "converter")),
        ("crontabs/converter:8443", WebhookEndpoint("crontabs", "converter", 8443)),
        ("crontabs/converter/other", WebhookEndpoint("crontabs", "converter", 443, "/other")),
        ("crontabs/converter:1/a/b", WebhookEndpoint("crontabs", "converter", 1, "/a/b")),
    ],
)
def test_service_is_parsed(text: str, endpoint: WebhookEndpoint) -> None:
    assert WebhookEndpoint.of_service(text) == endpoint


@pytest.mark.parametrize("text", ["", "x", "x/", "/x", "a/B", "a/b:0", "a/b:65536", "a/b:x", "a b/c", "a/b?q"])
def test_invalid_service_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="must be namespace/name, or namespace/name:port/path") as caught:
        WebhookEndpoint.of_service(text)
    assert str(caught.value).startswith(f"--service {text}: ")


@pytest.mark.parametrize(
    "text", ["", "http://x", "https://", "https://x?q", "https://x#f", "https://u@x", "https://x:port", "https://[x"]
)
def test_invalid_url_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="--url "):
        WebhookEndpoint.of_url(text)


def test_certificate_names() -> None:
    assert WebhookEndpoint.of_service("crontabs/converter").names == [
        "converter.crontabs.svc", "converter.crontabs.svc.cluster.local", "converter.crontabs", "converter"
    ]  # fmt: skip
    assert WebhookEndpoint.of_url("https://[::1]:8443/convert").names == ["::1"]


HERE = WebhookEndpoint.of_service("crontabs/converter")


def test_matching_crd_needs_no_patch() -> None:
    assert HERE.conversion_patch(stanza(), CA, b"", NOW) == {}


def test_additional_review_versions_are_kept() -> None:
    present = stanza()
    present["webhook"]["conversionReviewVersions"] = ["v1beta1", "v1"]
    assert HERE.conversion_patch(present, CA, b"", NOW) == {}


def test_crd_without_webhook_gets_one() -> None:
    assert HERE.conversion_patch({"strategy": "None"}, CA, b"", NOW) == stanza()


def test_patch_has_only_the_bundle() -> None:
    assert HERE.conversion_patch(stanza(OTHER), CA, b"", NOW) == {
        "webhook": {"clientConfig": {"caBundle": encoded(OTHER + CA)}}
    }


def test_patch_has_only_the_service() -> None:
    present = stanza(service={**SERVICE, "path": "/old"})
    assert HERE.conversion_patch(present, CA, b"", NOW) == {"webhook": {"clientConfig": {"service": SERVICE}}}


def test_url_replaces_service() -> None:
    there = WebhookEndpoint.of_url("https://converter.example:8443/x")
    assert there.conversion_patch(stanza(), CA, b"", NOW) == {
        "webhook": {"clientConfig": {"service": None, "url": "https://converter.example:8443/x"}}
    }


def test_retired_certificates_are_removed() -> None:
    assert HERE.conversion_patch(stanza(OTHER + CA), CA, OTHER, NOW) == {
        "webhook": {"clientConfig": {"caBundle": encoded(CA)}}
    }


def test_bundle_is_kept_without_own_ca() -> None:
    assert HERE.conversion_patch(stanza(OTHER), b"", b"", NOW) == {}


@pytest.mark.parametrize("broken", ["!!", 7, "AAAA"])
def test_invalid_bundle_is_replaced(broken: Any) -> None:
    changes = HERE.conversion_patch(stanza(caBundle=broken), CA, b"", NOW)
    assert changes == {"webhook": {"clientConfig": {"caBundle": encoded(CA)}}}
