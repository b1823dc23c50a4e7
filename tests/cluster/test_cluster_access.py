"""Access to an API server from kubeconfigs and from inside a cluster."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from polykind.cluster.cluster_access import (
    ClusterAccess,
    KubeconfigError,
    find_access,
    in_cluster_access,
    read_kubeconfigs,
)

SERVER = "https://127.0.0.1:6443"


def write(path: Path, *, cluster: Any = None, user: Any = None, **more: Any) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return path


def test_token_and_ca(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    file = write(tmp_path / "k", cluster={"certificate-authority-data": data}, user={"token": "secret"})
    assert read_kubeconfigs([file]) == ClusterAccess(SERVER, b"PEM", token="secret")


def test_secrets_are_not_in_repr() -> None:
    shown = repr(ClusterAccess(SERVER, token="secret", key=b"secret", basic=("me", "secret")))
    assert "secret" not in shown


def test_paths_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"CA")
    (tmp_path / "me.crt").write_bytes(b"CRT")
    (tmp_path / "me.key").write_bytes(b"KEY")
    user = {"client-certificate": "me.crt", "client-key": str(tmp_path / "me.key"), "tokenFile": "token"}
    file = write(tmp_path / "k", cluster={"certificate-authority": "ca.crt", "tls-server-name": "kube"}, user=user)
    expected = ClusterAccess(SERVER, b"CA", "kube", token_file=tmp_path / "token", certificate=b"CRT", key=b"KEY")
    assert read_kubeconfigs([file]) == expected


def test_basic_auth(tmp_path: Path) -> None:
    assert read_kubeconfigs([write(tmp_path / "k", user={"username": "me", "password": "pass"})]).basic == (
        "me",
        "pass",
    )


def test_tls_is_verified_by_default(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read_kubeconfigs([write(tmp_path / "k")]).verify
    file = write(tmp_path / "k", cluster={"insecure-skip-tls-verify": True})
    assert not read_kubeconfigs([file]).verify
    assert caplog.messages == [f"kubeconfig {file}: insecure-skip-tls-verify is set, so the API server is not verified"]


@pytest.mark.parametrize(
    ("section", "fields", "message"),
    [
        (
            "user",
            {"exec": {"command": "aws"}},
            "exec of a user is not supported: use a token (create one with kubectl create token",
        ),
        ("user", {"auth-provider": {"name": "gcp"}}, "auth-provider of a user is not supported: use a token"),
        ("user", {"as": "root"}, "as of a user is not supported"),
        ("cluster", {"proxy-url": "http://p"}, "proxy-url of a cluster is not supported: use the API server's own"),
        ("cluster", {"server": "http://x"}, "the server 'http://x' is not an https:// address"),
        ("cluster", {"certificate-authority-data": "!"}, "certificate-authority-data of a cluster is not base64"),
        ("cluster", {"certificate-authority": "no"}, "no cannot be read: No such file or directory"),
        ("user", {"client-certificate-data": "AAAA"}, "client-certificate and client-key must be set together"),
        ("user", {"token": 7}, "token of a user must be a string"),
    ],
)
def test_unsupported_fields_are_named(tmp_path: Path, section: str, fields: Any, message: str) -> None:
    file = write(tmp_path / "k", **{section: fields})
    with pytest.raises(KubeconfigError) as caught:
        read_kubeconfigs([file])
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"current-context": ""}, "no current-context; set one: kubectl config use-context NAME"),
        ({"current-context": "other"}, "there is no context 'other'"),
        ({"clusters": []}, "there is no cluster 'c'"),
        ({"users": [{"name": "other", "user": {}}]}, "there is no user 'u'"),
        ({"contexts": ["x"]}, "contexts must be a list of entries with a name and a context"),
    ],
)
def test_missing_parts_are_named(tmp_path: Path, more: Any, message: str) -> None:
    file = write(tmp_path / "k", **more)
    with pytest.raises(KubeconfigError) as caught:
        read_kubeconfigs([file])
    assert str(caught.value) == f"{file}: {message}"


@pytest.mark.parametrize(
    ("text", "message"), [("[", "is not YAML"), ("- 1", "is not a kubeconfig"), ("", "is not a kubeconfig")]
)
def test_invalid_kubeconfig_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "k").write_text(text)
    with pytest.raises(KubeconfigError, match=message):
        read_kubeconfigs([tmp_path / "k"])


def test_first_kubeconfig_wins(tmp_path: Path) -> None:
    one = write(tmp_path / "a" / "k", user={"token": "one"}, clusters=[], contexts=[], **{"current-context": ""})
    two = write(tmp_path / "b" / "k", user={"token": "two"})
    environment = {"KUBECONFIG": f"{tmp_path}/absent:{one}:{two}"}
    assert find_access(None, environment, tmp_path) == ClusterAccess(SERVER, token="one")


def test_kubeconfig_search_order(tmp_path: Path) -> None:
    named = write(tmp_path / "named", user={"token": "named"})
    environment = {"KUBECONFIG": str(write(tmp_path / "env", user={"token": "environment"}))}
    write(tmp_path / ".kube" / "config", user={"token": "home"})
    assert find_access(named, environment, tmp_path).token == "named"
    assert find_access(None, environment, tmp_path).token == "environment"
    assert find_access(None, {}, tmp_path).token == "home"
    message = "no API server is configured: set --kubeconfig or $KUBECONFIG, or run inside a cluster"
    with pytest.raises(KubeconfigError) as caught:
        find_access(None, {}, tmp_path / "elsewhere")
    assert str(caught.value) == message
    with pytest.raises(KubeconfigError, match="absent cannot be read: No such file or directory"):
        find_access(None, {"KUBECONFIG": str(tmp_path / "absent")}, tmp_path)


def test_in_cluster_access(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"CA")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    with pytest.raises(KubeconfigError, match="the pod needs automountServiceAccountToken: true"):
        in_cluster_access(environment, tmp_path)
    (tmp_path / "token").write_text("t")
    assert in_cluster_access(environment, tmp_path) == ClusterAccess(
        "https://[fd00::1]:6443", b"CA", token_file=tmp_path / "token"
    )
