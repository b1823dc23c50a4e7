"""The plugin for mutating webhooks: patches, conversions and reinvocation."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.admission.admission_chain import AdmissionChain
from polykind.admission.admission_review import AdmissionResponse
from polykind.admission.admission_webhook import AdmissionWebhook, Observer, WebhookCallError
from polykind.admission.attributes import Attributes
from polykind.admission.versioned_attributes import VersionedAttributes
from polykind.admission.webhook_plugins import MutatingWebhooks
from polykind.contract import JsonObject
from polykind.errors import APIError, InternalError, UnknownReasonError
from tests.admission.hooks import add
from tests.admission.support import attributes_for
from tests.admission.test_admission_webhook import CountingObserver

OBJ: JsonObject = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}, "spec": {"litres": 5}}
Patch = Callable[[JsonObject | None], Sequence[Any] | bytes]


class FakeWebhook:
    """A webhook whose patch is a function of the object."""

    has_conditions = False

    def __init__(
        self, name: str, patch: Patch = lambda obj: (), *, version: str = "v1", reinvoke: bool = False
    ) -> None:
        self.name = self.uid = self.configuration = name
        self.reinvoke_if_needed = reinvoke
        self._patch, self._version = patch, f"x.io/{version}"
        self.received: list[VersionedAttributes] = []

    def matching_version(self, attributes: Attributes) -> str:
        return self._version

    async def call(
        self,
        attributes: Attributes,
        versioned: VersionedAttributes,
        observer: Observer,
        apply: Callable[[AdmissionResponse], bool],
        place: str,
    ) -> None:
        self.received.append(versioned)
        patch_value = self._patch(versioned.obj)
        patch = patch_value if isinstance(patch_value, bytes) else json.dumps(list(patch_value)).encode()
        apply(AdmissionResponse(True, None, patch, "JSONPatch", (), {}))


async def admit(attributes: Attributes, *webhooks: FakeWebhook) -> Attributes:
    plugin = MutatingWebhooks(CountingObserver())
    plugin.configure(cast(Sequence[AdmissionWebhook], webhooks))
    assert plugin.active
    await AdmissionChain(mutating=(plugin,)).mutate(attributes)
    return attributes


async def convert_any(obj: JsonObject, api_version: str) -> JsonObject:
    return {**obj, "apiVersion": api_version}


async def test_each_webhook_sees_earlier_patches() -> None:
    first, second = (
        FakeWebhook("a", lambda obj: [add("/spec/litres", 6)]),
        FakeWebhook("b", lambda obj: [add("/spec/hot", True)]),
    )
    attributes = await admit(attributes_for(OBJ), first, second)
    assert attributes.changed
    assert attributes.obj is not None
    assert attributes.obj["spec"] == {"litres": 6, "hot": True}
    assert second.received[0].obj is not None
    assert second.received[0].obj["spec"] == {"litres": 6}
    assert OBJ["spec"] == {"litres": 5}


async def test_object_is_unchanged_without_a_patch() -> None:
    attributes = attributes_for(OBJ)
    await admit(attributes, FakeWebhook("a"), FakeWebhook("b", lambda obj: b""))
    assert attributes.obj is OBJ
    assert not attributes.changed


async def test_object_is_converted_for_each_webhook_and_back() -> None:
    first = FakeWebhook("a", lambda obj: [add("/spec/a", 1)], version="v2")
    second, third = FakeWebhook("b", version="v1"), FakeWebhook("c", lambda obj: [add("/spec/c", 1)], version="v3")
    attributes = await admit(attributes_for(OBJ, OBJ, convert=convert_any), first, second, third)
    versions = [(f.received[0].api_version, (f.received[0].obj or {})["apiVersion"]) for f in (first, second, third)]
    assert versions == [("x.io/v2",) * 2, ("x.io/v1",) * 2, ("x.io/v3",) * 2]
    assert (third.received[0].old or {})["apiVersion"] == "x.io/v3"
    assert attributes.obj == {**OBJ, "spec": {"litres": 5, "a": 1, "c": 1}}


async def test_object_of_another_group_cannot_be_converted_back() -> None:
    with pytest.raises(UnknownReasonError) as caught:
        await admit(
            attributes_for(OBJ, convert=convert_any), FakeWebhook("a", lambda obj: [add("/apiVersion", "y.io/v1")])
        )
    assert caught.value.message == ('y.io/v1, Kind=Vat is unstructured and is not suitable for converting to "x.io/v1"')


async def test_object_of_unknown_version_cannot_be_converted_back() -> None:
    with pytest.raises(UnknownReasonError) as caught:
        await admit(
            attributes_for(OBJ, convert=convert_any), FakeWebhook("a", lambda obj: [add("/apiVersion", "x.io/v9")])
        )
    assert caught.value.message == "request to convert CR from an invalid group/version: x.io/v9"


async def test_webhooks_before_a_change_are_reinvoked_once() -> None:
    counts = iter(range(9))
    names: list[str] = []

    def recording_patch(name: str, *, changes: bool = False) -> Patch:
        def patch(obj: JsonObject | None) -> Sequence[Any]:
            names.append(name)
            return [add("/spec/n", next(counts))] if changes else ()

        return patch

    await admit(
        attributes_for(OBJ),
        FakeWebhook("a", recording_patch("a"), reinvoke=True),
        FakeWebhook("b", recording_patch("b", changes=True), reinvoke=True),
        FakeWebhook("c", recording_patch("c"), reinvoke=True),
        FakeWebhook("d", recording_patch("d")),
    )
    assert names == ["a", "b", "c", "d", "a"]


async def test_patch_without_effect_reinvokes_nothing() -> None:
    first = FakeWebhook("a", reinvoke=True)
    await admit(attributes_for(OBJ), first, FakeWebhook("b", lambda obj: [add("/spec/litres", 5)]))
    assert len(first.received) == 1


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        ([{"op": "remove", "path": "/kind"}], 'Object \'Kind\' is missing in \'{"apiVersion":"x.io/v1",'),
        (
            [{"op": "replace", "path": "", "value": []}],
            "couldn't get version/kind; json parse error: json: cannot unmar",
        ),
        (
            [add("/kind", 5)],
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct",
        ),
        ([add("/apiVersion", "a/b/c")], "unexpected GroupVersion string: a/b/c"),
        ([{"op": "test", "path": "/spec", "value": 1}], "testing value /spec failed: test failed"),
    ],
)
async def test_failing_patch_is_an_internal_error(patch: Sequence[Any], error: str) -> None:
    with pytest.raises(InternalError) as caught:
        await admit(attributes_for(OBJ), FakeWebhook("a", lambda obj: patch))
    assert caught.value.message.startswith(f"Internal error occurred: {error}")


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        (b"foo", "invalid character 'o' in literal false (expecting 'a')"),
        (b"{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (b"[1]", "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    ],
)
async def test_undecodable_patch_is_a_failed_call(patch: bytes, error: str) -> None:
    with pytest.raises(WebhookCallError) as caught:
        await admit(attributes_for(OBJ), FakeWebhook("a", lambda obj: patch))
    assert str(caught.value) == (f'failed calling webhook "a": received undecodable patch in webhook response: {error}')


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_OPERATION = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(("add", "remove", "replace", "move", "copy", "test")) | _JSON,
        "path": st.sampled_from(("", "/", "/spec", "/metadata", "/metadata/name", "/kind", "/apiVersion", "/spec/x/-")),
        "from": st.sampled_from(("/spec", "/kind", "/metadata")) | _JSON,
        "value": _JSON,
    },
)


@given(st.lists(_OPERATION | _JSON, max_size=4) | _JSON)
async def test_any_patch_applies_or_fails(patch: Any) -> None:
    attributes = attributes_for(OBJ, convert=convert_any)
    try:
        await admit(attributes, FakeWebhook("a", lambda obj: json.dumps(patch).encode()))
    except (APIError, WebhookCallError):
        return
    assert isinstance(attributes.obj, dict)
