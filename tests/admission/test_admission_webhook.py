"""One admission webhook: calls, failure policy and match conditions."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from polykind.admission.admission_webhook import AdmissionWebhook
from polykind.admission.versioned_attributes import VersionedAttributes, unconverted
from polykind.auth.authorizer import AlwaysAllow, AlwaysDeny
from polykind.errors import APIError, BadRequestError, ForbiddenError, InternalError
from polykind.webhook.response_errors import HTTPResponse
from polykind.webhook.target import Endpoint, Resolver
from polykind.webhook.transport import Session
from tests.admission.hooks import AdmissionHook, refuse
from tests.admission.hooks import review_response as review_response
from tests.admission.support import attributes_for
from tests.support.hook import Call, Reply

OBJ = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}}


class CountingObserver:
    """Records the observed events."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def webhook_called(
        self, webhook: str, kind: str, operation: str, seconds: float, code: int, *, rejected: bool
    ) -> None:
        self.events.append(("called", kind, operation, code, rejected))

    def webhook_rejected(self, webhook: str, kind: str, operation: str, error: str, code: int) -> None:
        self.events.append(("rejected", error, code))

    def webhook_failed_open(self, webhook: str, kind: str) -> None:
        self.events.append(("failed open", kind))


@pytest.fixture
def observer() -> CountingObserver:
    return CountingObserver()


async def call_webhook(
    config: dict[str, Any],
    observer: CountingObserver,
    *,
    mutating: bool = False,
    resolver: Resolver | None = None,
    **more: Any,
) -> None:
    webhook = AdmissionWebhook("c", config, 0, resolver or Resolver(), mutating=mutating)
    try:
        write = attributes_for(OBJ, **more)
        await webhook.call(write, unconverted(write), observer)
    finally:
        await webhook.close()


async def call_error(config: dict[str, Any], observer: CountingObserver, **more: Any) -> APIError:
    with pytest.raises(APIError) as caught:
        await call_webhook(config, observer, **more)
    return caught.value


async def test_allowed_request_is_counted(hook: AdmissionHook, observer: CountingObserver) -> None:
    await call_webhook(hook.webhook_config(timeoutSeconds=7), observer)
    (call,) = hook.calls
    assert call.path == "/one?timeout=7s"
    assert call.headers["User-Agent"] == "kube-apiserver-admission"
    assert observer.events == [("called", "validating", "CREATE", 200, False)]


async def test_timeout_is_at_most_the_rest_of_the_clients_timeout(
    hook: AdmissionHook, observer: CountingObserver
) -> None:
    await call_webhook(hook.webhook_config(), observer, deadline=time.monotonic() + 2.5)
    await call_webhook(hook.webhook_config(), observer, deadline=time.monotonic() + 60)
    assert [call.path for call in hook.calls] == ["/one?timeout=3s", "/one?timeout=10s"]


async def test_call_outlasts_the_clients_timeout(
    hook: AdmissionHook, observer: CountingObserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    post = Session.post

    async def recording_post(
        self: Session, body: bytes, max_bytes: int, seconds: float, stated_seconds: float | None = None
    ) -> HTTPResponse:
        waited.append(seconds)
        return await post(self, body, max_bytes, seconds, stated_seconds)

    monkeypatch.setattr(Session, "post", recording_post)
    for timeout in (1.0, 2.0, 3.0):
        await call_webhook(hook.webhook_config(timeoutSeconds=2), observer, deadline=time.monotonic() + timeout)
    assert [seconds > timeout for seconds, timeout in zip(waited, (1.0, 2.0, 2.0), strict=True)] == [
        True,
        True,
        False,
    ]


async def test_denial_is_returned_and_counted(hook: AdmissionHook, observer: CountingObserver) -> None:
    hook.behaviour = refuse
    error = await call_error(hook.webhook_config(), observer, mutating=True)
    assert (error.code, error.message) == (403, 'admission webhook "one.example.com" denied the request: not today')
    assert observer.events == [("rejected", "no_error", 403), ("called", "admit", "CREATE", 403, True)]


async def test_failed_call_fails_the_request(hook: AdmissionHook, observer: CountingObserver) -> None:
    hook.behaviour = lambda call: Reply(b"no", 500, {"Content-Type": "text/plain"})
    error = await call_error(hook.webhook_config(), observer)
    assert isinstance(error, InternalError)
    assert error.message == (
        'Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: '
        'an error on the server ("no") has prevented the request from succeeding; '
        f"while calling https://127.0.0.1:{hook.port}/one (review {hook.calls[0].review['request']['uid']})"
    )
    assert observer.events[0] == ("rejected", "calling_webhook_error", 500)


async def test_text_of_a_failed_response_is_kept(hook: AdmissionHook, observer: CountingObserver) -> None:
    hook.behaviour = lambda call: Reply(b"the policy is missing", 400, {"Content-Type": "text/plain"})
    error = await call_error(hook.webhook_config(), observer)
    assert 'unknown reason; it said "the policy is missing"; while calling https://' in error.message


async def test_failed_call_is_ignored_by_failure_policy_ignore(hook: AdmissionHook, observer: CountingObserver) -> None:
    hook.behaviour = lambda call: Reply(b"{}")
    await call_webhook(hook.webhook_config(failurePolicy="Ignore"), observer)
    assert observer.events == [("called", "validating", "CREATE", 503, False), ("failed open", "validating")]


async def test_denial_is_never_ignored(hook: AdmissionHook, observer: CountingObserver) -> None:
    hook.behaviour = refuse
    assert (await call_error(hook.webhook_config(failurePolicy="Ignore"), observer)).code == 403


async def test_slow_webhook_times_out(hook: AdmissionHook, observer: CountingObserver) -> None:
    async def never(_: Call) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    hook.behaviour = never
    config = hook.webhook_config(timeoutSeconds=0.05)
    error = await call_error(config, observer)
    assert error.message == (
        'Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: '
        f'Post "{hook.url}/one?timeout=0.05s": context deadline exceeded; '
        f"while calling {hook.url}/one (review {hook.calls[0].review['request']['uid']})"
    )


async def test_connection_refused_is_reported(hook: AdmissionHook, observer: CountingObserver) -> None:
    error = await call_error(hook.webhook_config(clientConfig={"url": "https://127.0.0.1:1/x"}), observer)
    assert (
        'failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": '
        "dial tcp 127.0.0.1:1: connect: connection refused; while calling https://127.0.0.1:1/x (review "
    ) in error.message


async def test_invalid_ca_bundle_is_reported(hook: AdmissionHook, observer: CountingObserver) -> None:
    error = await call_error(hook.webhook_config(clientConfig={"url": hook.url, "caBundle": "bm9uc2Vuc2U="}), observer)
    assert error.message == (
        'Internal error occurred: failed calling webhook "one.example.com": could not get REST client: '
        "unable to load root certificates: unable to parse bytes as PEM block"
    )


async def test_unknown_authority_is_not_trusted(hook: AdmissionHook, observer: CountingObserver) -> None:
    error = await call_error(hook.webhook_config(clientConfig={"url": hook.url}), observer)
    assert "tls: failed to verify certificate: x509" in error.message
    assert hook.calls == []


async def test_service_is_resolved_by_resolver(observer: CountingObserver) -> None:
    async with AdmissionHook("guard.shop.svc") as hook:
        service = {"namespace": "shop", "name": "guard", "path": "/ask"}
        config = hook.webhook_config(clientConfig={"service": service, "caBundle": hook.bundle})
        await call_webhook(config, observer, resolver=Resolver({"shop/guard": Endpoint("127.0.0.1", hook.port)}))
        assert hook.calls[0].path == "/ask?timeout=10s"


async def test_connections_are_reused(hook: AdmissionHook, observer: CountingObserver) -> None:
    webhook = AdmissionWebhook("c", hook.webhook_config(), 0, Resolver(), mutating=False)
    write = attributes_for(OBJ)
    for _ in range(3):
        await webhook.call(write, unconverted(write), observer)
    await webhook.close()
    assert [call.connection for call in hook.calls] == [1, 1, 1]


async def test_dry_run_needs_no_side_effects(hook: AdmissionHook, observer: CountingObserver) -> None:
    error = await call_error(hook.webhook_config(sideEffects="Some"), observer, dry_run=True)
    assert isinstance(error, BadRequestError)
    assert error.message == 'admission webhook "one.example.com" does not support dry run'
    await call_webhook(hook.webhook_config(sideEffects="Some"), observer)
    await call_webhook(hook.webhook_config(sideEffects="NoneOnDryRun"), observer, dry_run=True)


async def test_first_supported_review_version_is_used(hook: AdmissionHook, observer: CountingObserver) -> None:
    await call_webhook(hook.webhook_config(admissionReviewVersions=["v9", "v1beta1", "v1"]), observer)
    assert hook.calls[0].review["apiVersion"] == "admission.k8s.io/v1beta1"
    error = await call_error(hook.webhook_config(admissionReviewVersions=["v9"]), observer)
    assert "could not create admission objects" in error.message


async def test_warnings_are_passed_on_with_denials(hook: AdmissionHook, observer: CountingObserver) -> None:
    hook.behaviour = lambda call: review_response(call, allowed=False, warnings=["careful"])
    warnings: list[str] = []
    await call_error(hook.webhook_config(), observer, warnings=warnings)
    assert warnings == ["careful"]


async def test_failing_conditions_forbid_the_request(hook: AdmissionHook) -> None:
    conditions = [{"name": "n", "expression": "object.spec.nothing == 1"}]
    write = attributes_for(OBJ)
    strict = AdmissionWebhook("c", hook.webhook_config(matchConditions=conditions), 0, Resolver(), mutating=False)
    with pytest.raises(ForbiddenError) as caught:
        await strict.conditions_match(write, unconverted(write))
    message = "vats.x.io \"v\" is forbidden: expression 'object.spec.nothing == 1' resulted in error: "
    assert caught.value.message.startswith(message)
    loose = hook.webhook_config(matchConditions=conditions, failurePolicy="Ignore")
    assert not await AdmissionWebhook("c", loose, 0, Resolver(), mutating=False).conditions_match(
        write, unconverted(write)
    )


async def test_conditions_may_use_the_authorizer(hook: AdmissionHook) -> None:
    conditions = [{"name": "n", "expression": "!authorizer.requestResource.check('create').allowed()"}]
    webhook = AdmissionWebhook("c", hook.webhook_config(matchConditions=conditions), 0, Resolver(), mutating=False)
    for authorizer, expected in ((AlwaysAllow(), False), (AlwaysDeny(), True)):
        write = attributes_for(OBJ, authorizer=authorizer)
        assert await webhook.conditions_match(write, unconverted(write)) is expected


async def test_conditions_see_the_converted_object(hook: AdmissionHook) -> None:
    conditions = [{"name": "n", "expression": "object.apiVersion == 'x.io/v2' && request.kind.version == 'v2'"}]
    webhook = AdmissionWebhook("c", hook.webhook_config(matchConditions=conditions), 0, Resolver(), mutating=False)
    write = attributes_for(OBJ)
    assert await webhook.conditions_match(
        write, VersionedAttributes("x.io/v2", "x.io/v2", {**OBJ, "apiVersion": "x.io/v2"}, None)
    )
    assert not await webhook.conditions_match(write, unconverted(write))
