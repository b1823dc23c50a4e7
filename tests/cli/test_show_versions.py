from __future__ import annotations

import json

import pytest

from polykind.cli import main
from polykind.testing.apiserver import ApiServer
from tests.support.widgets import NAME, definition, widget


@pytest.fixture
def asked(polykind_server: ApiServer) -> list[str]:
    polykind_server.apply(definition(), widget("a"))
    return ["versions", f"--kubeconfig={polykind_server.kubeconfig}"]


def test_a_line_for_each_version_and_the_reasons_below(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{NAME}, clients since ")
    assert [line.split()[:6] for line in lines[1:4]] == [
        ["VERSION", "SERVED", "STORAGE", "DEPRECATED", "STORED", "MANAGED"],
        ["v1", "yes", "yes", "no", "1", "1"],
        ["v2", "yes", "no", "no", "0", "0"],
    ]
    assert "  v1 should not be removed yet:" in lines
    assert "  - it is the storage version: make another one the storage version" in lines
    assert lines[-1] == "  v2 can be removed"


@pytest.mark.parametrize(("version", "status"), [("v1", 1), ("v2", 0)])
def test_what_stands_in_the_way_is_in_the_exit_status(asked: list[str], version: str, status: int) -> None:
    assert main([*asked, NAME, f"--remove={version}"]) == status


def test_programs_are_told_in_json(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*asked, "--output=json", "--remove=v2", NAME]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["definition"], [version["name"] for version in told["versions"]]) == (NAME, ["v2"])


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["absent.example.com"], 'customresourcedefinitions.apiextensions.k8s.io "absent.example.com" not found'),
        ([NAME, "--remove=v9"], f"{NAME} has no version v9"),
        (["--remove=v1"], "--remove requires the name of one CRD"),
    ],
)
def test_what_cannot_be_told(asked: list[str], more: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*asked, *more]) == 2
    assert says in capsys.readouterr().err
