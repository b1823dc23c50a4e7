"""The types of a definition's versions. They are owned as a whole, but what is applied must fit them."""

from __future__ import annotations

from typing import Final

from polykind.apply.model import BOOLEAN, NUMERIC, STRING, Field, Type
from polykind.apply.record import ANY, TEXTS, keyed, many, mapping, struct


def _schema() -> Type:
    """The type of a schema, which has schemas in it. What may also be something else than a schema may be anything."""
    rule = struct(
        **dict.fromkeys(("fieldPath", "message", "messageExpression", "reason", "rule"), STRING),
        optionalOldSelf=BOOLEAN,
    )
    schema = struct()
    fields = {
        **dict.fromkeys(("$ref", "$schema", "description", "format", "id", "pattern", "title", "type"), STRING),
        **dict.fromkeys(("maxItems", "maxLength", "maxProperties", "maximum"), NUMERIC),
        **dict.fromkeys(("minItems", "minLength", "minProperties", "minimum", "multipleOf"), NUMERIC),
        **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"), BOOLEAN),
        **dict.fromkeys(("additionalItems", "additionalProperties", "default", "example", "items"), ANY),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), many(schema)),
        **dict.fromkeys(("definitions", "patternProperties", "properties"), mapping(schema)),
        "dependencies": mapping(ANY),
        "enum": many(ANY),
        "externalDocs": struct(description=STRING, url=STRING),
        "not": schema,
        "required": TEXTS,
        "x-kubernetes-embedded-resource": BOOLEAN,
        "x-kubernetes-int-or-string": BOOLEAN,
        "x-kubernetes-list-map-keys": TEXTS,
        "x-kubernetes-list-type": STRING,
        "x-kubernetes-map-type": STRING,
        "x-kubernetes-preserve-unknown-fields": BOOLEAN,
        "x-kubernetes-validations": keyed(rule, "rule"),
    }
    if schema.map is not None:
        schema.map.fields.update({name: Field(f"f:{name}", kind, None) for name, kind in fields.items()})
    return schema


_SCHEMA: Final = struct(openAPIV3Schema=_schema())
_SUBRESOURCES: Final = struct(
    scale=struct(**dict.fromkeys(("labelSelectorPath", "specReplicasPath", "statusReplicasPath"), STRING)),
    status=ANY,
)
_SELECTABLE: Final = many(struct(jsonPath=STRING))


def _columns(json_path: str) -> Type:
    texts = dict.fromkeys(("description", "format", json_path, "name", "type"), STRING)
    return many(struct(**texts, priority=NUMERIC))


def _versions(json_path: str) -> Type:
    return many(
        struct(
            additionalPrinterColumns=_columns(json_path),
            deprecated=BOOLEAN,
            deprecationWarning=STRING,
            name=STRING,
            schema=_SCHEMA,
            selectableFields=_SELECTABLE,
            served=BOOLEAN,
            storage=BOOLEAN,
            subresources=_SUBRESOURCES,
        )
    )


VERSIONS: Final = _versions("jsonPath")
SPEC_V1BETA1: Final[dict[str, Type]] = {
    "additionalPrinterColumns": _columns("JSONPath"),
    "selectableFields": _SELECTABLE,
    "subresources": _SUBRESOURCES,
    "validation": _SCHEMA,
    "version": STRING,
    "versions": _versions("JSONPath"),
}
"""The versions at v1beta1, and what they may have in common there."""
