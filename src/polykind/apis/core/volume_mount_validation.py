"""Validation of the places where containers mount volumes or use them as block devices."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.core.path_validation import path_step_errors, relative_path_errors
from polykind.apis.core.volume_validation import is_claim
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, invalid, not_found, not_supported, required

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def validate_volume_mounts(container: JsonObject, volumes: Mapping[str, JsonObject], at: str) -> list[FieldError]:
    """Validate the volume mounts of a container. `volumes` are the valid volumes of the pod."""
    found: list[FieldError] = []
    devices = {
        device.get("name") or "": device.get("devicePath") or "" for device in container.get("volumeDevices") or ()
    }
    paths: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        here, name, path = f"{at}[{index}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            found.append(required(f"{here}.name"))
        if name not in volumes:
            found.append(not_found(f"{here}.name", name))
        if not path:
            found.append(required(f"{here}.mountPath"))
        if path in paths:
            found.append(invalid(f"{here}.mountPath", path, "must be unique"))
        paths.add(path)
        if name in devices:
            found.append(invalid(f"{here}.name", name, "must not already exist in volumeDevices"))
        if path in devices.values():
            found.append(invalid(f"{here}.mountPath", path, "must not already exist as a path in volumeDevices"))
        found += _validate_sub_paths(mount, here, at)
        found += _validate_propagation(mount, container, f"{at}.mountPropagation")
        found += _validate_recursive_read_only(mount, f"{at}.recursiveReadOnly")
    return found


def validate_volume_devices(container: JsonObject, volumes: Mapping[str, JsonObject], at: str) -> list[FieldError]:
    """Validate the block devices of a container. `volumes` are the valid volumes of the pod."""
    found: list[FieldError] = []
    mounts = {mount.get("name") or "": mount.get("mountPath") or "" for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        here, name, path = f"{at}[{index}]", device.get("name") or "", device.get("devicePath") or ""
        found += _device_name_errors(name, names, volumes, f"{here}.name")
        if not path:
            found.append(required(f"{here}.devicePath"))
        if path in paths:
            found.append(invalid(f"{here}.devicePath", path, "must be unique"))
        if path_step_errors(path, ""):
            found.append(invalid(f"{here}.devicePath", path, "can not contain backsteps ('..')"))
        else:
            paths.add(path)
        if name in mounts:
            found.append(invalid(f"{here}.name", name, "must not already exist in volumeMounts"))
        if path in mounts.values():
            found.append(invalid(f"{here}.devicePath", path, "must not already exist as a path in volumeMounts"))
        names.update([name] if name else [])
    return found


def _device_name_errors(name: str, names: set[str], volumes: Mapping[str, JsonObject], at: str) -> list[FieldError]:
    """Validate the name of a block device. `names` are those of the devices before it."""
    found = [] if name else [required(at)]
    if name in names:
        found.append(invalid(at, name, "must be unique"))
    if name not in volumes:
        found.append(not_found(at, name))
    elif not is_claim(volumes[name]):
        reason = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        found.append(invalid(at, name, reason))
    return found


def _validate_sub_paths(mount: JsonObject, at: str, list_at: str) -> list[FieldError]:
    sub_path, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    found = relative_path_errors(sub_path, f"{list_at}.subPath") if sub_path else []
    if expression and sub_path:
        reason = "subPathExpr and subPath are mutually exclusive"
        found.append(invalid(f"{at}.subPathExpr", expression, reason))
    return found + (relative_path_errors(expression, f"{list_at}.subPathExpr") if expression else [])


def _validate_propagation(mount: JsonObject, container: JsonObject, at: str) -> list[FieldError]:
    mode = mount.get("mountPropagation")
    if mode is None:
        return []
    found = [] if mode in _PROPAGATIONS else [not_supported(at, mode, _PROPAGATIONS)]
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        reason = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden(at, reason))
    return found


def _validate_recursive_read_only(mount: JsonObject, at: str) -> list[FieldError]:
    mode = mount.get("recursiveReadOnly")
    if mode is None or mode == "Disabled":
        return []
    if mode not in _RECURSIVE_READ_ONLY:
        return [not_supported(at, mode, _RECURSIVE_READ_ONLY)]
    found = []
    if not mount.get("readOnly"):
        found.append(forbidden(at, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        found.append(forbidden(at, "may only be specified when mountPropagation is None or not specified"))
    return found
