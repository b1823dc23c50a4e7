"""Defaults of the volumes of pods."""

from __future__ import annotations

from polykind.apis.core.container_defaults import default_field_ref, pull_policy
from polykind.apis.core.defaults import default_volume_claim_spec
from polykind.contract import JsonObject

_FILE_MODE = 0o644
_TOKEN_LIFETIME = 3600
_SOURCE_DEFAULTS: dict[str, JsonObject] = {
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "hostPath": {"type": ""},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}
"""Defaults of fields that are pointers in Go, by volume source. A field keeps its value even if the value is zero."""
_TEXT_DEFAULTS = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
"""Defaults of string fields, by volume source. A field with an empty string gets the default."""


def default_volume(volume: JsonObject) -> None:
    """Set the defaults of a volume, in place. A volume without a source is an empty directory."""
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name in sources:
        default_volume_source(name, volume[name])
        if name in _default_source:
            _default_source[name](volume[name])


def default_volume_source(name: str, source: JsonObject) -> None:
    """Set the defaults of a volume source, in place, both in pods and in PersistentVolumes."""
    for field, value in _SOURCE_DEFAULTS.get(name, {}).items():
        if source.get(field) is None:
            source[field] = value
    for field, text in _TEXT_DEFAULTS.get(name, {}).items():
        if not source.get(field):
            source[field] = text


def _default_image(source: JsonObject) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference") or "")


def _default_items(source: JsonObject) -> None:
    for item in source.get("items") or ():
        default_field_ref(item)


def _default_projected(source: JsonObject) -> None:
    for projection in source.get("sources") or ():
        _default_items(projection.get("downwardAPI") or {})
        if (token := projection.get("serviceAccountToken")) is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = _TOKEN_LIFETIME


def _default_ephemeral(source: JsonObject) -> None:
    if (template := source.get("volumeClaimTemplate")) is not None:
        default_volume_claim_spec(template.setdefault("spec", {}))


_default_source = {
    "image": _default_image,
    "downwardAPI": _default_items,
    "projected": _default_projected,
    "ephemeral": _default_ephemeral,
}
