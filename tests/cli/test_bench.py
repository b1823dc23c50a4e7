"""`polykind bench` on a server of its own and on a given one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polykind.benchmark.load_client import Samples
from polykind.cli import main
from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess

SMALL = ("--seconds=0.2", "--connections=2", "--objects=30", "--watchers=3")
NAMES = ["get", "list of 30", "create", "patch", "event to 3 watches"]


def test_a_new_server_is_measured_and_nothing_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", f"--data-dir={tmp_path}", *SMALL]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].split()[0] == "MEASUREMENT"
    assert [line.partition("  ")[0].strip() for line in lines[1:6]] == NAMES
    assert "memory per object of 2," in printed.out
    assert "memory per CRD: " in printed.out
    assert "bench: get, 0.2 s" in printed.err
    assert list(tmp_path.iterdir()) == []


def test_a_given_server_is_measured_and_cleaned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ServerProcess(tmp_path / "data") as server:
        assert main(["bench", f"--kubeconfig={server.kubeconfig}", "--output=json", *SMALL]) == 0
        result = json.loads(capsys.readouterr().out)
        assert [figure["name"] for figure in result["figures"]] == NAMES
        for figure in result["figures"]:
            assert figure["rate"] > 0
            assert 0 < figure["p50_ms"] <= figure["p90_ms"] <= figure["p99_ms"]
            assert figure["cpu_us"] >= 0
        assert result["options"] == {"seconds": 0.2, "connections": 2, "objects": 30, "watchers": 3}
        assert result["objectBytes"] > 2000
        kubectl = Kubectl(server.kubeconfig, tmp_path)
        assert kubectl("get", "crd", "-o", "name").out == ""
        assert "bench" not in kubectl("get", "namespaces", "-o", "name").out


def test_an_unreachable_server_and_invalid_sizes_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", f"--kubeconfig={tmp_path / 'none'}"]) == 2
    assert main(["bench", "--connections=0"]) == 2
    assert "must be positive" in capsys.readouterr().err


def test_percentiles() -> None:
    samples = Samples([float(i) for i in range(1, 101)], 2.0)
    assert samples.rate == 50
    assert (samples.percentile(0.5), samples.percentile(0.99), Samples([], 0.0).percentile(0.5)) == (51, 100, 0)
