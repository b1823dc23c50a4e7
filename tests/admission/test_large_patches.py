"""Large patches of mutating webhooks, which worker threads handle."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from polykind.http.messages import Request
from polykind.operations.responses import Response
from tests.admission.hooks import CONFIGURATIONS, AdmissionHook, add, configuration, consent
from tests.support.hook import Behaviour, Call, Reply
from tests.support.live import live
from tests.support.loop_time import worst_lag
from tests.support.widgets import WIDGETS, definition, widget

ANNOTATIONS = 120_000
PATCHES = {
    "an operation for each": [
        add("/metadata/annotations", {}),
        *(add(f"/metadata/annotations/example.com~1a{n}", "x") for n in range(ANNOTATIONS)),
    ],
    "one operation": [add("/metadata/annotations", {f"example.com/a{n}": "x" for n in range(ANNOTATIONS)})],
}


def patching_in_pieces(operations: list[JsonObject]) -> Behaviour:
    """Return a behaviour that sends a patch in pieces, so that only the server's work holds the event loop."""
    patch = base64.b64encode(json.dumps(operations).encode())
    fields = b'"patchType":"JSONPatch","patch":"%s"' % patch

    def behaviour(call: Call) -> Reply:
        uid = call.review["request"]["uid"].encode()
        start = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"'
        size = len(start) + len(uid) + 2 + len(fields) + 2
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % size
        pieces = (fields[at : at + 65536] for at in range(0, len(fields), 65536))
        return Reply(raw=head + start + uid + b'",', rest=[*pieces, b"}}"])

    return behaviour


@pytest.mark.parametrize("operations", PATCHES.values(), ids=PATCHES)
async def test_large_patch_does_not_hold_the_event_loop(tmp_path: Path, operations: list[JsonObject]) -> None:
    replies: list[object] = []
    async with live(tmp_path) as running, AdmissionHook() as hook:
        await running.define(definition())
        hooks = configuration("Mutating", hook.webhook_config())
        await running.ask("POST", f"{CONFIGURATIONS}/mutatingwebhookconfigurations", hooks)
        hook.behaviour = consent
        await running.ask("POST", WIDGETS, widget("first"))
        hook.behaviour = patching_in_pieces(operations)

        async def create() -> None:
            headers = {
                b"content-type": b"application/json",
                b"authorization": f"Bearer {running.server.token}".encode(),
            }
            body = json.dumps(widget("second")).encode()
            replies.append(await running.server.http.app(Request("POST", WIDGETS, "", headers, body)))

        lag = await worst_lag(create())
    (reply,) = replies
    assert isinstance(reply, Response)
    assert reply.status == 422
    assert "metadata.annotations: Too long: may not be more than 262144 bytes" in str(reply.body)
    assert lag < 0.05
