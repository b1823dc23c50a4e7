"""Mutating webhooks among themselves: what each makes of the object, and who is asked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.admission.admission import Admission
from polykind.admission.admission_review import Shown, Verdict
from polykind.admission.attributes import Attributes
from polykind.admission.mutating import MutatingWebhooks
from polykind.admission.webhook import CallFailed, Observer, Webhook
from polykind.contract import JsonObject
from polykind.errors import APIError, InternalError, UnknownReasonError
from tests.admission.hooks import add
from tests.admission.support import asked
from tests.admission.test_webhook import Counting

OBJ: JsonObject = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}, "spec": {"litres": 5}}
Patch = Callable[[JsonObject | None], Sequence[Any] | bytes]


class Fake:
    """A webhook that needs no asking."""

    conditional = False

    def __init__(self, name: str, patch: Patch = lambda obj: (), *, version: str = "v1", again: bool = False) -> None:
        self.name = self.uid = name
        self.reinvoked = again
        self._patch, self._version = patch, version
        self.seen: list[Shown] = []

    def version(self, write: Attributes) -> str:
        return self._version

    async def ask(self, write: Attributes, shown: Shown, observer: Observer, use: Callable[[Verdict], None]) -> None:
        self.seen.append(shown)
        made = self._patch(shown.obj)
        patch = made if isinstance(made, bytes) else json.dumps(list(made)).encode()
        use(Verdict(True, None, patch, "JSONPatch", ()))


async def admit(write: Attributes, *fakes: Fake) -> Attributes:
    step = MutatingWebhooks(Counting())
    step.configure(cast(Sequence[Webhook], fakes))
    assert step.active
    await Admission(mutating=(step,)).mutate(write)
    return write


async def both(obj: JsonObject, api_version: str) -> JsonObject:
    return {**obj, "apiVersion": api_version}


async def test_each_sees_what_those_before_it_have_made() -> None:
    first, second = Fake("a", lambda obj: [add("/spec/litres", 6)]), Fake("b", lambda obj: [add("/spec/hot", True)])
    write = await admit(asked(OBJ), first, second)
    assert write.changed
    assert write.obj is not None
    assert write.obj["spec"] == {"litres": 6, "hot": True}
    assert second.seen[0].obj is not None
    assert second.seen[0].obj["spec"] == {"litres": 6}
    assert OBJ["spec"] == {"litres": 5}


async def test_without_a_patch_the_object_stays_the_very_same() -> None:
    write = asked(OBJ)
    await admit(write, Fake("a"), Fake("b", lambda obj: b""))
    assert write.obj is OBJ
    assert not write.changed


async def test_the_object_is_told_at_the_version_of_each_and_ends_at_its_own() -> None:
    first = Fake("a", lambda obj: [add("/spec/a", 1)], version="v2")
    second, third = Fake("b", version="v1"), Fake("c", lambda obj: [add("/spec/c", 1)], version="v3")
    write = await admit(asked(OBJ, OBJ, convert=both), first, second, third)
    versions = [(f.seen[0].api_version, (f.seen[0].obj or {})["apiVersion"]) for f in (first, second, third)]
    assert versions == [("x.io/v2",) * 2, ("x.io/v1",) * 2, ("x.io/v3",) * 2]
    assert (third.seen[0].old or {})["apiVersion"] == "x.io/v3"
    assert write.obj == {**OBJ, "spec": {"litres": 5, "a": 1, "c": 1}}


async def test_an_object_of_another_group_cannot_go_back() -> None:
    with pytest.raises(UnknownReasonError) as caught:
        await admit(asked(OBJ, convert=both), Fake("a", lambda obj: [add("/apiVersion", "y.io/v1")]))
    assert caught.value.message == ('y.io/v1, Kind=Vat is unstructured and is not suitable for converting to "x.io/v1"')


async def test_an_object_of_no_known_version_cannot_go_back() -> None:
    with pytest.raises(UnknownReasonError) as caught:
        await admit(asked(OBJ, convert=both), Fake("a", lambda obj: [add("/apiVersion", "x.io/v9")]))
    assert caught.value.message == "request to convert CR from an invalid group/version: x.io/v9"


async def test_only_those_before_a_change_are_asked_again_and_only_once() -> None:
    counts = iter(range(9))
    names: list[str] = []

    def noting(name: str, *, changes: bool = False) -> Patch:
        def patch(obj: JsonObject | None) -> Sequence[Any]:
            names.append(name)
            return [add("/spec/n", next(counts))] if changes else ()

        return patch

    await admit(
        asked(OBJ),
        Fake("a", noting("a"), again=True),
        Fake("b", noting("b", changes=True), again=True),
        Fake("c", noting("c"), again=True),
        Fake("d", noting("d")),
    )
    assert names == ["a", "b", "c", "d", "a"]


async def test_a_patch_that_changes_nothing_asks_nobody_again() -> None:
    first = Fake("a", again=True)
    await admit(asked(OBJ), first, Fake("b", lambda obj: [add("/spec/litres", 5)]))
    assert len(first.seen) == 1


@pytest.mark.parametrize(
    ("patch", "why"),
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
async def test_what_cannot_be_taken_in_is_told(patch: Sequence[Any], why: str) -> None:
    with pytest.raises(InternalError) as caught:
        await admit(asked(OBJ), Fake("a", lambda obj: patch))
    assert caught.value.message.startswith(f"Internal error occurred: {why}")


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (b"foo", "invalid character 'o' in literal false (expecting 'a')"),
        (b"{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (b"[1]", "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    ],
)
async def test_what_is_no_patch_is_a_failed_call(patch: bytes, why: str) -> None:
    with pytest.raises(CallFailed) as caught:
        await admit(asked(OBJ), Fake("a", lambda obj: patch))
    assert str(caught.value) == (f'failed calling webhook "a": received undecodable patch in webhook response: {why}')


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
async def test_no_patch_does_anything_but_apply_or_fail(patch: Any) -> None:
    write = asked(OBJ, convert=both)
    try:
        await admit(write, Fake("a", lambda obj: json.dumps(patch).encode()))
    except (APIError, CallFailed):
        return
    assert isinstance(write.obj, dict)
