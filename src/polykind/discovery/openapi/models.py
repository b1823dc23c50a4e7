"""Models that need no CRD: those every document leans on, and how to write such a model down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from polykind.contract import JsonObject
from polykind.discovery.openapi.schemas import META, Dialect

Model = Mapping[str, Any]
"""A schema in which `$ref` names a model."""


def text(description: str = "", /, **more: Any) -> Model:
    return {"description": description, "type": "string", **more}


def flag(description: str = "") -> Model:
    return {"description": description, "type": "boolean"}


def integer(description: str = "", bits: int = 64, **more: Any) -> Model:
    return {"description": description, "type": "integer", "format": f"int{bits}", **more}


def number(description: str = "") -> Model:
    return {"description": description, "type": "number", "format": "double"}


def ref(model: str, description: str = "", **more: Any) -> Model:
    return {"description": description, **more, "$ref": model}


def many(items: Model, description: str = "", kind: str = "atomic", keys: tuple[str, ...] = ()) -> Model:
    """A list; `kind` is its list type, `keys` those by which its items are told apart."""
    out: JsonObject = {"description": description, "type": "array", "items": items}
    if keys:
        out["x-kubernetes-list-map-keys"] = list(keys)
    if kind:
        out["x-kubernetes-list-type"] = kind
    return out


def mapping(values: Model, description: str = "") -> Model:
    return {"description": description, "type": "object", "additionalProperties": values}


def record(description: str, required: tuple[str, ...] = (), /, **properties: Model) -> Model:
    out: JsonObject = {"description": description, "type": "object"}
    if required:
        out["required"] = list(required)
    if properties:
        out["properties"] = {name: properties[name] for name in sorted(properties)}
    return out


def kinded(description: str, group: str, version: str, named: str, /, *required: str, **properties: Model) -> Model:
    """A model of a kind of its own, with what every such kind has."""
    own = {
        "apiVersion": text("The group and version of this representation of the object."),
        "kind": text("The kind of the object, in CamelCase."),
        **properties,
    }
    gvk = [{"group": group, "kind": named, "version": version}]
    return {**record(description, required, **own), "x-kubernetes-group-version-kind": gvk}


def stored(description: str, group: str, version: str, named: str, /, *required: str, **properties: Model) -> Model:
    """A model of a kind of objects, with their metadata."""
    metadata = ref(f"{META}ObjectMeta", "Metadata that every object has.", default={})
    return kinded(description, group, version, named, *required, **{"metadata": metadata, **properties})


def listed(model: str, group: str, version: str, kind: str) -> Model:
    """The model of a list of a built-in kind."""
    items, metadata = (
        many(ref(model), "The objects found.", ""),
        ref(f"{META}ListMeta", "Metadata that every list has."),
    )
    return kinded(
        f"{kind}List is a list of {kind}", group, version, f"{kind}List", "items", items=items, metadata=metadata
    )


def rendered(model: Any, dialect: Dialect) -> Any:
    """A model in the terms of a dialect, without empty descriptions."""
    if isinstance(model, list):
        return [rendered(item, dialect) for item in model]
    if not isinstance(model, Mapping):
        return model
    if isinstance(model.get("$ref"), str):
        beside = {key: value for key, value in model.items() if key != "$ref" and (value or key != "description")}
        return dialect.reference(model["$ref"], **beside)
    out = {}
    for key, value in model.items():
        if key == "properties":
            out[key] = {name: rendered(property_, dialect) for name, property_ in value.items()}
        elif not (key == "description" and not value) and not (key == "default" and dialect.v2):
            out[key] = rendered(value, dialect)
    return out


def dependencies(models: Mapping[str, Model], *names: str) -> dict[str, Model]:
    """The named models with all they refer to, by name."""
    found: dict[str, Model] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = models[name]
            waiting += _references(models[name])
    return {name: found[name] for name in sorted(found)}


def _references(model: Any) -> list[str]:
    if isinstance(model, list):
        return [name for item in model for name in _references(item)]
    if not isinstance(model, Mapping):
        return []
    if isinstance(model.get("$ref"), str):
        return [model["$ref"]]
    return [name for value in model.values() for name in _references(value)]


_TIME: Final = f"{META}Time"

SHARED: Final[Mapping[str, Model]] = {
    f"{META}Time": {"description": "A moment, as RFC 3339 writes it.", "type": "string", "format": "date-time"},
    f"{META}FieldsV1": {"description": "A set of fields, as a trie.", "type": "object"},
    f"{META}Patch": {"description": "A patch, of the type its media type says.", "type": "object"},
    f"{META}Preconditions": record(
        "What must be true of an object to delete it.",
        resourceVersion=text("The resourceVersion it must have."),
        uid=text("The uid it must have."),
    ),
    f"{META}ShardInfo": record(
        "Which shard a list is of.", ("selector",), selector=text("What selects the shard.", default="")
    ),
    f"{META}ListMeta": record(
        "Metadata that every list has.",
        **{"continue": text("Where to go on if there is more; opaque.")},
        remainingItemCount=integer("How many objects follow those listed."),
        resourceVersion=text("The version of the collection; where a watch may begin."),
        selfLink=text("Deprecated, never set."),
        shardInfo=ref(f"{META}ShardInfo", "Which shard this is."),
    ),
    f"{META}ManagedFieldsEntry": record(
        "Who manages which fields.",
        apiVersion=text("The version the fields are written at."),
        fieldsType=text("The format of the fields: FieldsV1."),
        fieldsV1=ref(f"{META}FieldsV1", "The fields."),
        manager=text("Who manages them."),
        operation=text("How they came to be managed: Apply or Update."),
        subresource=text("The subresource they were written through."),
        time=ref(_TIME, "When that last changed."),
    ),
    f"{META}OwnerReference": {
        **record(
            "An object that owns another.",
            ("apiVersion", "kind", "name", "uid"),
            apiVersion=text("The owner's apiVersion.", default=""),
            blockOwnerDeletion=flag("Whether a foreground deletion of the owner waits for this object."),
            controller=flag("Whether the owner is the managing controller."),
            kind=text("The owner's kind.", default=""),
            name=text("The owner's name.", default=""),
            uid=text("The owner's uid.", default=""),
        ),
        "x-kubernetes-map-type": "atomic",
    },
    f"{META}ObjectMeta": record(
        "Metadata that every object has.",
        annotations=mapping(text(default=""), "Notes of tools and people, not selected by."),
        creationTimestamp=ref(_TIME, "When the object was created; set by the server."),
        deletionGracePeriodSeconds=integer("How long a graceful deletion takes; set by the server."),
        deletionTimestamp=ref(_TIME, "When the object will be gone; set by the server on deletion."),
        finalizers={
            **many(text(default=""), "What must be done before the object goes.", "set"),
            "x-kubernetes-patch-strategy": "merge",
        },
        generateName=text("The beginning of a name for the server to complete."),
        generation=integer("Counts changes of what is wanted; set by the server."),
        labels=mapping(text(default=""), "Names and values to select by."),
        managedFields=many(ref(f"{META}ManagedFieldsEntry", default={}), "Who manages which fields."),
        name=text("The name, unique among the kind in its namespace; never changes."),
        namespace=text("The namespace the object is in; never changes."),
        ownerReferences={
            **many(ref(f"{META}OwnerReference", default={}), "What the object goes with.", "map", ("uid",)),
            "x-kubernetes-patch-merge-key": "uid",
            "x-kubernetes-patch-strategy": "merge",
        },
        resourceVersion=text("The version of the object; opaque, set by the server."),
        selfLink=text("Deprecated, never set."),
        uid=text("Unique in time and space; set by the server."),
    ),
    f"{META}DeleteOptions": kinded(
        "How to delete.",
        "",
        "v1",
        "DeleteOptions",
        dryRun=many(text(default=""), "All: do everything but delete."),
        gracePeriodSeconds=integer("How long to wait before the object is removed."),
        ignoreStoreReadErrorWithClusterBreakingPotential=flag("Remove an object that cannot be read from storage."),
        orphanDependents=flag("Deprecated, see propagationPolicy."),
        preconditions=ref(f"{META}Preconditions", "What must be true to delete; else the answer is 409."),
        propagationPolicy=text("What becomes of dependents: Orphan, Background or Foreground."),
    ),
    f"{META}Status": kinded(
        "How a request went that does not answer with an object.",
        "",
        "v1",
        "Status",
        code=integer("The HTTP status code.", 32),
        details=ref(f"{META}StatusDetails", "What it is about, by the reason."),
        message=text("What happened, for people."),
        metadata=ref(f"{META}ListMeta", "Metadata that every list has.", default={}),
        reason=text("Why it failed, for machines."),
        status=text("Success or Failure."),
    ),
    f"{META}StatusCause": record(
        "One of the causes of a failure.",
        field=text("The field it is about."),
        message=text("What is wrong, for people."),
        reason=text("What is wrong, for machines."),
    ),
    f"{META}StatusDetails": record(
        "What a status is about.",
        causes=many(ref(f"{META}StatusCause", default={}), "Everything that caused the failure."),
        group=text("The group of the resource."),
        kind=text("The resource."),
        name=text("The name of the object."),
        retryAfterSeconds=integer("When to try again.", 32),
        uid=text("The uid of the object."),
    ),
    "io.k8s.api.autoscaling.v1.Scale": stored(
        "How many replicas something has and should have.",
        "autoscaling",
        "v1",
        "Scale",
        spec=ref("io.k8s.api.autoscaling.v1.ScaleSpec", "What is wanted.", default={}),
        status=ref("io.k8s.api.autoscaling.v1.ScaleStatus", "What there is.", default={}),
    ),
    "io.k8s.api.autoscaling.v1.ScaleSpec": record(
        "How many replicas are wanted.", replicas=integer("How many are wanted.", 32, default=0)
    ),
    "io.k8s.api.autoscaling.v1.ScaleStatus": record(
        "How many replicas there are.",
        ("replicas",),
        replicas=integer("How many there are.", 32, default=0),
        selector=text("A label selector that finds them, as a query parameter."),
    ),
}

SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
EVERYWHERE: Final = (f"{META}DeleteOptions", f"{META}ListMeta", f"{META}ObjectMeta", f"{META}Patch", f"{META}Status")
"""Models that the operations on any resource refer to."""
