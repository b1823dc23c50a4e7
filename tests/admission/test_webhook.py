"""One webhook: how it is called, and what becomes of a call that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from polykind.admission.admission_review import Shown
from polykind.admission.telling import own
from polykind.admission.webhook import Webhook
from polykind.auth.authorizer import AlwaysAllow, AlwaysDeny
from polykind.errors import APIError, BadRequestError, ForbiddenError, InternalError
from polykind.webhook.resolver import Endpoint, Resolver
from polykind.webhook.status_errors import Answer
from polykind.webhook.transport import Session
from tests.admission.hooks import AdmissionHook, refuse
from tests.admission.hooks import said as answer
from tests.admission.support import asked
from tests.support.hook import Call, Reply

OBJ = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}}


class Counting:
    """Who is told of calls."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def asked(self, webhook: str, kind: str, operation: str, seconds: float, code: int, *, rejected: bool) -> None:
        self.told.append(("asked", kind, operation, code, rejected))

    def rejected(self, webhook: str, kind: str, operation: str, error: str, code: int) -> None:
        self.told.append(("rejected", error, code))

    def failed_open(self, webhook: str, kind: str) -> None:
        self.told.append(("failed open", kind))


@pytest.fixture
async def hook() -> AsyncIterator[AdmissionHook]:
    async with AdmissionHook() as running:
        yield running


@pytest.fixture
def counting() -> Counting:
    return Counting()


async def ask(
    stanza: dict[str, Any], counting: Counting, *, mutating: bool = False, resolver: Resolver | None = None, **more: Any
) -> None:
    webhook = Webhook("c", stanza, 0, resolver or Resolver(), mutating=mutating)
    try:
        write = asked(OBJ, **more)
        await webhook.ask(write, own(write), counting)
    finally:
        await webhook.close()


async def refusal(stanza: dict[str, Any], counting: Counting, **more: Any) -> APIError:
    with pytest.raises(APIError) as caught:
        await ask(stanza, counting, **more)
    return caught.value


async def test_consent_is_all_there_is_to_it(hook: AdmissionHook, counting: Counting) -> None:
    await ask(hook.stanza(timeoutSeconds=7), counting)
    (call,) = hook.calls
    assert call.path == "/one?timeout=7s"
    assert call.headers["User-Agent"] == "kube-apiserver-admission"
    assert counting.told == [("asked", "validating", "CREATE", 200, False)]


async def test_a_call_takes_no_longer_than_the_client_waits(hook: AdmissionHook, counting: Counting) -> None:
    await ask(hook.stanza(), counting, patience=2.5)
    await ask(hook.stanza(), counting, patience=60.0)
    assert [call.path for call in hook.calls] == ["/one?timeout=3s", "/one?timeout=10s"]


async def test_a_client_that_waits_no_longer_than_a_webhook_is_not_told_of_a_failed_call(
    hook: AdmissionHook, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    post = Session.post

    async def noted(self: Session, body: bytes, most: int, seconds: float, told: float | None = None) -> Answer:
        waited.append(seconds)
        return await post(self, body, most, seconds, told)

    monkeypatch.setattr(Session, "post", noted)
    for patience in (1.0, 2.0, 3.0):
        await ask(hook.stanza(timeoutSeconds=2), counting, patience=patience)
    assert [seconds > patience for seconds, patience in zip(waited, (1.0, 2.0, 2.0), strict=True)] == [
        True,
        True,
        False,
    ]


async def test_a_refusal_is_told_and_counted(hook: AdmissionHook, counting: Counting) -> None:
    hook.behaviour = refuse
    error = await refusal(hook.stanza(), counting, mutating=True)
    assert (error.code, error.message) == (403, 'admission webhook "one.example.com" denied the request: not today')
    assert counting.told == [("rejected", "no_error", 403), ("asked", "admit", "CREATE", 403, True)]


async def test_a_failed_call_is_a_failed_write(hook: AdmissionHook, counting: Counting) -> None:
    hook.behaviour = lambda call: Reply(b"no", 500, {"Content-Type": "text/plain"})
    error = await refusal(hook.stanza(), counting)
    assert isinstance(error, InternalError)
    assert error.message == (
        'Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: '
        'an error on the server ("no") has prevented the request from succeeding'
    )
    assert counting.told[0] == ("rejected", "calling_webhook_error", 500)


async def test_a_failed_call_is_passed_over_if_that_is_the_policy(hook: AdmissionHook, counting: Counting) -> None:
    hook.behaviour = lambda call: Reply(b"{}")
    await ask(hook.stanza(failurePolicy="Ignore"), counting)
    assert counting.told == [("asked", "validating", "CREATE", 503, False), ("failed open", "validating")]


async def test_a_refusal_is_never_passed_over(hook: AdmissionHook, counting: Counting) -> None:
    hook.behaviour = refuse
    assert (await refusal(hook.stanza(failurePolicy="Ignore"), counting)).code == 403


async def test_a_webhook_that_takes_too_long_is_not_waited_for(hook: AdmissionHook, counting: Counting) -> None:
    async def never(_: Call) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    hook.behaviour = never
    stanza = hook.stanza(timeoutSeconds=0.05)
    error = await refusal(stanza, counting)
    assert error.message == (
        'Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: '
        f'Post "{hook.url}/one?timeout=0.05s": context deadline exceeded'
    )


async def test_nobody_is_at_home(hook: AdmissionHook, counting: Counting) -> None:
    error = await refusal(hook.stanza(clientConfig={"url": "https://127.0.0.1:1/x"}), counting)
    assert error.message.endswith(
        'failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )


async def test_a_bundle_without_certificates_is_told(hook: AdmissionHook, counting: Counting) -> None:
    error = await refusal(hook.stanza(clientConfig={"url": hook.url, "caBundle": "bm9uc2Vuc2U="}), counting)
    assert error.message == (
        'Internal error occurred: failed calling webhook "one.example.com": could not get REST client: '
        "unable to load root certificates: unable to parse bytes as PEM block"
    )


async def test_a_certificate_of_nobody_s_is_not_trusted(hook: AdmissionHook, counting: Counting) -> None:
    error = await refusal(hook.stanza(clientConfig={"url": hook.url}), counting)
    assert "tls: failed to verify certificate: x509" in error.message
    assert hook.calls == []


async def test_a_service_is_found_where_it_is_told_to_be(counting: Counting) -> None:
    async with AdmissionHook("guard.shop.svc") as hook:
        service = {"namespace": "shop", "name": "guard", "path": "/ask"}
        stanza = hook.stanza(clientConfig={"service": service, "caBundle": hook.bundle})
        await ask(stanza, counting, resolver=Resolver({"shop/guard": Endpoint("127.0.0.1", hook.port)}))
        assert hook.calls[0].path == "/ask?timeout=10s"


async def test_connections_are_kept_between_calls(hook: AdmissionHook, counting: Counting) -> None:
    webhook = Webhook("c", hook.stanza(), 0, Resolver(), mutating=False)
    write = asked(OBJ)
    for _ in range(3):
        await webhook.ask(write, own(write), counting)
    await webhook.close()
    assert [call.connection for call in hook.calls] == [1, 1, 1]


async def test_side_effects_forbid_a_dry_run(hook: AdmissionHook, counting: Counting) -> None:
    error = await refusal(hook.stanza(sideEffects="Some"), counting, dry_run=True)
    assert isinstance(error, BadRequestError)
    assert error.message == 'admission webhook "one.example.com" does not support dry run'
    await ask(hook.stanza(sideEffects="Some"), counting)
    await ask(hook.stanza(sideEffects="NoneOnDryRun"), counting, dry_run=True)


async def test_the_first_review_version_that_is_known_is_spoken(hook: AdmissionHook, counting: Counting) -> None:
    await ask(hook.stanza(admissionReviewVersions=["v9", "v1beta1", "v1"]), counting)
    assert hook.calls[0].review["apiVersion"] == "admission.k8s.io/v1beta1"
    error = await refusal(hook.stanza(admissionReviewVersions=["v9"]), counting)
    assert "could not create admission objects" in error.message


async def test_warnings_come_with_refusals_too(hook: AdmissionHook, counting: Counting) -> None:
    hook.behaviour = lambda call: answer(call, allowed=False, warnings=["careful"])
    warnings: list[str] = []
    await refusal(hook.stanza(), counting, warnings=warnings)
    assert warnings == ["careful"]


async def test_conditions_that_cannot_be_told_forbid_the_write(hook: AdmissionHook) -> None:
    conditions = [{"name": "n", "expression": "object.spec.nothing == 1"}]
    write = asked(OBJ)
    strict = Webhook("c", hook.stanza(matchConditions=conditions), 0, Resolver(), mutating=False)
    with pytest.raises(ForbiddenError) as caught:
        await strict.meant(write, own(write))
    said = "vats.x.io \"v\" is forbidden: expression 'object.spec.nothing == 1' resulted in error: "
    assert caught.value.message.startswith(said)
    loose = hook.stanza(matchConditions=conditions, failurePolicy="Ignore")
    assert not await Webhook("c", loose, 0, Resolver(), mutating=False).meant(write, own(write))


async def test_conditions_may_ask_an_authorizer(hook: AdmissionHook) -> None:
    conditions = [{"name": "n", "expression": "!authorizer.requestResource.check('create').allowed()"}]
    webhook = Webhook("c", hook.stanza(matchConditions=conditions), 0, Resolver(), mutating=False)
    for authorizer, expected in ((AlwaysAllow(), False), (AlwaysDeny(), True)):
        write = asked(OBJ, authorizer=authorizer)
        assert await webhook.meant(write, own(write)) is expected


async def test_conditions_see_the_object_at_the_version_it_is_told_at(hook: AdmissionHook) -> None:
    conditions = [{"name": "n", "expression": "object.apiVersion == 'x.io/v2' && request.kind.version == 'v2'"}]
    webhook = Webhook("c", hook.stanza(matchConditions=conditions), 0, Resolver(), mutating=False)
    write = asked(OBJ)
    assert await webhook.meant(write, Shown("v2", "x.io/v2", {**OBJ, "apiVersion": "x.io/v2"}, None))
    assert not await webhook.meant(write, own(write))
