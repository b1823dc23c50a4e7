"""Certificates: fields move into nested objects, and names of lists change."""

from __future__ import annotations

import unicodedata

from polykind.convert import put, take
from tests.toolkit.proving.bugs.family import (
    NUMBER,
    TEXT,
    Family,
    Object,
    array,
    drop_empty_annotations,
    fields,
    lift,
    mapping,
    move,
    notes_of,
    rename,
    spec,
)

GROUP = "certs.example.com"
OLDER = {
    "spec": fields(
        commonName=TEXT,
        dnsNames=array(TEXT),
        emailSANs=array(TEXT),
        organization=array(TEXT),
        keySize=NUMBER,
        keyAlgorithm=TEXT,
        duration=TEXT,
        renewBefore=TEXT,
        secretName=TEXT,
        secretLabels=mapping(TEXT),
    )
}
NEWER = {
    "spec": fields(
        commonName=TEXT,
        dnsNames=array(TEXT),
        emailAddresses=array(TEXT),
        subject=fields(organizations=array(TEXT)),
        privateKey=fields(size=NUMBER, algorithm=TEXT),
        duration=TEXT,
        renewBefore=TEXT,
        secretName=TEXT,
        secretTemplate=fields(labels=mapping(TEXT)),
    )
}


def down(obj: Object) -> None:
    inner = spec(obj)
    rename(inner, "emailAddresses", "emailSANs")
    _note_empty(obj, "subject", "privateKey", "secretTemplate")
    lift(inner, "subject", "organizations", "organization")
    lift(inner, "privateKey", "size", "keySize")
    lift(inner, "privateKey", "algorithm", "keyAlgorithm")
    lift(inner, "secretTemplate", "labels", "secretLabels")


def up(obj: Object) -> None:
    inner = spec(obj)
    rename(inner, "emailSANs", "emailAddresses")
    move(inner, "organization", "subject", "organizations")
    move(inner, "keySize", "privateKey", "size")
    move(inner, "keyAlgorithm", "privateKey", "algorithm")
    move(inner, "secretLabels", "secretTemplate", "labels")
    for name in take(obj, "empty", []):
        if "spec" in obj:
            inner.setdefault(name, {})


def _note_empty(obj: Object, *names: str) -> None:
    """Stash the names of empty objects, which the older version cannot represent."""
    empty = [name for name in names if spec(obj).get(name) == {}]
    for name in empty:
        del obj["spec"][name]
    if empty:
        put(obj, "empty", empty)


FAMILY = Family(f"Certificate.{GROUP}", {"v1alpha2": OLDER, "v1": NEWER}, down, up)


@FAMILY.after_down("easy")
def drops_key_size(obj: Object) -> None:
    spec(obj).pop("keySize", None)


@FAMILY.after_up("easy")
def keeps_only_the_first_organization(obj: Object) -> None:
    subject = spec(obj).get("subject")
    if subject and subject.get("organizations"):
        subject["organizations"] = subject["organizations"][:1]


@FAMILY.after_down("medium")
def loses_a_key_size_of_zero(obj: Object) -> None:
    if not spec(obj).get("keySize", 1):
        del obj["spec"]["keySize"]


@FAMILY.after_down("hard")
def cuts_common_names_at_64(obj: Object) -> None:
    if "commonName" in spec(obj):
        obj["spec"]["commonName"] = obj["spec"]["commonName"][:64]


@FAMILY.before_up("hard")
def normalizes_unicode(obj: Object) -> None:
    if "commonName" in spec(obj):
        obj["spec"]["commonName"] = unicodedata.normalize("NFC", obj["spec"]["commonName"])


@FAMILY.after_down("hard")
def common_name_is_dropped_if_it_is_a_dns_name(obj: Object) -> None:
    inner = spec(obj)
    if inner.get("commonName") in (inner.get("dnsNames") or []):
        del inner["commonName"]


@FAMILY.after_up("hard")
def removes_all_annotations_of_its_group(obj: Object) -> None:
    notes = (obj.get("metadata") or {}).get("annotations")
    if notes:
        for key in [key for key in notes if key.startswith(GROUP + "/")]:
            del notes[key]
        drop_empty_annotations(obj)


@FAMILY.after_down("hard")
def treats_one_issuer_specially(obj: Object) -> None:
    if spec(obj).get("secretName") == "legacy-ca-bundle":
        obj["spec"]["secretName"] = "ca-bundle"


@FAMILY.after_down("medium")
def lowers_label_keys(obj: Object) -> None:
    labels = spec(obj).get("secretLabels")
    if labels is not None:
        obj["spec"]["secretLabels"] = {key.lower(): value for key, value in labels.items()}


@FAMILY.converter("hard")
def stash_survives_the_way_back() -> object:
    """The stash is never removed, so a later edit at the newer version is overwritten."""
    key = f"{GROUP}/renew-before"

    def keep(obj: Object) -> None:
        value = spec(obj).pop("renewBefore", None)
        down(obj)
        if value is not None and key not in notes_of(obj):
            notes_of(obj)[key] = value
        drop_empty_annotations(obj)

    def restore(obj: Object) -> None:
        up(obj)
        value = ((obj.get("metadata") or {}).get("annotations") or {}).get(key)
        if value is not None and "spec" in obj:
            obj["spec"]["renewBefore"] = value

    return FAMILY.conversions(keep, restore)
