"""The single-file executable runs the program of its name."""

from __future__ import annotations

import sys

import pytest

from polykind.launchers.by_name import main


@pytest.mark.parametrize(
    ("name", "output"),
    [("/a/etcd", "etcd Version"), ("kube-apiserver", "Kubernetes v1.")],
)
def test_launchers(name: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith(output)


def test_any_other_name_is_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["polykind-linux", "--version"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("polykind ")
