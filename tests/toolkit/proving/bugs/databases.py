"""Claims of databases: free-form parameters, sizes, and a schema that preserves unknown fields."""

from __future__ import annotations

from tests.toolkit.proving.bugs.family import FLAG, NUMBER, TEXT, Family, Object, fields, lift, mapping, move, spec

GROUP = "platform.example.com"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
RATIO = {"type": "number"}
OLDER = {"spec": fields(storageGB=NUMBER, engine=TEXT, settings=FREE, tags=mapping(TEXT), ratio=RATIO, public=FLAG)}
NEWER = {
    "spec": fields(
        storage=fields(sizeGB=NUMBER), engine=TEXT, settings=FREE, tags=mapping(TEXT), ratio=RATIO, public=FLAG
    )
}


def down(obj: Object) -> None:
    lift(spec(obj), "storage", "sizeGB", "storageGB")


def up(obj: Object) -> None:
    move(spec(obj), "storageGB", "storage", "sizeGB")


NEWER["spec"]["properties"]["storage"]["required"] = ["sizeGB"]
FAMILY = Family(f"Database.{GROUP}", {"v1": OLDER, "v2": NEWER}, down, up)


@FAMILY.after_down("easy")
def loses_the_settings(obj: Object) -> None:
    if "settings" in spec(obj):
        obj["spec"]["settings"] = {}


@FAMILY.after_up("medium")
def ratio_becomes_an_integer(obj: Object) -> None:
    if "ratio" in spec(obj):
        obj["spec"]["ratio"] = int(obj["spec"]["ratio"])


@FAMILY.after_up("hard")
def ratio_is_rounded_to_two_places(obj: Object) -> None:
    if "ratio" in spec(obj):
        obj["spec"]["ratio"] = round(obj["spec"]["ratio"], 2)


@FAMILY.after_down("hard")
def postgres_has_another_name(obj: Object) -> None:
    if spec(obj).get("engine", "").lower() == "postgresql":
        obj["spec"]["engine"] = "postgres"


@FAMILY.after_down("hard")
def sizes_above_sixteen_terabytes_are_limited(obj: Object) -> None:
    if spec(obj).get("storageGB", 0) > 16_384:
        obj["spec"]["storageGB"] = 16_384


@FAMILY.after_up("hard")
def tags_of_the_platform_are_removed(obj: Object) -> None:
    tags = spec(obj).get("tags") or {}
    for key in [key for key in tags if key.startswith("platform.example.com/")]:
        del tags[key]
