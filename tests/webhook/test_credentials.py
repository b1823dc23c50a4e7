"""Credentials for webhooks: which user of a kubeconfig fits, and what it sends."""

from __future__ import annotations

import json
import ssl
import time
from pathlib import Path
from typing import Any

import pytest
import trustme

from polykind.cluster.cluster_access import KubeconfigError
from polykind.contract import JsonObject
from polykind.errors import APIError
from polykind.webhook.credentials import read_credentials
from polykind.webhook.target import Endpoint, Resolver
from tests.conversion.conftest import Make
from tests.conversion.hook import Hook, Reply, crontab

V1 = "example.com/v1"


def kubeconfig(folder: Path, users: dict[str, JsonObject], **more: Any) -> Path:
    path = folder / "webhooks.kubeconfig"
    entries = [{"name": name, "user": fields} for name, fields in users.items()]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": entries, **more}))
    return path


@pytest.mark.parametrize(
    ("users", "authority", "expected"),
    [
        (["conv.ns.svc:443", "conv.ns.svc", "*"], "conv.ns.svc:443", "conv.ns.svc:443"),
        (["conv.ns.svc", "*.ns.svc", "*"], "conv.ns.svc:443", "conv.ns.svc"),
        (["conv.ns.svc", "*"], "conv.ns.svc:8443", "*"),
        (["*.ns.svc:8443", "*"], "conv.ns.svc:8443", "*.ns.svc:8443"),
        (["*.svc:443", "conv.ns.svc"], "conv.ns.svc:443", "*.svc:443"),
        (["*.ns.svc", "*.svc"], "conv.ns.svc:443", "*.ns.svc"),
        (["*.svc", "*"], "conv.ns.svc:443", "*.svc"),
        (["*.ns.svc"], "conv.ns.svc:8443", None),
        (["a.io"], "b.io:443", None),
        (["[::1]:8443"], "[::1]:8443", "[::1]:8443"),
        (["::1"], "[::1]:443", "::1"),
        (["current"], "b.io:443", "current"),
        (["*", "current"], "b.io:443", "*"),
        ([], "b.io:443", None),
    ],
)
def test_user_is_found_as_in_kube_apiserver(
    tmp_path: Path, users: list[str], authority: str, expected: str | None
) -> None:
    contexts = [{"name": "c", "context": {"user": "current", "cluster": "none"}}]
    tokens = {name: {"token": name} for name in users}
    found = read_credentials(kubeconfig(tmp_path, tokens, contexts=contexts, **{"current-context": "c"})).find(
        authority
    )
    assert (found.headers()[0][1] if found is not None else None) == (expected and f"Bearer {expected}")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"token": "t"}, [("Authorization", "Bearer t")]),
        ({"username": "u", "password": "p:q"}, [("Authorization", "Basic dTpwOnE=")]),
        ({}, []),
        (
            {"token": "t", "as": "jo", "as-uid": "1", "as-groups": ["g", "h"], "as-user-extra": {"k": ["v"]}},
            [
                ("Authorization", "Bearer t"),
                ("Impersonate-User", "jo"),
                ("Impersonate-Uid", "1"),
                ("Impersonate-Group", "g"),
                ("Impersonate-Group", "h"),
                ("Impersonate-Extra-k", "v"),
            ],
        ),
    ],
)
def test_headers_of_a_user(tmp_path: Path, user: JsonObject, expected: list[tuple[str, str]]) -> None:
    found = read_credentials(kubeconfig(tmp_path, {"*": user})).find("a:443")
    assert found is not None
    assert found.headers() == expected


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"exec": {"command": "x"}}, "exec of a user is not supported"),
        ({"auth-provider": {"name": "x"}}, "auth-provider of a user is not supported"),
        ({"token": "t", "username": "u"}, "username/password or bearer token may be set for a user, but not both"),
        ({"client-certificate-data": "Zm9v"}, "client-certificate and client-key must be set together"),
        ({"tokenFile": "gone"}, "gone cannot be read"),
        ({"client-certificate": "gone", "client-key": "gone"}, "gone cannot be read"),
    ],
)
def test_unusable_user_is_refused(tmp_path: Path, user: JsonObject, says: str) -> None:
    with pytest.raises(KubeconfigError, match=says):
        read_credentials(kubeconfig(tmp_path, {"*": user}))


def test_duplicate_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text('{"users": [{"name": "a", "user": {}}, {"name": "a", "user": {}}]}')
    with pytest.raises(KubeconfigError, match='duplicate user "a"'):
        read_credentials(path)


def test_token_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("one\n")
    found = read_credentials(kubeconfig(tmp_path, {"*": {"tokenFile": "token"}})).find("a:443")
    assert found is not None
    assert found.headers() == [("Authorization", "Bearer one")]
    (tmp_path / "token").write_text("two\n")
    assert found.headers() == [("Authorization", "Bearer one")]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert found.headers() == [("Authorization", "Bearer two")]
    (tmp_path / "token").unlink()
    monkeypatch.setattr(time, "monotonic", lambda: now + 200)
    assert found.headers() == [("Authorization", "Bearer two")]


class MutualHook(Hook):
    """A webhook that requires a client certificate of its authority."""

    def adjust(self, context: ssl.SSLContext) -> None:
        context.verify_mode = ssl.CERT_REQUIRED
        self.authority.configure_trust(context)


def client_pair(folder: Path, authority: trustme.CA, name: str) -> JsonObject:
    issued = authority.issue_cert(name)
    (folder / "client.pem").write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    (folder / "client.key").write_bytes(issued.private_key_pem.bytes())
    return {"client-certificate": "client.pem", "client-key": "client.key"}


async def test_client_certificate_is_presented_and_renewed(tmp_path: Path, make: Make) -> None:
    names: list[str] = []

    async with MutualHook() as hook:
        hook.on_peer = lambda certificate: names.append(certificate["subjectAltName"][0][1])
        user = client_pair(tmp_path, hook.authority, "server.one")
        credentials = read_credentials(kubeconfig(tmp_path, {f"127.0.0.1:{hook.port}": user}))
        converter = make(hook.webhook_config(), credentials=credentials)
        await converter.convert([crontab()], V1)
        client_pair(tmp_path, hook.authority, "server.two")
        await converter.convert([crontab()], V1)
        await converter.convert([crontab()], V1)
        assert names == ["server.one", "server.two", "server.two"]
        assert [call.connection for call in hook.calls] == [1, 2, 2]


async def test_webhook_that_requires_a_certificate_gets_no_call_without_one(make: Make) -> None:
    async with MutualHook() as hook:
        with pytest.raises(APIError, match="while calling https://"):
            await make(hook.webhook_config()).convert([crontab()], V1)
        assert not hook.calls


async def test_credentials_go_to_the_webhook_only(tmp_path: Path, hook: Hook, make: Make) -> None:
    async with Hook(authority=hook.authority) as other:
        hook.behaviour = lambda call: Reply(b"", 307, {"Location": other.url})
        credentials = read_credentials(kubeconfig(tmp_path, {"*": {"token": "secret"}}))
        await make(hook.webhook_config(), credentials=credentials).convert([crontab()], V1)
        assert hook.calls[0].headers["Authorization"] == "Bearer secret"
        assert "Authorization" not in other.calls[0].headers


async def test_service_is_matched_by_its_name(tmp_path: Path, make: Make) -> None:
    async with Hook("conv.ns.svc") as hook:
        config = {"service": {"namespace": "ns", "name": "conv", "port": 8443}, "caBundle": hook.bundle}
        resolver = Resolver({"ns/conv": Endpoint("127.0.0.1", hook.port)})
        credentials = read_credentials(kubeconfig(tmp_path, {"conv.ns.svc:8443": {"token": "t"}}))
        converter = make(
            {"clientConfig": config, "conversionReviewVersions": ["v1"]}, resolver, credentials=credentials
        )
        await converter.convert([crontab()], V1)
        assert hook.calls[0].headers["Authorization"] == "Bearer t"
