"""The properties that conversions must have. Each function checks one property for a case and returns a finding if the
case violates the property.

The property never-fails reports objects that cannot be converted. The other properties ignore these objects, so that
the report contains each fault only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import deep_equal
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.edit_survival import edit_survives
from polykind.toolkit.proving.object_diff import Path, differences, format_path, leaf_paths
from polykind.toolkit.proving.round_trip import ConversionFailedError, RoundTrip, TestedConverter
from polykind.toolkit.proving.stability import edit_after_round_trip, fixed_point, paths_agree

_MAX_SINGLE_FIELDS = 24
"""The maximum number of partial objects with a single field that are tested per generated object."""
Check = Callable[[ProofCase], Finding | None]


def batch_independence(case: ProofCase) -> Finding | None:
    """Check that the result for an object does not depend on the objects that were converted before it or with it."""
    round_trip = case.round_trip
    first, second, third = round_trip.responses
    if not deep_equal(second, third):
        return None
    if not deep_equal(first, second):
        message = "the first result, after another object was converted, differs from the second result"
        return case.finding("batch-independence", message, list(differences(second, first)))
    batch = _convertible_batch(round_trip)
    alone = [_convert_repeatedly(round_trip.converter, obj, round_trip) for obj in batch]
    for order in (batch, batch[::-1]):
        results = round_trip.converter.review(order, round_trip.goal)
        wanted = alone if order is batch else alone[::-1]
        for obj, got, want in zip(order, results, wanted, strict=True):
            if want is not None and _identity(got) == _identity(obj) and not deep_equal(got, want):
                message = f"the result in a review with {len(batch) - 1} other objects differs from the result alone"
                return case.finding("batch-independence", message, differences(want, got), obj=obj)
    return None


def _convertible_batch(round_trip: RoundTrip) -> list[JsonObject]:
    """Return the object of the round trip and variations of it, without those that cannot be converted."""
    return [obj for obj in related_objects(round_trip.obj) if _is_convertible(round_trip, obj)]


def _is_convertible(round_trip: RoundTrip, obj: JsonObject) -> bool:
    try:
        round_trip.converter.convert_raw(obj, round_trip.goal)
    except ConversionFailedError:
        return False
    return True


def _convert_repeatedly(converter: TestedConverter, obj: JsonObject, round_trip: RoundTrip) -> JsonObject | None:
    """Convert `obj` three times. Return the second result if the third is equal, else None.

    The first result may still depend on an object that was converted before.
    """
    converter.convert_raw(obj, round_trip.goal)
    out = converter.convert_raw(obj, round_trip.goal)
    return out if deep_equal(out, converter.convert_raw(obj, round_trip.goal)) else None


def order_kept(case: ProofCase) -> Finding | None:
    """Check that a review of several objects returns the converted objects in the order of the originals."""
    round_trip = case.round_trip
    batch = _convertible_batch(round_trip)
    results = round_trip.converter.review(batch, round_trip.goal)
    sent, returned = [_identity(obj) for obj in batch], [_identity(obj) for obj in results]
    if not any(want != have and have in sent for want, have in zip(sent, returned, strict=True)):
        return None
    received = " ".join(name for _, name in returned)
    return case.finding("order-kept", f"sent {' '.join(name for _, name in sent)}, received {received}")


def _identity(obj: JsonObject) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def input_untouched(case: ProofCase) -> Finding | None:
    """Check that conversions share no objects: changing one result in place does not change other results."""
    round_trip = case.round_trip
    if not round_trip.converter.shares_memory or not deep_equal(*round_trip.responses[1:]):
        return None
    converter, goal = round_trip.converter, round_trip.goal
    handed = copy_json(round_trip.obj)
    first = converter.call(handed, goal)
    second = converter.call(copy_json(round_trip.obj), goal)
    shared = next(_shared_values(first, second), None)
    if shared is not None:
        message = f"two results share one {type(shared[1]).__name__} at {format_path(shared[0])}: return a copy of it"
        return case.finding("input-untouched", message)
    expected = copy_json(second)
    _mutate_all(first)
    third = converter.call(copy_json(round_trip.obj), goal)
    for which, result in (("an earlier result", second), ("the next result", third)):
        if not deep_equal(result, expected):
            message = f"changing a result changes {which}: they share an object"
            return case.finding("input-untouched", message, list(differences(expected, result)))
    return None


def _shared_values(first: Any, second: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if first is second and isinstance(first, (dict, list)):
        yield path, first
    elif isinstance(first, dict) and isinstance(second, dict):
        for key in first.keys() & second.keys():
            yield from _shared_values(first[key], second[key], (*path, key))
    elif isinstance(first, list) and isinstance(second, list):
        for at, (left, right) in enumerate(zip(first, second, strict=False)):
            yield from _shared_values(left, right, (*path, at))


def _mutate_all(value: Any) -> None:
    """Add an entry to every object and list inside a value, in place."""
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for item in inner:
        _mutate_all(item)
    if isinstance(value, dict):
        value["spoiled"] = "spoiled"
    elif isinstance(value, list):
        value.append("spoiled")


def deterministic(case: ProofCase) -> Finding | None:
    """Check that the same object always gives the same result."""
    _, two, three = case.round_trip.responses
    if deep_equal(two, three):
        return None
    return case.finding("deterministic", "the same object was converted twice, to two results", differences(two, three))


def partial_objects(obj: JsonObject, root: SchemaNode) -> Iterator[tuple[str, JsonObject]]:
    """Yield partial objects, as server-side apply may send them, each with a description.

    A field manager owns an atomic list as a whole, and each item of a list of type map has its keys. `root` is the
    schema of the object.
    """
    head = {key: obj[key] for key in ("apiVersion", "kind")}
    body = {key: value for key, value in obj.items() if key not in META_KEYS}
    metadata = {key: value for key, value in obj["metadata"].items() if key in ("name", "namespace")}
    named = {**head, "metadata": metadata}
    yield "without metadata", copy_json({**head, **body})
    yield "nothing but metadata", copy_json(named)
    yield "nothing but apiVersion and kind", copy_json(head)
    for key, value in body.items():
        if isinstance(value, dict):
            yield f"with an empty {key}", copy_json({**named, key: {}})
    paths = [path for path in leaf_paths(body) if path]
    for path in paths[:: max(1, len(paths) // _MAX_SINGLE_FIELDS)]:
        yield f"nothing but {format_path(path)}", copy_json({**named, **_keep_only(body, path, root)})


def _keep_only(value: Any, path: Path, node: SchemaNode | None) -> Any:
    """Return the value with only the field or list item at the path. Lists that are owned as a whole stay whole."""
    if not path:
        return value
    step = path[0]
    if not isinstance(step, int):
        return {step: _keep_only(value[step], path[1:], node.child(str(step)) if node else None)}
    if node is None or node.list_type not in ("map", "set"):
        return value
    item = value[step]
    kept = _keep_only(item, path[1:], node.items)
    if isinstance(item, dict):
        kept = {**{key: item[key] for key in node.list_map_keys if key in item}, **kept}
    return [kept]


def related_objects(obj: JsonObject) -> list[JsonObject]:
    """Return the object and three variations: renamed, with an empty spec and status, and with half of the fields."""
    twin, minimal, half = copy_json(obj), copy_json(obj), copy_json(obj)
    for other, suffix in ((twin, "twin"), (minimal, "lean")):
        other["metadata"] = {**_user_metadata(other["metadata"]), "name": f"{obj['metadata']['name']}-{suffix}"}
    for key in [key for key in obj if key not in META_KEYS]:
        if isinstance(obj[key], dict):
            half[key] = {name: half[key][name] for name in list(half[key])[::2]}
            minimal[key] = {}
    half["metadata"] = _user_metadata(half["metadata"])
    if "namespace" in half["metadata"]:
        half["metadata"]["namespace"] = "elsewhere"
    else:
        half["metadata"]["name"] += "-half"
    return [obj, twin, minimal, half]


def _user_metadata(metadata: JsonObject) -> JsonObject:
    return {key: value for key, value in metadata.items() if key in ("name", "namespace", "labels", "annotations")}


def never_fails(case: ProofCase) -> Finding | None:
    """Check that a valid object is converted without an exception, and that the API server accepts the result."""
    try:
        _ = case.round_trip.returned
    except ConversionFailedError as stop:
        if not stop.metadata_error:
            return case.finding("never-fails", _failed_direction(case, stop), location=stop.location)
    return None


def _failed_direction(case: ProofCase, stop: ConversionFailedError) -> str:
    round_trip = case.round_trip
    try:
        _ = round_trip.converted
    except ConversionFailedError:
        return str(stop)
    return f"on the way back to {round_trip.origin.name}: {stop}"


def there_and_back(case: ProofCase) -> Finding | None:
    """Check that an object of the storage version is unchanged after a conversion to another version and back."""
    return _round_trip(case, "there-and-back") if case.round_trip.origin.storage else None


def back_and_there(case: ProofCase) -> Finding | None:
    """Check that an object of a version that is not stored is unchanged after a conversion to any version and back."""
    return None if case.round_trip.origin.storage else _round_trip(case, "back-and-there")


def _round_trip(case: ProofCase, name: str) -> Finding | None:
    round_trip = case.round_trip
    losses = case.losses.unacknowledged(round_trip)
    if not losses:
        return None
    message = f"what came back from {round_trip.goal.name} is not the {round_trip.origin.name} object that was sent"
    return case.finding(name, message, losses)


def partial_object(case: ProofCase) -> Finding | None:
    """Check that partial objects, as server-side apply sends them, can be converted.

    They lack metadata or spec, or have only one field.
    """
    round_trip = case.round_trip
    _ = round_trip.converted
    for message, part in partial_objects(round_trip.obj, round_trip.origin.schema.root):
        try:
            round_trip.converter.convert(part, round_trip.goal)
        except ConversionFailedError as stop:
            if stop.metadata_error and "missing metadata" not in str(stop):
                continue
            return Finding("partial-object", part, f"{message}: {stop}", location=stop.location)
    return None


def metadata_kept(case: ProofCase) -> Finding | None:
    """Check that conversions change only labels and annotations in metadata.

    The API server undoes other changes of the metadata, or rejects the converted object.
    """
    round_trip = case.round_trip
    result = round_trip.responses[1]
    before, after = (_immutable_metadata(obj) for obj in (round_trip.obj, result))
    changes = [d._replace(path=("metadata", *d.path)) for d in differences(before, after)]
    if changes:
        return case.finding("metadata-kept", "only labels and annotations may change in a conversion", changes)
    try:
        _ = round_trip.converted
    except ConversionFailedError as stop:
        if stop.metadata_error:
            return case.finding("metadata-kept", str(stop))
    return None


def _immutable_metadata(obj: JsonObject) -> Any:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return metadata
    return {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}


def output_validates(case: ProofCase) -> Finding | None:
    """Check that the converted object is valid at the other version."""
    validation_errors = case.round_trip.goal.validation_errors(case.round_trip.converted)
    if not validation_errors:
        return None
    more = f" (and {len(validation_errors) - 1} more)" if len(validation_errors) > 1 else ""
    return case.finding(
        "output-validates", f"{case.round_trip.goal.name} rejects the result: {validation_errors[0]}{more}"
    )


def output_settled(case: ProofCase) -> Finding | None:
    """Check that the API server would store the converted object unchanged: it prunes no field and adds no default."""
    round_trip = case.round_trip
    goal, there = round_trip.goal, round_trip.converted
    body = {key: value for key, value in round_trip.responses[1].items() if key != "metadata"}
    pruned = list(differences(body, {key: value for key, value in there.items() if key != "metadata"}))
    if pruned:
        message = f"the result has fields that the schema of {goal.name} does not have, and the API server prunes them"
        return case.finding("output-settled", message, pruned)
    missing = list(differences(there, goal.defaulted(there)))
    if missing:
        message = f"defaults of {goal.name} are missing, and the API server does not apply them after a conversion"
        return case.finding("output-settled", message, missing)
    return None


PROPERTIES: dict[str, Check] = {
    "never-fails": never_fails,
    "there-and-back": there_and_back,
    "back-and-there": back_and_there,
    "edit-survives": edit_survives,
    "edit-after-round-trip": edit_after_round_trip,
    "fixed-point": fixed_point,
    "paths-agree": paths_agree,
    "partial-object": partial_object,
    "batch-independence": batch_independence,
    "order-kept": order_kept,
    "input-untouched": input_untouched,
    "metadata-kept": metadata_kept,
    "output-validates": output_validates,
    "output-settled": output_settled,
    "deterministic": deterministic,
}


EXPENSIVE = frozenset({"partial-object", "batch-independence", "order-kept", "input-untouched", "fixed-point"})
"""Properties that need many conversions per object. Long runs check them only with some objects."""


def applies(name: str, origin_is_stored: bool, versions: int = 2) -> bool:
    """True if a property applies to a version pair.

    `origin_is_stored` is true if the source version of the pair is the storage version. `versions` is the number of
    versions of the CRD.
    """
    if name == "paths-agree":
        return versions > 2
    return name != ("back-and-there" if origin_is_stored else "there-and-back")


def check_property(name: str, case: ProofCase) -> Finding | None:
    """Check the property `name` for a case. Return None if it holds or if the object cannot be converted."""
    try:
        return PROPERTIES[name](case)
    except ConversionFailedError:
        return None
