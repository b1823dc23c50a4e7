"""The launchers in the hands of controller-runtime's envtest and fabric8's kube-api-test."""

from __future__ import annotations

import ipaddress
import os
import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from polykind.cli.assets import write_launchers
from tests.support.envtest import SECONDS, ControlPlane, health
from tests.support.server import free_port

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
ADMIN_ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGET_LIST = "/apis/example.com/v1/namespaces/default/widgets"


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("assets")
    write_launchers(directory)
    return directory


@pytest.fixture
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which the launchers create temporary directories."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return directory


@pytest.fixture
def control_plane(assets: Path, tmp_path: Path, temporary_files: Path) -> Iterator[ControlPlane]:
    plane = ControlPlane(assets, tmp_path / "plane")
    try:
        yield plane
    finally:
        plane.kill()


def create_widget(plane: ControlPlane, name: str, owner: str = "") -> int:
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": "1-2-3"}] if owner else []
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "ownerReferences": owners},
    }
    return plane.request("POST", WIDGET_LIST, body).status


def test_a_suite_runs_as_on_kube_apiserver(control_plane: ControlPlane, temporary_files: Path) -> None:
    control_plane.start("--feature-gates=SomeGate=true", "-v=2", "--runtime-config=api/all=true")
    assert control_plane.request("POST", CRDS, WIDGETS).status == 201
    deadline = time.monotonic() + SECONDS
    while control_plane.request("GET", WIDGET_LIST).status != 200:
        assert time.monotonic() < deadline
    assert create_widget(control_plane, "orphan", owner="absent") == 201
    # No controllers run: a deleted namespace stays, and so do objects without their owners.
    control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": "doomed"}})
    control_plane.request("DELETE", "/api/v1/namespaces/doomed")
    assert control_plane.request("GET", "/api/v1/namespaces/doomed").json["status"]["phase"] == "Terminating"
    assert control_plane.request("GET", f"{WIDGET_LIST}/orphan").status == 200
    review = control_plane.request(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert review.json["status"]["userInfo"]["username"] == "admin"
    # Only kube-controller-manager aggregates ClusterRoles.
    assert control_plane.request("GET", ADMIN_ROLE).json["rules"] is None
    assert control_plane.stop() == [0, 0]
    output = control_plane.output.read_text()
    assert output.count("these flags have no effect: --etcd-servers") == 1
    assert "SomeGate=true" in output
    assert list(temporary_files.iterdir()) == []


def test_service_account_tokens_are_signed_with_the_given_key(control_plane: ControlPlane) -> None:
    control_plane.start()
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert control_plane.request("POST", accounts, {"metadata": {"name": "robot"}}).status == 201
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": None}}
    token = control_plane.request("POST", f"{accounts}/robot/token", request).json["status"]["token"]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    reviewed = control_plane.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).json["status"]
    assert reviewed["user"]["username"] == "system:serviceaccount:default:robot"


def test_controllers_run_if_flags_start_them(control_plane: ControlPlane) -> None:
    control_plane.start("--namespace-controller=true", "--garbage-collector=true", "--clusterrole-aggregation")
    control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": "doomed"}})
    control_plane.request("DELETE", "/api/v1/namespaces/doomed")
    deadline = time.monotonic() + SECONDS
    while control_plane.request("GET", "/api/v1/namespaces/doomed").status != 404:
        assert time.monotonic() < deadline
    while not control_plane.request("GET", ADMIN_ROLE).json["rules"]:
        assert time.monotonic() < deadline


def test_four_control_planes_start_in_parallel(assets: Path, tmp_path: Path, temporary_files: Path) -> None:
    planes = [ControlPlane(assets, tmp_path / f"plane{number}") for number in range(4)]
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ControlPlane.start, planes))
            # Each control plane has its own data.
            planes[0].request("POST", "/api/v1/namespaces", {"metadata": {"name": "first"}})
            statuses = [plane.request("GET", "/api/v1/namespaces/first").status for plane in planes]
            assert statuses == [200, 404, 404, 404]
            assert list(pool.map(ControlPlane.stop, planes)) == [[0, 0]] * 4
    finally:
        for plane in planes:
            plane.kill()
    assert list(temporary_files.iterdir()) == []


def self_signed(directory: Path, name: str, subject: list[x509.NameAttribute[str]], *names: x509.GeneralName) -> None:
    """Write a self-signed RSA certificate and its key, as fabric8's kube-api-test does."""
    key = rsa.generate_private_key(65537, 2048)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(x509.Name(subject))
        .public_key(key.public_key())
        .serial_number(int(now.timestamp() * 1000))
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=365))
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    (directory / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    (directory / f"{name}.key").write_bytes(pem)


def wait_for_health(url: str, process: subprocess.Popen[bytes], context: ssl.SSLContext | None = None) -> None:
    deadline = time.monotonic() + SECONDS
    while health(url, context) != 200:
        assert process.poll() is None, url
        assert time.monotonic() < deadline, url
        time.sleep(0.2)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_the_steps_of_fabric8(assets: Path, tmp_path: Path, temporary_files: Path) -> None:
    folder = tmp_path / "kubeapitest"
    folder.mkdir()
    domains = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    self_signed(
        folder,
        "apiserver",
        [x509.NameAttribute(NameOID.COMMON_NAME, "example.org")],
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        *map(x509.DNSName, domains),
    )
    masters = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters")
    self_signed(folder, "client", [masters, x509.NameAttribute(NameOID.COMMON_NAME, "kubeapitest")])
    served = (folder / "apiserver.crt").read_bytes()
    etcd_port, peer_port, port = free_port(), free_port(), free_port()
    etcd_url, peer_url = f"http://0.0.0.0:{etcd_port}", f"http://localhost:{peer_port}"
    etcd: list[str | Path] = [assets / "etcd", "-data-dir", folder / "data", "-wal-dir", folder / "wal"]
    etcd += ["--listen-client-urls", etcd_url, "--advertise-client-urls", etcd_url]
    etcd += ["--initial-cluster", f"default={peer_url}", "--initial-advertise-peer-urls", peer_url]
    etcd += ["--listen-peer-urls", peer_url]
    certificate, key, client = folder / "apiserver.crt", folder / "apiserver.key", folder / "client.crt"
    # The flags of the test's author come first.
    apiserver: list[str | Path] = [assets / "kube-apiserver", "--feature-gates", "SomeGate=true", "-v", "2"]
    apiserver += ["--cert-dir", folder, "--secure-port", str(port)]
    apiserver += ["--etcd-servers", etcd_url, "--authorization-mode", "RBAC"]
    apiserver += ["--service-account-issuer", "https://localhost", "--service-account-signing-key-file", key]
    apiserver += ["--service-account-signing-key-file", key, "--service-account-key-file", key]
    apiserver += ["--service-account-issuer", certificate, "--disable-admission-plugins", "ServiceAccount"]
    apiserver += ["--client-ca-file", client, "--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged"]
    # The readiness check trusts every server and has a client certificate.
    context = ssl._create_unverified_context()
    context.load_cert_chain(client, folder / "client.key")
    processes = [subprocess.Popen(etcd)]
    try:
        wait_for_health(f"http://127.0.0.1:{etcd_port}/health", processes[0])
        processes.append(subprocess.Popen(apiserver))
        wait_for_health(f"https://127.0.0.1:{port}/readyz", processes[1], context)
        kubectl: list[str | Path] = [
            assets / "kubectl",
            f"--client-certificate={client}",
            f"--client-key={folder / 'client.key'}",
        ]
        kubectl += [f"--certificate-authority={certificate}", f"--server=https://127.0.0.1:{port}"]
        kubectl += ["--request-timeout=5s"]
        environment = {**os.environ, "KUBECONFIG": str(folder / ".kubeconfig"), "HOME": str(tmp_path)}
        deadline = time.monotonic() + SECONDS
        get_default = [*kubectl, "get", "ns", "default"]
        while (get := subprocess.run(get_default, env=environment, capture_output=True)).returncode:
            assert time.monotonic() < deadline, get.stderr
        assert (folder / "apiserver.crt").read_bytes() == served
    finally:
        for process in processes:
            process.kill()
            process.wait()
