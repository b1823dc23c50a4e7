"""A CustomResourceDefinition as far as conversions need it: what each of its versions does to objects.

The API server's own rules are at work here: what it prunes, fills in and refuses, this does.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from polykind import crd
from polykind.contract import JsonObject, copy_json
from polykind.conversion.conversion_review import accepted
from polykind.conversion.failure import Failure
from polykind.errors import APIError, aggregate_message
from polykind.schema import CompiledSchema, metadata_validation, object_meta

if TYPE_CHECKING:
    from polykind.cel import Rules

_APIS: dict[str, Literal["v1", "v1beta1"]] = {
    "apiextensions.k8s.io/v1": "v1",
    "apiextensions.k8s.io/v1beta1": "v1beta1",
}


class Unfit(ValueError):
    """What is no object of its version, or no definition; the text is what the API server would say."""


class Definition:
    """A definition that has been found good."""

    def __init__(self, manifest: Any) -> None:
        """Take a definition as it stands in a manifest. Raises Unfit, with all that is wrong with it."""
        api = _APIS.get(str(manifest.get("apiVersion"))) if isinstance(manifest, dict) else None
        if api is None or manifest.get("kind") != "CustomResourceDefinition":
            raise Unfit("not a CustomResourceDefinition of apiextensions.k8s.io/v1 or v1beta1")
        from polykind.cel import RuleCompiler

        try:
            self.manifest, _ = crd.decode(copy_json(manifest), api, False)
        except APIError as error:
            raise Unfit(error.message) from None
        crd.prepare_create(self.manifest)
        found = crd.validate_create(self.manifest, api, rules=RuleCompiler())
        if found:
            raise Unfit(aggregate_message(found))
        spec = self.manifest["spec"]
        self.name: str = self.manifest["metadata"]["name"]
        self.group: str = spec["group"]
        self.kind = f"{spec['names']['kind']}.{self.group}"
        self.namespaced: bool = spec["scope"] == "Namespaced"
        self.versions = {stanza["name"]: DefinedVersion(self, stanza) for stanza in spec["versions"]}
        """In the order in which they are declared."""
        self.storage = next(name for name, version in self.versions.items() if version.storage)

    def version_of(self, obj: JsonObject) -> DefinedVersion:
        """The version that an object is of. Raises Unfit."""
        group, _, name = str(obj.get("apiVersion", "")).rpartition("/")
        if f"{obj.get('kind')}.{group}" != self.kind or name not in self.versions:
            known = ", ".join(self.versions)
            raise Unfit(f"{obj.get('kind')} of {obj.get('apiVersion')} is no {self.kind} of {known}")
        return self.versions[name]


class DefinedVersion:
    """One version of a definition."""

    def __init__(self, definition: Definition, stanza: JsonObject) -> None:
        self.definition = definition
        self.name: str = stanza["name"]
        self.api_version = f"{definition.group}/{self.name}"
        self.served: bool = stanza["served"]
        self.storage: bool = stanza["storage"]
        self.stanza = stanza
        self.openapi: JsonObject = (stanza.get("schema") or {}).get("openAPIV3Schema") or {}
        preserve = bool(definition.manifest["spec"].get("preserveUnknownFields"))
        self.schema = CompiledSchema(self.openapi or None, preserve_unknown=preserve)

    @cached_property
    def rules(self) -> Rules | None:
        from polykind.cel import compile_schema

        return compile_schema(self.openapi) if self.openapi else None

    def admitted(self, obj: JsonObject) -> tuple[JsonObject, list[str]]:
        """The object as a write takes it in: pruned and defaulted; and the paths of fields that it does not know.

        Raises Unfit.
        """
        out: JsonObject = copy_json(obj)
        try:
            kind = self.definition.kind.partition(".")[0]
            out["metadata"], unknown = object_meta.coerce(
                out.get("metadata"), strict=True, kind=kind, version=self.name, served=kind
            )
            return out, unknown + self.schema.prune_and_default(out, report=True)
        except APIError as error:
            raise Unfit(error.message) from None

    def pruned(self, obj: JsonObject) -> JsonObject:
        """The object as it is after a conversion to this version: what the version does not know has gone."""
        out: JsonObject = copy_json(obj)
        try:
            self.schema.prune(out)
        except APIError as error:
            raise Unfit(error.message) from None
        return out

    def defaulted(self, obj: JsonObject) -> JsonObject:
        """The object with the version's defaults, which nobody fills in after a conversion."""
        out: JsonObject = copy_json(obj)
        self.schema.apply_defaults(out)
        return out

    def complaints(self, obj: JsonObject) -> list[str]:
        """What a create of the object at this version would be refused for."""
        metadata = obj.get("metadata") or {}
        if self.definition.namespaced:
            # A manifest need not name one: the path of the request does.
            metadata = {"namespace": "default", **metadata}
        found = metadata_validation.validate_object_meta(metadata, namespaced=self.definition.namespaced)
        found += self.schema.validate(obj)
        if not found and self.rules is not None:
            found = self.rules.validate(obj, None)[0]
        return [str(error) for error in found]


def taken(original: JsonObject, converted: JsonObject, target: DefinedVersion) -> JsonObject:
    """What the API server makes of a converter's answer: metadata restored, pruned. Raises Unfit where it refuses."""
    try:
        out = accepted(original, copy_json(converted), target.api_version)
    except Failure as failure:
        raise Unfit(failure.said) from None
    return target.pruned(out)
