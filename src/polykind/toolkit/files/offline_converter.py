"""Objects converted without a server: by the steps alone, or, where the definition is at hand, as the API server does.

The API server fills in the defaults of the old version before it converts. A manifest says only what its author wrote;
so does the converted one, as long as the API server then takes it for the same. A default that the new version does not
have, or has otherwise, is written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from polykind.codec import json_codec
from polykind.contract import JsonObject, copy_json
from polykind.conversion.conversion_errors import ConversionAttemptError
from polykind.conversion.conversion_review import check_converted
from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError, accept_converted
from polykind.toolkit.declare.conversions import ConversionError, describe_object
from polykind.toolkit.declare.field_paths import MISSING, FieldPath
from polykind.toolkit.declare.library import Library
from polykind.toolkit.files.normalization import (
    LAST_APPLIED,
    metadata_of,
    replace_mutable_metadata,
    write_differing_defaults,
)

_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList")


@dataclass(slots=True)
class ConvertedDocument:
    """A document after its conversion: `value` is the one given if nothing in it is of another version."""

    value: Any
    changes: list[str] = field(default_factory=list)
    """Each object that was converted, and from which version."""
    current: int = 0
    """How many objects were of the wanted version already."""
    warnings: list[str] = field(default_factory=list)


class OfflineConverter:
    """Converts objects of some kinds to one version."""

    def __init__(self, library: Library, to: str, crds: Iterable[CRD] = (), *, defaults: bool = False) -> None:
        """`to` is a version, or an apiVersion; `defaults`: write out every default. Raises ValueError."""
        self.library, self.defaults = library, defaults
        self.group, _, self.version = to.rpartition("/")
        self.crds = {crd.kind: crd for crd in crds}
        if not self.version:
            raise ValueError(f"--to {to}: must be a version such as v2, or with its group, such as example.com/v2")
        if library.is_async:
            raise ValueError(f"--converter {library.spec}: files are converted by plain functions, not by async ones")
        declared = library.declared
        self._declares_kinds = declared is not None or not library.handles("apps", "Deployment")
        """Whether the library itself tells its kinds from others; if not, definitions do, or the group."""
        if not self._declares_kinds and not self.group and not self.crds:
            raise ValueError(
                f"--converter {library.spec} converts every kind: say which are meant, "
                f"by --to with a group, such as example.com/{self.version}, or by --crd"
            )
        if declared is not None and not any(self.version in one.versions for one in declared.values()):
            known = ", ".join(dict.fromkeys(version for one in declared.values() for version in one.versions))
            raise ValueError(f"--to {to}: no step of --converter {library.spec} leads there, only to {known}")

    @property
    def groups(self) -> set[str]:
        """The groups whose objects are converted; none, if they cannot be told beforehand."""
        if self.group:
            return {self.group}
        kinds = self.library.declared or ({} if self._declares_kinds else self.crds)
        return {kind.partition(".")[2] for kind in kinds}

    def applies_to(self, group: str, kind: str) -> bool:
        """Whether objects of a kind are converted."""
        if not group or self.group not in ("", group):
            return False
        if not self._declares_kinds and self.crds and f"{kind}.{group}" not in self.crds:
            return False
        return self.library.handles(group, kind)

    def document(self, value: Any) -> ConvertedDocument:
        """A document with all the objects in it converted: itself, or the items of a list. Raises ConversionError."""
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
        """An object at the wanted version. Raises ConversionError."""
        group, kind = _group_kind(obj)
        goal = f"{group}/{self.version}"
        if obj["apiVersion"] == goal:
            return ConvertedDocument(obj, current=1)
        origin = str(obj["apiVersion"]).rpartition("/")[2]
        error_prefix = f"{describe_object(obj)} cannot be converted from {origin} to {self.version}"
        if directive := next(_patch_directives(obj), ""):
            raise ConversionError(
                f"{error_prefix}: it is a patch, with {directive}: only whole objects can be converted"
            )
        crd = self.crds.get(f"{kind}.{group}")
        try:
            if crd is None:
                out = ConvertedDocument(self._convert_raw(obj, goal))
            else:
                out = self._convert_like_server(obj, crd, error_prefix)
            out.warnings += self._losses(obj, f"{kind}.{group}", origin)
            self._convert_last_applied(out, crd)
        except (RejectedError, ConversionAttemptError) as error:
            raise ConversionError(f"{error_prefix}: {getattr(error, 'said', error)}") from None
        except RecursionError:
            raise ConversionError(f"{error_prefix}: it is nested too deeply") from None
        out.changes = [f"{describe_object(obj)}: {origin} to {self.version}"]
        return out

    def _losses(self, obj: JsonObject, kind: str, origin: str) -> Iterator[str]:
        """What an object has of all that its steps are declared to lose."""
        conversions = (self.library.declared or {}).get(kind)
        if conversions is None:
            return
        for step in conversions.path(origin, self.version):
            at = conversions.convert(obj, step.origin) if step.loses else {}
            yield from (
                f"{path}: lost in {step.goal}: {reason}" for path, reason in step.loses.items() if _has_field(at, path)
            )

    def _convert_list(self, value: JsonObject, implied: JsonObject) -> ConvertedDocument:
        """A list with its items converted; what `implied` says of them they need not say themselves."""
        out = ConvertedDocument(value)
        items = []
        for index, item in enumerate(value["items"]):
            full_object = {**implied, **item} if isinstance(item, dict) else {}
            if not self.applies_to(*_group_kind(full_object)):
                items.append(item)
                continue
            try:
                one = self.convert(full_object)
            except ConversionError as error:
                raise ConversionError(f"items[{index}]: {error}") from None
            items.append({key: kept for key, kept in one.value.items() if key in item or key not in implied})
            out.changes += one.changes
            out.current += one.current
            out.warnings += (f"items[{index}]: {warning}" for warning in one.warnings)
        if out.changes:
            out.value = {**value, "items": items}
        if implied and value["apiVersion"] != (goal := f"{_group_kind(value)[0]}/{self.version}"):
            out.value = {**out.value, "apiVersion": goal}
            out.changes = out.changes or [f"{value['kind']}: to {self.version}"]
        return out

    def _convert_raw(self, obj: JsonObject, goal: str) -> JsonObject:
        full_object = copy_json(obj)
        full_object.setdefault("metadata", {})
        out = check_converted(full_object, self._call_converter(full_object, goal), goal)
        if "metadata" not in obj and not out["metadata"]:
            del out["metadata"]
        return out

    def _call_converter(self, obj: JsonObject, goal: str) -> JsonObject:
        """What the library makes of a copy of an object, as plain JSON with its keys in their order."""
        group, kind = _group_kind(obj)
        error_prefix = f"{describe_object(obj)} cannot be converted to {goal}"
        try:
            out = self.library.function(group, kind)(copy_json(obj), goal)
        except (ConversionError, RecursionError):
            raise
        except (Exception, SystemExit) as error:
            # What calls sys.exit would end all the others too.
            message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise ConversionError(f"{error_prefix}: {message}") from error
        if not isinstance(out, dict):
            raise ConversionError(f"{error_prefix}: {type(out).__name__} was returned, no object")
        if out.get("apiVersion") == obj["apiVersion"]:
            out["apiVersion"] = goal
        try:
            plain: JsonObject = json_codec.decode(json_codec.encode_ordered(out))
        except (TypeError, ValueError, json_codec.MalformedJSONError) as error:
            raise ConversionError(f"{error_prefix}: what was returned is no JSON: {error}") from error
        return plain

    def _convert_like_server(self, obj: JsonObject, crd: CRD, error_prefix: str) -> ConvertedDocument:
        """What the API server makes of an object, said as its author said it. Raises Unfit."""
        origin = crd.version_of(obj)
        target = crd.versions.get(self.version)
        if target is None:
            raise RejectedError(f"{crd.name} has no version {self.version}, only {', '.join(crd.versions)}")
        admit, unknown = origin.admit(obj)
        warnings = [] if target.served else [f"{target.name} is not served: the API server does not take it yet"]
        warnings += [f"{path}: not in the schema of {origin.name}, dropped" for path in unknown]
        written = origin.pruned(obj)
        written["metadata"] = admit["metadata"] if any(p.startswith("metadata.") for p in unknown) else metadata_of(obj)
        converted, dropped_paths = self._accept(admit, target)
        try:
            message, dropped_from_written = self._accept(written, target)
            dropped_paths += [path for path in dropped_from_written if path not in dropped_paths]
        except ConversionError:
            # Steps that count on defaults get them, and so does the manifest.
            message = {
                **copy_json(converted),
                "metadata": replace_mutable_metadata(written["metadata"], converted["metadata"]),
            }
        warnings += [
            f"{path}: written by the converter, not in the schema of {target.name}, dropped" for path in dropped_paths
        ]
        defaulted_object = target.defaulted(converted)
        if self.defaults:
            out = {
                **defaulted_object,
                "metadata": replace_mutable_metadata(message["metadata"], defaulted_object["metadata"]),
            }
        else:
            out, added_paths = write_differing_defaults(message, converted, defaulted_object, target)
            warnings += (
                f"{path}: written out, as the defaults of {target.name} are not those of {origin.name}"
                for path in added_paths
            )
        warnings += _validation_warnings(out, admit, origin, target, error_prefix)
        if "metadata" not in obj and not out["metadata"]:
            del out["metadata"]
        return ConvertedDocument(out, warnings=warnings)

    def _accept(self, obj: JsonObject, target: CRDVersion) -> tuple[JsonObject, list[str]]:
        """The object as the API server takes it from the converter, and what it drops of it."""
        response = self._call_converter(obj, target.api_version)
        out = accept_converted(obj, response, target)
        return out, [path for path in target.admit(response)[1] if not path.startswith("metadata.")]

    def _convert_last_applied(self, out: ConvertedDocument, crd: CRD | None) -> None:
        """What `kubectl apply` noted of the object goes along to the new version, or it goes."""
        annotations = metadata_of(out.value).get("annotations")
        if not isinstance(annotations, dict) or not isinstance(text := annotations.get(LAST_APPLIED), str):
            return
        target = crd.versions[self.version] if crd else None
        goal = str(out.value["apiVersion"])
        try:
            last_applied = json_codec.decode(text.encode())
            if not isinstance(last_applied, dict) or _group_kind(last_applied) != _group_kind(out.value):
                raise ConversionError("it is of another kind")
            if last_applied["apiVersion"] != goal:
                last_applied = (
                    self._accept(last_applied, target)[0] if target else self._convert_raw(last_applied, goal)
                )
                annotations[LAST_APPLIED] = json_codec.encode(last_applied).decode() + "\n"
        except (
            ConversionError,
            RejectedError,
            ConversionAttemptError,
            json_codec.MalformedJSONError,
            UnicodeEncodeError,
        ) as error:
            del annotations[LAST_APPLIED]
            message = getattr(error, "said", None) or getattr(error, "text", None) or error
            out.warnings.append(f"the annotation {LAST_APPLIED} cannot be converted, and is dropped: {message}")


def _validation_warnings(
    out: JsonObject, admit: JsonObject, origin: CRDVersion, target: CRDVersion, error_prefix: str
) -> list[str]:
    """What the new version has against an object. If the old one had nothing against it, the converter is at fault."""
    found = target.validation_errors(target.defaulted(out))
    if found and not origin.validation_errors(admit):
        raise ConversionError(f"{error_prefix}: {target.name} refuses the outcome: {'; '.join(found)}")
    return [f"refused by {origin.name}, and by {target.name} too: {complaint}" for complaint in found]


def _group_kind(obj: JsonObject) -> tuple[str, str]:
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return "", ""
    return api_version.rpartition("/")[0], kind


def _has_field(obj: JsonObject, path: str) -> bool:
    try:
        at = FieldPath(path)
    except ValueError:
        return False
    return any(at.get(scope) is not MISSING for scope in at.scopes(obj))


def _patch_directives(root: Any) -> Iterator[str]:
    """Keys by which a strategic merge patch gives orders."""
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield from (key for key in value if key.startswith(_DIRECTIVES))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
