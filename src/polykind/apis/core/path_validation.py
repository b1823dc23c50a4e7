"""Validation of file paths in pods."""

from __future__ import annotations

from polykind.errors import FieldError, invalid


def path_step_errors(path: str, at: str) -> list[FieldError]:
    """Validate that no element of a path is `..`."""
    return [invalid(at, path, "must not contain '..'")] if ".." in path.split("/") else []


def relative_path_errors(path: str, at: str) -> list[FieldError]:
    """Validate a path relative to the directory of a volume."""
    found = [invalid(at, path, "must be a relative path")] if path.startswith("/") else []
    return found + path_step_errors(path, at)


def projected_path_errors(path: str, at: str) -> list[FieldError]:
    """Validate the path of a file in a volume. The kubelet reserves names that start with `..`."""
    found = relative_path_errors(path, at)
    if path.startswith("..") and not path.startswith("../"):
        found.append(invalid(at, path, "must not start with '..'"))
    return found
