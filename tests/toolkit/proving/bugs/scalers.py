"""Autoscalers: durations become seconds, and triggers have free-form metadata."""

from __future__ import annotations

import datetime
import os
import time
from functools import lru_cache

from polykind.convert import put, take
from tests.toolkit.proving.bugs.family import (
    FLAG,
    NUMBER,
    TEXT,
    Family,
    Object,
    array,
    fields,
    lift,
    mapping,
    move,
    notes_of,
    spec,
)

GROUP = "scaling.example.com"
OLDER = {
    "spec": fields(
        deploymentName=TEXT,
        pollingInterval=NUMBER,
        minReplicas=NUMBER,
        maxReplicas=NUMBER,
        paused=FLAG,
        triggers=array(fields(type=TEXT, metadata=mapping(TEXT))),
    ),
    "status": fields(active=FLAG, message=TEXT),
}
NEWER = {
    "spec": fields(
        scaleTargetRef=fields(name=TEXT, kind=TEXT),
        pollingInterval=NUMBER,
        minReplicas=NUMBER,
        maxReplicas=NUMBER,
        paused=FLAG,
        triggers=array(fields(type=TEXT, metadata=mapping(TEXT))),
    ),
    "status": fields(active=FLAG, message=TEXT),
}


def down(obj: Object) -> None:
    inner = spec(obj)
    target = inner.get("scaleTargetRef")
    if target is not None and set(target) != {"name"}:
        put(obj, "target", {key: value for key, value in target.items() if key != "name"})
        target.pop("kind", None)
        if not target:
            del inner["scaleTargetRef"]
    lift(inner, "scaleTargetRef", "name", "deploymentName")


def up(obj: Object) -> None:
    inner = spec(obj)
    rest = take(obj, "target")
    move(inner, "deploymentName", "scaleTargetRef", "name")
    if rest is not None and "spec" in obj:
        inner["scaleTargetRef"] = {**inner.get("scaleTargetRef", {}), **rest}


FAMILY = Family(f"Scaler.{GROUP}", {"v1alpha1": OLDER, "v1": NEWER}, down, up)


@FAMILY.after_down("easy")
def loses_the_status(obj: Object) -> None:
    obj.pop("status", None)


@FAMILY.after_down("medium")
def loses_an_explicit_false(obj: Object) -> None:
    if not spec(obj).get("paused", True):
        del obj["spec"]["paused"]


@FAMILY.after_up("medium")
def loses_an_empty_list(obj: Object) -> None:
    if spec(obj).get("triggers") == []:
        del obj["spec"]["triggers"]


@FAMILY.after_up("hard")
def multi_line_messages_lose_lines(obj: Object) -> None:
    status = obj.get("status") or {}
    if "message" in status:
        status["message"] = status["message"].split("\n")[0]


@FAMILY.after_down("hard")
def trailing_space_is_removed(obj: Object) -> None:
    status = obj.get("status") or {}
    if "message" in status:
        status["message"] = status["message"].rstrip()


@FAMILY.after_down("hard")
def equal_limits_become_one(obj: Object) -> None:
    inner = spec(obj)
    if inner.get("minReplicas") is not None and inner.get("minReplicas") == inner.get("maxReplicas"):
        del inner["minReplicas"]


@FAMILY.after_down("hard")
def notes_the_day(obj: Object) -> None:
    notes_of(obj)[f"{GROUP}/converted-on"] = datetime.date.today().isoformat()


@FAMILY.after_down("hard")
def depends_on_the_hash_of_a_name(obj: Object) -> None:
    notes_of(obj)[f"{GROUP}/shard"] = str(hash((obj.get("metadata") or {}).get("name", "")) % 1000)


@FAMILY.after_down("hard")
def fails_after_a_date(obj: Object) -> None:
    if time.time() > 1_900_000_000:
        raise ValueError("v1alpha1 is no longer supported")


@FAMILY.after_down("medium")
def notes_the_process(obj: Object) -> None:
    notes_of(obj)[f"{GROUP}/converted-by"] = str(os.getpid())


@FAMILY.converter("hard")
def caches_by_name() -> object:
    good = FAMILY.conversions()
    cache: dict[tuple[str, str], Object] = {}

    def convert(obj: Object, to: str) -> Object:
        key = (obj.get("metadata") or {}).get("name", ""), to
        if key not in cache or "status" in obj:
            cache[key] = good.convert(obj, to)
        return {**obj, **{k: v for k, v in cache[key].items() if k in ("apiVersion", "spec")}}

    return convert


@FAMILY.converter("hard")
def caches_triggers_by_type() -> object:
    @lru_cache(maxsize=64)
    def parsed(kind: str, keys: tuple[str, ...]) -> dict[str, str]:
        return {}

    def remember(obj: Object) -> None:
        down(obj)
        for trigger in spec(obj).get("triggers") or []:
            if "metadata" in trigger and "type" in trigger:
                known = parsed(trigger["type"], tuple(trigger["metadata"]))
                for key, value in trigger["metadata"].items():
                    known.setdefault(key, value)
                trigger["metadata"] = dict(known)

    return FAMILY.conversions(remember)


@FAMILY.converter("hard")
def breaks_after_two_hundred_calls() -> object:
    calls = [0]

    def count(obj: Object) -> None:
        calls[0] += 1
        down(obj)
        if calls[0] > 200 and "pollingInterval" in spec(obj):
            del obj["spec"]["pollingInterval"]

    return FAMILY.conversions(count)


@FAMILY.after_down("hard")
def polling_interval_of_thirty_is_the_default(obj: Object) -> None:
    if spec(obj).get("pollingInterval") == 30:
        del obj["spec"]["pollingInterval"]


@FAMILY.after_up("medium")
def negative_intervals_become_positive(obj: Object) -> None:
    if spec(obj).get("pollingInterval", 0) < 0:
        obj["spec"]["pollingInterval"] *= -1
