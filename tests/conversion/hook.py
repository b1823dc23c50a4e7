"""A conversion webhook on loopback whose behaviour tests can change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import trustme

from polykind.contract import JsonObject
from tests.support import hook as support
from tests.support.hook import Behaviour, Call, Reply

__all__ = ["Behaviour", "Call", "Hook", "Reply", "convert_all", "converted", "crontab", "failing"]

GROUP = "example.com"


def converted(review: JsonObject, change: Callable[[JsonObject, int], Any] = lambda obj, index: None) -> JsonObject:
    """Return a valid response whose objects `change` may modify."""
    request = review["request"]
    objects = [{**obj, "apiVersion": request["desiredAPIVersion"]} for obj in request["objects"]]
    for index, obj in enumerate(objects):
        change(obj, index)
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    return {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}


def convert_all(call: Call) -> Reply:
    return Reply(json.dumps(converted(call.review)).encode())


def failing(names: set[str], message: str = "told to fail") -> Behaviour:
    """Return a behaviour that fails every call with one of these objects, without naming it."""

    def behaviour(call: Call) -> Reply:
        answer = converted(call.review)
        if any(obj["metadata"]["name"] in names for obj in call.review["request"]["objects"]):
            answer["response"] = {
                "uid": call.review["request"]["uid"],
                "result": {"status": "Failed", "message": message},
            }
        return Reply(json.dumps(answer).encode())

    return behaviour


class Hook(support.Hook):
    """A webhook that converts all objects by default."""

    def __init__(self, *names: str, behaviour: Behaviour = convert_all, authority: trustme.CA | None = None) -> None:
        super().__init__(*names, behaviour=behaviour, authority=authority)

    @property
    def url(self) -> str:
        return f"{super().url}/convert"

    def webhook_config(self, **config: Any) -> JsonObject:
        client = {"url": self.url, "caBundle": self.bundle} | config
        return {"clientConfig": client, "conversionReviewVersions": ["v1"]}

    def sizes(self) -> list[int]:
        return [len(call.review["request"]["objects"]) for call in self.calls]


def crontab(name: str = "one", version: str = "v1beta1", **more: Any) -> JsonObject:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "CronTab", "metadata": metadata, "spec": {"x": 1}, **more}
