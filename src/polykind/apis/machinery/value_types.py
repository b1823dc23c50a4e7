"""The types of values in built-in objects. Decoding a value returns the JSON that Go would write for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from polykind.apis.machinery.decoding import MAX_DEPTH, DecodeError, Decoding, Location, describe, next_depth
from polykind.contract import JsonObject
from polykind.golang.base64 import Base64Error, decode_base64, encode_base64
from polykind.golang.json import NumberLiteral, go_json
from polykind.golang.sorting import sorted_strings
from polykind.golang.strconv import shortest_int
from polykind.golang.time import normalize_micro_time, normalize_time


class ValueType:
    """The type of a value. `go` is the Go type in error texts. `model` is the OpenAPI model, if the type has one."""

    __slots__ = ("doc", "go", "model")

    plain: type | None = None
    """The Python type of values that decoding returns unchanged, or None if every value must be decoded."""
    go_struct = False
    """True if the Go type is a struct. Go writes an empty struct even if the field has `omitempty`."""
    custom_decoder = False
    """True if the Go type has its own UnmarshalJSON, which does not report duplicate and unknown fields."""

    def __init__(self, go: str, model: str = "", doc: str = "") -> None:
        self.go = go
        self.model = model
        self.doc = doc

    def zero(self) -> Any:
        """Return the JSON that Go writes for the zero value."""
        return None

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        """Return the JSON that Go would write for a value that is not null. Record errors in `run`."""
        raise NotImplementedError

    def element(self, value: Any, at: Location | None, run: Decoding) -> Any:
        """Decode an element of a list or map, where null stands for the zero value."""
        return self.zero() if value is None else self.decode(value, at, run)


class String(ValueType):
    """A string. `values` are the values that OpenAPI lists for the Go type. Decoding accepts other values, too."""

    __slots__ = ("values",)
    plain = str

    def __init__(self, go: str, values: tuple[str, ...] = ()) -> None:
        super().__init__(go)
        self.values = values

    def zero(self) -> str:
        return ""

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is str:
            return value
        run.mismatch(value, self.go, at)
        return ""


class Bool(ValueType):
    __slots__ = ()
    plain = bool

    def zero(self) -> bool:
        return False

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if value is True or value is False:
            return value
        run.mismatch(value, self.go, at)
        return False


class Int(ValueType):
    """A signed integer of `bits` bits. The error about a fraction or an out-of-range number contains its digits."""

    __slots__ = ("bits", "bound")

    def __init__(self, go: str, bits: int) -> None:
        super().__init__(go)
        self.bits = bits
        self.bound = 1 << (bits - 1)

    def zero(self) -> int:
        return 0

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is int and self.holds(value):
            return value
        run.mismatch(value, self.go, at, literal=True)
        return 0

    def holds(self, value: int) -> bool:
        """True if an integer is within the range of this type."""
        return -self.bound <= value < self.bound


class Float(ValueType):
    """A float64. Integers are rounded to a float64 and written without a fraction."""

    __slots__ = ()

    def zero(self) -> float:
        return 0

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is int and -(1 << 53) <= value <= 1 << 53:
            return value
        if type(value) in (int, float, NumberLiteral):
            number = finite(value)
            if number is not None:
                return shortest_int(number) if number.is_integer() and abs(number) < 1e21 else number
        run.mismatch(value, self.go, at, literal=True)
        return 0


class Bytes(ValueType):
    """Bytes, in base64 on the wire. Go also accepts a list of numbers."""

    __slots__ = ()

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is list:
            return encode_base64(bytes(self._byte(item, at, run) for item in value))
        if type(value) is not str:
            run.mismatch(value, self.go, at)
            return None
        try:
            return encode_base64(decode_base64(value))
        except Base64Error as error:
            run.fail(str(error))
            return None

    def _byte(self, value: Any, at: Location | None, run: Decoding) -> int:
        if type(value) is int and 0 <= value < 256:
            return value
        if value is not None:
            run.mismatch(value, "uint8", at, literal=True)
        return 0


class Time(ValueType):
    """A time with second precision, written in UTC. The zero time is null."""

    __slots__ = ()
    go_struct = True
    normalize = staticmethod(normalize_time)

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is not str:
            raise DecodeError(got=describe(value), wanted="string").located(at)
        try:
            return self.normalize(value)
        except ValueError as error:
            raise DecodeError(str(error)) from None


class MicroTime(Time):
    """A time with microseconds, written in UTC. The zero time is null."""

    __slots__ = ()
    normalize = staticmethod(normalize_micro_time)


class Quantity(ValueType):
    """A resource quantity, written in its canonical form."""

    __slots__ = ()
    go_struct = True

    def zero(self) -> str:
        return "0"

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is NumberLiteral:
            text = value.text
        elif type(value) is str:
            text = value.strip()
        else:
            text = go_json(value)
        from polykind.quantity import QuantityError, parse_quantity

        try:
            return parse_quantity(text).canonical()
        except QuantityError as error:
            raise DecodeError(str(error)) from None


class IntOrString(ValueType):
    """An int32 or a string, such as a port number or a port name."""

    __slots__ = ()
    go_struct = True

    def zero(self) -> int:
        return 0

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is int and -(1 << 31) <= value < 1 << 31:
            return value
        if type(value) is str:
            return value
        got = describe(value, literal=type(value) in (int, float, NumberLiteral))
        raise DecodeError(got=got, wanted="int32").located(at)


class Raw(ValueType):
    """Any JSON value, written with sorted keys."""

    __slots__ = ()
    custom_decoder = True

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        return sorted_keys(value, run, at.depth if at else 0)


class Verbatim(ValueType):
    """Any JSON object, written with its keys in the order of the input."""

    __slots__ = ()
    go_struct = True
    custom_decoder = True

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        return sorted_keys(value, run, at.depth if at else 0, order=list)


class ListOf(ValueType):
    __slots__ = ("item",)

    def __init__(self, item: ValueType, go: str = "") -> None:
        super().__init__(go or f"[]{item.go}")
        self.item = item

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is not list:
            run.mismatch(value, self.go, at)
            return None
        depth = next_depth(at)
        element, plain = self.item.element, self.item.plain
        return [
            item if type(item) is plain else element(item, Location(at, index, "", depth), run)
            for index, item in enumerate(value)
        ]


class Wrapped(ValueType):
    """A list of strings that protobuf encodes as a separate message, because protobuf cannot have a map of lists."""

    __slots__ = ()

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        return ListOf(STRING, self.go).decode(value, at, run)


class MapOf(ValueType):
    """A map with string keys, written in the order of its keys."""

    __slots__ = ("item",)

    def __init__(self, item: ValueType, go: str = "") -> None:
        super().__init__(go or f"map[string]{item.go}")
        self.item = item

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is not dict:
            run.mismatch(value, self.go, at)
            return None
        depth = next_depth(at)
        element, plain = self.item.element, self.item.plain
        out = {
            key: item if type(item) is plain else element(item, Location(at, key, "", depth), run)
            for key, item in value.items()
        }
        return {key: out[key] for key in sorted_strings(out)}


def sorted_keys(
    value: Any, run: Decoding, depth: int = 0, order: Callable[[JsonObject], Iterable[str]] = sorted
) -> Any:
    """Return JSON without a declared type. Sort all keys with `order`, and convert numbers as Go does for such JSON."""
    python_type = type(value)
    if python_type is dict:
        if depth > MAX_DEPTH:
            raise DecodeError("exceeded max depth")
        # Field sets consist of empty objects for the most part, so check this without a call.
        return {
            key: item if (item := value[key]) == {} else sorted_keys(item, run, depth + 1, order)
            for key in order(value)
        }
    if python_type is list:
        if depth > MAX_DEPTH:
            raise DecodeError("exceeded max depth")
        return [sorted_keys(item, run, depth + 1, order) for item in value]
    if python_type is NumberLiteral or (python_type is int and not INT64.holds(value)):
        number = finite(value)
        if number is None:
            run.fail(str(DecodeError(got=describe(value, literal=True), wanted="float64")))
        return number
    return value


def finite(value: float) -> float | None:
    """Return a number as a float. Return None if it is too large for a float64."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number - number == 0.0 else None


def decode_separately(value_type: ValueType, value: Any, at: Location | None) -> Any:
    """Decode a value as Go does for a type with UnmarshalJSON: ignore unknown fields and raise the first error."""
    run = Decoding(report_unknown=False)
    # Decode with an empty path, at the depth of `at`. If decoding fails, `located` adds the path to `at`.
    root = Location(None, "", "", at.depth if at is not None else 0)
    try:
        decoded = value_type.decode(value, root, run)
    except DecodeError as error:
        raise error.located(at) from None
    if run.error is not None:
        raise run.error.located(at)
    return decoded


class Duration(ValueType):
    """A duration as text, such as 1m30s."""

    __slots__ = ()

    def zero(self) -> str:
        return "0s"

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        from polykind.golang.duration import format_duration, parse_duration

        if not isinstance(value, str):
            run.mismatch(value, "string", at)
            return "0s"
        try:
            return format_duration(parse_duration(value))
        except ValueError as error:
            run.fail(str(error))
            return "0s"


_APIMACHINERY = "io.k8s.apimachinery.pkg"
"""The prefix of the names of OpenAPI models from Kubernetes' apimachinery module."""

STRING = String("string")
BOOL = Bool("bool")
INT32 = Int("int32", 32)
INT64 = Int("int64", 64)
FLOAT64 = Float("float64")
BYTES = Bytes("[]uint8")
TIME = Time("v1.Time", f"{_APIMACHINERY}.apis.meta.v1.Time", "A time in RFC 3339 format.")
MICRO_TIME = MicroTime(
    "v1.MicroTime", f"{_APIMACHINERY}.apis.meta.v1.MicroTime", "A time in RFC 3339 format, with microseconds."
)
QUANTITY = Quantity(
    "resource.Quantity",
    f"{_APIMACHINERY}.api.resource.Quantity",
    "A number with an optional unit, such as 500m, 1.5, 2Gi or 1e3.",
)
DURATION = Duration("v1.Duration")
UID = String("types.UID")
INT_OR_STRING = IntOrString(
    "intstr.IntOrString", f"{_APIMACHINERY}.util.intstr.IntOrString", "A number, or a text such as a name or 50%."
)
RAW_EXTENSION = Verbatim("runtime.RawExtension", f"{_APIMACHINERY}.runtime.RawExtension", "Any object.")
RAW_OBJECT = Raw("runtime.RawExtension")
"""An object that is written with sorted keys, in the reviews that the server exchanges with webhooks."""
STRINGS = ListOf(STRING)
STRING_MAP = MapOf(STRING)
