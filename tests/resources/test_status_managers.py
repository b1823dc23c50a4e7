"""Field managers of metadata that is written through the status of built-in kinds."""

from __future__ import annotations

from pathlib import Path

from polykind.contract import JsonObject
from tests.support.live import live
from tests.support.widgets import MERGE, definition

_OWNED: JsonObject = {"f:metadata": {"f:annotations": {".": {}, "f:z": {}}}}


async def test_metadata_written_through_status_is_owned(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        crd = definition()
        await running.define(crd)
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for path in ("/api/v1/namespaces/default", f"{definitions}/{crd['metadata']['name']}"):
            change = {"metadata": {"annotations": {"z": "b"}}}
            changed = await running.ask("PATCH", f"{path}/status?fieldManager=amy", change, kind=MERGE)
            mine = [e for e in changed["metadata"]["managedFields"] if e["manager"] == "amy"]
            assert [(e["subresource"], e["fieldsV1"]) for e in mine] == [("status", _OWNED)]
