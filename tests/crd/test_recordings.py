"""Recorded conformance scenarios, as far as they need only CRDs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trustme

from polykind.golang.base64 import encode_base64
from tests.conformance.grades import grade
from tests.conformance.normal import Normal, Step, drop
from tests.conformance.scenario import Scenario
from tests.crd.crd_server import CRDServer, UnsupportedRequestError

AREAS = ("crd", "crd-v1beta1", "structural", "versions", "defaulting", "conversion", "pruning", "watch", "tables")
SCENARIOS = Path(__file__).parent.parent / "conformance" / "scenarios"
PATHS = sorted(path for area in AREAS for path in (SCENARIOS / area).glob("*.yaml"))
PATHS += [SCENARIOS / "cel" / "rule-fields.yaml", SCENARIOS / "cel" / "where-rules-stand.yaml"]
URL = "https://127.0.0.1:1"
CA = encode_base64(trustme.CA().cert_pem.bytes())


class Replay(Scenario):
    """Replays the steps of a scenario that need only CRDs."""

    def take(self, step: Step) -> dict[str, Any] | None:
        if any(key in step for key in ("until", "watch", "events", "webhook", "reviews", "same", "sleep")):
            return None
        try:
            return super().take(step)
        except UnsupportedRequestError:
            return None

    def replay(self) -> dict[int, dict[str, Any]]:
        self.normal = Normal(URL, 1, CA)
        self.saved = {"group": self.group, "webhook": URL, "caBundle": CA}
        self.saved |= self.fill(self.spec.get("vars", {}))
        answers = {}
        for number, step in enumerate(self.spec["steps"]):
            answer = self.take(step)
            if answer is None:
                if "PATCH" in step or "DELETE" in step or "PUT" in step or "save" in step:
                    break
                continue
            self.save(step)
            for dotted in step.get("ignore", []):
                drop(answer, dotted)
            answers[number] = answer
        return answers


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_responses_match_recordings(path: Path) -> None:
    scenario = Replay(path, CRDServer())  # type: ignore[arg-type]
    got = scenario.replay()
    recorded = json.loads(scenario.recording.read_text())
    for want in recorded:
        if want["step"] in got:
            if path.parent.name == "crd-v1beta1":
                # Recorded with a release that did not warn about unknown fields.
                want["headers"] = got[want["step"]]["headers"]
            # The minimal server has no managed fields.
            drop(want, "body.metadata.managedFields")
            row = grade(want, got[want["step"]])
            assert row.grade == "exact", (want["step"], want["what"], row.differences)
