"""Offline conversion of objects: by the conversion functions alone, or with a CRD exactly as the API server does it.

The API server applies the source version's defaults before it converts an object. A converted manifest omits these
defaults, like the original manifest. If the target version has another default for a field, the converted manifest
contains the value explicitly, so that its meaning does not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from polykind.codec import json_codec
from polykind.contract import JsonObject, copy_json
from polykind.conversion.conversion_errors import AttemptError
from polykind.conversion.conversion_messages import check_converted
from polykind.declare.conversions import ConversionError, describe_object
from polykind.declare.field_rules import MISSING, FieldPath
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError, accept_converted
from polykind.toolkit.files.normalization import (
    LAST_APPLIED,
    metadata_of,
    replace_mutable_metadata,
    write_differing_defaults,
)

_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList")


@dataclass(slots=True)
class ConvertedDocument:
    """A converted document. `value` is unchanged if no object in the document needed a conversion."""

    value: Any
    changes: list[str] = field(default_factory=list)
    """A line for each converted object, with its old and new version."""
    current: int = 0
    """The number of objects that were already at the requested version."""
    warnings: list[str] = field(default_factory=list)


class OfflineConverter:
    """Converts objects of some kinds to one version."""

    def __init__(self, library: Library, to: str, crds: Iterable[CRD] = (), *, defaults: bool = False) -> None:
        """`to` is a version or an apiVersion. If `defaults` is true, converted objects contain all defaults.

        Raise ValueError if the converter cannot convert to this version.
        """
        self.library, self.defaults = library, defaults
        self.group, _, self.version = to.rpartition("/")
        self.crds = {crd.kind: crd for crd in crds}
        if not self.version:
            raise ValueError(f"--to {to}: must be a version such as v2, or with its group, such as example.com/v2")
        if library.is_async:
            raise ValueError(
                f"--converter {library.spec}: an async function cannot convert files, use a plain function"
            )
        declared = library.declared
        self._declares_kinds = declared is not None or not library.handles("apps", "Deployment")
        """True if the converter declares its kinds. Otherwise `crds` or the group in `to` selects the kinds."""
        if not self._declares_kinds and not self.group and not self.crds:
            raise ValueError(
                f"--converter {library.spec} converts every kind: select kinds with a group, "
                f"as in --to example.com/{self.version}, or with --crd"
            )
        if declared is not None and not any(self.version in conversions.versions for conversions in declared.values()):
            known = ", ".join(dict.fromkeys(version for each in declared.values() for version in each.versions))
            raise ValueError(f"--to {to}: no step of --converter {library.spec} leads there, only to {known}")

    @property
    def groups(self) -> set[str]:
        """The API groups whose objects are converted. Empty if the groups are not known in advance."""
        if self.group:
            return {self.group}
        kinds = self.library.declared or ({} if self._declares_kinds else self.crds)
        return {kind.partition(".")[2] for kind in kinds}

    def applies_to(self, group: str, kind: str) -> bool:
        """True if objects of this kind are converted."""
        if not group or self.group not in ("", group):
            return False
        if not self._declares_kinds and self.crds and f"{kind}.{group}" not in self.crds:
            return False
        return self.library.handles(group, kind)

    def document(self, value: Any) -> ConvertedDocument:
        """Convert a document: one object, or the items of a List. Raise ConversionError if a conversion fails."""
        if not isinstance(value, dict):
            return ConvertedDocument(value)
        group, kind = _group_kind(value)
        if self.applies_to(group, kind):
            return self.convert(value)
        item_kind = kind.removesuffix("List")
        if not isinstance(value.get("items"), list) or item_kind == kind:
            return ConvertedDocument(value)
        if (value.get("apiVersion"), kind) == ("v1", "List"):
            return self._convert_list(value, {})
        if self.applies_to(group, item_kind):
            return self._convert_list(value, {"apiVersion": value["apiVersion"], "kind": item_kind})
        return ConvertedDocument(value)

    def convert(self, obj: JsonObject) -> ConvertedDocument:
        """Convert an object to the requested version. Raise ConversionError if the conversion fails."""
        group, kind = _group_kind(obj)
        goal = f"{group}/{self.version}"
        if obj["apiVersion"] == goal:
            return ConvertedDocument(obj, current=1)
        origin = str(obj["apiVersion"]).rpartition("/")[2]
        error_prefix = f"{describe_object(obj)} cannot be converted from {origin} to {self.version}"
        if directive := next(_patch_directives(obj), ""):
            raise ConversionError(
                f"{error_prefix}: it is a strategic merge patch ({directive}); only whole objects can be converted"
            )
        crd = self.crds.get(f"{kind}.{group}")
        try:
            if crd is None:
                out = ConvertedDocument(self._convert_raw(obj, goal))
            else:
                out = self._convert_like_server(obj, crd, error_prefix)
            out.warnings += self._losses(obj, f"{kind}.{group}", origin)
            self._convert_last_applied(out, crd)
        except (RejectedError, AttemptError) as error:
            raise ConversionError(f"{error_prefix}: {getattr(error, 'said', error)}") from None
        except RecursionError:
            raise ConversionError(f"{error_prefix}: the object is nested too deeply") from None
        out.changes = [f"{describe_object(obj)}: {origin} to {self.version}"]
        return out

    def _losses(self, obj: JsonObject, kind: str, origin: str) -> Iterator[str]:
        """Yield a warning for each declared loss of a field that the object has."""
        conversions = (self.library.declared or {}).get(kind)
        if conversions is None:
            return
        for step in conversions.path(origin, self.version):
            source = conversions.convert(obj, step.origin) if step.loses else {}
            for path, reason in step.loses.items():
                if _has_field(source, path):
                    yield f"{path}: lost in {step.goal}: {reason}"

    def _convert_list(self, value: JsonObject, implied: JsonObject) -> ConvertedDocument:
        """Convert the items of a List. `implied` holds the apiVersion and kind that items of a typed List omit."""
        out = ConvertedDocument(value)
        items = []
        for index, item in enumerate(value["items"]):
            full_object = {**implied, **item} if isinstance(item, dict) else {}
            if not self.applies_to(*_group_kind(full_object)):
                items.append(item)
                continue
            try:
                converted = self.convert(full_object)
            except ConversionError as error:
                raise ConversionError(f"items[{index}]: {error}") from None
            items.append({key: field for key, field in converted.value.items() if key in item or key not in implied})
            out.changes += converted.changes
            out.current += converted.current
            out.warnings += (f"items[{index}]: {warning}" for warning in converted.warnings)
        if out.changes:
            out.value = {**value, "items": items}
        if implied and value["apiVersion"] != (goal := f"{_group_kind(value)[0]}/{self.version}"):
            out.value = {**out.value, "apiVersion": goal}
            out.changes = out.changes or [f"{value['kind']}: to {self.version}"]
        return out

    def _convert_raw(self, obj: JsonObject, goal: str) -> JsonObject:
        """Convert an object with the converter alone, without defaults, pruning and validation by a CRD's schemas."""
        full_object = copy_json(obj)
        full_object.setdefault("metadata", {})
        out = check_converted(full_object, self._call_converter(full_object, goal), goal)
        if "metadata" not in obj and not out["metadata"]:
            del out["metadata"]
        return out

    def _call_converter(self, obj: JsonObject, goal: str) -> JsonObject:
        """Call the converter with a copy of the object and return its result as plain JSON in its own key order."""
        group, kind = _group_kind(obj)
        error_prefix = f"{describe_object(obj)} cannot be converted to {goal}"
        try:
            out = self.library.function(group, kind)(copy_json(obj), goal)
        except (ConversionError, RecursionError):
            raise
        except (Exception, SystemExit) as error:
            # SystemExit is caught, too: a converter that calls sys.exit must not stop the conversion of other files.
            message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise ConversionError(f"{error_prefix}: {message}") from error
        if not isinstance(out, dict):
            raise ConversionError(f"{error_prefix}: the converter returned {type(out).__name__}, not an object")
        if out.get("apiVersion") == obj["apiVersion"]:
            out["apiVersion"] = goal
        try:
            plain: JsonObject = json_codec.decode(json_codec.encode_ordered(out))
        except (TypeError, ValueError, json_codec.MalformedJSONError) as error:
            raise ConversionError(
                f"{error_prefix}: the converter returned a value that is not JSON: {error}"
            ) from error
        return plain

    def _convert_like_server(self, obj: JsonObject, crd: CRD, error_prefix: str) -> ConvertedDocument:
        """Convert like the API server, but omit defaults that the author did not write.

        Raise RejectedError if the API server would reject the object or the converter's result.
        """
        origin = crd.version_of(obj)
        target = crd.versions.get(self.version)
        if target is None:
            raise RejectedError(f"{crd.name} has no version {self.version}, only {', '.join(crd.versions)}")
        admitted, unknown = origin.admit(obj)
        warnings = [] if target.served else [f"{target.name} is not served: the API server does not accept it yet"]
        warnings += [f"{path}: not in the schema of {origin.name}, dropped" for path in unknown]
        written = origin.pruned(obj)
        unknown_metadata = any(path.startswith("metadata.") for path in unknown)
        written["metadata"] = admitted["metadata"] if unknown_metadata else metadata_of(obj)
        converted, dropped = self._accept(admitted, target)
        try:
            manifest, dropped_from_written = self._accept(written, target)
            dropped += [path for path in dropped_from_written if path not in dropped]
        except ConversionError:
            # The converter fails for the manifest without defaults, so use the object that was converted with them.
            metadata = replace_mutable_metadata(written["metadata"], converted["metadata"])
            manifest = {**copy_json(converted), "metadata": metadata}
        warnings += [
            f"{path}: written by the converter, not in the schema of {target.name}, dropped" for path in dropped
        ]
        expected = target.defaulted(converted)
        if self.defaults:
            out = {**expected, "metadata": replace_mutable_metadata(manifest["metadata"], expected["metadata"])}
        else:
            out, added_paths = write_differing_defaults(manifest, converted, expected, target)
            warnings += (
                f"{path}: written out, because the defaults of {target.name} differ from those of {origin.name}"
                for path in added_paths
            )
        warnings += _validation_warnings(out, admitted, origin, target, error_prefix)
        if "metadata" not in obj and not out["metadata"]:
            del out["metadata"]
        return ConvertedDocument(out, warnings=warnings)

    def _accept(self, obj: JsonObject, target: CRDVersion) -> tuple[JsonObject, list[str]]:
        """Return the converter's result as the API server accepts it, and the paths that the API server prunes."""
        response = self._call_converter(obj, target.api_version)
        out = accept_converted(obj, response, target)
        return out, [path for path in target.admit(response)[1] if not path.startswith("metadata.")]

    def _convert_last_applied(self, out: ConvertedDocument, crd: CRD | None) -> None:
        """Convert the object in kubectl's last-applied annotation, or drop the annotation with a warning."""
        annotations = metadata_of(out.value).get("annotations")
        if not isinstance(annotations, dict) or not isinstance(text := annotations.get(LAST_APPLIED), str):
            return
        target = crd.versions[self.version] if crd else None
        goal = str(out.value["apiVersion"])
        try:
            last_applied = json_codec.decode(text.encode())
            if not isinstance(last_applied, dict) or _group_kind(last_applied) != _group_kind(out.value):
                raise ConversionError("it holds an object of another kind")
            if last_applied["apiVersion"] != goal:
                last_applied = (
                    self._accept(last_applied, target)[0] if target else self._convert_raw(last_applied, goal)
                )
                annotations[LAST_APPLIED] = json_codec.encode(last_applied).decode() + "\n"
        except (
            ConversionError,
            RejectedError,
            AttemptError,
            json_codec.MalformedJSONError,
            UnicodeEncodeError,
        ) as error:
            del annotations[LAST_APPLIED]
            message = getattr(error, "said", None) or getattr(error, "text", None) or error
            out.warnings.append(f"the annotation {LAST_APPLIED} cannot be converted and is dropped: {message}")


def _validation_warnings(
    out: JsonObject, admitted: JsonObject, origin: CRDVersion, target: CRDVersion, error_prefix: str
) -> list[str]:
    """Return the validation errors of the converted object as warnings, if the original object is invalid, too.

    Raise ConversionError if only the converted object is invalid, because then the converter is wrong.
    """
    errors = target.validation_errors(target.defaulted(out))
    if errors and not origin.validation_errors(admitted):
        raise ConversionError(f"{error_prefix}: {target.name} rejects the result: {'; '.join(errors)}")
    return [f"rejected by {origin.name} and by {target.name}: {error}" for error in errors]


def _group_kind(obj: JsonObject) -> tuple[str, str]:
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return "", ""
    return api_version.rpartition("/")[0], kind


def _has_field(obj: JsonObject, path: str) -> bool:
    try:
        field_path = FieldPath(path)
    except ValueError:
        return False
    return any(field_path.get(scope) is not MISSING for scope in field_path.scopes(obj))


def _patch_directives(root: Any) -> Iterator[str]:
    """Yield the directive keys of a strategic merge patch."""
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield from (key for key in value if key.startswith(_DIRECTIVES))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
