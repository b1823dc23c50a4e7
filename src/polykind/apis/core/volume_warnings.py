"""Warnings about volumes of pods: removed plugins, fractional sizes, files that overwrite each other."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.quantity import parse_quantity

_DEPRECATED_SOURCES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "ephemeral": "",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""The warnings about volume sources, in kube-apiserver's order.

For ephemeral volumes, the warning depends on the size.
"""
_PATHS = {"storageos": "storageOS"}

FilePath = tuple[str, str]
"""The path of a file in a volume, and a description of the source of the file, which may be empty."""


def volume_warnings(volumes: list[JsonObject], at: str) -> Iterator[str]:
    """Yield warnings about deprecated volume plugins and about fractional sizes of ephemeral volumes."""
    for index, volume in enumerate(volumes):
        for source, message in _DEPRECATED_SOURCES.items():
            if volume.get(source) is None:
                continue
            if message:
                yield f"{at}[{index}].{_PATHS.get(source, source)}: {message}"
            elif (template := volume[source].get("volumeClaimTemplate")) is not None:
                spec_at = f"{at}[{index}].{source}.volumeClaimTemplate.spec"
                yield from claim_spec_warnings(template.get("spec") or {}, spec_at)


def claim_spec_warnings(spec: JsonObject, at: str) -> Iterator[str]:
    """Yield warnings about fractional sizes in the spec of a PersistentVolumeClaim."""
    for field in ("requests", "limits"):
        text = ((spec.get("resources") or {}).get(field) or {}).get("storage") or "0"
        if parse_quantity(text).milli_value() % 1000:
            reason = f"fractional byte value {go_quote(text)} is invalid, must be an integer"
            yield f"{at}.resources.{field}[storage]: {reason}"


def overlapping_path_warnings(volumes: list[JsonObject]) -> Iterator[str]:
    """Yield warnings about files of one volume with the same path, or with a path below another file's path."""
    for volume in volumes:
        name = go_quote(volume.get("name") or "")
        for source, title, key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            if (keys := volume.get(source)) is not None:
                title = f"{title} {go_quote(keys.get(key) or '')}"
                for overlap in _overlaps(_item_paths(keys, "")):
                    yield f"volume {name} ({title}): overlapping paths: {overlap}"
        for overlap in _overlaps(_item_paths(volume.get("downwardAPI") or {}, "")):
            yield f"volume {name} (DownwardAPI): overlapping paths: {overlap}"
        paths: list[FilePath] = []
        for projection in (volume.get("projected") or {}).get("sources") or ():
            if not any(value is not None for value in projection.values()):
                yield f"volume {name} (Projected) has no sources provided"
            paths += _projected_paths(projection)
        for overlap in _overlaps(paths):
            yield f"volume {name} (Projected): overlapping paths: {overlap}"


def _item_paths(source: JsonObject, title: str) -> list[FilePath]:
    return [((item.get("path") or "").rstrip("/"), title) for item in source.get("items") or ()]


def _projected_paths(projection: JsonObject) -> list[FilePath]:
    for source, title in (("configMap", "ConfigMap"), ("secret", "Secret")):
        keys = projection.get(source) or {}
        if keys.get("items"):
            return _item_paths(keys, f"{title} {go_quote(keys.get('name') or '')}")
    files = projection.get("downwardAPI") or {}
    if files.get("items"):
        return _item_paths(files, "DownwardAPI")
    token = projection.get("serviceAccountToken")
    return [] if token is None else [((token.get("path") or "").rstrip("/"), "ServiceAccountToken")]


def _overlaps(paths: list[FilePath]) -> Iterator[str]:
    for position, (path, title) in enumerate(paths):
        for other, other_title in paths[:position] if path else ():
            if other and (f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/")):
                yield f"{_describe(path, title)} with {_describe(other, other_title)}"


def _describe(path: str, title: str) -> str:
    return f"{go_quote(path)} ({title})" if title else go_quote(path)
