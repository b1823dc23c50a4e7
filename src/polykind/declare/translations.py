"""Field rules that translate values: text that is split, durations, quantities, and the meaning of absence.

A translation may lose the spelling of a value (`90s` becomes 90 and would come back as `1m30s`), or meet a value that
the other version cannot represent. Then the original is stashed. It comes back if a client of the other version has not
changed the translated value.

    crontabs.between(
        "v1",
        "v2",
        split("spec.address", "spec.host", "spec.port", separator=":", integers=["spec.port"]),
        duration("spec.timeoutSeconds", "spec.timeout", units=("s", "text")),
        quantity("spec.memoryMb", "spec.memory", units=("Mi", "text")),
        absent_means("spec.mode", old="On", new="Auto"),
    )
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from polykind.contract import copy_json
from polykind.declare import stash
from polykind.declare.field_rules import MISSING, FieldRule, backwards
from polykind.declare.rule_place import caller_place
from polykind.declare.translation import Translate, Values, translate
from polykind.golang.duration import format_duration, parse_duration
from polykind.quantity import QuantityError, parse_quantity

_DURATION_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_MAX_NANOSECONDS = 2**63 - 1
"""The longest duration that Go can represent. A longer one becomes this one, and is kept in the stash."""
_SUFFIXES = ("n", "u", "m", "1", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_QUANTITY_UNITS = ("text", "number", *_SUFFIXES)


def split(text: str, *parts: str, separator: str, at: str = "first", integers: Sequence[str] = ()) -> FieldRule:
    """Declare a text of the older version that the newer version has in parts, such as `host:port`.

    `at` says which separators count if there are too many: the `first` or the `last`. `integers` are the parts that are
    numbers in the newer version. An empty part is absent in the newer version.
    """
    if len(parts) < 2 or not separator:
        raise ValueError(f"{text}: give at least two parts, and a separator")
    if at not in ("first", "last"):
        raise ValueError(f"{text}: at must be first or last, not {at!r}")
    if unknown := [path for path in integers if path not in parts]:
        raise ValueError(f"{unknown[0]} is not a part of {text}")
    numeric = [path in integers for path in parts]

    def there(values: Values) -> Values | None:
        if values[0] is MISSING:
            return (MISSING,) * len(parts)
        if not isinstance(values[0], str):
            return None
        count = len(parts) - 1
        texts: list[str] = values[0].split(separator, count) if at == "first" else values[0].rsplit(separator, count)
        if any(is_number and part and not _is_integer(part) for part, is_number in zip(texts, numeric, strict=False)):
            return None
        out = [_part(part, is_number) for part, is_number in zip(texts, numeric, strict=False)]
        return (*out, *(MISSING for _ in range(len(parts) - len(out))))

    def back(values: Values) -> Values | None:
        present = [value for value in values if value is not MISSING]
        if not present:
            return (MISSING,)
        if any(isinstance(value, bool) or not isinstance(value, (str, int)) for value in present):
            return None
        last = max(number for number, value in enumerate(values) if value is not MISSING)
        return (separator.join("" if value is MISSING else str(value) for value in values[: last + 1]),)

    return translate("split", [text], parts, there, back, caller_place())


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _part(text: str, is_number: bool) -> Any:
    """Return the value of a part of a split text."""
    if not text:
        return MISSING
    return int(text) if is_number else text


def join(*parts: str, into: str, separator: str, at: str = "first", integers: Sequence[str] = ()) -> FieldRule:
    """Declare fields of the older version that the newer version joins to one text. The opposite of `split`."""
    return backwards(split(into, *parts, separator=separator, at=at, integers=integers))._replace(name="join")


def duration(old: str, new: str, *, units: tuple[str, str]) -> FieldRule:
    """Declare a duration with other units in the two versions.

    A unit is `text` (such as 1m30s), or `h`, `m`, `s`, `ms`, `us` or `ns` for a number.
    """
    for unit in units:
        if unit != "text" and unit not in _DURATION_UNITS:
            raise ValueError(f"{old}: {unit!r} is not a unit of durations: text, {', '.join(_DURATION_UNITS)}")
    return translate("duration", [old], [new], _durations(*units), _durations(units[1], units[0]), caller_place())


def _durations(origin: str, goal: str) -> Translate:
    def convert(values: Values) -> Values | None:
        if values[0] is MISSING:
            return (MISSING,)
        nanoseconds = _nanoseconds(values[0], origin)
        if nanoseconds is None:
            return None
        nanoseconds = max(-_MAX_NANOSECONDS, min(nanoseconds, _MAX_NANOSECONDS))
        if goal == "text":
            return (format_duration(nanoseconds),)
        unit = _DURATION_UNITS[goal]
        return (nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit),)

    return convert


def _nanoseconds(value: Any, unit: str) -> int | None:
    """Return a duration in nanoseconds, or None if the value is not a duration in this unit."""
    if unit != "text":
        return round(value * _DURATION_UNITS[unit]) if _is_number(value) else None
    try:
        return parse_duration(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def quantity(old: str, new: str, *, units: tuple[str, str]) -> FieldRule:
    """Declare a quantity with other units in the two versions.

    A unit is `text` (such as 500m or 1Gi), `number` (such as 0.5), or the suffix of a quantity for an integer: `m`,
    `1`, `k`, `M`, `G`, `Ki`, `Mi`, `Gi` and so on.
    """
    for unit in units:
        if unit not in _QUANTITY_UNITS:
            raise ValueError(f"{old}: {unit!r} is not a unit of quantities: {', '.join(_QUANTITY_UNITS)}")
    return translate("quantity", [old], [new], _quantities(*units), _quantities(units[1], units[0]), caller_place())


def _quantities(origin: str, goal: str) -> Translate:
    suffix = "" if goal in ("1", "number", "text") else goal
    origin_suffix = "" if origin in ("1", "number", "text") else origin
    one = parse_quantity(f"1{suffix}").amount

    def convert(values: Values) -> Values | None:
        value = values[0]
        if value is MISSING:
            return (MISSING,)
        if not (isinstance(value, str) and origin == "text") and not _is_number(value):
            return None
        text = value if isinstance(value, str) else f"{value!r}{origin_suffix}"
        try:
            parsed = parse_quantity(text)
        except QuantityError:
            return None
        if goal == "text":
            return (dataclasses.replace(parsed, text="").canonical(),)
        ratio = parsed.amount / one
        if abs(ratio) >= 2**63:
            return None
        if goal == "number" and ratio != int(ratio):
            return (float(ratio),)
        return (int(ratio),)

    return convert


def absent_means(path: str, *, old: Any = None, new: Any = None) -> FieldRule:
    """Declare the meaning of an absent field if it differs: `old` in the older version, `new` in the newer one.

    Use it if the newer version has a default that the older one has not. Objects of the older version without the field
    get the value that absence meant there, and lose it again on the way back. None: absence has no special meaning.
    """
    if old == new:
        raise ValueError(f"{path}: absence means the same in both versions, so no rule is needed")

    def there(values: Values) -> Values:
        return (copy_json(old),) if values[0] is MISSING and old is not None else values

    def back(values: Values) -> Values:
        if values[0] is MISSING:
            return (MISSING if new is None else copy_json(new),)
        return (MISSING,) if old is not None and stash.same(values[0], old) else values

    return translate("absent_means", [path], [path], there, back, caller_place())
