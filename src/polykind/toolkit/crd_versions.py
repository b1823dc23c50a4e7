"""A CustomResourceDefinition and its versions, with the API server's own rules for pruning, defaults and validation."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polykind import crd as crd_rules
from polykind.apis.apiextensions import crd_codec
from polykind.contract import JsonObject, copy_json
from polykind.conversion.conversion_errors import AttemptError
from polykind.conversion.conversion_messages import check_converted
from polykind.errors import APIError, aggregate_message
from polykind.schema import CompiledSchema, metadata_validation, object_meta
from polykind.toolkit.crossplane_xrd import generated_crds, is_xrd
from polykind.toolkit.files import manifests

if TYPE_CHECKING:
    from polykind.cel import Rules
    from polykind.declare.library import Library

_APIS: dict[str, Literal["v1", "v1beta1"]] = {
    "apiextensions.k8s.io/v1": "v1",
    "apiextensions.k8s.io/v1beta1": "v1beta1",
}


class RejectedError(ValueError):
    """The API server would reject this object or CRD. The exception's text is the API server's message."""


class CRD:
    """A valid CustomResourceDefinition. `kind` is its kind with the group, such as `CronTab.stable.example.com`."""

    def __init__(self, manifest: Any) -> None:
        """Validate a CRD manifest.

        Raise RejectedError, which lists every validation error, if the manifest is invalid.
        """
        api = _APIS.get(str(manifest.get("apiVersion"))) if isinstance(manifest, dict) else None
        if api is None or manifest.get("kind") != "CustomResourceDefinition":
            raise RejectedError("not a CustomResourceDefinition of apiextensions.k8s.io/v1 or v1beta1")
        from polykind.cel import RuleCompiler

        try:
            self.manifest, _ = crd_codec.decode(copy_json(manifest), api, False)
        except APIError as error:
            raise RejectedError(error.message) from None
        crd_rules.prepare_create(self.manifest)
        errors = crd_rules.validate_create(self.manifest, api, rules=RuleCompiler())
        if errors:
            raise RejectedError(aggregate_message(errors))
        spec = self.manifest["spec"]
        self.name: str = self.manifest["metadata"]["name"]
        self.group: str = spec["group"]
        self.kind = f"{spec['names']['kind']}.{self.group}"
        self.namespaced: bool = spec["scope"] == "Namespaced"
        self.versions = {entry["name"]: CRDVersion(self, entry) for entry in spec["versions"]}
        """The versions by name, in the order of the manifest."""
        self.storage = next(name for name, version in self.versions.items() if version.storage)

    def version_of(self, obj: JsonObject) -> CRDVersion:
        """Return the version of an object. Raise RejectedError if the CRD does not define that version."""
        group, _, name = str(obj.get("apiVersion", "")).rpartition("/")
        if f"{obj.get('kind')}.{group}" != self.kind or name not in self.versions:
            known = ", ".join(self.versions)
            raise RejectedError(f"{obj.get('kind')} of {obj.get('apiVersion')} is not a {self.kind} of {known}")
        return self.versions[name]


class CRDVersion:
    """One version of a CRD."""

    def __init__(self, crd: CRD, version_entry: JsonObject) -> None:
        self.crd = crd
        self.name: str = version_entry["name"]
        self.api_version = f"{crd.group}/{self.name}"
        self.served: bool = version_entry["served"]
        self.storage: bool = version_entry["storage"]
        self.version_entry = version_entry
        self.openapi: JsonObject = (version_entry.get("schema") or {}).get("openAPIV3Schema") or {}
        preserve = bool(crd.manifest["spec"].get("preserveUnknownFields"))
        self.schema = CompiledSchema(self.openapi or None, preserve_unknown=preserve)

    @cached_property
    def rules(self) -> Rules | None:
        """The compiled CEL rules of the schema, or None if the schema has no rules."""
        from polykind.cel import compile_schema

        return compile_schema(self.openapi) if self.openapi else None

    def admit(self, obj: JsonObject) -> tuple[JsonObject, list[str]]:
        """Return the object as a write stores it (pruned, with defaults), and the paths of its unknown fields.

        Raise RejectedError if the API server would reject the object.
        """
        out: JsonObject = copy_json(obj)
        try:
            kind = self.crd.kind.partition(".")[0]
            out["metadata"], unknown = object_meta.coerce(
                out.get("metadata"), strict=True, kind=kind, version=self.name, served=kind
            )
            return out, unknown + self.schema.prune_and_default(out, report=True)
        except APIError as error:
            raise RejectedError(error.message) from None

    def pruned(self, obj: JsonObject) -> JsonObject:
        """Return a copy without fields that the schema does not have. The API server does this after a conversion."""
        out: JsonObject = copy_json(obj)
        try:
            self.schema.prune(out)
        except APIError as error:
            raise RejectedError(error.message) from None
        return out

    def defaulted(self, obj: JsonObject) -> JsonObject:
        """Return a copy with this version's defaults. The API server does not apply defaults after a conversion."""
        out: JsonObject = copy_json(obj)
        self.schema.apply_defaults(out)
        return out

    def validation_errors(self, obj: JsonObject) -> list[str]:
        """Return the validation errors that a create request for this object at this version would return."""
        metadata = obj.get("metadata") or {}
        if self.crd.namespaced:
            # A manifest may omit the namespace, because the URL of the request contains it.
            metadata = {"namespace": "default", **metadata}
        errors = metadata_validation.validate_object_meta(metadata, namespaced=self.crd.namespaced)
        errors += self.schema.validate(obj)
        if not errors and self.rules is not None:
            errors = self.rules.validate(obj, None)[0]
        return [str(error) for error in errors]


def accept_converted(original: JsonObject, converted: JsonObject, target: CRDVersion) -> JsonObject:
    """Return the converted object as the API server accepts it.

    The API server removes unknown fields, and takes all metadata except labels and annotations from the original.

    Raise RejectedError if the API server would reject the converter's result.
    """
    try:
        out = check_converted(original, copy_json(converted), target.api_version)
    except AttemptError as failure:
        raise RejectedError(failure.message) from None
    return target.pruned(out)


def read_crd(file: str | Path, library: Library | None = None) -> CRD:
    """Return the CRD in a file. If the file contains several CRDs, return the one whose kind the library converts.

    A CompositeResourceDefinition of Crossplane stands for the CRDs that Crossplane generates from it. Without a
    library, the composite resource is preferred to its claim.

    Raise ValueError if the file has no such CRD or cannot be read.
    """
    try:
        documents = manifests.parse(manifests.read_file(Path(file))).documents
    except manifests.ManifestReadError as error:
        raise ValueError(f"{file}: {error}") from None
    values = [document.value for document in documents if isinstance(document.value, dict)]
    try:
        crds = _crds_of(values, with_claims=library is not None)
    except (RejectedError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None
    if not crds:
        raise ValueError(f"{file}: the file has no CustomResourceDefinition")
    matching = [crd for crd in crds if library is None or library.handles(crd.group, crd.kind.partition(".")[0])]
    if len(matching) != 1:
        kinds = ", ".join(crd.kind for crd in matching or crds)
        if library is None:
            raise ValueError(f"{file}: the file defines {kinds}, but exactly one CRD is expected")
        count = "several of them" if matching else "none of them"
        raise ValueError(f"{file}: the file defines {kinds}, and {library.spec} converts {count}")
    return matching[0]


def _crds_of(values: list[JsonObject], *, with_claims: bool) -> list[CRD]:
    """Return the CRDs among objects, and those that Crossplane generates. Raise RejectedError if one is invalid."""
    crds = [CRD(value) for value in values if value.get("kind") == "CustomResourceDefinition"]
    for xrd in filter(is_xrd, values):
        crds += [CRD(value) for value in generated_crds(xrd)[: None if with_claims else 1]]
    return crds
