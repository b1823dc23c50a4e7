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
from polykind.conversion.conversion_review import accepted
from polykind.conversion.failure import Failure
from polykind.toolkit.crd_versions import DefinedVersion, Definition, Unfit, taken
from polykind.toolkit.declare.conversions import ConversionError, subject
from polykind.toolkit.declare.field_paths import MISSING, Path
from polykind.toolkit.declare.library import Library
from polykind.toolkit.files.meaning import LAST_APPLIED, carried, completed, metadata_of

_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList")


@dataclass(slots=True)
class Converted:
    """A document after its conversion: `value` is the one given if nothing in it is of another version."""

    value: Any
    changes: list[str] = field(default_factory=list)
    """Each object that was converted, and from which version."""
    current: int = 0
    """How many objects were of the wanted version already."""
    warnings: list[str] = field(default_factory=list)


class Offline:
    """Converts objects of some kinds to one version."""

    def __init__(
        self, library: Library, to: str, definitions: Iterable[Definition] = (), *, defaults: bool = False
    ) -> None:
        """`to` is a version, or an apiVersion; `defaults`: write out every default. Raises ValueError."""
        self.library, self.defaults = library, defaults
        self.group, _, self.version = to.rpartition("/")
        self.definitions = {definition.kind: definition for definition in definitions}
        if not self.version:
            raise ValueError(f"--to {to}: must be a version such as v2, or with its group, such as example.com/v2")
        if library.is_async:
            raise ValueError(f"--converter {library.spec}: files are converted by plain functions, not by async ones")
        declared = library.declared
        self._choosy = declared is not None or not library.handles("apps", "Deployment")
        """Whether the library itself tells its kinds from others; if not, definitions do, or the group."""
        if not self._choosy and not self.group and not self.definitions:
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
        kinds = self.library.declared or ({} if self._choosy else self.definitions)
        return {kind.partition(".")[2] for kind in kinds}

    def concerns(self, group: str, kind: str) -> bool:
        """Whether objects of a kind are converted."""
        if not group or self.group not in ("", group):
            return False
        if not self._choosy and self.definitions and f"{kind}.{group}" not in self.definitions:
            return False
        return self.library.handles(group, kind)

    def document(self, value: Any) -> Converted:
        """A document with all the objects in it converted: itself, or the items of a list. Raises ConversionError."""
        if not isinstance(value, dict):
            return Converted(value)
        group, kind = _group_kind(value)
        if self.concerns(group, kind):
            return self.convert(value)
        single = kind.removesuffix("List")
        if not isinstance(value.get("items"), list) or single == kind:
            return Converted(value)
        if (value.get("apiVersion"), kind) == ("v1", "List"):
            return self._listed(value, {})
        if self.concerns(group, single):
            return self._listed(value, {"apiVersion": value["apiVersion"], "kind": single})
        return Converted(value)

    def convert(self, obj: JsonObject) -> Converted:
        """An object at the wanted version. Raises ConversionError."""
        group, kind = _group_kind(obj)
        goal = f"{group}/{self.version}"
        if obj["apiVersion"] == goal:
            return Converted(obj, current=1)
        origin = str(obj["apiVersion"]).rpartition("/")[2]
        about = f"{subject(obj)} cannot be converted from {origin} to {self.version}"
        if directive := next(_directives(obj), ""):
            raise ConversionError(f"{about}: it is a patch, with {directive}: only whole objects can be converted")
        definition = self.definitions.get(f"{kind}.{group}")
        try:
            if definition is None:
                out = Converted(self._by_steps(obj, goal))
            else:
                out = self._as_served(obj, definition, about)
            out.warnings += self._losses(obj, f"{kind}.{group}", origin)
            self._convert_last_applied(out, definition)
        except (Unfit, Failure) as error:
            raise ConversionError(f"{about}: {getattr(error, 'said', error)}") from None
        except RecursionError:
            raise ConversionError(f"{about}: it is nested too deeply") from None
        out.changes = [f"{subject(obj)}: {origin} to {self.version}"]
        return out

    def _losses(self, obj: JsonObject, kind: str, origin: str) -> Iterator[str]:
        """What an object has of all that its steps are declared to lose."""
        conversions = (self.library.declared or {}).get(kind)
        if conversions is None:
            return
        for step in conversions.way(origin, self.version):
            at = conversions.convert(obj, step.origin) if step.loses else {}
            yield from (f"{path}: lost in {step.goal}: {why}" for path, why in step.loses.items() if _has(at, path))

    def _listed(self, value: JsonObject, implied: JsonObject) -> Converted:
        """A list with its items converted; what `implied` says of them they need not say themselves."""
        out = Converted(value)
        items = []
        for index, item in enumerate(value["items"]):
            whole = {**implied, **item} if isinstance(item, dict) else {}
            if not self.concerns(*_group_kind(whole)):
                items.append(item)
                continue
            try:
                one = self.convert(whole)
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

    def _by_steps(self, obj: JsonObject, goal: str) -> JsonObject:
        whole = copy_json(obj)
        whole.setdefault("metadata", {})
        out = accepted(whole, self._called(whole, goal), goal)
        if "metadata" not in obj and not out["metadata"]:
            del out["metadata"]
        return out

    def _called(self, obj: JsonObject, goal: str) -> JsonObject:
        """What the library makes of a copy of an object, as plain JSON with its keys in their order."""
        group, kind = _group_kind(obj)
        about = f"{subject(obj)} cannot be converted to {goal}"
        try:
            out = self.library.function(group, kind)(copy_json(obj), goal)
        except (ConversionError, RecursionError):
            raise
        except (Exception, SystemExit) as error:
            # What calls sys.exit would end all the others too.
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise ConversionError(f"{about}: {said}") from error
        if not isinstance(out, dict):
            raise ConversionError(f"{about}: {type(out).__name__} was returned, no object")
        if out.get("apiVersion") == obj["apiVersion"]:
            out["apiVersion"] = goal
        try:
            plain: JsonObject = json_codec.decode(json_codec.encode_ordered(out))
        except (TypeError, ValueError, json_codec.MalformedJSONError) as error:
            raise ConversionError(f"{about}: what was returned is no JSON: {error}") from error
        return plain

    def _as_served(self, obj: JsonObject, definition: Definition, about: str) -> Converted:
        """What the API server makes of an object, said as its author said it. Raises Unfit."""
        origin = definition.version_of(obj)
        target = definition.versions.get(self.version)
        if target is None:
            raise Unfit(f"{definition.name} has no version {self.version}, only {', '.join(definition.versions)}")
        admitted, unknown = origin.admitted(obj)
        warnings = [] if target.served else [f"{target.name} is not served: the API server does not take it yet"]
        warnings += [f"{path}: not in the schema of {origin.name}, dropped" for path in unknown]
        written = origin.pruned(obj)
        written["metadata"] = (
            admitted["metadata"] if any(p.startswith("metadata.") for p in unknown) else metadata_of(obj)
        )
        meant, off = self._taken(admitted, target)
        try:
            said, more = self._taken(written, target)
            off += [path for path in more if path not in off]
        except ConversionError:
            # Steps that count on defaults get them, and so does the manifest.
            said = {**copy_json(meant), "metadata": carried(written["metadata"], meant["metadata"])}
        warnings += [f"{path}: written by the converter, not in the schema of {target.name}, dropped" for path in off]
        meaning = target.defaulted(meant)
        if self.defaults:
            out = {**meaning, "metadata": carried(said["metadata"], meaning["metadata"])}
        else:
            out, notes = completed(said, meant, meaning, target)
            warnings += (
                f"{path}: written out, as the defaults of {target.name} are not those of {origin.name}"
                for path in notes
            )
        warnings += _complaints(out, admitted, origin, target, about)
        if "metadata" not in obj and not out["metadata"]:
            del out["metadata"]
        return Converted(out, warnings=warnings)

    def _taken(self, obj: JsonObject, target: DefinedVersion) -> tuple[JsonObject, list[str]]:
        """The object as the API server takes it from the converter, and what it drops of it."""
        answer = self._called(obj, target.api_version)
        out = taken(obj, answer, target)
        return out, [path for path in target.admitted(answer)[1] if not path.startswith("metadata.")]

    def _convert_last_applied(self, out: Converted, definition: Definition | None) -> None:
        """What `kubectl apply` noted of the object goes along to the new version, or it goes."""
        annotations = metadata_of(out.value).get("annotations")
        if not isinstance(annotations, dict) or not isinstance(text := annotations.get(LAST_APPLIED), str):
            return
        target = definition.versions[self.version] if definition else None
        goal = str(out.value["apiVersion"])
        try:
            noted = json_codec.decode(text.encode())
            if not isinstance(noted, dict) or _group_kind(noted) != _group_kind(out.value):
                raise ConversionError("it is of another kind")
            if noted["apiVersion"] != goal:
                noted = self._taken(noted, target)[0] if target else self._by_steps(noted, goal)
                annotations[LAST_APPLIED] = json_codec.encode(noted).decode() + "\n"
        except (ConversionError, Unfit, Failure, json_codec.MalformedJSONError, UnicodeEncodeError) as error:
            del annotations[LAST_APPLIED]
            said = getattr(error, "said", None) or getattr(error, "text", None) or error
            out.warnings.append(f"the annotation {LAST_APPLIED} cannot be converted, and is dropped: {said}")


def _complaints(
    out: JsonObject, admitted: JsonObject, origin: DefinedVersion, target: DefinedVersion, about: str
) -> list[str]:
    """What the new version has against an object. If the old one had nothing against it, the converter is at fault."""
    found = target.complaints(target.defaulted(out))
    if found and not origin.complaints(admitted):
        raise ConversionError(f"{about}: {target.name} refuses the outcome: {'; '.join(found)}")
    return [f"refused by {origin.name}, and by {target.name} too: {complaint}" for complaint in found]


def _group_kind(obj: JsonObject) -> tuple[str, str]:
    api, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api, str) or not isinstance(kind, str):
        return "", ""
    return api.rpartition("/")[0], kind


def _has(obj: JsonObject, path: str) -> bool:
    try:
        at = Path(path)
    except ValueError:
        return False
    return any(at.get(scope) is not MISSING for scope in at.scopes(obj))


def _directives(root: Any) -> Iterator[str]:
    """Keys by which a strategic merge patch gives orders."""
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield from (key for key in value if key.startswith(_DIRECTIVES))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
