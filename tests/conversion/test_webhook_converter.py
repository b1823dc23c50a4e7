from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import logging
import tracemalloc
from http import HTTPStatus
from typing import Any

import pytest

from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.errors import APIError, InternalError, UnknownReasonError
from polykind.metrics.metrics import Metrics
from polykind.webhook import transport
from polykind.webhook.target import Endpoint, Resolver
from tests.conversion.conftest import Make
from tests.conversion.hook import Call, Hook, Reply, convert_all, converted, crontab, failing
from tests.conversion.test_served_conversions import wait_until

V1 = "example.com/v1"
FRAME = "conversion webhook for example.com/v1beta1, Kind=CronTab"


async def conversion_error(converter: Any, *objects: Any) -> APIError:
    with pytest.raises(APIError) as caught:
        await converter.convert(objects or [crontab()], V1)
    return caught.value


async def test_request_matches_kube_apiserver(hook: Hook, make: Make) -> None:
    converter = make(hook.webhook_config(), uid=lambda: "call-1")
    obj = crontab()
    assert await converter.convert([obj], V1) == [{**obj, "apiVersion": V1}]
    (call,) = hook.calls
    assert call.path == "/convert?timeout=30s"
    assert call.headers["Content-Type"] == "application/json"
    assert call.headers["Accept"] == "application/json, */*"
    assert call.headers["User-Agent"] == "kube-apiserver-admission"
    assert call.review == {
        "kind": "ConversionReview",
        "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "call-1", "desiredAPIVersion": V1, "objects": [obj]},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }


async def test_only_objects_at_another_version_are_sent_in_order(hook: Hook, make: Make) -> None:
    empty = {"apiVersion": "example.com/v1beta1", "kind": "CronTab"}
    objects = [crontab("a"), crontab("b", "v1"), empty, crontab("c", "v2"), crontab("d")]
    out = await make(hook.webhook_config()).convert(objects, V1)
    assert [o["apiVersion"] for o in out] == [V1] * 5
    assert [o.get("metadata", {}).get("name") for o in out] == ["a", "b", None, "c", "d"]
    assert [o["metadata"]["name"] for o in hook.calls[0].review["request"]["objects"]] == ["a", "c", "d"]


async def test_no_connection_without_conversion(make: Make) -> None:
    webhook_config = {
        "clientConfig": {"url": "https://127.0.0.1:1", "caBundle": "bm9uc2Vuc2U="},
        "conversionReviewVersions": ["v1"],
    }
    empty = {"apiVersion": "example.com/v1beta1", "kind": "CronTab"}
    out = await make(webhook_config).convert([crontab("a", "v1"), empty], V1)
    assert out == [crontab("a", "v1"), {"apiVersion": V1, "kind": "CronTab"}]


async def test_invalid_ca_bundle_is_reported_on_first_use(make: Make) -> None:
    webhook_config = {
        "clientConfig": {"url": "https://127.0.0.1:1", "caBundle": "bm9uc2Vuc2U="},
        "conversionReviewVersions": ["v1"],
    }
    error = await conversion_error(make(webhook_config))
    assert isinstance(error, InternalError)
    assert error.message == (
        "Internal error occurred: error resolving resource: "
        "unable to load root certificates: unable to parse bytes as PEM block"
    )


async def test_missing_common_review_version_is_always_an_error(hook: Hook, make: Make) -> None:
    error = await conversion_error(
        make({**hook.webhook_config(), "conversionReviewVersions": ["v7"]}), crontab("a", "v1")
    )
    assert type(error) is UnknownReasonError
    assert error.message == "no supported conversion review versions"


async def test_many_objects_take_few_calls(hook: Hook, make: Make) -> None:
    objects = [crontab(f"n{i}", spec={"text": "x" * 3000}) for i in range(2000)]
    out = await make(hook.webhook_config()).convert(objects, V1)
    assert [o["metadata"]["name"] for o in out] == [f"n{i}" for i in range(2000)]
    assert len(hook.calls) <= 20
    assert sum(hook.sizes()) == 2000


async def test_connections_are_reused(hook: Hook, make: Make) -> None:
    converter = make(hook.webhook_config())
    for _ in range(5):
        await converter.convert([crontab()], V1)
    assert {call.connection for call in hook.calls} == {1}


async def test_closed_persistent_connection_is_retried(hook: Hook, make: Make) -> None:
    converter = make(hook.webhook_config())
    await converter.convert([crontab()], V1)
    first = True

    def closes_once(call: Call) -> Reply:
        nonlocal first
        if first:
            first = False
            return Reply(raw=b"", then_close=True)
        return Reply(json.dumps(converted(call.review)).encode())

    hook.behaviour = closes_once
    await converter.convert([crontab()], V1)
    assert len(hook.calls) == 3


async def test_error_names_object_versions_status_and_address(hook: Hook, make: Make) -> None:
    hook.behaviour = lambda call: Reply(b"no luck", 408, {"Content-Type": "text/plain"})
    error = await conversion_error(make(hook.webhook_config(), uid=lambda: "call-1"))
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{FRAME} failed: the server responded with the status code 408"
        " but did not return more information; conversion from version v1beta1 to version v1"
        " for default/one (uid uid-one): "
        f'"408 Request Timeout: no luck" while calling {hook.url} (review call-1)',
        "details": {
            "name": "one",
            "group": "example.com",
            "kind": "CronTab",
            "uid": "uid-one",
            "causes": [
                {"reason": "FromVersion", "message": "example.com/v1beta1"},
                {"reason": "ToVersion", "message": "example.com/v1"},
                {"reason": "Converter", "message": hook.url},
                {"reason": "HTTPStatus", "message": "408"},
                {"reason": "Body", "message": "no luck"},
                {"reason": "Review", "message": "call-1"},
            ],
        },
        "code": 500,
    }


async def test_first_failing_object_is_found_in_few_calls(hook: Hook, make: Make) -> None:
    hook.behaviour = failing({"n137", "n200"}, "cannot convert this")
    error = await conversion_error(make(hook.webhook_config()), *[crontab(f"n{i}") for i in range(250)])
    assert error.message.startswith(f"{FRAME} failed: cannot convert this; ")
    assert "default/n137 (uid uid-n137)" in error.message
    assert len(hook.calls) <= 11


async def test_first_failing_object_in_order_is_reported(hook: Hook, make: Make) -> None:
    async def message(call: Call) -> Reply:
        objects = call.review["request"]["objects"]
        if objects[0]["metadata"]["name"] == "n0":
            await asyncio.sleep(0.1)
        return Reply(b"", 422 if len(objects) == 1 or objects[0]["metadata"]["name"] != "n0" else 500)

    hook.behaviour = message
    error = await conversion_error(
        make(hook.webhook_config()), *[crontab(f"n{i}", spec={"x": "y" * 9000}) for i in range(600)]
    )
    assert "default/n0 (uid uid-n0)" in error.message


async def test_converter_for_single_objects_works(hook: Hook, make: Make) -> None:
    def only_the_first(call: Call) -> Reply:
        answer = converted(call.review)
        answer["response"]["convertedObjects"] = answer["response"]["convertedObjects"][:1]
        return Reply(json.dumps(answer).encode())

    hook.behaviour = only_the_first
    converter = make(hook.webhook_config())
    objects = [crontab(f"n{i}") for i in range(40)]
    assert [o["metadata"]["name"] for o in await converter.convert(objects, V1)] == [f"n{i}" for i in range(40)]
    assert len(hook.calls) < 60
    hook.calls.clear()
    await converter.convert(objects, V1)
    assert hook.sizes() == [1] * 40


async def test_converter_that_reorders_a_batch_works(hook: Hook, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    def reversing(call: Call) -> Reply:
        answer = converted(call.review)
        answer["response"]["convertedObjects"].reverse()
        return Reply(json.dumps(answer).encode())

    hook.behaviour = reversing
    metrics = Metrics()
    converter = make(hook.webhook_config(), observer=metrics)
    with caplog.at_level(logging.WARNING, "polykind.converters"):
        out = await converter.convert([crontab("a"), crontab("b"), crontab("c")], V1)
    assert [o["metadata"]["name"] for o in out] == ["a", "b", "c"]
    uid = hook.calls[0].review["request"]["uid"]
    assert "crontabs.example.com: the webhook converts only in smaller reviews: a review of 3 objects" in caplog.text
    assert f"must have the same name: a != c (review {uid})" in caplog.text
    assert "must have the same name" in converter.repair
    assert metrics.conversion_repairs.of("crontabs.example.com", "Answer").value == 1


async def test_repair_is_forgotten_when_a_large_review_succeeds(hook: Hook, make: Make) -> None:
    converter = make(hook.webhook_config())
    hook.behaviour = failing({"a"})
    with pytest.raises(ConversionFailedError):
        await converter.convert([crontab("a"), crontab("b")], V1)
    assert not converter.repair, "an object that cannot be converted is no fault of the batch"
    hook.behaviour = lambda call: Reply(b"", 400) if len(call.review["request"]["objects"]) == 2 else convert_all(call)
    await converter.convert([crontab("a"), crontab("b")], V1)
    assert "400" in converter.repair or "unknown reason" in converter.repair
    hook.behaviour = convert_all
    converter._batches._batch_limit = 2
    await converter.convert([crontab("a"), crontab("b")], V1)
    assert not converter.repair


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(raw=b"", then_close=True), 'failed: Post "{url}?timeout=30s": EOF'),
        (
            Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", then_close=True),
            "failed: unexpected error when reading response body. Please retry. Original error: unexpected EOF",
        ),
        (
            Reply(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", then_close=True),
            "failed: unexpected error when reading response body. Please retry. Original error: unexpected EOF",
        ),
        (
            Reply(raw=b"what is this\r\n\r\n", then_close=True),
            'failed: Post "{url}?timeout=30s": net/http: HTTP/1.x transport connection broken: malformed HTTP ',
        ),
        (Reply(b"{not json"), "failed: couldn't get version/kind; json parse error: invalid character 'n' looking for"),
        (Reply(b""), "failed: 0-length response with status code: 200 and content type: application/json"),
        (Reply(b"x", 503), "failed: the server is currently unable to handle the request"),
        (
            Reply(b"boom", 500, {"Content-Type": "text/plain"}),
            'failed: an error on the server ("boom") has prevented the request from succeeding',
        ),
        (
            Reply(b'{"apiVersion":"v1","kind":"Status","status":"Failure","message":"said so"}', 400),
            "failed: said so",
        ),
        (
            Reply(b"", 302, {"Location": "https://127.0.0.1:1/x"}),
            'failed: Post "https://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
        ),
        (Reply(b"", 307), "failed: the server responded with the status code 307"),
    ],
)
async def test_errors_match_kube_apiserver(hook: Hook, make: Make, reply: Reply, expected: str) -> None:
    hook.behaviour = lambda call: reply
    error = await conversion_error(make(hook.webhook_config()))
    assert error.code == 500
    assert not error.reason
    assert error.message.startswith(f"{FRAME} {expected.format(url=hook.url)}")
    assert "default/one (uid uid-one)" in error.message


async def test_hanging_converter_times_out(hook: Hook, make: Make) -> None:
    async def hang(call: Call) -> Reply:
        await asyncio.sleep(60)
        return Reply()

    hook.behaviour = hang
    error = await conversion_error(make(hook.webhook_config(), seconds=0.05))
    message = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert error.message.startswith(f'{FRAME} failed: Post "{hook.url}?timeout=0.05s": {message}; ')
    assert isinstance(error, ConversionFailedError)
    assert error.failure.timed_out
    watch_error = error.as_watch_error()
    assert watch_error.reason == "InternalError"
    assert watch_error.message == f"Internal error occurred: {error.message}"
    assert watch_error.details == {"causes": [{"message": error.upstream_message}]}


async def test_batch_is_not_split_after_a_timeout(hook: Hook, make: Make) -> None:
    async def hang(call: Call) -> Reply:
        await asyncio.sleep(60)
        return Reply()

    hook.behaviour = hang
    await conversion_error(make(hook.webhook_config(), seconds=0.05), *[crontab(f"n{i}") for i in range(10)])
    assert hook.sizes() == [10]


async def test_endless_body_times_out(hook: Hook, make: Make) -> None:
    async def hang(call: Call) -> Reply:
        return Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

    hook.behaviour = hang
    error = await conversion_error(make(hook.webhook_config(), seconds=0.1))
    message = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    words = "unexpected error when reading response body. Please retry. Original error:"
    assert error.message.startswith(f"{FRAME} failed: {words} {message}")


async def test_hanging_converter_does_not_slow_other_converters(hook: Hook, make: Make) -> None:
    async def hang(call: Call) -> Reply:
        await asyncio.sleep(60)
        return Reply()

    async with Hook(behaviour=hang) as stuck:
        slow = make(stuck.webhook_config())
        waiting = [asyncio.create_task(slow.convert([crontab(f"n{i}")], V1)) for i in range(50)]
        quick = make(hook.webhook_config())
        await quick.convert([crontab()], V1)
        # Behind a hanging call, each would wait for a minute.
        async with asyncio.timeout(20):
            for _ in range(20):
                await quick.convert([crontab()], V1)
        for task in waiting:
            task.cancel()
        assert all(
            isinstance(r, asyncio.CancelledError) for r in await asyncio.gather(*waiting, return_exceptions=True)
        )


async def test_cancelling_the_request_ends_the_call(hook: Hook, make: Make) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def hang(call: Call) -> Reply:
        started.set()
        await ended.wait()
        return Reply()

    hook.behaviour = hang
    task = asyncio.create_task(make(hook.webhook_config()).convert([crontab()], V1))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ended.set()


async def test_huge_response_is_cut_off(hook: Hook, make: Make) -> None:
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"

    async def flood(call: Call) -> Reply:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        return Reply(raw=head, rest=itertools.repeat(chunk, 600), then_close=True)

    hook.behaviour = flood
    converter = make(hook.webhook_config())
    tracemalloc.start()
    error = await conversion_error(converter)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "the answer is larger than 33554432 bytes" in error.message
    assert peak < 60_000_000
    hook.behaviour = lambda call: Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n{")
    assert "the answer is larger than" in (await conversion_error(converter)).message


async def test_too_large_response_is_requested_in_smaller_batches(hook: Hook, make: Make) -> None:
    def grows(call: Call) -> Reply:
        return Reply(
            json.dumps(converted(call.review, lambda obj, index: obj.update(spec={"x": "y" * 300_000}))).encode()
        )

    hook.behaviour = grows
    out = await make(hook.webhook_config()).convert([crontab(f"n{i}") for i in range(80)], V1)
    assert [o["metadata"]["name"] for o in out] == [f"n{i}" for i in range(80)]
    assert max(hook.sizes()[1:]) == 40


async def test_compressed_huge_response_is_cut_off(hook: Hook, make: Make) -> None:
    packed = gzip.compress(b"x" * 200_000_000, 9)
    hook.behaviour = lambda call: Reply(packed, headers={"Content-Encoding": "gzip"})
    converter = make(hook.webhook_config())
    tracemalloc.start()
    error = await conversion_error(converter)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "the answer is larger than 33554432 bytes" in error.message
    assert peak < 60_000_000


async def test_retries_follow_retry_after(hook: Hook, make: Make) -> None:
    left = 3

    def busy(call: Call) -> Reply:
        nonlocal left
        left -= 1
        if left >= 0:
            return Reply(b"later", 429, {"Retry-After": "0"})
        return Reply(json.dumps(converted(call.review)).encode())

    hook.behaviour = busy
    await make(hook.webhook_config()).convert([crontab()], V1)
    assert len(hook.calls) == 4


@pytest.mark.parametrize(
    ("status", "after", "calls"), [(503, "0", 11), (500, "-1", 11), (503, "soon", 1), (400, "0", 1)]
)
async def test_retries_end(hook: Hook, make: Make, status: int, after: str, calls: int) -> None:
    hook.behaviour = lambda call: Reply(b"later", status, {"Retry-After": after})
    await conversion_error(make(hook.webhook_config()))
    assert len(hook.calls) == calls


async def test_waiting_for_a_retry_ends_at_the_deadline(hook: Hook, make: Make) -> None:
    hook.behaviour = lambda call: Reply(b"later", 503, {"Retry-After": "9" * 400})
    error = await conversion_error(make(hook.webhook_config(), seconds=0.1))
    assert error.message.startswith(f'{FRAME} failed: Post "{hook.url}?timeout=0.1s": context deadline exceeded; ')


@pytest.mark.parametrize("status", [307, 308])
async def test_redirect_gets_the_review_again(hook: Hook, make: Make, status: int) -> None:
    def moved(call: Call) -> Reply:
        if call.path.startswith("/convert"):
            return Reply(b"", status, {"Location": "/elsewhere"})
        return Reply(json.dumps(converted(call.review)).encode())

    hook.behaviour = moved
    assert (await make(hook.webhook_config()).convert([crontab()], V1))[0]["apiVersion"] == V1
    assert [call.path for call in hook.calls] == ["/convert?timeout=30s", "/elsewhere"]


async def test_redirect_leads_to_another_origin_with_the_same_authority(hook: Hook, make: Make) -> None:
    async with Hook(authority=hook.authority) as other:
        hook.behaviour = lambda call: Reply(b"", 308, {"Location": f"{other.url}?x=1"})
        assert (await make(hook.webhook_config()).convert([crontab()], V1))[0]["apiVersion"] == V1
        assert [call.path for call in other.calls] == ["/convert?x=1"]


async def test_other_redirects_lead_to_a_get(hook: Hook, make: Make) -> None:
    lines: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append((await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0])
        writer.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        hook.behaviour = lambda call: Reply(b"", 303, {"Location": f"http://127.0.0.1:{port}/seen"})
        error = await conversion_error(make(hook.webhook_config()))
    assert error.message.startswith(f"{FRAME} failed: the server could not find the requested resource; ")
    assert lines == [b"GET /seen HTTP/1.1"]


async def test_endless_redirects_end(hook: Hook, make: Make) -> None:
    hook.behaviour = lambda call: Reply(b"", 307, {"Location": "/again"})
    error = await conversion_error(make(hook.webhook_config()))
    assert '/again": stopped after 10 redirects; ' in error.message
    assert len(hook.calls) == 10


@pytest.mark.parametrize("status", [400, 408, 409, 422, 429, 503])
async def test_text_of_a_failed_response_is_kept(hook: Hook, make: Make, status: int) -> None:
    hook.behaviour = lambda call: Reply(b"cannot convert\n\x00 the schedule", status, {"Content-Type": "text/plain"})
    error = await conversion_error(make(hook.webhook_config()))
    phrase = f"{status} {HTTPStatus(status).phrase}"
    assert f'"{phrase}: cannot convert \ufffd the schedule" while calling {hook.url}' in error.message


async def test_long_text_of_a_failed_response_is_cut(hook: Hook, make: Make) -> None:
    hook.behaviour = lambda call: Reply(b"x" * 100_000, 400)
    error = await conversion_error(make(hook.webhook_config()))
    assert "x" * 2048 + "..." in error.message
    assert len(error.message) < 3000


async def test_body_that_is_no_review_is_shown(hook: Hook, make: Make) -> None:
    hook.behaviour = lambda call: Reply(b"<html>log in</html>", headers={"Content-Type": "text/html"})
    error = await conversion_error(make(hook.webhook_config()))
    assert '"the answer is not acceptable: <html>log in</html>" while calling' in error.message


@pytest.mark.parametrize(
    ("result", "says", "explains"),
    [
        ({"status": "Failed"}, "response.result.status was 'Failed', not 'Success'", "the webhook reports a failure"),
        (
            {"status": "Failure", "message": "no such field", "code": 422, "reason": "Invalid"},
            "no such field",
            "the webhook reports a failure: 422 Invalid",
        ),
    ],
)
async def test_reported_failure_is_no_bad_answer(
    hook: Hook, make: Make, result: dict[str, Any], says: str, explains: str
) -> None:
    def fails(call: Call) -> Reply:
        answer = converted(call.review)
        answer["response"] = {"uid": answer["response"]["uid"], "result": result}
        return Reply(json.dumps(answer).encode())

    hook.behaviour = fails
    error = await conversion_error(make(hook.webhook_config()))
    assert error.message.startswith(f"{FRAME} failed: {says}; ")
    assert f': "{explains}" while calling' in error.message


async def test_error_names_the_last_review(hook: Hook, make: Make) -> None:
    hook.behaviour = failing({"n3"})
    error = await conversion_error(make(hook.webhook_config()), *[crontab(f"n{i}") for i in range(8)])
    reviews = {call.review["request"]["uid"] for call in hook.calls if len(call.review["request"]["objects"]) == 1}
    (named,) = [cause["message"] for cause in error.details["causes"] if cause["reason"] == "Review"]
    assert named in reviews
    assert error.message.endswith(f"(review {named})")


async def test_unknown_service_is_reported_with_a_hint(make: Make) -> None:
    class NoServices:
        def external_name(self, namespace: str, name: str) -> str | None:
            return None

        def routing_error(self, namespace: str, name: str, port: int) -> str:
            return f'service "{name}" not found'

    config = {"service": {"namespace": "shop", "name": "nope"}}
    converter = make({"clientConfig": config, "conversionReviewVersions": ["v1"]}, Resolver(None, NoServices()))
    error = await conversion_error(converter)
    url = "https://nope.shop.svc:443/"
    assert error.message.startswith(f'{FRAME} failed: Post "{url}?timeout=30s": service "nope" not found; ')
    assert error.message.endswith("; this server has no network of Services, use --resolve shop/nope=HOST:PORT")


async def test_large_response_for_one_object_is_accepted(hook: Hook, make: Make) -> None:
    def grows(call: Call) -> Reply:
        return Reply(
            json.dumps(converted(call.review, lambda obj, _: obj.update(spec={"x": "y" * 20_000_000}))).encode()
        )

    hook.behaviour = grows
    converter = make(hook.webhook_config())
    (out,) = await converter.convert([crontab()], V1)
    assert len(out["spec"]["x"]) == 20_000_000


@pytest.mark.parametrize("fails", [False, True])
async def test_large_responses_wait_for_a_slot(
    hook: Hook, make: Make, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    monkeypatch.setattr(transport, "_LARGE_BYTES", 10)
    if fails:
        hook.behaviour = lambda call: Reply(b"x" * 100, 503, {"Retry-After": "0"})
    slots = transport._large_slots()
    converter = make(hook.webhook_config())
    await asyncio.gather(*(converter.convert([crontab(f"n{i}")], V1) for i in range(10)), return_exceptions=fails)
    assert slots._value == 4
    held = [await slots.acquire() for _ in range(4)]
    waiting = asyncio.create_task(converter.convert([crontab()], V1))
    await wait_until(lambda: slots._waiters)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    for _ in held:
        slots.release()
    assert slots._value == 4


async def test_service_is_resolved_and_verified_by_name(make: Make) -> None:
    async with Hook("conv.ns.svc") as hook:
        config = {"service": {"namespace": "ns", "name": "conv", "path": "/c", "port": 8443}, "caBundle": hook.bundle}
        webhook_config = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
        resolver = Resolver({"ns/conv": Endpoint("127.0.0.1", hook.port)})
        converter = make(webhook_config, resolver)
        await converter.convert([crontab()], V1)
        assert hook.calls[0].path == "/c?timeout=30s"
        assert hook.calls[0].headers["Host"] == "conv.ns.svc:8443"
        hook.behaviour = failing({"one"})
        error = await conversion_error(converter)
        assert f"while calling https://conv.ns.svc:8443/c (at 127.0.0.1:{hook.port}) (review " in error.message


async def test_certificate_expiry_is_recorded(hook: Hook, make: Make) -> None:
    converter = make(hook.webhook_config())
    assert converter.certificate_expires is None
    await converter.convert([crontab()], V1)
    assert converter.certificate_expires is not None


async def test_large_responses_do_not_block_the_event_loop(hook: Hook, make: Make) -> None:
    converter = make(hook.webhook_config())
    objects = [crontab(f"n{i}", spec={"list": list(range(2000))}) for i in range(150)]
    await converter.convert(objects[:1], V1)
    out = await converter.convert(objects, V1)
    assert out[149]["spec"] == {"list": list(range(2000))}


async def test_close_waits_for_calls_in_flight(hook: Hook, make: Make) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def slow(call: Call) -> Reply:
        started.set()
        await release.wait()
        return Reply(json.dumps(converted(call.review)).encode())

    hook.behaviour = slow
    converter = make(hook.webhook_config())
    task = asyncio.create_task(converter.convert([crontab()], V1))
    await started.wait()
    await converter.close()
    release.set()
    assert (await task)[0]["apiVersion"] == V1
    assert converter.certificate_expires is None
    assert (await converter.convert([crontab()], V1))[0]["apiVersion"] == V1
