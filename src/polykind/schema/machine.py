"""A schema made ready: applied to objects as they come in, are read, converted and judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.schema.codewriter import Function
from polykind.schema.correlation import Correlation
from polykind.schema.embedded import MisfitError, coerce_embedded, validate_embedded
from polykind.schema.fastadmit import Steward, Unsure
from polykind.schema.fastvalid import Judge
from polykind.schema.faults import field_errors
from polykind.schema.listtypes import validate_lists
from polykind.schema.node import META_KEYS, Node
from polykind.schema.prune import default, default_of, drop_nulls, prune
from polykind.schema.scale import validate_scale
from polykind.schema.values import check

_USES_BEFORE_PROGRAMS = 6

P = ParamSpec("P")
R = TypeVar("R")


def _bounded(method: Callable[Concatenate[Schema, P], R]) -> Callable[Concatenate[Schema, P], R]:
    """Nesting beyond what the interpreter can follow is the sender's fault, not the server's."""

    @wraps(method)
    def guarded(self: Schema, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except RecursionError:
            raise errors.BadRequest("the object is nested too deeply for its schema") from None

    return guarded


class _Programs:
    """The quick ways; each says whether it has settled the matter."""

    def __init__(self, root: Node) -> None:
        self._judge, self._steward, self._pruner = Judge(), Steward(fill=True), Steward(fill=False)
        self._names = (
            self._judge.function(root),
            self._steward.function(root, root=True),
            self._pruner.function(root, root=True),
        )
        self._accept: Function | None = None
        self._admit: Function | None = None
        self._prune: Function | None = None

    def accepts(self, obj: JsonObject) -> bool:
        accept = self._accept = self._accept or self._judge.program.called(self._names[0])
        try:
            return accept(obj) is True
        except UnicodeEncodeError:
            return False

    def admits(self, obj: JsonObject, report: bool) -> bool:
        admit = self._admit = self._admit or self._steward.program.called(self._names[1])
        try:
            admit(obj, report)
        except Unsure:
            return False
        return True

    def prunes(self, obj: JsonObject) -> bool:
        prune_it = self._prune = self._prune or self._pruner.program.called(self._names[2])
        try:
            prune_it(obj, False)
        except Unsure:
            return False
        return True

    def finish(self) -> None:
        for writer in (self._judge, self._steward, self._pruner):
            writer.program.finish()


class Schema:
    """What an openAPIV3Schema does to objects. Making one costs nothing; its parts are read when first needed."""

    def __init__(self, openapi: JsonObject | None, *, preserve_unknown: bool = False) -> None:
        self.preserve_unknown = preserve_unknown
        self._raw = openapi
        self._root: Node | None = None
        self._uses = 0
        self._programs: _Programs | None = None
        self._idle: bool | None = None

    @property
    def root(self) -> Node:
        """The tree of the schema; read only."""
        if self._root is None:
            self._root = Node(self._raw)
        return self._root

    def _fast(self) -> _Programs | None:
        """The programs, once the schema has been used often enough to be worth the writing."""
        if self._programs is None:
            self._uses += 1
            if self._uses <= _USES_BEFORE_PROGRAMS:
                return None
            self._programs = _Programs(self.root)
        return self._programs

    @_bounded
    def admit(self, obj: JsonObject, *, report: bool) -> list[str]:
        """Take in a request's object, in place: prune, drop nulls, clean embedded metadata, default.

        Root apiVersion, kind and metadata are left alone. The paths of unknown fields are returned if `report`, in the
        reference's order. Raises BadRequest for malformed metadata of an embedded resource.
        """
        fast = None if self.preserve_unknown else self._fast()
        if fast and fast.admits(obj, report):
            return []
        unknown = self._pruned(obj, report=report)
        in_metadata: list[str] = []
        try:
            coerce_embedded(self.root, obj, "", in_metadata, strict=True)
        except MisfitError as error:
            kind = obj.get("kind", "")
            version = str(obj.get("apiVersion", "")).rpartition("/")[2]
            text = f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
            raise errors.BadRequest(text) from None
        default(self.root, obj, root=True)
        return [*sorted(unknown), *sorted(in_metadata)] if report else []

    @_bounded
    def read(self, obj: JsonObject) -> None:
        """Make a stored object fit its schema, in place: as `admit`, but malformed embedded metadata is dropped."""
        fast = None if self.preserve_unknown else self._fast()
        if fast and fast.admits(obj, False):
            return
        self._pruned(obj, report=False)
        coerce_embedded(self.root, obj, "", [], strict=False)
        default(self.root, obj, root=True)

    @_bounded
    def prune(self, obj: JsonObject) -> None:
        """Make a converted object fit its schema, in place: no defaults.

        Raises Unexplained for malformed metadata of an embedded resource, as the reference fails the conversion.
        """
        fast = None if self.preserve_unknown else self._fast()
        if fast and fast.prunes(obj):
            return
        self._pruned(obj, report=False)
        try:
            coerce_embedded(self.root, obj, "", [], strict=True)
        except MisfitError as error:
            raise errors.Unexplained(str(error)) from None

    @_bounded
    def default(self, obj: JsonObject) -> None:
        """Fill in defaults, in place."""
        default(self.root, obj, root=True)

    @property
    def idle(self) -> bool:
        """Whether `read` and `prune` leave alone every object that was taken in by `admit` of this same schema.

        All they do was done by then, and stays done if whole root fields are afterwards removed, or exchanged with
        those of another such object, as writes to the status subresource do: so no root field may have a default.
        An object changed below a root field (a scale written into an absent parent) is covered once admitted again.
        """
        if self._idle is None:
            root = self.root
            fields = (root.field(key) for key in root.property_names if key not in META_KEYS)
            self._idle = not any(default_of(field) is not None for field in fields if field)
        return self._idle

    def warm(self) -> None:
        """Do now what first uses would do later; may be called in a thread."""
        programs = self._programs or _Programs(self.root)
        programs.finish()
        self._programs = programs

    @_bounded
    def validate(
        self, obj: JsonObject, old: JsonObject | None = None, *, scale: JsonObject | None = None
    ) -> list[FieldError]:
        """What is wrong with an object: its values, what `scale` reads, embedded resources, lists of type set and map.

        With `old`, faults of values that did not change are forgiven.
        """
        fast = self._fast()
        if fast and fast.accepts(obj):
            return validate_scale(obj, scale)
        root = self.root
        link = Correlation(obj, old, root) if old is not None else None
        found = field_errors(check(root, obj, "", link).faults)
        found.extend(validate_scale(obj, scale))
        validate_embedded(root, obj, "", found)
        self._validate_lists(obj, old, found)
        return found

    @_bounded
    def validate_status(
        self, obj: JsonObject, old: JsonObject | None = None, *, scale: JsonObject | None = None
    ) -> list[FieldError]:
        """What is wrong with a write to the status subresource; texts name fields relative to the status."""
        found: list[FieldError] = []
        node = self.root.field("status")
        if node is not None and "status" in obj:
            status = obj["status"]
            link = Correlation(status, old.get("status"), node) if old is not None else None
            found.extend(field_errors(check(node, status, "", link).faults, "status"))
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
        validate_lists(self.root, obj, "", repeated)
        if repeated and old is not None:
            before: list[FieldError] = []
            validate_lists(self.root, old, "", before)
            if before:
                return
        found.extend(repeated)


def compile(openapi: JsonObject | None, *, preserve_unknown: bool = False) -> Schema:
    """The machine of one version's schema; None is a schema that specifies nothing."""
    return Schema(openapi, preserve_unknown=preserve_unknown)
