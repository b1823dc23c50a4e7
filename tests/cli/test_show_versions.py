from __future__ import annotations

import json

import pytest

from polykind.cli import main
from polykind.testing.apiserver import ApiServer
from tests.support.widgets import NAME, definition, widget


@pytest.fixture
def arguments(polykind_server: ApiServer) -> list[str]:
    polykind_server.apply(definition(), widget("a"))
    return ["versions", f"--kubeconfig={polykind_server.kubeconfig}"]


def test_report_has_a_line_for_each_version_and_its_blockers(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
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
def test_remove_exits_with_1_if_blocked(arguments: list[str], version: str, status: int) -> None:
    assert main([*arguments, NAME, f"--remove={version}"]) == status


def test_refresh_annotates_the_crd(arguments: list[str], polykind_server: ApiServer) -> None:
    assert main([*arguments, NAME, "--refresh"]) == 0
    crd = polykind_server.get({**definition(), "metadata": {"name": NAME}})
    assert "polykind.dev/conversions-refreshed-at" in crd["metadata"]["annotations"]


def test_json_output(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--output=json", "--remove=v2", NAME]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["definition"], [version["name"] for version in report["versions"]]) == (NAME, ["v2"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["absent.example.com"], 'customresourcedefinitions.apiextensions.k8s.io "absent.example.com" not found'),
        ([NAME, "--remove=v9"], f"{NAME} has no version v9"),
        (["--remove=v1"], "--remove requires the name of one CRD"),
        (["--refresh"], "--refresh requires the names of CRDs"),
    ],
)
def test_invalid_usage_is_reported(
    arguments: list[str], more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *more]) == 2
    assert message in capsys.readouterr().err
