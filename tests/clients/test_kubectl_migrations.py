"""kubectl with storage-version migrations: create one, wait for it, then remove the old version."""

from __future__ import annotations

import json

from tests.support.kubectl import Kubectl
from tests.support.migrations import GROUP, NAME, gears, migration


def test_version_is_removed_after_a_migration(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=json.dumps(gears(converted=False)))
    kubectl("wait", "--for=condition=Established", f"crd/{NAME}")
    gear = {"apiVersion": f"{GROUP}/v1", "kind": "Gear", "metadata": {"name": "g", "namespace": "default"}}
    kubectl("create", "-f", "-", stdin=json.dumps(gear))
    kubectl("apply", "-f", "-", stdin=json.dumps(gears("v2", converted=False)))
    early = kubectl("apply", "-f", "-", stdin=json.dumps(gears("v2", "v2", converted=False)), check=False)
    assert "must remain in spec.versions until a storage migration" in early.err
    kubectl("create", "-f", "-", stdin=json.dumps(migration("retire")))
    kubectl("wait", "--for=condition=Succeeded", "storageversionmigration/retire")
    assert kubectl("get", "storageversionmigrations").rows == [
        ["NAME", "RESOURCE", "STATUS"],
        ["retire", NAME, "Succeeded"],
    ]
    kubectl("apply", "-f", "-", stdin=json.dumps(gears("v2", "v2", converted=False)))
    assert kubectl("get", "gears", "g", "-o", "jsonpath={.apiVersion}").out == f"{GROUP}/v2"
    explained = kubectl("explain", "storageversionmigrations.spec.resource").out
    assert "FIELD: resource <GroupResource>" in explained
    kubectl("delete", "storageversionmigration/retire", f"crd/{NAME}")
