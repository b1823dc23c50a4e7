from __future__ import annotations

from pathlib import Path

from polykind.toolkit.proving import regressions
from polykind.toolkit.proving.progress import ObjectTested, ProgressEvent
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run


def test_findings_are_saved_and_tried_first(tmp_path: Path) -> None:
    run = proof_run(c.stale_stash())
    pair = ("v2", "v1")
    finding = run.finding("edit-survives", pair)
    assert finding is not None
    (file,) = regressions.save(tmp_path, run.crd, [(pair, finding)])
    assert regressions.save(tmp_path, run.crd, [(pair, finding)]) == [], "it is saved once"
    assert file.name.startswith("edit-survives-v2-v1-")
    (sample,) = regressions.load(tmp_path, run.crd)
    assert sample.obj["spec"] == finding.obj["spec"]
    events: list[ProgressEvent] = []
    again = proof_run(
        c.stale_stash(), seconds=0.001, regressions=[sample], observer=events.append, properties=["edit-survives"]
    )
    assert again.finding("edit-survives", pair) is not None
    assert next(event.theme for event in events if isinstance(event, ObjectTested)) == "regression"
    assert proof_run(conversions(), examples=1, regressions=[sample]).finding("edit-survives", pair) is None


def test_files_that_do_not_match_are_skipped(tmp_path: Path) -> None:
    folder = tmp_path / c.CRONTAB_CRD.name
    folder.mkdir()
    (folder / "a.yaml").write_text("kind: Regression\npair: v8:v9\nproperty: x\n---\nkind: CronTab\n")
    (folder / "b.yaml").write_text("- 1\n")
    assert regressions.load(tmp_path, c.CRONTAB_CRD) == []
    assert regressions.load(tmp_path / "nowhere", c.CRONTAB_CRD) == []
