from __future__ import annotations

import sys
from typing import Any

import pytest

from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.conversion.in_process_converter import InProcessConverter
from polykind.toolkit.declare.library import Library
from polykind.toolkit.declare.loading import load_converter
from tests.conversion import converters
from tests.conversion.hook import crontab

V1 = "example.com/v1"
FRAME = "conversion webhook for example.com/v1beta1, Kind=CronTab"
HERE = "tests.conversion.converters"


def _converter(converter: Any, **more: Any) -> InProcessConverter:
    library = converter if isinstance(converter, Library) else Library("here", converter)
    return InProcessConverter(library.spec, library.function("example.com", "CronTab"), **more)


async def _fails(converter: Any, *objects: Any, **more: Any) -> str:
    running = _converter(converter, **more)
    with pytest.raises(ConversionFailedError) as caught:
        await running.convert(objects or [crontab()], V1)
    await running.close()
    return caught.value.message


async def test_a_function_converts_in_a_thread_and_may_change_what_it_gets() -> None:
    running = _converter(load_converter(f"{HERE}:moves"))
    obj = crontab()
    (out,) = await running.convert([obj], V1)
    assert obj == crontab()
    assert out["spec"] == {"moved": {"x": 1}}
    assert out["metadata"] == {**obj["metadata"], "labels": {"to": "v1"}}
    assert all(name.startswith(f"polykind {HERE}:moves") for name in converters.threads)
    await running.close()


async def test_only_what_needs_converting_is_converted() -> None:
    running = _converter(converters.moves)
    empty = {"apiVersion": "example.com/v1beta1", "kind": "CronTab"}
    out = await running.convert([crontab("a", "v1"), empty, crontab("b")], V1)
    assert out[0] == crontab("a", "v1")
    assert out[1] == {"apiVersion": V1, "kind": "CronTab"}
    assert out[2]["spec"] == {"moved": {"x": 1}}
    await running.close()


async def test_an_async_function_is_awaited() -> None:
    running = _converter(converters.awaits)
    assert await running.convert([crontab()], V1) == [crontab(version="v1")]
    await running.close()


async def test_a_mapping_is_followed_by_the_fewest_steps() -> None:
    library = load_converter(f"{HERE}:steps")
    assert library.handles("example.com", "CronTab")
    assert not library.handles("example.com", "Other")
    running = _converter(library)
    (out,) = await running.convert([crontab()], "example.com/v2")
    assert out["apiVersion"] == "example.com/v2"
    assert out["spec"]["steps"] == ["example.com/v1beta1 up", "example.com/v1 up again"]
    with pytest.raises(ConversionFailedError) as caught:
        await running.convert([crontab(version="v2")], "example.com/v1beta1")
    assert "failed: no conversion leads from v2 to v1beta1; " in caught.value.message
    await running.close()


async def test_an_exception_fails_the_first_object_it_befell() -> None:
    message = await _fails(converters.picky, crontab("a"), crontab("bad"), crontab("c"))
    assert message == (
        f"{FRAME} failed: cannot convert bad; conversion from version v1beta1 to version v1"
        ' for default/bad (uid uid-bad): "the converter raised ValueError" while calling here'
    )


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (None, " failed: the converter returned <nil>, not an object; "),
        ([], " failed: the converter returned list, not an object; "),
        ({}, " returned invalid object at index 0: invalid groupVersion (expected example.com/v1, received ); "),
        ({**crontab(), "kind": "Other"}, " returned invalid object at index 0: invalid kind (expected CronTab, "),
        (crontab("two"), " returned invalid object: must have the same name: one != two; "),
        ({**crontab(), "spec": {1: 2}}, " failed: the converter returned what is no JSON: "),
        ({**crontab(), "spec": object()}, " failed: the converter returned what is no JSON: "),
        ({**crontab(), "spec": float("nan")}, ""),
    ],
)
async def test_what_a_function_returns_is_judged_as_a_webhook_s_answer(returned: Any, says: str) -> None:
    if not says:
        running = _converter(lambda obj, to: returned)
        assert (await running.convert([crontab()], V1))[0]["spec"] is None
        await running.close()
        return
    assert (await _fails(lambda obj, to: returned)).startswith(f"{FRAME}{says}")


async def test_leaving_the_process_is_not_up_to_a_converter() -> None:
    def leaves(obj: Any, to: str) -> Any:
        sys.exit(3)

    assert (await _fails(leaves)).startswith(f"{FRAME} failed: 3; ")


async def test_a_converter_that_hangs_is_given_up() -> None:
    message = await _fails(converters.hangs, seconds=0.05)
    assert message.startswith(f"{FRAME} failed: context deadline exceeded; ")
    converters.hanging.set()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("nothing", "--converter nothing: must be package.module:object, or a file of rules"),
        (f"{HERE}:absent", f"--converter {HERE}:absent: module '{HERE}' has no attribute 'absent'"),
        ("no.such.module:x", "--converter no.such.module:x: No module named 'no'"),
        (f"{HERE}:__name__", "neither a function, nor has it a method convert, nor is it a mapping"),
    ],
)
def test_a_flag_that_names_no_converter_is_refused(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match="--converter") as caught:
        load_converter(spec)
    assert says in str(caught.value)


@pytest.mark.parametrize("mapping", [{"CronTab": len}, {("a", "b"): len}, {("a", "b", "c"): 5}])
def test_a_mapping_of_another_shape_is_refused(mapping: Any) -> None:
    with pytest.raises(ValueError, match=r"must be \(kind\.group, from, to\)"):
        Library("here", mapping)


def test_a_converter_that_cannot_say_what_it_handles_handles_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def handles(self, group: str, kind: str) -> bool:
            raise RuntimeError("no idea")

        def convert(self, obj: Any, to: str) -> Any:
            return obj

    assert not Library("here", Broken()).handles("example.com", "CronTab")
    assert "no idea" in caplog.text


def test_anything_else_handles_every_kind_unless_it_says_otherwise() -> None:
    assert Library("here", converters.moves).handles("any.group", "Any")
    assert load_converter(f"{HERE}:picky").handles("example.com", "CronTab")
    assert not load_converter(f"{HERE}:picky").handles("example.com", "Other")
