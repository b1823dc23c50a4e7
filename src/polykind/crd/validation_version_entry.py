"""Validation of a version entry except its schema: deprecation, subresources, printer columns, selectable fields."""

from __future__ import annotations

import unicodedata

from polykind.contract import JsonObject
from polykind.crd.field_path import FieldPathError, find_field
from polykind.crd.internal_json import as_json
from polykind.errors import FieldError, duplicate, invalid, required, too_many
from polykind.golang.utf8 import byte_length

MAX_SELECTABLE_FIELDS = 8

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SIMPLE_PATH = "must be a simple json path starting with ."
_MAX_WARNING_BYTES = 256


def validate_deprecation(version: JsonObject, path: str) -> list[FieldError]:
    """Validate deprecationWarning."""
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    at, value = f"{path}.deprecationWarning", as_json(warning)
    if not version.get("deprecated"):
        return [invalid(at, value, "can only be set for deprecated versions")]
    details = []
    if byte_length(warning) > _MAX_WARNING_BYTES:
        details.append("must be <= 256 characters long")
    if not warning:
        details.append("must not be an empty string")
    offset = 0
    for char in warning:
        if not _is_printable(char):
            reason = f"non-printable character found at index {offset}"
            details.append(f"must only contain printable UTF-8 characters; {reason}")
            break
        offset += byte_length(char)
    return [invalid(at, value, detail) for detail in details]


def _is_printable(char: str) -> bool:
    return char == " " or unicodedata.category(char)[0] in "LMNPS"


def validate_subresources(subresources: JsonObject | None, path: str) -> list[FieldError]:
    """Validate the paths of the scale subresource."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors = [
        *_validate_replicas_path(scale["specReplicasPath"], f"{path}.scale.specReplicasPath", ".spec"),
        *_validate_replicas_path(scale["statusReplicasPath"], f"{path}.scale.statusReplicasPath", ".status"),
    ]
    selector = scale.get("labelSelectorPath")
    if selector:
        at = f"{path}.scale.labelSelectorPath"
        if not selector.startswith("."):
            errors.append(invalid(at, selector, _SIMPLE_PATH))
        elif not selector.startswith((".spec.", ".status.")):
            errors.append(invalid(at, as_json(selector), "should be a json path under either .spec or .status"))
    return errors


def _validate_replicas_path(value: str, at: str, under: str) -> list[FieldError]:
    if not value:
        return [required(at)]
    if not value.startswith("."):
        return [invalid(at, value, _SIMPLE_PATH)]
    return [] if value.startswith(f"{under}.") else [invalid(at, value, f"should be a json path under {under}")]


def validate_printer_columns(columns: list[JsonObject] | None, path: str) -> list[FieldError]:
    """Validate additionalPrinterColumns."""
    errors: list[FieldError] = []
    for index, column in enumerate(columns or ()):
        at = f"{path}.additionalPrinterColumns[{index}]"
        if not column["name"]:
            errors.append(required(f"{at}.name"))
        types = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column["type"]:
            errors.append(required(f"{at}.type", types))
        elif column["type"] not in _COLUMN_TYPES:
            errors.append(invalid(f"{at}.type", column["type"], types))
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            errors.append(invalid(f"{at}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}"))
        if not column["jsonPath"]:
            errors.append(required(f"{at}.JSONPath"))
        elif not column["jsonPath"].startswith("."):
            errors.append(invalid(f"{at}.JSONPath", column["jsonPath"], _SIMPLE_PATH))
    return errors


def validate_selectable_fields(
    fields: list[JsonObject], schema: JsonObject | None, path: str, *, many_allowed: bool
) -> list[FieldError]:
    """Validate selectable fields: each must be a scalar outside of metadata, and none may be repeated."""
    errors: list[FieldError] = []
    known: set[tuple[str, ...]] = set()
    for index, field in enumerate(fields):
        at, text = f"{path}.selectableFields[{index}].jsonPath", field["jsonPath"]
        if not text:
            errors.append(required(at))
            continue
        try:
            names, target = find_field(text, schema, brackets=False)
        except FieldPathError as error:
            errors.append(invalid(at, text, f"is an invalid path: {error}"))
            continue
        if names[0] == "metadata" and schema and schema.get("properties"):
            errors.append(invalid(at, text, "must not point to fields in metadata"))
        if target is None or target.get("type") not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            errors.append(invalid(at, text, detail))
        if names in known:
            errors.append(duplicate(at, text))
        known.add(names)
    if len(known) > MAX_SELECTABLE_FIELDS and not many_allowed:
        errors.append(too_many(f"{path}.selectableFields", len(known), MAX_SELECTABLE_FIELDS))
    return errors
