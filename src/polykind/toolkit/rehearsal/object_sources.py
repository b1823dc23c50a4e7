"""The objects of a rehearsal: from files, generated from the first release's schemas, or read from a live cluster."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

from polykind.cluster.cluster_client import ClusterClient
from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRD, RejectedError
from polykind.toolkit.files import manifests
from polykind.toolkit.migrating.crd_storage import CRDS, CRDStorage
from polykind.toolkit.proving.choices import RandomChoices
from polykind.toolkit.proving.object_generator import ObjectGenerator

_ATTEMPTS_PER_OBJECT = 20
_LOCAL_METADATA = ("ownerReferences", "finalizers", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName")
"""Metadata that refers to other objects of a cluster, or that keeps an object from being created again."""


def objects_in_files(paths: Iterable[Path], crd: CRD) -> tuple[list[JsonObject], int]:
    """Return the objects in files that the first release can serve, and the number of those at unknown versions."""
    out, unknown_versions = [], 0
    for value in manifests.read_objects(paths):
        try:
            crd.version_of(value)
        except RejectedError:
            group = str(value.get("apiVersion", "")).rpartition("/")[0]
            unknown_versions += f"{value.get('kind')}.{group}" == crd.kind
            continue
        out.append(value)
    return out, unknown_versions


def generated_objects(crd: CRD, count: int, seed: int) -> list[JsonObject]:
    """Return valid objects generated from the schemas of the served versions, in turn.

    Raise ValueError if not enough valid objects can be generated.
    """
    generators = [ObjectGenerator(version) for version in crd.versions.values() if version.served]
    choices = RandomChoices(Random(seed))  # noqa: S311
    out: list[JsonObject] = []
    for attempt in range(count * _ATTEMPTS_PER_OBJECT):
        if len(out) == count:
            break
        obj = generators[attempt % len(generators)].object(choices)
        if obj is not None:
            kept = {k: v for k, v in obj["metadata"].items() if k in ("labels", "annotations")}
            out.append({**obj, "metadata": {"name": f"generated-{len(out)}", **kept}})
    if len(out) < count:
        raise ValueError(f"only {len(out)} of {count} objects could be generated from the schemas: use files as well")
    return out


async def objects_in_cluster(cluster: ClusterClient, crd: CRD) -> list[JsonObject]:
    """Return all objects of a CRD in a cluster, at a version that the first release has. Only reads.

    Raise ValueError if the cluster serves no such version, or ClusterError if the objects cannot be read.
    """
    live = CRDStorage(await cluster.get(f"{CRDS}/{crd.name}"))
    version = next((name for name in live.endpoints if name in crd.versions), None)
    if version is None:
        raise ValueError(
            f"the cluster serves {', '.join(live.served)}, but the first release has {', '.join(crd.versions)}"
        )
    out: list[JsonObject] = []
    async for item in cluster.list_items(live.collection(version)):
        metadata = {k: v for k, v in item["metadata"].items() if k not in _LOCAL_METADATA}
        out.append({**item, "apiVersion": f"{crd.group}/{version}", "kind": live.kind, "metadata": metadata})
    return out
