from __future__ import annotations

import base64
import ssl
from typing import Any

import pytest
import trustme

from polykind.webhook import tls
from polykind.webhook.target import Endpoint, Resolver, TargetError, build_target, parse_resolve


class FakeServices:
    """Services of type ExternalName."""

    def __init__(self, hosts: dict[tuple[str, str], str]) -> None:
        self._hosts = hosts

    def external_name(self, namespace: str, name: str) -> str | None:
        return self._hosts.get((namespace, name))

    def routing_error(self, namespace: str, name: str, port: int) -> str:
        return "" if (namespace, name) in self._hosts else f'service "{name}" not found'


@pytest.mark.parametrize(
    ("url", "expected_url", "name", "port"),
    [
        ("https://a.io/convert", "https://a.io/convert", "a.io", 443),
        ("https://127.0.0.1:8443", "https://127.0.0.1:8443/", "127.0.0.1", 8443),
        ("https://[::1]:1/x", "https://[::1]:1/x", "::1", 1),
        ("https://a.io/a//b/../c/", "https://a.io/a/c", "a.io", 443),
        ("https://a.io/a%20b/é", "https://a.io/a%20b/%C3%A9", "a.io", 443),
        ("https://a.io/a%2Fb?x=1#f", "https://a.io/a/b", "a.io", 443),
    ],
)
def test_url_is_parsed_like_kube_apiserver(url: str, expected_url: str, name: str, port: int) -> None:
    target_found = build_target({"url": url}, "crd")
    assert (target_found.url, target_found.server_name, target_found.port) == (expected_url, name, port)
    assert target_found.endpoint(Resolver()) == Endpoint(name, port)


@pytest.mark.parametrize(
    "config", [{}, {"url": ""}, {"url": "https://a:b/"}, {"url": "http://a"}, {"url": "https:///x"}]
)
def test_config_without_address_is_rejected(config: dict[str, Any]) -> None:
    with pytest.raises(TargetError, match='failed calling webhook "hook": '):
        build_target(config, "hook")


def test_service_keeps_its_cluster_name_when_resolved() -> None:
    target_found = build_target({"service": {"namespace": "ns", "name": "conv"}}, "crd")
    assert (target_found.url, target_found.server_name) == ("https://conv.ns.svc:443/", "conv.ns.svc")
    external = {("ns", "conv"): "host.io."}
    assert target_found.endpoint(Resolver()) == Endpoint("conv.ns.svc", 443)
    assert target_found.endpoint(Resolver(None, FakeServices(external))) == Endpoint("host.io", 443)
    overrides = parse_resolve(["ns/conv=127.0.0.1:9443"])
    assert target_found.endpoint(Resolver(overrides, FakeServices({("ns", "conv"): "host.io"}))) == Endpoint(
        "127.0.0.1", 9443
    )


def test_service_without_an_address_is_warned_about() -> None:
    config: dict[str, Any] = {"service": {"namespace": "ns", "name": "conv"}}
    services = FakeServices({("ns", "other"): "host.io"})
    hint = "this server has no network of Services, use --resolve ns/conv=HOST:PORT"
    assert Resolver(None, services).warning(config) == f'the webhook cannot be called: service "conv" not found; {hint}'
    assert Resolver().warning(config) == f"the webhook cannot be called: {hint}"
    assert not Resolver(None, services, in_cluster=True).warning(config)
    assert not Resolver(parse_resolve(["ns/conv=127.0.0.1:1"]), services).warning(config)
    assert not Resolver(None, services).warning({"service": {"namespace": "ns", "name": "other"}})
    assert not Resolver(None, services).warning({"url": "https://a.io"})


def test_resolve_flags_are_parsed() -> None:
    assert parse_resolve(["a/b=[::1]:1", "c/d=host:2"]) == {"a/b": Endpoint("::1", 1), "c/d": Endpoint("host", 2)}
    assert str(Endpoint("::1", 1)) == "[::1]:1"


@pytest.mark.parametrize(
    "flag", ["", "a=b:1", "a/b", "a/b=c", "a/b=c:x", "a/b=c:0", "a/b=c:70000", "/b=c:1", "a/b/c=d:1"]
)
def test_invalid_resolve_flag_is_rejected(flag: str) -> None:
    with pytest.raises(ValueError, match=f"--resolve {flag}"):
        parse_resolve([flag])


def _bundle(pem: bytes) -> bytes:
    return tls.decode_ca_bundle(base64.b64encode(pem).decode())


def test_blank_bundle_counts_as_absent() -> None:
    assert tls.decode_ca_bundle(None) == tls.decode_ca_bundle("") == _bundle(b" \n ") == b""


@pytest.mark.parametrize(
    ("pem", "expected"),
    [
        (b"not a cert", "unable to parse bytes as PEM block"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "failed to parse certificate: x509: malformed certificate",
        ),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no valid certificate authority data seen"),
    ],
)
def test_invalid_bundle_error_matches_kube_apiserver(pem: bytes, expected: str) -> None:
    with pytest.raises(tls.CABundleError) as caught:
        tls.build_ssl_context(_bundle(pem))
    assert str(caught.value) == f"unable to load root certificates: {expected}"


def test_one_valid_certificate_makes_a_bundle_valid() -> None:
    bad = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    context = tls.build_ssl_context(_bundle(bad + trustme.CA().cert_pem.bytes()))
    assert len(context.get_ca_certs()) == 1
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
