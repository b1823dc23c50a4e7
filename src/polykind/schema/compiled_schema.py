"""The compiled schema of one version of a custom resource. It prunes, defaults and validates objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.regexp import PatternError, compile_pattern
from polykind.golang.sorting import sorted_strings
from polykind.schema import object_meta
from polykind.schema.codegen import Function
from polykind.schema.correlation import Correlation
from polykind.schema.default_size import check_default_size
from polykind.schema.embedded_resources import EmbeddedResourceError, coerce_embedded, validate_embedded
from polykind.schema.list_types import validate_list_types
from polykind.schema.node import SchemaNode
from polykind.schema.pruning import apply_defaults, drop_nulls, prune
from polykind.schema.pruning_program import PruningProgramWriter, SlowPathError
from polykind.schema.scale_validation import validate_scale
from polykind.schema.validation_program import ValidationProgramWriter
from polykind.schema.validation_result import field_errors
from polykind.schema.value_validation import validate_value

_USES_BEFORE_GENERATION = 6
_KEYWORDS_FOR_SINGLE_PASS = frozenset(
    ("type", "properties", "required", "description", "title", "x-kubernetes-validations")
)
_TOO_DEEP = "the object is nested too deeply for its schema"

P = ParamSpec("P")
R = TypeVar("R")


def _limit_nesting(method: Callable[Concatenate[CompiledSchema, P], R]) -> Callable[Concatenate[CompiledSchema, P], R]:
    """Turn a RecursionError into a 400 response, because only deep nesting in the request can cause it."""

    @wraps(method)
    def limited(self: CompiledSchema, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except RecursionError:
            raise errors.BadRequestError(_TOO_DEEP) from None

    return limited


class CompiledSchema:
    """Prunes, defaults and validates objects by an openAPIV3Schema. The schema is read on first use.

    After several uses, Python functions are generated from the schema. They handle most objects. The slow path
    (pruning.py, value_validation.py) handles all other objects and reports errors.
    """

    def __init__(self, openapi: JsonObject | None, *, preserve_unknown: bool = False) -> None:
        self.preserve_unknown = preserve_unknown
        self._raw = openapi
        self._root: SchemaNode | None = None
        self._uses = 0
        self._has_floats: bool | None = None
        self._steps_per_value = 0
        self._validation: Function | None = None
        self._pruning_and_defaulting: Function | None = None
        self._single_pass: Function | None = None
        self._single_pass_generated = False
        self._pruning: Function | None = None

    @property
    def root(self) -> SchemaNode:
        """The root node of the schema. Callers must not change it."""
        if self._root is None:
            self._root = SchemaNode(self._raw)
        return self._root

    def prune_and_default(self, obj: JsonObject, *, report: bool) -> list[str]:
        """Prune the object of a request, drop its nulls, coerce embedded metadata and apply defaults, in place.

        The object's own apiVersion, kind and metadata do not change. If `report` is true, return the paths of unknown
        fields in kube-apiserver's order. Raise BadObjectMetaError if the metadata of an embedded resource is malformed.
        """
        try:
            if self._pruning_and_defaulting is not None:
                self._pruning_and_defaulting(obj, report)
                return []
        except SlowPathError:
            pass
        except RecursionError:
            raise errors.BadRequestError(_TOO_DEEP) from None
        return self._prune_and_default_slowly(obj, report)

    @_limit_nesting
    def _prune_and_default_slowly(self, obj: JsonObject, report: bool) -> list[str]:
        self._count_use()
        unknown = self._prune_slowly(obj, report=report)
        in_metadata: list[str] = []
        try:
            coerce_embedded(self.root, obj, "", in_metadata, strict=True)
        except EmbeddedResourceError as error:
            kind = obj.get("kind", "")
            version = str(obj.get("apiVersion", "")).rpartition("/")[2]
            text = f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
            raise object_meta.BadObjectMetaError(text, str(error)) from None
        apply_defaults(self.root, obj, root=True)
        return [*sorted_strings(unknown), *sorted_strings(in_metadata)] if report else []

    def prune_default_and_validate(self, obj: JsonObject, *, report: bool) -> tuple[list[str], bool]:
        """Prune and default like `prune_and_default`, and try to validate in the same pass.

        Return the paths of unknown fields, and True if the object is valid. It stays valid if the caller then changes
        only the object's metadata and removes `status`. If the second value is False, the caller must call `validate`.
        """
        if self._passes_at_once(obj):
            return [], True
        return self.prune_and_default(obj, report=report), False

    def _passes_at_once(self, obj: JsonObject) -> bool:
        """Run the function that defaults and validates in one pass. Return False if other functions have to decide."""
        if self._pruning_and_defaulting is not None and not self._single_pass_generated:
            self._generate_single_pass()
        try:
            return self._single_pass is not None and bool(self._single_pass(obj))
        except (UnicodeEncodeError, RecursionError):
            return False

    @_limit_nesting
    def prune_and_default_stored(self, obj: JsonObject) -> None:
        """Prune and default a stored object like `prune_and_default`. Drop malformed metadata of embedded resources."""
        try:
            if self._pruning_and_defaulting is not None:
                self._pruning_and_defaulting(obj, False)
                return
        except SlowPathError:
            pass
        self._count_use()
        self._prune_slowly(obj, report=False)
        coerce_embedded(self.root, obj, "", [], strict=False)
        apply_defaults(self.root, obj, root=True)

    @_limit_nesting
    def prune(self, obj: JsonObject) -> None:
        """Remove unknown fields and nulls, in place, from an object that was converted to this version. Do not default.

        Raise UnknownReasonError if the metadata of an embedded resource is malformed, as kube-apiserver does.
        """
        try:
            if self._pruning is not None:
                self._pruning(obj, False)
                return
        except SlowPathError:
            pass
        self._count_use()
        if self._pruning_and_defaulting is not None and self._pruning is None:
            self._generate_pruning()
        self._prune_slowly(obj, report=False)
        try:
            coerce_embedded(self.root, obj, "", [], strict=True)
        except EmbeddedResourceError as error:
            raise errors.UnknownReasonError(str(error)) from None

    def prune_and_default_merged(self, obj: JsonObject) -> None:
        """Call `prune`, then `apply_defaults`, in one pass if possible."""
        try:
            if self._pruning_and_defaulting is not None:
                self._pruning_and_defaulting(obj, False)
                return
        except (SlowPathError, RecursionError):
            pass
        self.prune(obj)
        self.apply_defaults(obj)

    def default_and_validate(self, obj: JsonObject) -> bool:
        """Call `apply_defaults`. Return True if the object is known to be valid and pruned.

        It stays so if the caller changes no more than `prune_default_and_validate` allows.
        """
        if self._passes_at_once(obj):
            return True
        self.apply_defaults(obj)
        return False

    @_limit_nesting
    def apply_defaults(self, obj: JsonObject) -> None:
        """Fill in the defaults of absent fields, in place."""
        apply_defaults(self.root, obj, root=True)

    @property
    def steps_per_value(self) -> int:
        """The highest number of properties, required fields and allOf, anyOf or oneOf branches that apply to one value.

        It measures how long it takes to default and validate a value. A big schema takes long to measure, so that waits
        for the first use, in a worker thread.
        """
        if self._steps_per_value == 0:
            if _is_big(self._raw):
                return _ALWAYS_IN_WORKER
            self._steps_per_value = _steps_per_value(self._raw)
        return self._steps_per_value

    def check_default_size(self, data: bytes, obj: JsonObject) -> None:
        """Raise UnknownReasonError if defaults would make an object, whose JSON is `data`, too large to be stored."""
        if data.count(b"{") * self.steps_per_value > _STEPS_WITHOUT_CHECK:
            check_default_size(self.root, obj)

    @property
    def has_floats(self) -> bool:
        """True if the schema, including its defaults, contains a float."""
        if self._has_floats is None:
            self._has_floats = _has_floats(self._raw)
        return self._has_floats

    def compile_programs(self) -> None:
        """Generate all functions for this schema now instead of after several uses. May be called in a thread."""
        self._generate_validation()
        self._generate_pruning_and_defaulting()
        self._generate_single_pass()
        self._generate_pruning()

    def _count_use(self) -> None:
        """Count a use of the schema. After several uses, generate functions: only one per call, because generating all
        would block the event loop for too long.
        """
        self._uses += 1
        if self._steps_per_value == 0:
            self._steps_per_value, self._has_floats = _steps_per_value(self._raw), _has_floats(self._raw)
        if self._uses >= _USES_BEFORE_GENERATION:
            if self._validation is None:
                self._generate_validation()
            elif self._pruning_and_defaulting is None:
                self._generate_pruning_and_defaulting()

    def _generate_validation(self) -> None:
        writer = ValidationProgramWriter()
        self._validation = writer.program.compiled(writer.function(self.root))

    def _generate_pruning_and_defaulting(self) -> None:
        if not self.preserve_unknown:
            writer = PruningProgramWriter(fill_defaults=True)
            self._pruning_and_defaulting = writer.program.compiled(writer.function(self.root, root=True))

    def _generate_pruning(self) -> None:
        if not self.preserve_unknown:
            writer = PruningProgramWriter(fill_defaults=False)
            self._pruning = writer.program.compiled(writer.function(self.root, root=True))

    def _generate_single_pass(self) -> None:
        self._single_pass_generated = True
        if not self.preserve_unknown:
            self._single_pass = self._single_pass_program()

    def _single_pass_program(self) -> Function | None:
        """Generate the function that prunes, defaults and validates in one pass.

        Return None if the root schema has keywords that the caller's later changes of metadata or status may violate.
        """
        root = self.root
        if not root.raw.keys() <= _KEYWORDS_FOR_SINGLE_PASS or "status" in root.required or root.embedded_resource:
            return None
        for key, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
            child = root.property_node(key)
            if child is not None and (child.types != (kind,) or not child.raw.keys() <= {"type", "description"}):
                return None
        writer = ValidationProgramWriter(single_pass=True)
        return writer.program.compiled(writer.function(root))

    def validate(
        self, obj: JsonObject, old: JsonObject | None = None, *, scale: JsonObject | None = None
    ) -> list[FieldError]:
        """Validate an object: values, the paths of the scale subresource, embedded resources and list types.

        If `old` is given, errors of values that are the same in `old` are dropped (ratcheting).
        """
        try:
            if self._validation is not None and self._validation(obj):
                return validate_scale(obj, scale) if scale else []
        except UnicodeEncodeError:
            pass
        except RecursionError:
            raise errors.BadRequestError(_TOO_DEEP) from None
        return self._validate_slowly(obj, old, scale)

    @_limit_nesting
    def _validate_slowly(self, obj: JsonObject, old: JsonObject | None, scale: JsonObject | None) -> list[FieldError]:
        self._count_use()
        root = self.root
        correlation = Correlation(obj, old, root) if old is not None else None
        all_errors = field_errors(validate_value(root, obj, "", correlation).errors)
        all_errors.extend(validate_scale(obj, scale))
        return all_errors + self.validate_beyond_values(obj, old)

    @_limit_nesting
    def validate_beyond_values(self, obj: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """Validate embedded resources and list types, but not types, formats, ranges and other keywords of values."""
        all_errors: list[FieldError] = []
        validate_embedded(self.root, obj, "", all_errors)
        self._validate_lists(obj, old, all_errors)
        return all_errors

    @_limit_nesting
    def validate_status(
        self, obj: JsonObject, old: JsonObject | None = None, *, scale: JsonObject | None = None
    ) -> list[FieldError]:
        """Validate a write to the status subresource. Error messages name fields relative to the status."""
        all_errors: list[FieldError] = []
        node = self.root.property_node("status")
        if node is not None and "status" in obj:
            status = obj["status"]
            correlation = Correlation(status, old.get("status"), node) if old is not None else None
            all_errors.extend(field_errors(validate_value(node, status, "", correlation).errors, "status"))
        all_errors.extend(validate_scale(obj, scale, status=True))
        self._validate_lists(obj, old, all_errors)
        return all_errors

    def _prune_slowly(self, obj: JsonObject, *, report: bool) -> list[str]:
        unknown: list[str] = []
        if not self.preserve_unknown:
            prune(self.root, obj, "", unknown if report else None, root=True)
            drop_nulls(self.root, obj, root=True)
        return unknown

    def _validate_lists(self, obj: JsonObject, old: JsonObject | None, all_errors: list[FieldError]) -> None:
        """Append list type errors to `all_errors`, unless the old object had list type errors too (ratcheting)."""
        new_errors: list[FieldError] = []
        validate_list_types(self.root, obj, "", new_errors)
        if new_errors and old is not None:
            old_errors: list[FieldError] = []
            validate_list_types(self.root, old, "", old_errors)
            if old_errors:
                return
        all_errors.extend(new_errors)


def _steps_per_value(schema: JsonObject | None) -> int:
    """Return the highest number of steps for one value at any node of the schema, including the node's branches."""
    highest, pattern_work = 1, 0
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            continue
        steps = 0
        alternatives = [node]
        while alternatives:
            current = alternatives.pop()
            if isinstance(current.get("pattern"), str) and pattern_work < _MAX_PATTERN_WORK:
                pattern_work += _pattern_work(current["pattern"])
            properties, required = current.get("properties"), current.get("required")
            steps += _STEPS_PER_BRANCH
            steps += len(properties) if isinstance(properties, dict) else 0
            steps += len(current["enum"]) // _VALUES_PER_STEP if isinstance(current.get("enum"), list) else 0
            steps += len(required) if isinstance(required, list) else 0
            for keyword in ("allOf", "anyOf", "oneOf"):
                branches = current.get(keyword)
                if isinstance(branches, list):
                    alternatives += [branch for branch in branches if isinstance(branch, dict)]
            if isinstance(current.get("not"), dict):
                alternatives.append(current["not"])
            pending += [current.get("items"), current.get("additionalProperties")]
            pending += properties.values() if isinstance(properties, dict) else ()
        highest = max(highest, steps)
    return highest if pattern_work < _MAX_PATTERN_WORK else max(highest, _ALWAYS_IN_WORKER)


def _pattern_work(text: str) -> int:
    """Return how long a pattern takes to check and to compile, in instructions of RE2."""
    try:
        return _WORK_PER_PATTERN + compile_pattern(text).size if len(text) < _LONG_PATTERN else _MAX_PATTERN_WORK
    except PatternError:
        return _WORK_PER_PATTERN


_MAX_PATTERN_WORK, _WORK_PER_PATTERN, _LONG_PATTERN = 40_000, 100, 1000
"""The instructions of all patterns up to which they are compiled on the event loop: some 20 ms if all are."""
_ALWAYS_IN_WORKER = 1_000_000
"""Steps for which every value is handled in a worker thread."""


def _is_big(schema: JsonObject | None) -> bool:
    """True if a schema has so many parts that they are not counted on an event loop."""
    parts, pending = 0, [schema]
    while pending:
        part = pending.pop()
        parts += 1
        children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        if parts + len(pending) + len(children) > _MAX_PARTS:
            return True
        pending += children
    return False


_MAX_PARTS = 20_000
"""The parts of a schema that are counted in some milliseconds."""
_VALUES_PER_STEP = 10
_STEPS_PER_BRANCH = 5
_STEPS_WITHOUT_CHECK = 100_000
"""The estimated number of properties in an object above which the size of its defaults is checked."""


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
