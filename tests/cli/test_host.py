"""`polykind host`: as a process, and its error messages."""

from __future__ import annotations

import base64
import json
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polykind.cli import main
from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess, free_port, serving, trusting
from tests.toolkit.crds import HOST, HOSTS, crd_manifest

CONVERSIONS = """
from polykind.convert import Conversions

crontabs = Conversions("CronTab.stable.example.com")

@crontabs.step("v1", "v2")
def up(obj):
    if "host" in obj.get("spec", {}):
        obj["spec"]["hosts"] = [obj["spec"].pop("host")]

@crontabs.step("v2", "v1")
def down(obj):
    for host in obj.get("spec", {}).pop("hosts", [])[:1]:
        obj["spec"]["host"] = host

half = Conversions("CronTab.stable.example.com")
half.add("v1", "v2", up)

async def slow(obj, to):
    return obj

def everything(obj, to):
    return obj
"""
DEADLINE_SECONDS = 30.0


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory, with conversions in it and without a kubeconfig."""
    (tmp_path / "hosted_conversions.py").write_text(CONVERSIONS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    sys.modules.pop("hosted_conversions", None)
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["crontabs"], "cannot tell how the API server reaches this host: use --service NAMESPACE/NAME or --url URL, "),
        (["crontabs", "--service=x"], "--service x: must be namespace/name, or namespace/name:port/path"),
        (["crontabs", "--url=http://x"], "--url http://x: must be https://host[:port][/path], "),
        (["crontabs", "--service=a/b", "--url=https://x"], "--service and --url cannot be used together"),
        (["crontabs", "--url=https://x"], "no API server is configured: set --kubeconfig or $KUBECONFIG"),
        (
            ["crontabs", "--url=https://x", "--kubeconfig=no"],
            "no cannot be read: No such file or directory; use --wire=",
        ),
        (["half", "--wire=false"], "CronTab.stable.example.com: no steps lead from v2 to v1"),
        (["slow", "--wire=false"], "hosted_conversions:slow: an async converter cannot be hosted"),
        (["absent", "--wire=false"], "--converter hosted_conversions:absent: module 'hosted_conversions' has no"),
        (
            ["crontabs", "--wire=false", "--tls-cert-file=x"],
            "--tls-cert-file and --tls-private-key-file must be given together",
        ),
        (["crontabs", "--wire=false", "--request-timeout=x"], "--request-timeout x: not a duration such as 30s"),
        (["crontabs", "--print-manifests"], "--print-manifests requires --service NAMESPACE/NAME"),
        (["crontabs", "--print-manifests", "--service=a/b"], "--print-manifests requires --image"),
        (["crontabs", "--print-manifests", "--service=a/b", "--image=i"], "--print-manifests requires --crd"),
    ],
)
def test_invalid_flags_are_reported(
    directory: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert main(["host", f"--converter=hosted_conversions:{flags[0]}", *flags[1:]]) == 2
    assert capsys.readouterr().err.startswith(f"polykind host: {message}")
    assert not (directory / ".polykind").exists()


def test_converter_without_declared_kinds_requires_crd_names(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    (directory / "config").write_text(json.dumps(config))
    flags = ["--url=https://x", "--kubeconfig=config", "--converter=hosted_conversions:everything"]
    assert main(["host", *flags]) == 2
    message = "hosted_conversions:everything: the converter does not name its kinds; name the CRDs with --crd\n"
    assert capsys.readouterr().err == f"polykind host: {message}"


def test_print_manifests(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--service=crontabs/converter", "--image=me/crontabs:1", "--crd=crontabs.stable.example.com"]
    assert main(["host", "--converter=hosted_conversions:crontabs", "--print-manifests", *flags]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("apiVersion: v1\nkind: ServiceAccount\n")
    assert "        image: me/crontabs:1\n" in printed


class HostProcess:
    """A running `polykind host` with its output."""

    def __init__(self, directory: Path, *flags: str) -> None:
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.log = directory / "host.log"
        command = [str(Path(sys.executable).with_name("polykind")), "host", f"--secure-port={self.port}", *flags]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=subprocess.STDOUT)

    def get(self, page: str, context: ssl.SSLContext | None = None) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.url + page, timeout=5, context=context or trusting()) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def until(self, page: str, status: int = 200) -> str:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while (got := self.get(page))[0] != status:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, f"{page} is {got}:\n{self.log.read_text()}"
            time.sleep(0.02)
        return got[1]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_SECONDS)


@contextmanager
def running_host(directory: Path, *flags: str) -> Iterator[HostProcess]:
    host = HostProcess(directory, "--converter=hosted_conversions:crontabs", *flags)
    try:
        yield host
    finally:
        if host.process.poll() is None:
            host.process.kill()
            host.process.wait()


@contextmanager
def running_server(directory: Path, *flags: str) -> Iterator[tuple[ServerProcess, Kubectl]]:
    with serving(directory, *flags) as server:
        kubectl = Kubectl(server.kubeconfig, directory)
        kubectl("create", "-f", "-", stdin=json.dumps(crd_manifest(HOST, HOSTS)))
        kubectl("wait", "--for=condition=Established", "crd/crontabs.stable.example.com")
        yield server, kubectl


def test_local_server_converts_through_the_host(directory: Path) -> None:
    with running_server(directory, "--conversion-cache=false") as (server, kubectl):
        flags = ["--bind-address=127.0.0.1", f"--kubeconfig={server.kubeconfig}"]
        with running_host(directory, *flags) as host:
            message = host.until("/readyz")
            assert message == "ok\ncrontabs.stable.example.com: registered; there is no object to test with yet\n"
            manifest = {
                "apiVersion": "stable.example.com/v1",
                "kind": "CronTab",
                "metadata": {"name": "one"},
                "spec": {"host": "a.example"},
            }
            kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest))
            assert kubectl.json("get", "crontabs.v2.stable.example.com", "one")["spec"]["hosts"] == ["a.example"]
            assert kubectl.json("get", "crontabs.v1.stable.example.com", "one")["spec"]["host"] == "a.example"
            assert host.stop() == 0
            printed = host.log.read_text()
            assert f"Serving at {host.url}/convert\n" in printed
            assert "Converting CronTab.stable.example.com (v1, v2)\n" in printed
        failed = kubectl("get", "crontabs.v1.stable.example.com", check=False)
        assert "connection refused" in failed.err


def test_host_is_reached_through_a_service(directory: Path) -> None:
    port = free_port()
    with running_server(directory, f"--resolve=crontabs/converter=127.0.0.1:{port}") as (server, kubectl):
        flags = ["--service=crontabs/converter", f"--kubeconfig={server.kubeconfig}", f"--secure-port={port}"]
        with running_host(directory, *flags) as host:
            host.port, host.url = port, f"https://127.0.0.1:{port}"
            host.until("/readyz")
            crontab = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "one"}}
            kubectl("create", "-f", "-", stdin=json.dumps({**crontab, "spec": {"host": "b.example"}}))
            config = kubectl.json("get", "crd", "crontabs.stable.example.com")["spec"]["conversion"]["webhook"]
            trusted = base64.b64decode(config["clientConfig"]["caBundle"])
            assert trusted == (directory / ".polykind" / "host" / "ca.crt").read_bytes()
            assert kubectl.json("get", "crontabs.v2.stable.example.com", "one")["spec"]["hosts"] == ["b.example"]


def test_unwired_host_prints_its_ca_and_delays_its_shutdown(directory: Path) -> None:
    with running_host(directory, "--wire=false", "--cert-dir=pki", "--shutdown-delay-duration=1s") as host:
        assert host.until("/readyz") == "ok"
        context = ssl.create_default_context(cafile=str(directory / "pki" / "ca.crt"))
        assert host.get("/healthz", context) == (200, "ok")
        host.process.send_signal(signal.SIGTERM)
        assert host.until("/readyz", 503) == "stopping"
        assert host.get("/healthz") == (200, "ok")
        assert host.process.wait(DEADLINE_SECONDS) == 0
        assert "caBundle of the CRDs: pki/ca.crt\n" in host.log.read_text()


def test_port_in_use_is_reported(directory: Path) -> None:
    with running_host(directory, "--wire=false") as host:
        host.until("/healthz")
        with running_host(directory, "--wire=false", f"--secure-port={host.port}") as other:
            assert other.process.wait(DEADLINE_SECONDS) == 1
            assert f"polykind host: [Errno 98] Address already in use: 0.0.0.0:{host.port}\n" in other.log.read_text()
