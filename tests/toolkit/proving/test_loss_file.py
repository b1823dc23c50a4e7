from __future__ import annotations

from pathlib import Path

import pytest

from polykind.toolkit.proving.loss_file import read_losses
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run

ENTRIES = """
- pair: v2:v1
  path: spec.timeZone
  why: UTC only
- pair: v2:v1
  path: spec.hosts
  why: one only
"""


def test_losses_in_a_file_are_accepted_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "losses.yaml"
    file.write_text(ENTRIES + "- {pair: 'v2:v1', path: spec.replicas, why: nobody knows}\n")
    losses = read_losses(file, c.CRONTAB_CRD)
    run = proof_run(conversions(c.bare_down).convert, acknowledged=losses)
    assert [name for name, pair in run.cases() if run.finding(name, pair)] == []
    assert [(loss.path, loss.reason) for loss in run.losses.stale()] == [("spec.replicas", "nobody knows")]
    assert repr(run.losses.stale()[0].step.function) == str(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b", "must be a list of entries with pair, path and why"),
        ("- {pair: 'v2:v1', path: spec.x}", "entry 1: must have exactly the fields pair, path and why"),
        ("- {pair: 'v2:v1', path: spec.x, why: ' '}", "entry 1: pair, path and why must be texts"),
        ("- {pair: 'v2:v9', path: spec.x, why: never}", "entry 1: pair v2:v9 must be two versions of crontabs.stable"),
    ],
)
def test_invalid_files_are_rejected(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "losses.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_losses(file, c.CRONTAB_CRD)
    with pytest.raises(ValueError, match="No such file"):
        read_losses(tmp_path / "nowhere.yaml", c.CRONTAB_CRD)
