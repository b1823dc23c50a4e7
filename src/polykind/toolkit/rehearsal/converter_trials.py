"""Restarts and outages of the converter: clients must see the same objects before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.hosting.fault_injection import Fault, Faults
from polykind.toolkit.rehearsal.client_edits import TOUCHED, touched
from polykind.toolkit.rehearsal.rehearsal import Rehearsal, Snapshot, Stage, StageResult, name_of, readable
from polykind.toolkit.rehearsal.rehearsal_client import MERGE_PATCH, RehearsalError
from polykind.toolkit.rehearsal.rehearsal_finding import Finding, Phase
from polykind.toolkit.rehearsal.rehearsed_converter import RehearsedConverter

_SLOW_SECONDS = 0.05
_RECOVERY_SECONDS = 10.0
_MAX_OBJECTS = 20
"""The maximum number of objects to read and write around restarts and outages."""
_STATELESS = "a conversion must depend on its input only: keep nothing in the converter's process"
_OUTAGES: tuple[tuple[str, bool, Callable[[Faults], Fault]], ...] = (
    ("the converter was down", False, lambda faults: faults.down()),
    ("the converter had a certificate of an unknown CA", False, lambda faults: faults.unknown_certificate()),
    ("the converter sent garbage", False, lambda faults: faults.not_json()),
    ("the converter was slow", True, lambda faults: faults.delay(_SLOW_SECONDS)),
)
"""Texts, whether requests must succeed meanwhile, and the faults."""


async def rehearse_restart(
    rehearsal: Rehearsal, stage: Stage, outcome: StageResult, converter: RehearsedConverter
) -> None:
    """Let clients of each version read objects, restart the converter, and let them write the objects back.

    They also write the objects back before that, so that the restart is not blamed for the effects of a write.
    """
    for version in stage.served:
        await _write_back(rehearsal, version, await _snapshot(rehearsal, stage), "before a restart")
        before = await _snapshot(rehearsal, stage)
        await converter.restart()
        await _write_back(rehearsal, version, before, "after a restart")
        when = f" after a restart of the converter between a read and a write at {version.name} (PUT)"
        await _compare(rehearsal, stage, outcome, before, when, "restart", _STATELESS, f"{version.name} (PUT)")


async def _write_back(rehearsal: Rehearsal, version: CRDVersion, read: Snapshot, text: str) -> None:
    """Write objects back as they were read at a version."""
    for path, obj in read[version.name].items():
        with suppress(RehearsalError):  # The clients of this version have reported it.
            await rehearsal.api.request("PUT", f"/apis/{version.api_version}/{path}", touched(obj, text))


async def _snapshot(rehearsal: Rehearsal, stage: Stage) -> Snapshot:
    return await rehearsal.snapshot(stage, paths=rehearsal.paths[:_MAX_OBJECTS])


async def rehearse_outages(
    rehearsal: Rehearsal, stage: Stage, outcome: StageResult, converter: RehearsedConverter
) -> None:
    """Let the converter fail in several ways. Reads must fail or be right, nothing may get lost, and all recovers."""
    before = await _snapshot(rehearsal, stage)
    for text, works, inject in _OUTAGES:
        with inject(converter.faults):
            during = await _snapshot(rehearsal, stage)
            read = [(each.name, path) for each in stage.served for path in rehearsal.paths[:_MAX_OBJECTS]]
            for version, path in read:
                old, seen = before[version].get(path), during[version].get(path)
                if old is None:
                    continue
                if seen is not None:
                    rehearsal.compare(outcome, version, path, old, seen, f" while {text}", "outage")
                elif works:
                    finding = f"{name_of(path)} at {version} cannot be read while {text}"
                    outcome.findings.append(Finding(finding, "outage", object=readable(path), version=version))
            await _write_meanwhile(rehearsal, stage, outcome, text)
        await _recover(rehearsal, stage, outcome, before, text)


async def _write_meanwhile(rehearsal: Rehearsal, stage: Stage, outcome: StageResult, text: str) -> None:
    """Write the first object at every version. A write that cannot be converted must fail.

    A write at the storage version needs no conversion of the object, but kube-apiserver then drops managedFields that
    it cannot convert, without a message. The rehearsal reports this once.
    """
    for version in stage.served:
        for path in rehearsal.paths[:1]:
            url = f"/apis/{version.api_version}/{path}"
            patch = {"metadata": {"annotations": {TOUCHED: text}}}
            try:
                before = await rehearsal.api.request("GET", url)
                after = await rehearsal.api.request("PATCH", url, patch, content_type=MERGE_PATCH)
            except RehearsalError:
                continue
            owners = [len(obj["metadata"].get("managedFields") or ()) for obj in (before, after)]
            if owners[1] < owners[0] and not rehearsal.reported_field_managers:
                rehearsal.reported_field_managers = True
                finding = (
                    f"{name_of(path)} at {version.name}: a write while {text} dropped managedFields, as in "
                    "kube-apiserver, so that server-side apply no longer knows the owners of fields"
                )
                advice = "let clients that apply use the storage version, so that managedFields need no conversion"
                outcome.findings.append(
                    Finding(
                        finding,
                        "outage",
                        "warning",
                        object=readable(path),
                        client=f"{version.name} (PATCH)",
                        version=version.name,
                        field="metadata.managedFields",
                        advice=advice,
                    )
                )


async def _recover(rehearsal: Rehearsal, stage: Stage, outcome: StageResult, before: Snapshot, text: str) -> None:
    """Wait until all objects can be read again, and compare them."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _RECOVERY_SECONDS
    while loop.time() < deadline:
        current = await _snapshot(rehearsal, stage)
        if all(current[name].keys() >= seen.keys() for name, seen in before.items()):
            break
        await asyncio.sleep(0.05)
    await _compare(rehearsal, stage, outcome, before, f" after {text}", "outage", "")


async def _compare(
    rehearsal: Rehearsal,
    stage: Stage,
    outcome: StageResult,
    before: Snapshot,
    when: str,
    phase: Phase,
    advice: str,
    client: str = "",
) -> None:
    current = await _snapshot(rehearsal, stage)
    for name, seen in before.items():
        for path, obj in seen.items():
            after = current[name].get(path)
            if after is None:
                text = f"{name_of(path)} at {name}{when} cannot be read any more"
                outcome.findings.append(Finding(text, phase, object=readable(path), version=name, advice=advice))
            else:
                rehearsal.compare(outcome, name, path, obj, after, when, phase, client=client, advice=advice)
