"""Validation of the volumes of pods."""

from __future__ import annotations

from polykind.apis.core import volume_source_validation as sources
from polykind.apis.core.downward_api_validation import validate_field_ref, validate_resource_field_ref
from polykind.apis.core.path_validation import projected_path_errors, relative_path_errors
from polykind.apis.core.pod_options import PodValidationOptions
from polykind.apis.core.volume_claim_validation import validate_volume_claim_template
from polykind.apis.core.volume_source_validation import SHARED_SOURCES, SourceCheck, required_errors
from polykind.apis.meta.validation import supported_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, forbidden, invalid, required
from polykind.golang.fmt import go_quote
from polykind.golang.utf8 import byte_length
from polykind.names import dns1123_label, dns1123_subdomain
from polykind.quantity import parse_quantity

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MODE_RULE = "must be a number between 0 and 0777 (octal), both inclusive"
_FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_ISCSI_FORMATS = "must be valid format starting with iqn, eui, or naa"
_DUPLICATE_PATHS = "conflicting duplicate paths"
_MIN_TOKEN_SECONDS, _MAX_TOKEN_SECONDS = 600, 1 << 32
_ERROR_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""The names of volume sources in the paths of kube-apiserver's errors, if they differ from the fields' names."""
_SECOND_SOURCE_PATHS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""The names of sources in kube-apiserver's error about a second source, if they differ from the fields' names."""


def validate_volumes(
    volumes: list[JsonObject], at: str, options: PodValidationOptions, pod_name: str = ""
) -> tuple[dict[str, JsonObject], list[FieldError]]:
    """Return the valid volumes by name, and the errors of the invalid volumes.

    The names of the claims of ephemeral volumes start with `pod_name`, which is empty if the name of the pod is
    unknown.
    """
    found: list[FieldError] = []
    valid: dict[str, JsonObject] = {}
    own_claims = (
        {f"{pod_name}-{v.get('name', '')}" for v in volumes if v.get("ephemeral") is not None} if pod_name else ()
    )
    for index, volume in enumerate(volumes):
        here, name = f"{at}[{index}]", volume.get("name") or ""
        problems = _validate_source(volume, here, options, pod_name)
        if not name:
            problems.append(required(f"{here}.name"))
        else:
            problems += [invalid(f"{here}.name", name, reason) for reason in dns1123_label(name)]
        if name in valid:
            problems.append(duplicate(f"{here}.name", name))
        if not problems:
            valid[name] = volume
        found += problems
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim is not None and claim in own_claims:
            reason = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid(f"{here}.persistentVolumeClaim.claimName", claim, reason))
    return valid, found


def is_claim(volume: JsonObject) -> bool:
    """True if a volume is a PersistentVolumeClaim, or an ephemeral volume, for which a controller creates a claim."""
    return volume.get("persistentVolumeClaim") is not None or volume.get("ephemeral") is not None


def _validate_source(volume: JsonObject, at: str, options: PodValidationOptions, pod_name: str) -> list[FieldError]:
    found: list[FieldError] = []
    used = ""
    for name, check in _sources.items():
        source = volume.get(name)
        if source is None:
            continue
        if used:
            path = f"{at}.{_SECOND_SOURCE_PATHS.get(name, name)}"
            found.append(forbidden(path, "may not specify more than 1 volume type"))
        else:
            used, path = name, f"{at}.{_ERROR_PATHS.get(name, name)}"
            if name == "image" and options.is_pod:
                found += required_errors(source, path, ["reference"])
            found += check(source, path)
        if name == "iscsi":
            found += _validate_iscsi_volume_name(source, volume.get("name") or "", at)
    if used == "ephemeral":
        found += _validate_claim_name(volume.get("name") or "", pod_name, at)
    return found if used else [*found, required(at, "must specify a volume type")]


def _validate_iscsi_volume_name(source: JsonObject, name: str, at: str) -> list[FieldError]:
    if source.get("initiatorName") is None or byte_length(f"{name}:{source.get('targetPortal') or ''}") <= 64:
        return []
    reason = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
        "if iscsi.initiatorName is specified."
    )
    return [invalid(f"{at}.name", name, reason)]


def _validate_claim_name(name: str, pod_name: str, at: str) -> list[FieldError]:
    if not name or not pod_name:
        return []
    claim = f"{pod_name}-{name}"
    return [invalid(f"{at}.name", name, f"PVC name {go_quote(claim)}: {reason}") for reason in dns1123_subdomain(claim)]


def _validate_empty_dir(source: JsonObject, at: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is None or parse_quantity(limit).sign >= 0:
        return []
    return [forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def _validate_git_repo(source: JsonObject, at: str) -> list[FieldError]:
    found = required_errors(source, at, ["repository"])
    return found + relative_path_errors(source.get("directory") or "", f"{at}.directory")


def _validate_iscsi(source: JsonObject, at: str) -> list[FieldError]:
    found = required_errors(source, at, ["targetPortal"])
    found += sources.validate_iscsi(source, at, _ISCSI_FORMATS)
    return found + sources.iscsi_initiator_errors(source, at, _ISCSI_FORMATS)


def _validate_cinder(source: JsonObject, at: str) -> list[FieldError]:
    found = required_errors(source, at, ["volumeID"])
    secret = source.get("secretRef")
    return found if secret is None else found + required_errors(secret, f"{at}.secretRef", ["name"])


def _validate_csi(source: JsonObject, at: str) -> list[FieldError]:
    found = sources.csi_driver_name_errors(source.get("driver") or "", f"{at}.driver")
    if (reference := source.get("nodePublishSecretRef")) is None:
        return found
    name = reference.get("name") or ""
    if not name:
        return [*found, required(f"{at}.nodePublishSecretRef.name")]
    return found + [invalid(f"{at}.name", name, reason) for reason in dns1123_subdomain(name)]


def _mode_errors(mode: int | None, at: str) -> list[FieldError]:
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(at, mode, _MODE_RULE)]


def _validate_secret(source: JsonObject, at: str) -> list[FieldError]:
    return _validate_keys(source, at, "secretName")


def _validate_config_map(source: JsonObject, at: str) -> list[FieldError]:
    return _validate_keys(source, at, "name")


def _validate_keys(source: JsonObject, at: str, name_field: str) -> list[FieldError]:
    found = [] if source.get(name_field) else [required(f"{at}.{name_field}")]
    found += _mode_errors(source.get("defaultMode"), f"{at}.defaultMode")
    for index, item in enumerate(source.get("items") or ()):
        found += _validate_key_to_path(item, f"{at}.items[{index}]")
    return found


def _validate_key_to_path(item: JsonObject, at: str) -> list[FieldError]:
    found = [required(f"{at}.{field}") for field in ("key", "path") if not item.get(field)]
    found += projected_path_errors(item.get("path") or "", f"{at}.path")
    return found + _mode_errors(item.get("mode"), f"{at}.mode")


def _validate_downward_api(source: JsonObject, at: str) -> list[FieldError]:
    found = _mode_errors(source.get("defaultMode"), f"{at}.defaultMode")
    for file in source.get("items") or ():
        found += _validate_downward_api_file(file, at)
    return found


def _validate_downward_api_file(file: JsonObject, at: str) -> list[FieldError]:
    path, field, resource = file.get("path") or "", file.get("fieldRef"), file.get("resourceFieldRef")
    found = [] if path else [required(f"{at}.path")]
    found += projected_path_errors(path, f"{at}.path")
    if field is not None:
        found += validate_field_ref(field, f"{at}.fieldRef", _FILE_FIELDS)
        if resource is not None:
            found.append(invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
    elif resource is not None:
        found += validate_resource_field_ref(resource, f"{at}.resourceFieldRef", in_volume=True)
    else:
        found.append(required(at, "one of fieldRef and resourceFieldRef is required"))
    return found + _mode_errors(file.get("mode"), f"{at}.mode")


def _validate_projected(source: JsonObject, at: str) -> list[FieldError]:
    found = _mode_errors(source.get("defaultMode"), f"{at}.defaultMode")
    paths: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        here = f"{at}.sources[{index}]"
        for name in ("secret", "configMap"):
            if (keys := projection.get(name)) is not None:
                found += _validate_projected_keys(keys, f"{here}.{name}", at, paths)
        for file in (projection.get("downwardAPI") or {}).get("items") or ():
            found += _validate_downward_api_file(file, f"{here}.downwardAPI")
            found += _claim_path(file.get("path") or "", paths, at, file.get("path") or "")
        if (token := projection.get("serviceAccountToken")) is not None:
            found += _validate_token(token, f"{here}.serviceAccountToken", at)
        if sum(value is not None for value in projection.values()) > 1:
            found.append(forbidden(here, "may not specify more than 1 volume type per source"))
    return found


def _validate_projected_keys(keys: JsonObject, at: str, volume_at: str, paths: set[str]) -> list[FieldError]:
    name = keys.get("name") or ""
    found = [] if name else [required(f"{at}.name")]
    for index, item in enumerate(keys.get("items") or ()):
        found += _validate_key_to_path(item, f"{at}.items[{index}]")
        found += _claim_path(item.get("path") or "", paths, volume_at, name)
    return found


def _claim_path(path: str, paths: set[str], at: str, value: str) -> list[FieldError]:
    """Add the path of a file to `paths`, the paths of the volume so far. Return an error if it is already there."""
    if path and path in paths:
        return [invalid(at, value, _DUPLICATE_PATHS)]
    paths.add(path)
    return []


def _validate_token(token: JsonObject, at: str, volume_at: str) -> list[FieldError]:
    found = []
    seconds, path = token.get("expirationSeconds") or 0, token.get("path") or ""
    if seconds < _MIN_TOKEN_SECONDS:
        reason = "may not specify a duration less than 10 minutes"
        found.append(invalid(f"{at}.expirationSeconds", seconds, reason))
    if seconds > _MAX_TOKEN_SECONDS:
        reason = "may not specify a duration larger than 2^32 seconds"
        found.append(invalid(f"{at}.expirationSeconds", seconds, reason))
    if not path:
        return [*found, required(f"{volume_at}.path")]
    return found + projected_path_errors(path, f"{volume_at}.path")


def _validate_ephemeral(source: JsonObject, at: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{at}.volumeClaimTemplate")]
    return validate_volume_claim_template(template, f"{at}.volumeClaimTemplate")


def _validate_image(source: JsonObject, at: str) -> list[FieldError]:
    return supported_errors(source.get("pullPolicy") or "", f"{at}.pullPolicy", PULL_POLICIES)


_SOURCE_ORDER = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"),
    *("flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk"),
    *("storageos", "projected", "scaleIO", "csi", "ephemeral", "image"),
)
"""The sources in the order in which kube-apiserver validates them."""
_checks: dict[str, SourceCheck] = {
    **SHARED_SOURCES,
    "emptyDir": _validate_empty_dir,
    "gitRepo": _validate_git_repo,
    "secret": _validate_secret,
    "iscsi": _validate_iscsi,
    "persistentVolumeClaim": lambda source, at: required_errors(source, at, ["claimName"]),
    "cinder": _validate_cinder,
    "downwardAPI": _validate_downward_api,
    "configMap": _validate_config_map,
    "projected": _validate_projected,
    "csi": _validate_csi,
    "ephemeral": _validate_ephemeral,
    "image": _validate_image,
}
_sources = {name: _checks[name] for name in _SOURCE_ORDER}
