"""Admission webhooks on loopback, and their configurations."""

from __future__ import annotations

import base64
import json
from typing import Any

from polykind.contract import JsonObject
from tests.support.hook import Behaviour, Call, Hook, Reply
from tests.support.widgets import GROUP

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


def review_response(call: Call, **response: Any) -> Reply:
    """Return a response, by default one that allows the request."""
    body = {"uid": call.review["request"]["uid"], "allowed": True, **response}
    return Reply(
        json.dumps({"apiVersion": call.review["apiVersion"], "kind": "AdmissionReview", "response": body}).encode()
    )


def consent(call: Call) -> Reply:
    return review_response(call)


def refuse(call: Call) -> Reply:
    return review_response(call, allowed=False, status={"message": "not today", "code": 403, "reason": "Forbidden"})


def patching(*operations: JsonObject) -> Behaviour:
    return lambda call: review_response(call, patch=encoded(*operations), patchType="JSONPatch")


def encoded(*operations: JsonObject) -> str:
    return base64.b64encode(json.dumps(operations).encode()).decode()


def add(path: str, value: Any) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


class AdmissionHook(Hook):
    """A webhook that allows everything by default."""

    def __init__(self, *names: str, behaviour: Behaviour = consent) -> None:
        super().__init__(*names, behaviour=behaviour)

    def webhook_config(self, name: str = "one", **more: Any) -> JsonObject:
        """Return a webhook entry of a configuration. By default it matches all writes to the tests' group."""
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
        """Return and clear the received requests."""
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
