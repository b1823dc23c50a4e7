"""Findings about a change of a CRD: the catalogue of their kinds, and the value that describes one of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from polykind.evolution.schema_changes import Pointer


class Severity(IntEnum):
    """The importance of a finding. `breaking` fails a check by default."""

    INFO = 0
    DANGEROUS = 1
    BREAKING = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class Trap(NamedTuple):
    """A kind of finding: what it means for users, and what to do instead."""

    severity: Severity
    meaning: str
    advice: str


_B, _D, _I = Severity.BREAKING, Severity.DANGEROUS, Severity.INFO
_NEW_VERSION = "Make the change in a new version, and convert between the versions."

TRAPS: dict[str, Trap] = {
    "field-removed": Trap(
        _B,
        "The API server prunes the field from stored objects when it reads them, and from every write.",
        f"Keep the field and deprecate it in its description. {_NEW_VERSION}",
    ),
    "field-no-longer-specified": Trap(
        _D,
        "The value is kept, because unknown fields are preserved here, but it is neither validated nor defaulted.",
        "Keep the field in the schema until no client uses it.",
    ),
    "required-added": Trap(
        _B,
        "Existing manifests and stored objects without the field are invalid: creates fail, and so do updates of the "
        "object that contains it.",
        "Make the field optional, or give it a default.",
    ),
    "required-with-default": Trap(
        _I,
        "The default fills the field in before validation, so that objects without the field stay valid.",
        "Nothing to do.",
    ),
    "type-changed": Trap(
        _B,
        "Existing values have the wrong type: writes fail, and clients that decode into typed structures fail to read.",
        _NEW_VERSION,
    ),
    "type-widened": Trap(
        _I,
        "All existing values stay valid, but clients may read values of the new type.",
        "Release clients that understand both types first.",
    ),
    "enum-narrowed": Trap(
        _B,
        "Objects with one of the removed values are invalid.",
        "Keep the old values and treat them as deprecated until no object has them.",
    ),
    "enum-widened": Trap(
        _I, "Clients that know only the old values may meet a new one.", "Release controllers that know it first."
    ),
    "limit-narrowed": Trap(
        _B,
        "Values that were valid are rejected.",
        "Keep the old limit. Enforce a new one only for new values, for example by a CEL rule with oldSelf.",
    ),
    "pattern-added": Trap(_B, "Values that do not match the pattern are rejected.", "Leave the old values valid."),
    "pattern-changed": Trap(
        _D,
        "Values that matched the old pattern may not match the new one.",
        "Make sure that the new pattern accepts every value of the old one.",
    ),
    "format-added": Trap(_B, "Values that do not have the format are rejected.", "Leave the old values valid."),
    "format-changed": Trap(_B, "Values of the old format are rejected.", _NEW_VERSION),
    "default-changed": Trap(
        _B,
        "Objects without the field silently change their meaning when they are created or applied again.",
        f"Keep the default. {_NEW_VERSION}",
    ),
    "default-added": Trap(
        _D,
        "Stored objects without the field show the default from now on, on reads too, and controllers act on it.",
        "Choose the default that says what absence meant before.",
    ),
    "default-removed": Trap(
        _B,
        "Objects that are created without the field no longer get a value.",
        "Keep the default, or make sure that controllers treat absence like the old default.",
    ),
    "nullable-removed": Trap(_B, "Objects with a null are rejected or lose the null.", "Keep nullable: true."),
    "list-type-changed": Trap(
        _B,
        "Server-side apply merges the list in another way: items of other field managers get lost or duplicates are "
        "rejected.",
        "Keep the list type. A list that is to be merged by key belongs into a new field or version.",
    ),
    "list-keys-changed": Trap(
        _B,
        "Server-side apply identifies items by other fields, so that items are duplicated, merged or rejected.",
        "Keep the keys.",
    ),
    "map-type-changed": Trap(_D, "Server-side apply tracks owners of the object in another way.", "Keep the map type."),
    "preserve-unknown-removed": Trap(
        _B,
        "Fields that the schema does not specify are pruned from stored objects on the next read or write.",
        "Specify every field that objects have before you stop preserving unknown fields.",
    ),
    "int-or-string-removed": Trap(_B, "Values of the other type are rejected.", "Keep x-kubernetes-int-or-string."),
    "embedded-resource-added": Trap(
        _B, "Values without apiVersion, kind and valid metadata are rejected.", "Leave the field as it was."
    ),
    "embedded-resource-removed": Trap(
        _D, "apiVersion, kind and metadata of the value are no longer validated, and may be pruned.", "Keep it."
    ),
    "rule-added": Trap(
        _B,
        "Objects that do not satisfy the CEL rule are rejected on create, and on updates that change the value.",
        "Write the rule so that it holds for all existing objects, or only for changes (oldSelf).",
    ),
    "rule-for-updates-added": Trap(
        _D, "Updates that were accepted are rejected by the CEL rule.", "Announce it, or use a new version."
    ),
    "rule-for-new-field": Trap(_I, "The CEL rule concerns only objects that set a new field.", "Nothing to do."),
    "rule-changed": Trap(
        _D,
        "Objects that satisfied the old CEL rules may be rejected by the new one.",
        "Make sure that the new rule accepts everything that the old one accepted.",
    ),
    "combination-changed": Trap(
        _D,
        "Objects that satisfied the old schema may be rejected. These keywords are not ratcheted: every update fails.",
        "Make sure that the new alternatives accept everything that the old ones accepted.",
    ),
    "version-removed": Trap(
        _B,
        "Requests of clients at this version get 404.",
        "Deprecate the version first, stop serving it in a later release, and remove it when no client uses it.",
    ),
    "version-not-served": Trap(
        _B, "Requests of clients at this version get 404.", "Deprecate the version first (deprecated: true)."
    ),
    "stored-version-removed": Trap(
        _B,
        "Objects may be stored at this version: the API server rejects the update of the CRD, or the objects cannot be "
        "read.",
        "Migrate the stored objects first (polykind migrate), so that the version leaves status.storedVersions.",
    ),
    "stored-versions-unknown": Trap(
        _D,
        "Objects that were stored at this version cannot be read after its removal.",
        "Check that status.storedVersions of the live CRD does not contain it.",
    ),
    "storage-switched": Trap(
        _I,
        "New writes are stored at the new version; older objects stay until they are written again.",
        "Migrate the stored objects before you remove the old version (polykind migrate).",
    ),
    "storage-switched-too-early": Trap(
        _B,
        "A rollback is impossible: the previous release does not know the version at which objects are stored.",
        "Serve the new version in one release, and make it the storage version in the next.",
    ),
    "group-changed": Trap(_B, "It is another API: existing objects are not served by it.", "Keep the group."),
    "plural-changed": Trap(_B, "It is another resource: all URLs and RBAC rules change.", "Keep spec.names.plural."),
    "kind-changed": Trap(_B, "Manifests and clients of the old kind fail.", "Keep spec.names.kind."),
    "scope-changed": Trap(_B, "The scope is immutable, and all URLs change.", "Create a new CRD."),
    "crd-removed": Trap(_B, "Deleting a CRD deletes all of its objects.", "Keep the CRD until no object is left."),
    "crd-rejected": Trap(_B, "The API server rejects the new CRD.", "Correct it as the message says."),
    "name-removed": Trap(
        _D, "Scripts that use the name with kubectl fail.", "Keep short names, and the singular and list names."
    ),
    "unknown-fields-pruned": Trap(
        _B,
        "Fields that the schema does not specify are pruned from stored objects on the next read or write.",
        "Specify every field that objects have before you set preserveUnknownFields to false.",
    ),
    "status-subresource-removed": Trap(_B, "Controllers that update /status get 404.", "Keep subresources.status."),
    "status-subresource-added": Trap(
        _D,
        "Writes to the object itself ignore status from now on, and metadata.generation counts changes of the spec.",
        "Release controllers that write status through /status first.",
    ),
    "scale-subresource-removed": Trap(
        _B, "kubectl scale and HorizontalPodAutoscalers fail.", "Keep subresources.scale."
    ),
    "scale-subresource-changed": Trap(
        _D, "kubectl scale and HorizontalPodAutoscalers read and write other fields.", "Keep the paths."
    ),
    "selectable-field-removed": Trap(
        _B, "Field selectors on this field fail with 400.", "Keep the field in selectableFields."
    ),
    "deprecated-without-warning": Trap(
        _I,
        "Clients get the general deprecation warning, which does not name the replacement.",
        "Set deprecationWarning to a text that says which version to use.",
    ),
    "preferred-version-changed": Trap(
        _I, "kubectl and other clients that use the preferred version read objects at another version.", "Announce it."
    ),
    "conversion-missing": Trap(
        _B,
        "With strategy None only apiVersion changes: a field that one version lacks is pruned, and an update through "
        "that version loses it.",
        "Declare a conversion webhook (polykind suggest drafts its rules), or give both versions the same fields.",
    ),
    "versions-disagree": Trap(
        _D,
        "With strategy None an object that is valid at one version may be invalid at the other, or gets another value.",
        "Give both versions the same validation and defaults, or declare a conversion webhook.",
    ),
    "conversion-needed": Trap(
        _I,
        "The conversion webhook must translate the fields that differ.",
        "Test it: polykind prove.",
    ),
    "conversion-changed": Trap(
        _D,
        "Objects are converted in another way from now on.",
        "Release the webhook before the CRD, and rehearse the upgrade (polykind rehearse).",
    ),
    "converter-incomplete": Trap(
        _B, "Requests that need this conversion fail.", "Add a conversion function or rules for these versions."
    ),
}
"""The kinds of findings by name."""


@dataclass(frozen=True, slots=True)
class ChangeFinding:
    """One finding about a change of a CRD."""

    trap: str
    severity: Severity
    crd: str
    version: str
    """The version whose schema or setting is concerned, such as `v1`, or `v1, v2` for a pair. May be empty."""
    path: str
    """The field in objects, such as `spec.size`, or the field of the CRD, such as `spec.scope`."""
    message: str
    pointer: Pointer = ()
    """The place in the manifest of the CRD."""
    in_old: bool = False
    """True if `pointer` is a place in the old manifest, because the new one has no such place."""
    ratcheting: str = ""
    """The way in which validation ratcheting limits the effect on existing objects. Empty if nothing is validated."""
    undecided: bool = False
    """True if only values can show whether the change rejects something that was valid."""
    existed: bool = False
    """True if the old CRD has the same problem."""

    @property
    def meaning(self) -> str:
        return " ".join(filter(None, (TRAPS[self.trap].meaning, self.ratcheting)))

    @property
    def advice(self) -> str:
        return TRAPS[self.trap].advice
