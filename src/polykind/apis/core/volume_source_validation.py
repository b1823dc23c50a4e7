"""Validation of the volume sources that pods and PersistentVolumes share, such as hostPath and nfs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from polykind import errors, names
from polykind.apis.core.path_validation import path_step_errors
from polykind.apis.meta.validation import range_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length

HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate"),
    "Socket",
)
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED_DISK = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[0-9A-Za-z.-]+:[^,;*&$|\t\n\f\r ]+\Z").search,
    "eui": re.compile(r"eui.[0-9A-Za-z]{16}").fullmatch,
    "naa": re.compile(r"naa.[0-9A-Za-z]{32}").fullmatch,
}
_HOST_PORT_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_host_port = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*").fullmatch

SourceCheck = Callable[[JsonObject, str], list[FieldError]]
"""A function that validates a volume source. The arguments: the source and its path."""


def required_errors(source: JsonObject, at: str, fields: Sequence[str]) -> list[FieldError]:
    """Return an error for each unset field among `fields`, in that order."""
    return [errors.required(f"{at}.{field}") for field in fields if not source.get(field)]


def validate_host_path(source: JsonObject, at: str) -> list[FieldError]:
    path, kind = source.get("path") or "", source.get("type")
    if not path:
        return [errors.required(f"{at}.path")]
    found = path_step_errors(path, f"{at}.path")
    if kind is not None and kind not in HOST_PATH_TYPES:
        found.append(errors.not_supported(f"{at}.type", kind, HOST_PATH_TYPES))
    return found


def validate_gce_disk(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["pdName"]) + _partition_errors(source, at)


def validate_aws_disk(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["volumeID"]) + _partition_errors(source, at)


def _partition_errors(source: JsonObject, at: str) -> list[FieldError]:
    partition = source.get("partition", 0)
    # kube-apiserver also accepts 0, although its message says 1-255.
    return range_errors(partition, f"{at}.partition", 1, 255) if partition else []


def validate_nfs(source: JsonObject, at: str) -> list[FieldError]:
    found, path = required_errors(source, at, ["server", "path"]), source.get("path") or ""
    if not path.startswith("/"):
        found.append(errors.invalid(f"{at}.path", path, "must be an absolute path"))
    return found


def validate_glusterfs(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["endpoints", "path"])


def validate_flocker(source: JsonObject, at: str) -> list[FieldError]:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        return [errors.required(at, "one of datasetName and datasetUUID is required")]
    found = []
    if name and uuid:
        reason = "datasetName and datasetUUID can not be specified simultaneously"
        found.append(errors.invalid(at, "resource", reason))
    if "/" in name:
        found.append(errors.invalid(f"{at}.datasetName", name, "must not contain '/'"))
    return found


def validate_rbd(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["monitors", "image"])


def validate_quobyte(source: JsonObject, at: str) -> list[FieldError]:
    registry, found = source.get("registry") or "", []
    if not registry:
        found.append(errors.required(f"{at}.registry", _HOST_PORT_PAIRS))
    elif byte_length(source.get("tenant") or "") >= 65:
        reason = "must be a UUID and may not exceed a length of 64 characters"
        found.append(errors.required(f"{at}.tenant", reason))
    else:
        invalid = [pair for pair in registry.split(",") if not _host_port(pair)]
        found += [errors.invalid(f"{at}.registry", registry, _HOST_PORT_PAIRS) for _ in invalid]
    return found + required_errors(source, at, ["volume"])


def validate_cephfs(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["monitors"])


def validate_iscsi(source: JsonObject, at: str, reason: str) -> list[FieldError]:
    """Validate the fields of an iSCSI source in a pod or volume. `reason` is the error for a name of unknown format."""
    iqn, found = source.get("iqn") or "", []
    if not iqn:
        found.append(errors.required(f"{at}.iqn"))
    else:
        found += _iscsi_name_errors(iqn, f"{at}.iqn", reason)
    found += range_errors(source.get("lun", 0), f"{at}.lun", 0, 255)
    uses_chap = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if uses_chap and source.get("secretRef") is None:
        found.append(errors.required(f"{at}.secretRef"))
    return found


def iscsi_initiator_errors(source: JsonObject, at: str, reason: str) -> list[FieldError]:
    """Validate the initiatorName of an iSCSI source, if it is set.

    `reason` is the error for a name of unknown format.
    """
    initiator = source.get("initiatorName")
    return [] if initiator is None else _iscsi_name_errors(initiator, f"{at}.initiatorname", reason)


def _iscsi_name_errors(name: str, at: str, reason: str) -> list[FieldError]:
    matches = _ISCSI_NAMES.get(name[:3])
    if matches is None:
        return [errors.invalid(at, name, reason)]
    return [] if matches(name) else [errors.invalid(at, name, "must be valid format")]


def validate_fc(source: JsonObject, at: str) -> list[FieldError]:
    targets, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    found = []
    if not targets and not ids:
        reason = "must specify either targetWWNs or wwids, but not both"
        found.append(errors.required(f"{at}.targetWWNs", reason))
    if targets and ids:
        reason = "targetWWNs and wwids can not be specified simultaneously"
        found.append(errors.invalid(f"{at}.targetWWNs", targets, reason))
    if targets and lun is None:
        found.append(errors.required(f"{at}.lun", "lun is required if targetWWNs is specified"))
    elif targets and lun is not None:
        found += range_errors(lun, f"{at}.lun", 0, 255)
    return found


def validate_flex(source: JsonObject, at: str) -> list[FieldError]:
    found = required_errors(source, at, ["driver"])
    for key in source.get("options") or {}:
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            reason = "kubernetes.io and k8s.io namespaces are reserved"
            found.append(errors.invalid(f"{at}.options[{key}]", key, reason))
    return found


def validate_azure_file(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["secretName", "shareName"])


def validate_azure_disk(source: JsonObject, at: str) -> list[FieldError]:
    found = required_errors(source, at, ["diskName", "diskURI"])
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    if caching is not None and caching not in _CACHING_MODES:
        found.append(errors.not_supported(f"{at}.cachingMode", caching, _CACHING_MODES))
    if kind is not None and kind not in _DISK_KINDS:
        found.append(errors.not_supported(f"{at}.kind", kind, _DISK_KINDS))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        found.append(errors.not_supported(f"{at}.diskURI", uri, [_MANAGED_DISK]))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        found.append(errors.not_supported(f"{at}.diskURI", uri, [_BLOB_DISK]))
    return found


def validate_vsphere(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["volumePath"])


def validate_photon(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["pdID"])


def validate_portworx(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["volumeID"])


def validate_scale_io(source: JsonObject, at: str) -> list[FieldError]:
    return required_errors(source, at, ["gateway", "system", "volumeName"])


def validate_storage_os(source: JsonObject, at: str, secret_fields: Sequence[str] = ("name",)) -> list[FieldError]:
    """Validate a StorageOS source. `secret_fields` are the fields that a reference to a secret must have."""
    name, namespace = source.get("volumeName") or "", source.get("volumeNamespace") or ""
    if not name:
        found = [errors.required(f"{at}.volumeName")]
    else:
        found = [errors.invalid(f"{at}.volumeName", name, text) for text in names.dns1123_label(name)]
    if namespace:
        found += [errors.invalid(f"{at}.volumeNamespace", namespace, text) for text in names.dns1123_label(namespace)]
    if (secret := source.get("secretRef")) is not None:
        found += required_errors(secret, f"{at}.secretRef", secret_fields)
    return found


def csi_driver_name_errors(driver: str, at: str) -> list[FieldError]:
    """Validate the name of a CSI driver: a DNS subdomain, in which capital letters are allowed."""
    if not driver:
        return [errors.required(at)]
    found = [errors.too_long(at, 63)] if byte_length(driver) > 63 else []
    return found + [errors.invalid(at, driver, text) for text in names.dns1123_subdomain(driver.lower())]


SHARED_SOURCES: dict[str, SourceCheck] = {
    "hostPath": validate_host_path,
    "gcePersistentDisk": validate_gce_disk,
    "awsElasticBlockStore": validate_aws_disk,
    "glusterfs": validate_glusterfs,
    "flocker": validate_flocker,
    "nfs": validate_nfs,
    "rbd": validate_rbd,
    "quobyte": validate_quobyte,
    "cephfs": validate_cephfs,
    "fc": validate_fc,
    "flexVolume": validate_flex,
    "azureFile": validate_azure_file,
    "vsphereVolume": validate_vsphere,
    "photonPersistentDisk": validate_photon,
    "portworxVolume": validate_portworx,
    "azureDisk": validate_azure_disk,
    "scaleIO": validate_scale_io,
    "storageos": validate_storage_os,
}
"""The checks of the sources that pods and PersistentVolumes share."""
