"""Configuration files in kube-apiserver's formats: YAML or JSON, decoded strictly by the type of their kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from polykind.apis.machinery import Struct, UndecodableObjectError, decode
from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote


class ConfigFileError(ValueError):
    """A configuration file is missing or invalid. The message names the file."""


def read_config(path: Path, types: Mapping[str, Struct]) -> JsonObject:
    """Read a configuration file whose kind has the types `types`, by apiVersion.

    Unknown and duplicate fields are errors, so that a typing error cannot disable a rule. Raise ConfigFileError if the
    file is invalid.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise ConfigFileError(f"{path}: {error.strerror}") from None
    try:
        return decode_config(body, types)
    except ValueError as error:
        raise ConfigFileError(f"{path}: {error}") from None


def decode_config(body: bytes, types: Mapping[str, Struct]) -> JsonObject:
    """Decode the content of a configuration file. Raise ValueError if it is invalid."""
    if not body.strip():
        raise ValueError("empty config data")
    # JSON is also YAML, so one parser reads both.
    try:
        value, _, complaints = yaml_codec.decode_strict(body)
    except yaml_codec.MalformedYAMLError as error:
        raise ValueError(error.message) from None
    if not isinstance(value, dict):
        raise ValueError("the file does not contain an object")
    api_version, kind = str(value.get("apiVersion") or ""), str(value.get("kind") or "")
    expected = next(iter(types.values())).kind
    struct = types.get(api_version)
    if not kind or not api_version:
        raise ValueError("Object 'Kind' is missing" if not kind else "Object 'apiVersion' is missing")
    if kind != expected:
        raise ValueError(f"expected {expected}, got {kind}")
    if struct is None:
        known = ", ".join(types)
        raise ValueError(f"no kind {go_quote(kind)} is registered for version {go_quote(api_version)}; use {known}")
    try:
        config, unknown = decode(value, struct, report=True)
    except UndecodableObjectError as error:
        raise ValueError(error.detail) from None
    complaints = [*complaints, *(f"unknown field {go_quote(field)}" for field in unknown)]
    if complaints:
        raise ValueError(f"strict decoding error: {', '.join(complaints)}")
    return config
