"""`polykind serve`: settings from flags, and error messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polykind import __version__
from polykind.cli import main, parser
from polykind.cli.serve import settings
from polykind.server.settings import Settings, SettingsError


def flags(*arguments: str) -> Settings:
    return settings(parser().parse_args(["serve", *arguments]))


def test_settings_without_flags_are_the_defaults() -> None:
    assert flags() == Settings()


def test_flags_become_settings() -> None:
    chosen = flags(
        "--bind-address=::1",
        "--secure-port=0",
        "--data-dir=/d",
        "--cert-dir=/c",
        "--tls-cert-file=/t.crt",
        "--tls-private-key-file=/t.key",
        "--client-ca-file=/ca",
        "--token-auth-file=/tokens",
        "--etcd-servers=http://a:1,http://b:2",
        "--etcd-prefix=/other",
        "--feature-gates=CustomResourceDefaulting=false",
        "--feature-gates=CustomResourceWebhookConversion=true",
        "--request-timeout=1m30s",
        "--authorization-mode=AlwaysAllow",
        "--conversion-cache=false",
        "--resolve=ns/svc=127.0.0.1:9443",
        "--resolve=ns/other=127.0.0.1:9444",
        "--converter=mod:obj",
        "--serve-v1beta1=false",
    )
    assert chosen == Settings(
        data_dir=Path("/d"),
        bind_address="::1",
        secure_port=0,
        cert_dir=Path("/c"),
        tls_cert_file=Path("/t.crt"),
        tls_private_key_file=Path("/t.key"),
        client_ca_file=Path("/ca"),
        token_auth_file=Path("/tokens"),
        etcd_servers=("http://a:1", "http://b:2"),
        etcd_prefix="/other",
        feature_gates={"CustomResourceDefaulting": False, "CustomResourceWebhookConversion": True},
        request_timeout=90.0,
        authorization_mode=("AlwaysAllow",),
        conversion_cache=False,
        resolve=("ns/svc=127.0.0.1:9443", "ns/other=127.0.0.1:9444"),
        converter=("mod:obj",),
        serve_v1beta1=False,
    )


@pytest.mark.parametrize(("text", "value"), [("", True), ("=true", True), ("=1", True), ("=F", False), ("=0", False)])
def test_booleans_are_spelled_as_in_go(text: str, value: bool) -> None:
    assert flags(f"--conversion-cache{text}").conversion_cache is value


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--request-timeout=soon", "--request-timeout soon: not a duration such as 60s"),
        ("--feature-gates=A=perhaps", "--feature-gates A: 'perhaps' is not a boolean: use true or false"),
        ("--feature-gates=A", "--feature-gates A: '' is not a boolean: use true or false"),
        ("--resolve=nonsense", "nonsense"),
    ],
)
def test_invalid_flag_values_are_named(flag: str, text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        flags(flag)


@pytest.mark.parametrize("flag", ["--secure-port=many", "--conversion-cache=perhaps", "--nonsense"])
def test_unparsable_flags_exit_with_2(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(["serve", flag])
    assert caught.value.code == 2
    assert flag.partition("=")[0] in capsys.readouterr().err


def run(capsys: pytest.CaptureFixture[str], directory: Path, *arguments: str) -> tuple[int, str]:
    code = main(["serve", f"--data-dir={directory / 'data'}", "--secure-port=0", *arguments])
    return code, capsys.readouterr().err


def invalid_starts(directory: Path) -> list[tuple[str, int, str]]:
    (directory / "file").write_text("nonsense")
    (directory / "tokens").write_text("only-a-token\n")
    (directory / "pem").write_text("nonsense")
    pair = f"--tls-cert-file={directory / 'pem'} --tls-private-key-file={directory / 'pem'}"
    return [
        ("--authorization-mode=ABAC", 2, "--authorization-mode ABAC is not supported"),
        (f"--token-auth-file={directory / 'tokens'}", 2, "line 1: needs at least 3 columns: token,user,uid"),
        (f"--token-auth-file={directory / 'absent'}", 2, "No such file"),
        (f"--client-ca-file={directory / 'absent'}", 2, "--client-ca-file"),
        (pair, 2, "cannot load the certificate"),
        (f"--data-dir={directory / 'file'}", 1, "File exists"),
        ("--converter=no.such.module:x", 2, "no.such.module"),
        ("--bind-address=192.0.2.1", 1, "192.0.2.1"),
    ]


@pytest.mark.parametrize("number", range(8))
def test_start_errors_are_printed_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int) -> None:
    arguments, code, text = invalid_starts(tmp_path)[number]
    status, output = run(capsys, tmp_path, *arguments.split())
    assert status == code
    assert output.startswith("polykind serve: ")
    assert text in output
    assert len(output.splitlines()) == 1


def test_version_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"polykind {__version__}\n"


def test_an_ephemeral_server_stops_with_its_parent(tmp_path: Path) -> None:
    # The parent is a shell that ends as soon as the server is ready.
    script = '"$0" -m polykind serve --ephemeral > "$1" & while ! grep -q KUBECONFIG "$1"; do sleep 0.1; done'
    output = tmp_path / "output"
    output.touch()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        ["/bin/sh", "-c", script, sys.executable, output], env=environment, stderr=subprocess.PIPE
    ) as shell:
        # The server inherits the pipe, which therefore closes when the server ends.
        assert shell.communicate(timeout=60)[1] == b""
    kubeconfig = output.read_text().partition("KUBECONFIG=")[2].strip()
    assert kubeconfig.startswith(str(tmp_path / "polykind-ephemeral-"))
    assert [path.name for path in tmp_path.iterdir()] == ["output"]


def test_an_ephemeral_server_chooses_a_free_port() -> None:
    assert flags("--ephemeral").secure_port == 0
    assert flags("--ephemeral", "--secure-port=7443").secure_port == 7443
