"""Validation of PersistentVolumes."""

from __future__ import annotations

import posixpath
from functools import partial

from polykind import errors, names
from polykind.apis.core import volume_source_validation as sources
from polykind.apis.core.node_selector_validation import has_invalid_label_values, validate_node_selector
from polykind.apis.core.path_validation import path_step_errors
from polykind.apis.core.resource_validation import validate_basic_quantity, validate_positive_quantity
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.volume_claim_validation import VOLUME_MODES, validate_access_modes
from polykind.apis.machinery.internal_types import show_internal
from polykind.contract import JsonObject, copy_json
from polykind.errors import FieldError
from polykind.golang.diff import json_diff
from polykind.golang.utf8 import byte_length

_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_INLINE = "in the context of inline volumes"
_ONE_TYPE = "may not specify more than 1 volume type"
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
_STABLE_LABELS = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_IMMUTABLE_SOURCE = "spec.persistentvolumesource is immutable after creation"


def validate_volume_spec(
    spec: JsonObject, name: str, at: str, *, inline: bool = False, old_spec: JsonObject | None = None
) -> list[FieldError]:
    """Validate the spec of a volume. `inline` is True for the spec that a VolumeAttachment contains."""
    found = _validate_inline(spec, at) if inline else []
    if not spec.get("accessModes"):
        found.append(errors.required(f"{at}.accessModes"))
    found += validate_access_modes(spec, at)
    if not inline:
        found += _validate_capacity(spec.get("capacity") or {}, f"{at}.capacity")
    found += _validate_reclaim_policy(spec, at, inline)
    found += _validate_node_affinity(spec, at, inline, old_spec)
    found += _validate_sources(spec, name, at)
    host_path = (spec.get("hostPath") or {}).get("path")
    if host_path and posixpath.normpath(host_path) in ("/", "//") and _reclaim_policy(spec) == "Recycle":
        reason = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(errors.forbidden(f"{at}.persistentVolumeReclaimPolicy", reason))
    return found + _validate_class_and_mode(spec, at, inline)


def _reclaim_policy(spec: JsonObject) -> str:
    policy: str = spec.get("persistentVolumeReclaimPolicy") or ""
    return policy


def _validate_inline(spec: JsonObject, at: str) -> list[FieldError]:
    found = [
        errors.forbidden(f"{at}.{field}", f"may not be specified {_INLINE}")
        for field in ("claimRef", "capacity")
        if spec.get(field)
    ]
    if spec.get("csi") is None:
        found.append(errors.required(f"{at}.csi", f"has to be specified {_INLINE}"))
    return found


def _validate_capacity(capacity: JsonObject, at: str) -> list[FieldError]:
    found = [] if capacity else [errors.required(at)]
    if list(capacity) != ["storage"]:
        found.append(errors.not_supported(at, capacity or None, ["storage"]))
    for name, text in capacity.items():
        found += validate_basic_quantity(text, f"{at}[{name}]") + validate_positive_quantity(text, f"{at}[{name}]")
    return found


def _validate_reclaim_policy(spec: JsonObject, at: str, inline: bool) -> list[FieldError]:
    policy, at = _reclaim_policy(spec), f"{at}.persistentVolumeReclaimPolicy"
    if inline:
        return [errors.forbidden(at, f"may only be Retain {_INLINE}")] if policy not in ("", "Retain") else []
    return [errors.not_supported(at, policy, _RECLAIM_POLICIES)] if policy and policy not in _RECLAIM_POLICIES else []


def _validate_node_affinity(spec: JsonObject, at: str, inline: bool, old_spec: JsonObject | None) -> list[FieldError]:
    affinity, at = spec.get("nodeAffinity"), f"{at}.nodeAffinity"
    if affinity is None:
        return []
    if inline:
        return [errors.forbidden(at, f"may not be specified {_INLINE}")]
    if affinity.get("required") is None:
        return [errors.required(f"{at}.required", "must specify required node constraints")]
    lenient = has_invalid_label_values(((old_spec or {}).get("nodeAffinity") or {}).get("required"))
    return validate_node_selector(affinity["required"], f"{at}.required", lenient=lenient)


def _validate_sources(spec: JsonObject, name: str, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    count = 0
    checks: dict[str, sources.SourceCheck] = {**_CHECKS, "iscsi": partial(_validate_iscsi, name=name)}
    for field in _SOURCE_ORDER:
        source = spec.get(field)
        if source is None:
            continue
        # kube-apiserver reports every second source as an error, except a FlexVolume.
        if count and field != "flexVolume":
            found.append(errors.forbidden(f"{at}.{'cephFS' if field == 'cephfs' else field}", _ONE_TYPE))
            continue
        count += 1
        path = f"{at}.persistentDisk" if field == "gcePersistentDisk" else f"{at}.{field}"
        found += checks[field](source, path)
        if field == "local" and spec.get("nodeAffinity") is None:
            found.append(errors.required(f"{at}.nodeAffinity", "Local volume requires node affinity"))
    return found if count else [*found, errors.required(at, "must specify a volume type")]


def _validate_glusterfs(source: JsonObject, at: str) -> list[FieldError]:
    found, namespace = sources.validate_glusterfs(source, at), source.get("endpointsNamespace")
    if namespace == "":
        reason = "if the endpointnamespace is set, it must be a valid namespace name"
        found.append(errors.invalid(f"{at}.endpointsNamespace", namespace, reason))
    elif namespace is not None:
        texts = names.label_name(namespace)
        found += [errors.invalid(f"{at}.endpointsNamespace", namespace, text) for text in texts]
    return found


def _validate_iscsi(source: JsonObject, at: str, name: str) -> list[FieldError]:
    portal, reason = source.get("targetPortal") or "", "must be valid format"
    found = sources.required_errors(source, at, ["targetPortal"])
    if source.get("initiatorName") is not None and byte_length(f"{name}:{portal}") > 64:
        text = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        found.append(errors.invalid(f"{at}.targetportal", portal, text))
    found += sources.validate_iscsi(source, at, reason)
    if (secret := source.get("secretRef")) is not None:
        found += sources.required_errors(secret, f"{at}.secretRef", ["name"])
    return found + sources.iscsi_initiator_errors(source, at, reason)


def _validate_cinder(source: JsonObject, at: str) -> list[FieldError]:
    found = sources.required_errors(source, at, ["volumeID"])
    if (secret := source.get("secretRef")) is not None:
        found += sources.required_errors(secret, f"{at}.secretRef", ["name", "namespace"])
    return found


def _validate_azure_file(source: JsonObject, at: str) -> list[FieldError]:
    found = sources.validate_azure_file(source, at)
    return [*found, errors.required(f"{at}.secretNamespace")] if source.get("secretNamespace") == "" else found


def _validate_local(source: JsonObject, at: str) -> list[FieldError]:
    path = source.get("path") or ""
    return path_step_errors(path, f"{at}.path") if path else [errors.required(f"{at}.path")]


def _validate_storage_os(source: JsonObject, at: str) -> list[FieldError]:
    return sources.validate_storage_os(source, at, ("name", "namespace"))


def _validate_csi(source: JsonObject, at: str) -> list[FieldError]:
    found = sources.csi_driver_name_errors(source.get("driver") or "", f"{at}.driver")
    found += sources.required_errors(source, at, ["volumeHandle"])
    for field in _CSI_SECRETS:
        if (secret := source.get(field)) is not None:
            found += _validate_secret_reference(secret, f"{at}.{field}")
    return found


def _validate_secret_reference(secret: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field, check in (("name", names.dns1123_subdomain), ("namespace", names.dns1123_label)):
        value = secret.get(field) or ""
        if not value:
            found.append(errors.required(f"{at}.{field}"))
        else:
            found += [errors.invalid(f"{at}.{field}", value, text) for text in check(value)]
    return found


_SOURCE_ORDER = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
    *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk"),
    *("portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
_OWN_CHECKS: dict[str, sources.SourceCheck] = {
    "glusterfs": _validate_glusterfs,
    "cinder": _validate_cinder,
    "azureFile": _validate_azure_file,
    "local": _validate_local,
    "storageos": _validate_storage_os,
    "csi": _validate_csi,
}
_CHECKS: dict[str, sources.SourceCheck] = {**sources.SHARED_SOURCES, **_OWN_CHECKS}


def _validate_class_and_mode(spec: JsonObject, at: str, inline: bool) -> list[FieldError]:
    found: list[FieldError] = []
    name, mode = spec.get("storageClassName") or "", spec.get("volumeMode")
    if name and inline:
        found.append(errors.forbidden(f"{at}.storageClassName", f"may not be specified {_INLINE}"))
    elif name:
        found += [errors.invalid(f"{at}.storageClassName", name, text) for text in names.subdomain_name(name)]
    if inline and mode not in (None, "Filesystem"):
        reason = f"may not specify volumeMode other than Filesystem {_INLINE}"
        found.append(errors.forbidden(f"{at}.volumeMode", reason))
    elif not inline and mode is not None and mode not in VOLUME_MODES:
        found.append(errors.not_supported(f"{at}.volumeMode", mode, VOLUME_MODES))
    return found + _validate_attributes_class(spec, at)


def _validate_attributes_class(spec: JsonObject, at: str) -> list[FieldError]:
    name = spec.get("volumeAttributesClassName")
    if name is None:
        return []
    path = f"{at}.volumeAttributesClassName"
    found = [errors.required(path, "an empty string is disallowed")] if not name else []
    found += [errors.invalid(path, name, text) for text in names.subdomain_name(name)] if name else []
    if spec.get("csi") is None:
        found.append(errors.required(f"{at}.csi", "has to be specified when using volumeAttributesClassName"))
    return found


def validate_volume_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate an update of a volume, without its metadata. The source of a volume is immutable."""
    spec, old_spec = new["spec"], old["spec"]
    found = validate_volume_spec(spec, new["metadata"].get("name", ""), "spec", old_spec=old_spec)
    volumes = [_comparable_sources(one, old_spec) for one in (old_spec, spec)]
    if volumes[0] != volumes[1]:
        struct = CORE_V1.struct("PersistentVolumeSource")
        difference = json_diff(*(show_internal(struct, one) for one in volumes))
        found.append(errors.forbidden("spec.persistentvolumesource", f"{_IMMUTABLE_SOURCE}\n{difference}"))
    if spec.get("volumeMode") != old_spec.get("volumeMode"):
        found.append(errors.invalid("volumeMode", spec.get("volumeMode"), "field is immutable"))
    found += _validate_affinity_update(spec.get("nodeAffinity"), old_spec.get("nodeAffinity"))
    field = "volumeAttributesClassName"
    if old_spec.get(field) is not None and spec.get(field) is None:
        found.append(errors.forbidden(f"spec.{field}", "update from non-nil value to nil is forbidden"))
    return found


def _validate_affinity_update(new: JsonObject | None, old: JsonObject | None) -> list[FieldError]:
    if old is None or new == old or new == _with_stable_labels(old, new):
        return []
    shown = show_internal(CORE_V1.struct("VolumeNodeAffinity"), new)
    reason = "field is immutable, except for updating from beta label to GA"
    return [errors.invalid("nodeAffinity", shown, reason)]


def _with_stable_labels(old: JsonObject, new: JsonObject | None) -> JsonObject:
    """Return the old affinity with the stable names of labels where `new` replaces deprecated names by stable ones."""
    renamed: JsonObject = copy_json(old)
    for term, new_term in zip(_terms(renamed), _terms(new), strict=False):
        expressions, new_expressions = (t.get("matchExpressions") or () for t in (term, new_term))
        for expression, new_expression in zip(expressions, new_expressions, strict=False):
            key = new_expression.get("key")
            if key and _STABLE_LABELS.get(expression.get("key") or "") == key:
                expression["key"] = key
    return renamed


def _terms(affinity: JsonObject | None) -> list[JsonObject]:
    terms: list[JsonObject] = ((affinity or {}).get("required") or {}).get("nodeSelectorTerms") or []
    return terms


def _comparable_sources(spec: JsonObject, old_spec: JsonObject) -> JsonObject:
    """Return the sources of a spec, for a comparison of two specs.

    Omit the secret for expanding a CSI volume if the old spec has none, so that an update may set it once.
    """
    found = {field: spec[field] for field in _SOURCE_ORDER if spec.get(field) is not None}
    old_csi, secret = old_spec.get("csi"), "controllerExpandSecretRef"
    if "csi" in found and old_csi is not None and old_csi.get(secret) is None:
        found["csi"] = {key: value for key, value in found["csi"].items() if key != secret}
    return found
