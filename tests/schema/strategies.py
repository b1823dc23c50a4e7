"""Hypothesis strategies for structural schemas and objects that mostly match them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

KEYS = ("a", "b", "c", "d")
TEXTS = ("", "a", "ab", "abc", "B", "é", "2024-02-29", "10.0.0.1", "5m", "a b", "1", "\n")
WHOLE = (-7, -1, 0, 1, 2, 3, 5, 10, 65, 2**31, 2**63 - 1)
FRACTIONS = (-2.5, 0.5, 1.5, 2.5, 1e20)
PATTERNS = ("^a", "b$", "^[a-z]+$", r"\d", "")
FORMATS = ("date", "ipv4", "duration", "int32", "nonsense", "date-time", "k8s-short-name")

scalars = st.one_of(
    st.sampled_from(TEXTS), st.sampled_from(WHOLE), st.sampled_from(FRACTIONS), st.booleans(), st.none()
)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from((*KEYS, "x", "metadata")), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def keywords(draw: st.DrawFn, kind: str) -> Json:
    """Draw validation keywords that apply to a type."""
    out: Json = {}
    if kind in ("string", "either"):
        if draw(st.integers(0, 3)) == 0:
            out["minLength"] = draw(st.integers(0, 2))
        if draw(st.integers(0, 3)) == 0:
            out["maxLength"] = draw(st.integers(0, 4))
        if draw(st.integers(0, 3)) == 0:
            out["pattern"] = draw(st.sampled_from(PATTERNS))
        if draw(st.integers(0, 3)) == 0:
            out["format"] = draw(st.sampled_from(FORMATS))
        if draw(st.integers(0, 4)) == 0:
            out["enum"] = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4, unique=True))
    if kind in ("integer", "number", "either"):
        bounds = st.sampled_from((-2, 0, 1, 2.5, 5, 10))
        if draw(st.integers(0, 3)) == 0:
            out["minimum"] = draw(bounds)
            out["exclusiveMinimum"] = draw(st.booleans())
        if draw(st.integers(0, 3)) == 0:
            out["maximum"] = draw(bounds)
            out["exclusiveMaximum"] = draw(st.booleans())
        if draw(st.integers(0, 4)) == 0:
            out["multipleOf"] = draw(st.sampled_from((1, 2, 0.5, 3)))
        if draw(st.integers(0, 4)) == 0 and kind != "either":
            out["enum"] = draw(st.lists(st.sampled_from((*WHOLE, 0.5)), min_size=1, max_size=3, unique=True))
        if kind != "either" and draw(st.integers(0, 4)) == 0:
            out["format"] = draw(st.sampled_from(("int32", "int64", "float", "double", "byte")))
    if kind == "object":
        if draw(st.integers(0, 4)) == 0:
            out["minProperties"] = draw(st.integers(0, 2))
        if draw(st.integers(0, 4)) == 0:
            out["maxProperties"] = draw(st.integers(0, 3))
        if draw(st.integers(0, 2)) == 0:
            out["required"] = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    if kind == "array":
        if draw(st.integers(0, 4)) == 0:
            out["minItems"] = draw(st.integers(0, 2))
        if draw(st.integers(0, 4)) == 0:
            out["maxItems"] = draw(st.integers(0, 2))
    return out


KINDS = ("string", "string", "integer", "number", "boolean", "object", "object", "array", "either", "open", "embedded")


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3, kind: str = "") -> Json:
    kind = kind or draw(st.sampled_from(KINDS if depth else KINDS[:5]))
    out: Json = {}
    if kind == "either":
        out["x-kubernetes-int-or-string"] = True
    elif kind == "open":
        out["x-kubernetes-preserve-unknown-fields"] = True
        if draw(st.booleans()):
            out["type"] = "object"
    elif kind == "embedded":
        out.update({"type": "object", "x-kubernetes-embedded-resource": True})
        if draw(st.booleans()):
            out["x-kubernetes-preserve-unknown-fields"] = True
    else:
        out["type"] = kind
    out.update(draw(keywords(kind)))
    if draw(st.integers(0, 4)) == 0:
        out["nullable"] = True
    if kind in ("object", "open", "embedded"):
        shape = draw(st.integers(0, 5))
        if shape < 4:
            names = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
            out["properties"] = {name: draw(schemas(depth - 1)) for name in names}
        elif kind == "object":
            out["additionalProperties"] = True if shape == 4 else draw(schemas(depth - 1))
    if kind == "array":
        out["items"] = draw(schemas(depth - 1))
        if draw(st.integers(0, 3)) == 0:
            out["x-kubernetes-list-type"] = "set"
        elif out["items"].get("type") == "object" and draw(st.booleans()):
            keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True))
            out.update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys})
    if draw(st.integers(0, 5)) == 0:
        junctor = draw(st.sampled_from(("anyOf", "oneOf", "allOf", "not")))
        branches = draw(st.lists(clauses(kind, out), min_size=1, max_size=3))
        out[junctor] = branches[0] if junctor == "not" else branches
    if depth < 3 and kind not in ("open", "embedded") and draw(st.integers(0, 3)) == 0:
        value = draw(matching_values(out, strict=True))
        if value is not None:
            out["default"] = value
    return out


@st.composite
def clauses(draw: st.DrawFn, kind: str, around: Json) -> Json:
    """Draw a clause for anyOf, oneOf, allOf or not."""
    out: Json = draw(keywords(kind))
    properties = around.get("properties")
    if properties and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(properties)))
        below = properties[name].get("type", "either")
        out["properties"] = {name: draw(keywords(below))}
    return out


@st.composite
def matching_values(draw: st.DrawFn, schema: Json, strict: bool = False) -> Any:
    """Draw a value with the types of a schema. Unless `strict`, it sometimes has other types or unknown fields."""
    if not strict and draw(st.integers(0, 9)) == 0:
        return draw(junk)
    kind = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        kind = draw(st.sampled_from(("integer", "string")))
    if kind in ("string", "integer", "number") and "enum" in schema and draw(st.integers(0, 3)):
        return draw(st.sampled_from(schema["enum"]))
    if kind == "string":
        return draw(st.sampled_from(TEXTS))
    if kind == "integer":
        return draw(st.sampled_from(WHOLE))
    if kind == "number":
        return draw(st.sampled_from((*WHOLE, *FRACTIONS)))
    if kind == "boolean":
        return draw(st.booleans())
    if kind == "array":
        return draw(st.lists(matching_values(schema.get("items", {}), strict=strict), max_size=3))
    if kind != "object" and not strict:
        return draw(junk)
    out: Json = {}
    for name, below in schema.get("properties", {}).items():
        if draw(st.integers(0, 3)):
            out[name] = draw(matching_values(below, strict=strict))
    if isinstance(schema.get("additionalProperties"), dict):
        below = schema["additionalProperties"]
        out.update(draw(st.dictionaries(st.sampled_from(KEYS), matching_values(below, strict=strict), max_size=2)))
    if schema.get("x-kubernetes-embedded-resource"):
        if draw(st.integers(0, 4)):
            out["apiVersion"] = draw(st.sampled_from(("v1", "a/b", "a/b/c", 1) if not strict else ("v1",)))
        if draw(st.integers(0, 4)):
            out["kind"] = draw(st.sampled_from(("Pod", "po d", "", None) if not strict else ("Pod",)))
        if not strict and draw(st.booleans()):
            out["metadata"] = draw(metadata)
    if not strict and draw(st.integers(0, 4)) == 0:
        out[draw(st.sampled_from(("x", "y", "a")))] = draw(junk)
    return out


metadata = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from(("a", "a/b", "", None, 1)),
            "namespace": st.sampled_from(("ns", "N", "")),
            "labels": st.one_of(st.none(), st.dictionaries(st.sampled_from(("k", "k/v/w", "")), scalars, max_size=2)),
            "annotations": st.dictionaries(st.sampled_from(("k", "A")), st.sampled_from(("v", "")), max_size=2),
            "creationTimestamp": st.sampled_from((None, "2024-01-01T00:00:00Z", "2024-01-01T01:00:00.5+01:00", "x", 5)),
            "generation": st.sampled_from((0, 1, 1.5, "1", -1)),
            "deletionGracePeriodSeconds": st.sampled_from((0, 5, None)),
            "finalizers": st.one_of(st.lists(st.sampled_from(("f", "a/b", None, 1)), max_size=2), st.just("f")),
            "ownerReferences": st.lists(
                st.one_of(
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "apiVersion": st.sampled_from(("v1", "a/b/c", "")),
                            "kind": st.sampled_from(("Event", "Pod")),
                            "name": st.sampled_from(("n", 1)),
                            "uid": st.sampled_from(("u", "w")),
                            "controller": st.sampled_from((True, False, None, "yes")),
                            "x": st.just(1),
                        },
                    ),
                    st.sampled_from((None, 1)),
                ),
                max_size=2,
            ),
            "managedFields": st.lists(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "manager": st.sampled_from(("m", "", "\x01")),
                        "operation": st.sampled_from(("Apply", "Update", "X")),
                        "time": st.sampled_from(("2024-01-01T00:00:00Z", None)),
                        "fieldsType": st.sampled_from(("FieldsV1", "V2")),
                        "fieldsV1": st.sampled_from(({}, {"f:a": {}}, None)),
                        "y": st.just(2),
                    },
                ),
                max_size=2,
            ),
            "unknown": scalars,
        },
    ),
    scalars,
)


@st.composite
def objects(draw: st.DrawFn, schema: Json) -> Json:
    """Draw an object that mostly matches a schema of type object."""
    value = draw(matching_values({**schema, "type": "object"}))
    out: Json = dict(value) if isinstance(value, dict) else {}
    out.pop("metadata", None)
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "it"}, **out}


roots = schemas(kind="object")
"""Root schemas."""
