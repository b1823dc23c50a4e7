"""Admission webhooks on loopback, and the configurations that name them."""

from __future__ import annotations

import base64
import json
from typing import Any

from polykind.contract import JsonObject
from tests.support.hook import Behaviour, Call, Hook, Reply
from tests.support.widgets import GROUP

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


def said(call: Call, **response: Any) -> Reply:
    """An answer, by default of consent."""
    told = {"uid": call.review["request"]["uid"], "allowed": True, **response}
    return Reply(
        json.dumps({"apiVersion": call.review["apiVersion"], "kind": "AdmissionReview", "response": told}).encode()
    )


def consent(call: Call) -> Reply:
    return said(call)


def refuse(call: Call) -> Reply:
    return said(call, allowed=False, status={"message": "not today", "code": 403, "reason": "Forbidden"})


def patching(*operations: JsonObject) -> Behaviour:
    return lambda call: said(call, patch=encoded(*operations), patchType="JSONPatch")


def encoded(*operations: JsonObject) -> str:
    return base64.b64encode(json.dumps(operations).encode()).decode()


def add(path: str, value: Any) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


class AdmissionHook(Hook):
    """A webhook that consents, unless it is told otherwise."""

    def __init__(self, *names: str, behaviour: Behaviour = consent) -> None:
        super().__init__(*names, behaviour=behaviour)

    def stanza(self, name: str = "one", **more: Any) -> JsonObject:
        """A webhook of a configuration, by default about all writes of the tests' own group."""
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["*/*"]}
        given: JsonObject = {
            "name": f"{name}.example.com",
            "clientConfig": {"url": f"{self.url}/{name}", "caBundle": self.bundle},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [rule],
        }
        return {**given, **more}

    def requests(self) -> list[JsonObject]:
        """What it was asked since the last look."""
        found = [call.review["request"] for call in self.calls]
        self.calls.clear()
        return found


def configuration(kind: str, *webhooks: JsonObject, name: str = "hooks") -> JsonObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }
