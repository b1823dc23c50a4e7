"""Serverless services: a single container becomes a list, and traffic is split by percentages."""

from __future__ import annotations

import copy

from polykind.convert import put, take
from tests.toolkit.proving.bugs.family import NUMBER, TEXT, Family, Object, array, fields, mapping, rename, spec

GROUP = "serving.example.com"
CONTAINER = fields(image=TEXT, args=array(TEXT), env=mapping(TEXT))
TRAFFIC = array(fields(revision=TEXT, percent=NUMBER, tag=TEXT))
OLDER = {"spec": fields(container=CONTAINER, concurrency=NUMBER, traffic=TRAFFIC)}
NEWER = {"spec": fields(containers=array(CONTAINER), containerConcurrency=NUMBER, traffic=TRAFFIC)}


def down(obj: Object) -> None:
    inner = spec(obj)
    rename(inner, "containerConcurrency", "concurrency")
    if "containers" in inner:
        containers = inner.pop("containers")
        if containers:
            inner["container"] = copy.deepcopy(containers[0])
        put(obj, "containers", containers, beside=["spec.container"])


def up(obj: Object) -> None:
    containers = take(obj, "containers")
    inner = spec(obj)
    rename(inner, "concurrency", "containerConcurrency")
    container = inner.pop("container", None)
    if "spec" in obj and containers is not None:
        inner["containers"] = containers
    elif container is not None:
        inner["containers"] = [container]


FAMILY = Family(f"Service.{GROUP}", {"v1alpha1": OLDER, "v1": NEWER}, down, up)


@FAMILY.converter("easy")
def only_the_first_container_is_kept() -> object:
    def keep(obj: Object) -> None:
        down(obj)
        take(obj, "containers")

    return FAMILY.conversions(keep)


@FAMILY.converter("medium")
def edit_of_the_container_is_lost() -> object:
    def keep(obj: Object) -> None:
        containers = copy.deepcopy(spec(obj).get("containers"))
        down(obj)
        if containers is not None:
            put(obj, "containers", containers)

    return FAMILY.conversions(keep)


@FAMILY.after_down("hard")
def environment_names_are_upper_case(obj: Object) -> None:
    container = spec(obj).get("container") or {}
    if any(key != key.upper() and key.upper() in container["env"] for key in container.get("env", ())):
        container["env"] = {key.upper(): value for key, value in container["env"].items()}


@FAMILY.after_up("hard")
def percentages_are_capped(obj: Object) -> None:
    for target in spec(obj).get("traffic") or []:
        if target.get("percent", 0) > 100:
            target["percent"] = 100


@FAMILY.after_up("hard")
def the_latest_revision_is_implied(obj: Object) -> None:
    for target in spec(obj).get("traffic") or []:
        if target.get("revision") == "@latest":
            del target["revision"]


@FAMILY.after_down("medium")
def last_argument_is_lost_if_it_is_empty(obj: Object) -> None:
    args = (spec(obj).get("container") or {}).get("args")
    if args and args[-1] == "":
        args.pop()


@FAMILY.converter("hard")
def tags_are_restored_by_position() -> object:
    """Only tags of traffic targets with a revision are stashed, so the positions shift."""

    def keep(obj: Object) -> None:
        down(obj)
        tags = [target.pop("tag", None) for target in spec(obj).get("traffic") or []]
        if any(tag is not None for tag in tags):
            put(obj, "tags", tags)

    def restore(obj: Object) -> None:
        tags = take(obj, "tags", [])
        up(obj)
        for target, tag in zip(spec(obj).get("traffic") or [], tags, strict=False):
            if tag is not None:
                target.setdefault("tag", tag)

    return FAMILY.conversions(keep, restore)
