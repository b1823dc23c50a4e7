"""Options from flags, the environment and the configuration file."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
import yaml

from polykind.cli import main, parser
from polykind.cli.option_sources import OptionSources
from polykind.cli.serve import add_serve_flags, settings
from polykind.server.settings import Settings, SettingsError


def read(
    *arguments: str, environment: dict[str, str] | None = None, file: Path | None = None, text: str = ""
) -> tuple[Settings, dict[str, str]]:
    if file is not None:
        file.write_text(text)
        arguments = (*arguments, f"--config={file}")
    args = parser().parse_args(["serve", *arguments])
    sources = OptionSources(add_serve_flags, environment or {})
    sources.read(args, arguments)
    return settings(args), sources.origins


def test_a_flag_comes_before_the_environment_and_the_environment_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "polykind.yaml"
    found, origins = read(
        "--secure-port=1",
        environment={"POLYKIND_SECURE_PORT": "2", "POLYKIND_EVENT_TTL": "2h"},
        file=file,
        text="secure-port: 3\nevent-ttl: 3h\nrequest-timeout: 90s\n",
    )
    assert (found.secure_port, found.event_ttl, found.request_timeout) == (1, 7200.0, 90.0)
    assert origins["secure-port"] == "flag --secure-port"
    assert origins["event-ttl"] == "POLYKIND_EVENT_TTL"
    assert origins["request-timeout"] == f"file {file}"
    assert "bind-address" not in origins


def test_a_repeated_flag_replaces_the_list_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "polykind.yaml"
    text = "tls-san: [a.example, b.example]\nauthorization-mode: [RBAC, AlwaysDeny]\n"
    text += "feature-gates: {WatchListCompression: true}\n"
    found, _ = read("--tls-san=c.example", file=file, text=text)
    assert found.tls_san == ("c.example",)
    assert found.authorization_mode == ("RBAC", "AlwaysDeny")
    assert found.feature_gates == {"WatchListCompression": True}
    assert read(file=file, text=text)[0].tls_san == ("a.example", "b.example")
    assert read(environment={"POLYKIND_TLS_SAN": "d.example,e.example"})[0].tls_san == ("d.example", "e.example")


def test_lists_join_where_a_flag_takes_commas(tmp_path: Path) -> None:
    found, _ = read(file=tmp_path / "c", text="etcd-servers: [http://a:1, http://b:2]\nanonymous-auth: false\n")
    assert found.etcd_servers == ("http://a:1", "http://b:2")
    assert found.anonymous_auth is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("secure-prot: 1", "unknown option secure-prot; did you mean secure-port?"),
        ("secure_port: 1", "unknown option secure_port; did you mean secure-port?"),
        ("zzz: 1", "unknown option zzz; its options are the names of the flags"),
        ("config: x", "unknown option config"),
        ("secure-port: many", "argument --secure-port: invalid int value: 'many'"),
        ("anonymous-auth: maybe", "'maybe' is not a boolean"),
        ("- a", "must contain a mapping of flag names to values"),
        ("a: [", "is not valid YAML"),
        ("secure-port: 1\nsecure-port: 2", "secure-port is given twice"),
        ("tls-san: &a [x]\nresolve: *a", "aliases are not supported"),
    ],
)
def test_an_invalid_file_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "polykind.yaml"
    with pytest.raises(SettingsError) as error:
        read(file=file, text=text)
    assert message in str(error.value)
    assert str(file) in str(error.value)


def test_a_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file or directory"):
        read(f"--config={tmp_path / 'none'}")


def test_an_invalid_variable_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^POLYKIND_SECURE_PORT: argument --secure-port: invalid int value: 'x'$"):
        read(environment={"POLYKIND_SECURE_PORT": "x"})


def test_unknown_variables_are_ignored_and_likely_mistakes_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "polykind"):
        read(environment={"POLYKIND_SECURE_PROT": "1", "POLYKIND_SERVICE_HOST": "10.0.0.7"})
    (warning,) = caplog.messages
    assert "POLYKIND_SECURE_PROT; did you mean POLYKIND_SECURE_PORT?" in warning


def test_the_printed_configuration_is_a_configuration_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in os.environ if name.startswith("POLYKIND_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("POLYKIND_EVENT_TTL", "2h")
    assert main(["serve", "--print-config", "--tls-san=a.example", "--resolve=n/s=h:1"]) == 0
    printed = capsys.readouterr().out
    assert "event-ttl: 2h0m0s  # POLYKIND_EVENT_TTL\n" in printed
    assert "tls-san: [a.example]  # flag --tls-san\n" in printed
    assert "secure-port: 6443  # default\n" in printed
    assert yaml.safe_load(printed)["runtime-config"] == {}
    found, _ = read(file=tmp_path / "printed.yaml", text=printed)
    assert found == Settings(event_ttl=7200.0, tls_san=("a.example",), resolve=("n/s=h:1",))


def test_an_invalid_combination_in_the_file_ends_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "polykind.yaml"
    file.write_text("logging-format: xml\n")
    assert main(["serve", f"--config={file}"]) == 2
    assert "--logging-format xml is not supported; use json or text" in capsys.readouterr().err
