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
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from polykind.contract import JsonObject, copy_json
from polykind.declare import stash
from polykind.declare.field_rules import MISSING, NEW, OLD, FieldPath, FieldRule, backwards, enter, leave
from polykind.declare.rule_place import caller_place
from polykind.golang.duration import format_duration, parse_duration
from polykind.quantity import QuantityError, parse_quantity

Values = tuple[Any, ...]
Translate = Callable[[Values], Values | None]
"""A function that translates the values of some fields. MISSING stands for an absent field. None: impossible."""

_DURATION_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_MAX_NANOSECONDS = 2**63 - 1
"""The longest duration that Go can represent. A longer one becomes this one, and is kept in the stash."""
_QUANTITY_UNITS = (
    "text",
    "number",
    "n",
    "u",
    "m",
    "1",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
)


Merge = Callable[[Values, Values], Values]
"""A function that completes translated values by the stashed original, of which a client has edited a part."""


def translate(
    name: str,
    old: Sequence[str],
    new: Sequence[str],
    there: Translate,
    back: Translate,
    place: str = "",
    *,
    merge_there: Merge | None = None,
    merge_back: Merge | None = None,
) -> FieldRule:
    """Return a rule that replaces the fields `old` by the fields `new`. All paths must go through the same lists."""
    old_paths, new_paths = [FieldPath(path) for path in old], [FieldPath(path) for path in new]
    if len({path.lists for path in (*old_paths, *new_paths)}) != 1:
        raise ValueError(f"{', '.join((*old, *new))} do not go through the same lists")
    old_name, new_name = f"old {name} {' '.join(old)}", f"new {name} {' '.join(new)}"
    return FieldRule(
        lambda obj: _translate(obj, old_paths, new_paths, there, back, old_name, new_name, merge_there),
        lambda obj: _translate(obj, new_paths, old_paths, back, there, new_name, old_name, merge_back),
        paths=(*((OLD, path) for path in old), *((NEW, path) for path in new)),
        name=name,
        place=place or caller_place(),
    )


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
        out: list[Any] = []
        for number, part in enumerate(texts):
            if not part:
                out.append(MISSING)
                continue
            if numeric[number] and not (part.isascii() and part.isdigit() and len(part) < 19):
                return None
            out.append(int(part) if numeric[number] else part)
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
        value = values[0]
        if value is MISSING:
            return (MISSING,)
        if origin == "text":
            try:
                nanoseconds = parse_duration(value) if isinstance(value, str) else None
            except ValueError:
                nanoseconds = None
        else:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            nanoseconds = round(value * _DURATION_UNITS[origin]) if is_number else None
        if nanoseconds is None:
            return None
        nanoseconds = max(-_MAX_NANOSECONDS, min(nanoseconds, _MAX_NANOSECONDS))
        if goal == "text":
            return (format_duration(nanoseconds),)
        unit = _DURATION_UNITS[goal]
        return (nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit),)

    return convert


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
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (isinstance(value, str) and origin == "text") and not is_number:
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


def _translate(
    obj: JsonObject,
    sources: Sequence[FieldPath],
    targets: Sequence[FieldPath],
    convert: Translate,
    revert: Translate,
    own_name: str,
    other_name: str,
    merge: Merge | None,
) -> None:
    """Replace the source fields by the target fields in every scope.

    `own_name` is the name under which originals of the source version are stashed, for the way back. `other_name` is
    the name under which originals of the target version were stashed.
    """
    scopes = sources[0].scopes(obj)
    in_list = bool(sources[0].lists)
    before = [tuple(path.get(scope) for path in sources) for scope in scopes]
    keep = min(source.common_parents(target) for source in sources for target in targets)
    stashed = stash.take(obj, other_name, edited=True)
    originals = _match(stashed, scopes if in_list else (), before)
    entries = []
    for at, (scope, values) in enumerate(zip(scopes, before, strict=True)):
        original = originals[at]
        if all(value is MISSING for value in values):
            # Nothing is created inside a parent that is not there. A client may have removed it, with the field.
            missing = any(path.parents(scope) < (keep if original else path.depth) for path in targets)
            if missing or not targets[0].reaches(scope):
                continue
        for path in sources:
            leave(obj, scope, path, keep)
        converted = original or convert(values) or (MISSING,) * len(targets)
        if merge is not None and original is None and not in_list and MISSING not in values:
            previous = _original(stashed)
            if previous is not None and MISSING not in previous:
                converted = merge(converted, previous)
        for path, value in zip(targets, converted, strict=True):
            enter(obj, scope, path, value if value is MISSING else copy_json(value), keep)
        if not _same(revert(converted), values):
            entries.append((at, scope, converted, values))
    if entries:
        new_entries = [
            {
                "at": [at, len(scopes)],
                "digest": _digest(scope) if in_list else "",
                "value": _boxed(converted),
                "original": _boxed(values),
            }
            for at, scope, converted, values in entries
        ]
        # The paths tell that an edit of these fields replaces what is stashed here.
        stash.put(
            obj, own_name, new_entries, beside=[(path.lists.partition("[*]")[0] or path.text) for path in targets]
        )


def _match(stashed: Any, items: Sequence[JsonObject], values: Sequence[Values]) -> list[Values | None]:
    """Return the stashed original for each scope, or None if there is none or a client has changed the value.

    Items of a list are recognized by their whole content, then by the translated value, so that originals survive
    edits, insertions and removals of other items. Absent values are recognized by their position.
    """
    out: list[Values | None] = [None] * len(values)
    entries = [entry for entry in stashed if _is_entry(entry)] if isinstance(stashed, list) else []
    if not entries:
        return out
    boxed = [_boxed(each) for each in values]
    digests = [_digest(item) for item in items]

    def assign(matches: Callable[[JsonObject, int], bool]) -> None:
        for entry in list(entries):
            for at in range(len(values)):
                if out[at] is None and stash.same(entry["value"], boxed[at]) and matches(entry, at):
                    out[at] = _unboxed(entry["original"])
                    entries.remove(entry)
                    break

    if not items:
        assign(lambda entry, at: True)
        return out
    assign(lambda entry, at: entry["digest"] == digests[at])
    assign(lambda entry, at: any(entry["value"]))
    assign(lambda entry, at: entry["at"] == [at, len(values)])
    return out


def _original(stashed: Any) -> Values | None:
    """Return the original of a single scope, although a client has changed the translated value."""
    entry: Any = stashed[0] if isinstance(stashed, list) and len(stashed) == 1 else None
    return _unboxed(entry["original"]) if _is_entry(entry) else None


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.keys() == {"at", "digest", "value", "original"}
        and all(
            isinstance(entry[key], list) and all(isinstance(box, list) for box in entry[key])
            for key in ("value", "original")
        )
    )


def _boxed(values: Values) -> list[list[Any]]:
    """Return values as JSON: an absent value is an empty list, any other value a list of one."""
    return [[] if value is MISSING else [value] for value in values]


def _unboxed(boxes: list[list[Any]]) -> Values:
    return tuple(box[0] if box else MISSING for box in boxes)


def _same(one: Values | None, other: Values) -> bool:
    return one is not None and stash.same(_boxed(one), _boxed(other))


def _digest(item: JsonObject) -> str:
    return hashlib.sha256(stash.encode(item).encode()).hexdigest()[:16]
