"""What the author of a definition is warned of, though it is accepted."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.crd.api_conversion import to_internal
from polykind.crd.schema_walker import all_schemas, root_schemas
from polykind.golang.fmt import go_quote
from polykind.schema.string_formats import is_known_format


def warnings(crd: JsonObject, old: JsonObject | None = None) -> list[str]:
    """Formats that mean nothing, if they are new."""
    found = _unknown_formats(crd)
    if found and old is not None:
        known = set(_unknown_formats(old))
        found = [name for name in found if name not in known]
    return [f"unrecognized format {go_quote(name)}" for name in found]


def _unknown_formats(crd: JsonObject) -> list[str]:
    return [
        node["format"]
        for schema in root_schemas(to_internal(crd["spec"]))
        for node in all_schemas(schema)
        if "format" in node and not is_known_format(node["format"], node.get("type", ""))
    ]
