"""The systemd unit: its syntax, its hardening, and the configuration file."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polykind.cli import parser
from polykind.cli.option_sources import OptionSources
from polykind.cli.serve import add_serve_flags, settings

SYSTEMD = Path(__file__).parents[2] / "deploy" / "systemd"
UNIT = (SYSTEMD / "polykind.service").read_text()
MAX_EXPOSURE = 1.5
"""systemd's score of the unit's exposure, from 0 (none) to 10; most services of a distribution have more than 9."""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that exists on every machine."""
    path = tmp_path / "polykind.service"
    path.write_text(UNIT.replace("/opt/polykind/bin/polykind", "/bin/sh"))
    return path


def analyze(*arguments: str) -> str:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_systemd_accepts_the_unit(unit: Path) -> None:
    # systemd-analyze also reports problems of other units of the machine.
    assert "polykind.service" not in analyze("verify", "--man=no", "--recursive-errors=no", str(unit))


def test_the_service_is_hardened(unit: Path) -> None:
    report = analyze("security", "--offline=true", "--no-pager", str(unit))
    score = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", report)
    assert score is not None, report
    assert float(score[1]) <= MAX_EXPOSURE, report


def test_the_configuration_is_valid_and_stops_within_the_time_that_systemd_waits() -> None:
    arguments = [f"--config={SYSTEMD / 'polykind.yaml'}"]
    args = parser().parse_args(["serve", *arguments])
    OptionSources(add_serve_flags, {}).read(args, arguments)
    found = settings(args)
    found.check()
    assert str(found.data_dir) == "/var/lib/polykind"
    seconds = re.search(r"^TimeoutStopSec=(\d+)$", UNIT, re.M)
    assert seconds is not None
    assert int(seconds[1]) > found.shutdown_delay_duration + found.request_timeout
