"""A schema made ready: applied to objects as they come in, are read, converted and judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.schema import object_meta
from polykind.schema.codegen import Function
from polykind.schema.correlation import Correlation
from polykind.schema.embedded_resources import EmbeddedResourceError, coerce_embedded, validate_embedded
from polykind.schema.list_types import validate_list_types
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.pruning import apply_defaults, drop_nulls, effective_default, prune
from polykind.schema.pruning_program import PruningProgramWriter, SlowPathError
from polykind.schema.scale_validation import validate_scale
from polykind.schema.validation_program import ValidationProgramWriter
from polykind.schema.validation_result import field_errors
from polykind.schema.value_validation import validate_value

_USES_BEFORE_PROGRAMS = 6
_HARMLESS_AT_ROOT = frozenset(("type", "properties", "required", "description", "title", "x-kubernetes-validations"))
_TOO_DEEP = "the object is nested too deeply for its schema"

P = ParamSpec("P")
R = TypeVar("R")


def _bounded(method: Callable[Concatenate[CompiledSchema, P], R]) -> Callable[Concatenate[CompiledSchema, P], R]:
    """Nesting beyond what the interpreter can follow is the sender's fault, not the server's."""

    @wraps(method)
    def guarded(self: CompiledSchema, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except RecursionError:
            raise errors.BadRequestError(_TOO_DEEP) from None

    return guarded


class CompiledSchema:
    """What an openAPIV3Schema does to objects. Making one costs nothing; its parts are read when first needed."""

    def __init__(self, openapi: JsonObject | None, *, preserve_unknown: bool = False) -> None:
        self.preserve_unknown = preserve_unknown
        self._raw = openapi
        self._root: SchemaNode | None = None
        self._uses = 0
        self._idle: bool | None = None
        self._has_floats: bool | None = None
        self._accepts: Function | None = None
        self._admits: Function | None = None
        self._is_tidy: Function | None = None
        self._tidy_tried = False
        self._prunes: Function | None = None

    @property
    def root(self) -> SchemaNode:
        """The tree of the schema; read only."""
        if self._root is None:
            self._root = SchemaNode(self._raw)
        return self._root

    def prune_and_default(self, obj: JsonObject, *, report: bool) -> list[str]:
        """Take in a request's object, in place: prune, drop nulls, clean embedded metadata, default.

        Root apiVersion, kind and metadata are left alone. The paths of unknown fields are returned if `report`, in the
        reference's order. Raises BadRequest for malformed metadata of an embedded resource.
        """
        try:
            if self._admits is not None:
                self._admits(obj, report)
                return []
        except SlowPathError:
            pass
        except RecursionError:
            raise errors.BadRequestError(_TOO_DEEP) from None
        return self._admit(obj, report)

    @_bounded
    def _admit(self, obj: JsonObject, report: bool) -> list[str]:
        self._note_use()
        unknown = self._pruned(obj, report=report)
        in_metadata: list[str] = []
        try:
            coerce_embedded(self.root, obj, "", in_metadata, strict=True)
        except EmbeddedResourceError as error:
            kind = obj.get("kind", "")
            version = str(obj.get("apiVersion", "")).rpartition("/")[2]
            text = f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
            raise object_meta.BadObjectMetaError(text, str(error)) from None
        apply_defaults(self.root, obj, root=True)
        return [*sorted(unknown), *sorted(in_metadata)] if report else []

    def prune_default_and_validate(self, obj: JsonObject, *, report: bool) -> tuple[list[str], bool]:
        """As `admit`, in one pass with `validate` where nothing has to be done: the unknown fields, and a verdict.

        A verdict of True stands for `validate(obj) == []`, and goes on to stand while only root metadata is changed and
        `status` is removed. False only means that `validate` has to be asked.
        """
        if self._admits is not None and not self._tidy_tried:
            self._write_tidy()
        try:
            if self._is_tidy is not None and self._is_tidy(obj):
                return [], True
        except (UnicodeEncodeError, RecursionError):
            pass
        return self.prune_and_default(obj, report=report), False

    @_bounded
    def prune_and_default_stored(self, obj: JsonObject) -> None:
        """Make a stored object fit its schema, in place: as `admit`, but malformed embedded metadata is dropped."""
        try:
            if self._admits is not None:
                self._admits(obj, False)
                return
        except SlowPathError:
            pass
        self._note_use()
        self._pruned(obj, report=False)
        coerce_embedded(self.root, obj, "", [], strict=False)
        apply_defaults(self.root, obj, root=True)

    @_bounded
    def prune(self, obj: JsonObject) -> None:
        """Make a converted object fit its schema, in place: no defaults.

        Raises Unexplained for malformed metadata of an embedded resource, as the reference fails the conversion.
        """
        try:
            if self._prunes is not None:
                self._prunes(obj, False)
                return
        except SlowPathError:
            pass
        self._note_use()
        if self._admits is not None and self._prunes is None:
            self._write_prunes()
        self._pruned(obj, report=False)
        try:
            coerce_embedded(self.root, obj, "", [], strict=True)
        except EmbeddedResourceError as error:
            raise errors.UnknownReasonError(str(error)) from None

    @_bounded
    def apply_defaults(self, obj: JsonObject) -> None:
        """Fill in defaults, in place."""
        apply_defaults(self.root, obj, root=True)

    @property
    def keeps_stored_objects(self) -> bool:
        """Whether `read` and `prune` leave alone every object that was taken in by `admit` of this same schema.

        All they do was done by then, and stays done if whole root fields are afterwards removed, or exchanged with
        those of another such object, as writes to the status subresource do: so no root field may have a default.
        An object changed below a root field (a scale written into an absent parent) is covered once admitted again.
        """
        if self._idle is None:
            root = self.root
            fields = (root.property_node(key) for key in root.property_names if key not in META_KEYS)
            self._idle = not any(effective_default(field) is not None for field in fields if field)
        return self._idle

    @property
    def has_floats(self) -> bool:
        """Whether there is any in the schema: if not, no default is one."""
        if self._has_floats is None:
            self._has_floats = _has_floats(self._raw)
        return self._has_floats

    def compile_programs(self) -> None:
        """Write the programs now, not after some uses; may be called in a thread. Rarer parts follow when first met."""
        for write in (self._write_accepts, self._write_admits, self._write_tidy, self._write_prunes):
            write()

    def _note_use(self) -> None:
        """Programs are worth their writing only for a schema that is used; one at a time, not to hold the loop."""
        self._uses += 1
        if self._uses >= _USES_BEFORE_PROGRAMS:
            if self._accepts is None:
                self._write_accepts()
            elif self._admits is None:
                self._write_admits()

    def _write_accepts(self) -> None:
        judge = ValidationProgramWriter()
        self._accepts = judge.program.called(judge.function(self.root))

    def _write_admits(self) -> None:
        if not self.preserve_unknown:
            steward = PruningProgramWriter(fill=True)
            self._admits = steward.program.called(steward.function(self.root, root=True))

    def _write_prunes(self) -> None:
        if not self.preserve_unknown:
            steward = PruningProgramWriter(fill=False)
            self._prunes = steward.program.called(steward.function(self.root, root=True))

    def _write_tidy(self) -> None:
        self._tidy_tried = True
        if not self.preserve_unknown:
            self._is_tidy = self._tidy_program()

    def _tidy_program(self) -> Function | None:
        """A program that accepts what is valid and needs no change, if the root's own rules allow to judge so early."""
        root = self.root
        if not root.raw.keys() <= _HARMLESS_AT_ROOT or "status" in root.required or root.embedded_resource:
            return None
        for key, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
            child = root.property_node(key)
            if child is not None and (child.types != (kind,) or not child.raw.keys() <= {"type", "description"}):
                return None
        judge = ValidationProgramWriter(tidy=True)
        return judge.program.called(judge.function(root))

    def validate(
        self, obj: JsonObject, old: JsonObject | None = None, *, scale: JsonObject | None = None
    ) -> list[FieldError]:
        """What is wrong with an object: its values, what `scale` reads, embedded resources, lists of type set and map.

        With `old`, faults of values that did not change are forgiven.
        """
        try:
            if self._accepts is not None and self._accepts(obj):
                return validate_scale(obj, scale) if scale else []
        except UnicodeEncodeError:
            pass
        except RecursionError:
            raise errors.BadRequestError(_TOO_DEEP) from None
        return self._validate(obj, old, scale)

    @_bounded
    def _validate(self, obj: JsonObject, old: JsonObject | None, scale: JsonObject | None) -> list[FieldError]:
        self._note_use()
        root = self.root
        link = Correlation(obj, old, root) if old is not None else None
        found = field_errors(validate_value(root, obj, "", link).errors)
        found.extend(validate_scale(obj, scale))
        return found + self.validate_beyond_values(obj, old)

    @_bounded
    def validate_beyond_values(self, obj: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """What is wrong with an object apart from its values: embedded resources, lists of type set and map."""
        found: list[FieldError] = []
        validate_embedded(self.root, obj, "", found)
        self._validate_lists(obj, old, found)
        return found

    @_bounded
    def validate_status(
        self, obj: JsonObject, old: JsonObject | None = None, *, scale: JsonObject | None = None
    ) -> list[FieldError]:
        """What is wrong with a write to the status subresource; texts name fields relative to the status."""
        found: list[FieldError] = []
        node = self.root.property_node("status")
        if node is not None and "status" in obj:
            status = obj["status"]
            link = Correlation(status, old.get("status"), node) if old is not None else None
            found.extend(field_errors(validate_value(node, status, "", link).errors, "status"))
        found.extend(validate_scale(obj, scale, status=True))
        self._validate_lists(obj, old, found)
        return found

    def _pruned(self, obj: JsonObject, *, report: bool) -> list[str]:
        unknown: list[str] = []
        if not self.preserve_unknown:
            prune(self.root, obj, "", unknown if report else None, root=True)
            drop_nulls(self.root, obj, root=True)
        return unknown

    def _validate_lists(self, obj: JsonObject, old: JsonObject | None, found: list[FieldError]) -> None:
        """Repetitions are forgiven altogether if the old object had some."""
        repeated: list[FieldError] = []
        validate_list_types(self.root, obj, "", repeated)
        if repeated and old is not None:
            before: list[FieldError] = []
            validate_list_types(self.root, old, "", before)
            if before:
                return
        found.extend(repeated)


def _has_floats(value: object) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, float):
            return True
    return False
