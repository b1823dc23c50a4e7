"""Declarations of Go structs, with all properties of fields that JSON, protobuf, patches, apply and OpenAPI need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from polykind.apis.machinery.decoding import Decoding, Location, PromotedName, next_depth
from polykind.apis.machinery.value_types import ValueType
from polykind.contract import JsonObject

if TYPE_CHECKING:
    from polykind.apis.machinery.type_tables import TypeTable


class Field(msgspec.Struct, frozen=True):
    """A field of a struct: its JSON name, its protobuf number (0: none) and its type.

    A field without a name is an embedded struct: in JSON its fields belong to the enclosing struct, and in protobuf it
    is a separate message.
    """

    name: str
    number: int
    type: ValueType
    doc: str | None = None
    """The OpenAPI description. If None, the field has the description of its type, if the type has a separate model."""
    omitempty: bool = True
    pointer: bool = False
    omitzero: bool = False
    keep_empty: bool = False
    """True if decoding keeps an empty list or map, because validation and field ownership depend on it."""
    required: bool | None = None
    """True if OpenAPI lists the field as required. None means: required unless it is a pointer or has `omitempty`."""
    default: Any = None
    """The OpenAPI default, which is also the default of a list map key."""
    list_type: str = ""
    """x-kubernetes-list-type: atomic, set or map (implied by `keys`). If empty, a list is atomic."""
    keys: tuple[str, ...] = ()
    """The x-kubernetes-list-map-keys: the fields that identify an item of a list of type map."""
    map_type: str = ""
    """x-kubernetes-map-type of a map."""
    merge_key: str = ""
    """The patchMergeKey of strategic merge patches. It implies the patch strategy `merge`."""
    patch_strategy: str = ""
    go_name: str = ""
    """The name of the field in Go, if it is not just the JSON name with a capital first letter."""
    internal_value: bool = False
    """True if the field is a pointer, but not in kube-apiserver's internal type."""

    def __post_init__(self) -> None:
        if self.keys:
            msgspec.structs.force_setattr(self, "list_type", "map")

    @property
    def always(self) -> bool:
        """True if Go writes the field even if it is not set. Go never omits a struct, except with `omitzero`."""
        if self.omitzero:
            return False
        return not self.omitempty or (self.type.go_struct and not self.pointer)

    @property
    def go(self) -> str:
        """The name of the field in Go. The name of an embedded struct, such as metadata, is that of its type."""
        if self.name in ("", "metadata") and isinstance(self.type, Struct):
            return self.type.name
        return self.go_name or self.name[:1].upper() + self.name[1:]


class Union(msgspec.Struct, frozen=True):
    """Fields of which at most one is set, as OpenAPI publishes them in x-kubernetes-unions."""

    members: tuple[str, ...]
    discriminator: str = ""
    """The field whose value is the name of the member that is set."""


class Declaration(NamedTuple):
    """The declaration of a struct, apart from its name."""

    fields: Sequence[Field] = ()
    model: str = ""
    doc: str = ""
    atomic: bool = False
    unions: Sequence[Union] = ()
    internal: Sequence[Field] = ()


_DERIVED = frozenset(
    ("_always", "_index", "atomic", "doc", "fields", "internal", "model", "numbered", "promoted", "unions")
)


class Struct(ValueType):
    """A Go struct. `kind` and `version` are set if the struct is an object with the fields apiVersion and kind.

    `declared` are its fields, or a function that returns its declaration at the first use of the struct. So structs can
    be recursive, and those that are not used cost nothing. `atomic` is Kubernetes' marker structType=atomic: a field
    manager owns the struct as one value. `internal` are the fields of kube-apiserver's internal type, in its order.
    """

    __slots__ = ("_declared", "kind", "name", "version", *sorted(_DERIVED - {"doc", "model"}))

    go_struct = True
    fields: tuple[Field, ...]
    numbered: tuple[Field, ...]
    promoted: dict[str, PromotedName]
    atomic: bool
    unions: Sequence[Union]
    internal: tuple[Field, ...]

    def __init__(
        self,
        go: str,
        declared: Sequence[Field] | Callable[[], Declaration] = (),
        *,
        kind: str = "",
        version: str = "",
    ) -> None:
        self.go = go
        self.name = go.rpartition(".")[2]
        self.kind, self.version = kind, version
        self._declared = declared

    def __getattr__(self, name: str) -> Any:
        if name not in _DERIVED:
            raise AttributeError(name)
        declared = self._declared
        self._define(declared() if callable(declared) else Declaration(declared))
        return getattr(self, name)

    def _define(self, declaration: Declaration) -> None:
        fields = declaration.fields
        self.model, self.doc = declaration.model, declaration.doc
        self.atomic, self.unions = declaration.atomic, declaration.unions
        self.numbered = tuple(sorted((f for f in fields if f.number), key=lambda f: f.number))
        self.fields = tuple(
            own for f in fields for own in (f.type.fields if not f.name and isinstance(f.type, Struct) else (f,))
        )
        self.internal = tuple(declaration.internal) or self.fields
        self.promoted = {
            own.name: PromotedName(
                own.name, f"{f.type.name}.{getattr(f.type.promoted.get(own.name), 'path', own.name)}"
            )
            for f in fields
            if not f.name and isinstance(f.type, Struct)
            for own in f.type.fields
        }
        self._index = {
            f.name: (position, f.type, f.always, f.pointer or f.keep_empty, f.type.plain)
            for position, f in enumerate(self.fields)
        }
        self._always = tuple(
            (position, f.name, _null if f.pointer else f.type.zero)
            for position, f in enumerate(self.fields)
            if f.always
        )

    def zero(self) -> JsonObject:
        return {name: zero() for _, name, zero in self._always}

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is not dict:
            run.mismatch(value, self.go, at)
            return self.zero()
        depth = next_depth(at)
        index, struct = self._index, self.name
        found: list[tuple[int, str, Any]] = []
        for key, item in value.items():
            known = index.get(key)
            if known is None:
                if run.report_unknown:
                    run.unknown_field(at, key)
                continue
            if item is None:
                continue
            position, value_type, always, kept, plain = known
            if type(item) is plain:
                decoded = item
            else:
                decoded = value_type.decode(item, Location(at, self.promoted.get(key) or key, struct, depth), run)
            if decoded or always or (kept and decoded is not None):
                found.append((position, key, decoded))
        if self._always:
            present = {key for _, key, _ in found}
            found += [(position, name, zero()) for position, name, zero in self._always if name not in present]
        # Each field has its own position, so the sort never compares the keys and values after it.
        found.sort()
        return {key: decoded for _, key, decoded in found}


def _null() -> None:
    """Return the JSON that Go writes for a nil pointer."""


class GroupVersion(msgspec.Struct, frozen=True):
    """An API group at one version, and the table of its types."""

    group: str
    version: str
    types: TypeTable
    group_priority: int = 0
    version_priority: int = 0
    """kube-apiserver's priorities, which order groups and versions in discovery."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def struct(self, name: str) -> Struct:
        """Return a struct of this group version."""
        return self.types.struct(name)
