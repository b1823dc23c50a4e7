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


VERSIONS: Final = many(
    struct(
        additionalPrinterColumns=many(
            struct(
                **dict.fromkeys(("description", "format", "jsonPath", "name", "type"), STRING),
                priority=NUMERIC,
            )
        ),
        deprecated=BOOLEAN,
        deprecationWarning=STRING,
        name=STRING,
        schema=struct(openAPIV3Schema=_schema()),
        selectableFields=many(struct(jsonPath=STRING)),
        served=BOOLEAN,
        storage=BOOLEAN,
        subresources=struct(
            scale=struct(**dict.fromkeys(("labelSelectorPath", "specReplicasPath", "statusReplicasPath"), STRING)),
            status=ANY,
        ),
    )
)
