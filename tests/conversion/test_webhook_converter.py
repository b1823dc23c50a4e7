from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from typing import Any

import pytest

from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.errors import APIError, InternalError, UnknownReasonError
from polykind.webhook.target import Endpoint, Resolver
from tests.conversion.conftest import Make
from tests.conversion.hook import Call, Hook, Reply, converted, crontab, failing

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
    error = await conversion_error(make(hook.webhook_config()))
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{FRAME} failed: the server responded with the status code 408"
        " but did not return more information; conversion from version v1beta1 to version v1"
        " for default/one (uid uid-one): "
        f'"408 Request Timeout" while calling {hook.url}',
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


async def test_converter_that_reorders_a_batch_works(hook: Hook, make: Make) -> None:
    def reversing(call: Call) -> Reply:
        answer = converted(call.review)
        answer["response"]["convertedObjects"].reverse()
        return Reply(json.dumps(answer).encode())

    hook.behaviour = reversing
    out = await make(hook.webhook_config()).convert([crontab("a"), crontab("b"), crontab("c")], V1)
    assert [o["metadata"]["name"] for o in out] == ["a", "b", "c"]


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
            Reply(b"", 302, {"Location": "https://127.0.0.1:1/"}),
            "failed: the server responded with the status code 302",
        ),
        (
            Reply(b"", 307, {"Location": "https://127.0.0.1:1/"}),
            "failed: the server responded with the status code 307",
        ),
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
    assert watch_error.message.endswith(message)


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
        return Reply(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 160, then_close=True)

    hook.behaviour = flood
    converter = make(hook.webhook_config())
    tracemalloc.start()
    error = await conversion_error(converter)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "the answer is larger than 6291456 bytes" in error.message
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
    assert "the answer is larger than 6291456 bytes" in error.message
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


async def test_redirect_to_the_same_origin_is_followed(hook: Hook, make: Make) -> None:
    def moved(call: Call) -> Reply:
        if call.path.startswith("/convert"):
            return Reply(b"", 307, {"Location": "/elsewhere"})
        return Reply(json.dumps(converted(call.review)).encode())

    hook.behaviour = moved
    assert (await make(hook.webhook_config()).convert([crontab()], V1))[0]["apiVersion"] == V1


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
        assert error.message.endswith(f"while calling https://conv.ns.svc:8443/c (at 127.0.0.1:{hook.port})")


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
