"""The kinds of value a built-in type is made of; decoding gives at once the JSON that Go would write again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from polykind.apis.machinery.decoding import DEEPEST, DecodeError, Decoding, Place, Promoted, deeper, described
from polykind.contract import JsonObject
from polykind.golang.base64 import Base64Error, decode_base64, encode_base64
from polykind.golang.json import NumberLiteral
from polykind.golang.strconv import shortest_int
from polykind.golang.time import normalize_time


class Kind:
    """One kind of value. `go` is its Go type as error texts name it; `zero` what Go writes for its zero value."""

    __slots__ = ("go",)

    plain: type | None = None
    """Values of this type are canonical as they are."""
    sealed = False
    """Whether Go leaves such values to a reader of their own."""

    def __init__(self, go: str) -> None:
        self.go = go

    def zero(self) -> Any:
        return None

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        """The canonical value of a JSON value that is not null."""
        raise NotImplementedError

    def element(self, value: Any, at: Place | None, run: Decoding) -> Any:
        """The same inside a list or a map, where null leaves the zero value."""
        return self.zero() if value is None else self.decode(value, at, run)


class String(Kind):
    __slots__ = ()
    plain = str

    def zero(self) -> str:
        return ""

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is str:
            return value
        run.mismatch(value, self.go, at)
        return ""


class Bool(Kind):
    __slots__ = ()
    plain = bool

    def zero(self) -> bool:
        return False

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if value is True or value is False:
            return value
        run.mismatch(value, self.go, at)
        return False


class Int(Kind):
    """An integer of `bits` bits; a fraction or too large a number is refused with the number itself."""

    __slots__ = ("bound",)

    def __init__(self, go: str, bits: int) -> None:
        super().__init__(go)
        self.bound = 1 << (bits - 1)

    def zero(self) -> int:
        return 0

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is int and self.holds(value):
            return value
        run.mismatch(value, self.go, at, literal=True)
        return 0

    def holds(self, value: int) -> bool:
        """Whether an integer fits."""
        return -self.bound <= value < self.bound


class Float(Kind):
    """A float64: integers lose what a float64 cannot hold, and are written without a fraction."""

    __slots__ = ()

    def zero(self) -> float:
        return 0

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is int and -(1 << 53) <= value <= 1 << 53:
            return value
        if type(value) in (int, float, NumberLiteral):
            number = finite(value)
            if number is not None:
                return shortest_int(number) if number.is_integer() and abs(number) < 1e21 else number
        run.mismatch(value, self.go, at, literal=True)
        return 0


class Bytes(Kind):
    """Bytes, in base64 on the wire; a list of numbers will do as well."""

    __slots__ = ()

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is list:
            return encode_base64(bytes(self._byte(item, at, run) for item in value))
        if type(value) is not str:
            run.mismatch(value, self.go, at)
            return None
        try:
            return encode_base64(decode_base64(value))
        except Base64Error as error:
            run.corrupt(str(error))
            return None

    def _byte(self, value: Any, at: Place | None, run: Decoding) -> int:
        if type(value) is int and 0 <= value < 256:
            return value
        if value is not None:
            run.mismatch(value, "uint8", at, literal=True)
        return 0


class Time(Kind):
    """A moment to the second, written in UTC; the zero time is null."""

    __slots__ = ()

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is not str:
            raise DecodeError(got=described(value), wanted="string").placed(at)
        try:
            return normalize_time(value)
        except ValueError as error:
            raise DecodeError(str(error)) from None


class IntOrString(Kind):
    """A number or a text, such as the number of a port or its name."""

    __slots__ = ()

    def zero(self) -> int:
        return 0

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is int and -(1 << 31) <= value < 1 << 31:
            return value
        if type(value) is str:
            return value
        numeric = type(value) in (int, float, NumberLiteral)
        run.mismatch(value, "int32" if numeric else "string", at, literal=numeric)
        return 0


class Raw(Kind):
    """Any JSON, written again with sorted keys."""

    __slots__ = ()
    sealed = True

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        return sorted_keys(value, run, at.depth if at else 0)


class Verbatim(Kind):
    """Any JSON, its keys as they came."""

    __slots__ = ()
    sealed = True

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        return sorted_keys(value, run, at.depth if at else 0, order=list)


class ListOf(Kind):
    __slots__ = ("item",)

    def __init__(self, item: Kind, go: str = "") -> None:
        super().__init__(go or f"[]{item.go}")
        self.item = item

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is not list:
            run.mismatch(value, self.go, at)
            return None
        depth = deeper(at)
        element, plain = self.item.element, self.item.plain
        return [
            item if type(item) is plain else element(item, Place(at, index, "", depth), run)
            for index, item in enumerate(value)
        ]


class Wrapped(Kind):
    """A list of texts that is a message of its own, so that protobuf can have a map of them."""

    __slots__ = ()

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        return ListOf(STRING, self.go).decode(value, at, run)


class MapOf(Kind):
    """A map from strings, written in the order of its keys."""

    __slots__ = ("item",)

    def __init__(self, item: Kind, go: str = "") -> None:
        super().__init__(go or f"map[string]{item.go}")
        self.item = item

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is not dict:
            run.mismatch(value, self.go, at)
            return None
        depth = deeper(at)
        element, plain = self.item.element, self.item.plain
        out = {
            key: item if type(item) is plain else element(item, Place(at, key, "", depth), run)
            for key, item in value.items()
        }
        return dict(sorted(out.items()))


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct: its name on the wire, its protobuf number, and when Go leaves it out.

    A struct without a name is embedded: in JSON its fields are those of the struct around it, in protobuf it is a
    message of its own. What is `seen` is kept even if it is empty, for rules to judge, until it is stored.
    """

    name: str
    kind: Kind
    number: int
    omitempty: bool = True
    pointer: bool = False
    omitzero: bool = False
    seen: bool = False

    @property
    def always(self) -> bool:
        """Whether Go writes the field even if it was never set: it never finds a struct empty."""
        if self.pointer or self.omitzero:
            return False
        return not self.omitempty or isinstance(self.kind, Struct | Time)


class Struct(Kind):
    """A Go struct; `kind` and `version` say which object it is, if it is one."""

    __slots__ = ("_always", "_index", "fields", "kind", "name", "numbered", "promoted", "version")

    def __init__(self, go: str, fields: Sequence[Field] = (), *, kind: str = "", version: str = "") -> None:
        super().__init__(go)
        self.name = go.rpartition(".")[2]
        self.kind, self.version = kind, version
        self.define(fields)

    def define(self, fields: Sequence[Field]) -> None:
        """Set the fields; apart from the constructor for structs that contain themselves."""
        self.numbered = tuple(sorted((f for f in fields if f.number), key=lambda f: f.number))
        self.fields: tuple[Field, ...] = tuple(
            own for f in fields for own in (f.kind.fields if not f.name and isinstance(f.kind, Struct) else (f,))
        )
        self.promoted: dict[str, Promoted] = {
            own.name: Promoted(own.name, f"{f.kind.name}.{getattr(f.kind.promoted.get(own.name), 'path', own.name)}")
            for f in fields
            if not f.name and isinstance(f.kind, Struct)
            for own in f.kind.fields
        }
        self._index = {
            f.name: (position, f.kind, f.always, f.pointer or f.seen, f.kind.plain)
            for position, f in enumerate(self.fields)
        }
        self._always = tuple((position, f.name, f.kind) for position, f in enumerate(self.fields) if f.always)

    def zero(self) -> JsonObject:
        return {name: kind.zero() for _, name, kind in self._always}

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is not dict:
            run.mismatch(value, self.go, at)
            return self.zero()
        depth = deeper(at)
        index, struct = self._index, self.name
        found: list[tuple[int, str, Any]] = []
        for key, item in value.items():
            known = index.get(key)
            if known is None:
                if run.report:
                    run.stranger(at, key)
                continue
            if item is None:
                continue
            position, kind, always, kept, plain = known
            if type(item) is plain:
                decoded = item
            else:
                decoded = kind.decode(item, Place(at, self.promoted.get(key) or key, struct, depth), run)
            if decoded or always or (kept and decoded is not None):
                found.append((position, key, decoded))
        if self._always:
            have = {key for _, key, _ in found}
            found += [(position, name, kind.zero()) for position, name, kind in self._always if name not in have]
        # No two have the same position, so nothing but positions is ever compared.
        found.sort()
        return {key: decoded for _, key, decoded in found}


def sorted_keys(
    value: Any, run: Decoding, depth: int = 0, order: Callable[[JsonObject], Iterable[str]] = sorted
) -> Any:
    """The value with the keys of all its objects in order, and its numbers as untyped ones are read."""
    form = type(value)
    if form is dict:
        if depth > DEEPEST:
            raise DecodeError("exceeded max depth")
        return {key: sorted_keys(value[key], run, depth + 1, order) for key in order(value)}
    if form is list:
        if depth > DEEPEST:
            raise DecodeError("exceeded max depth")
        return [sorted_keys(item, run, depth + 1, order) for item in value]
    if form is NumberLiteral or (form is int and not INT64.holds(value)):
        number = finite(value)
        if number is None:
            run.corrupt(str(DecodeError(got=described(value, literal=True), wanted="float64")))
        return number
    return value


def finite(value: float) -> float | None:
    """A number as a plain float, unless it is too large for one."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number - number == 0.0 else None


def nested(kind: Kind, value: Any, at: Place | None) -> Any:
    """Decode by a decoder of its own, as Go's types with their own decoder do: no unknown fields, errors end all."""
    run = Decoding(report=False)
    # Struct "" and a path of no fields: the place only carries the depth, its fields are added on the way out.
    root = Place(None, "", "", at.depth if at is not None else 0)
    try:
        decoded = kind.decode(value, root, run)
    except DecodeError as refusal:
        raise refusal.placed(at) from None
    if run.refusal is not None:
        raise run.refusal.placed(at)
    return decoded


STRING = String("string")
BOOL = Bool("bool")
INT32 = Int("int32", 32)
INT64 = Int("int64", 64)
FLOAT64 = Float("float64")
BYTES = Bytes("[]uint8")
TIME = Time("v1.Time")
STRINGS = ListOf(STRING)
STRING_MAP = MapOf(STRING)
