from __future__ import annotations

import sys
from typing import Any

import pytest

from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.conversion.in_process_converter import InProcessConverter
from polykind.conversion.loading import load_converter
from polykind.declare.library import Library
from tests.conversion import converters
from tests.conversion.hook import crontab

V1 = "example.com/v1"
FRAME = "conversion webhook for example.com/v1beta1, Kind=CronTab"
HERE = "tests.conversion.converters"


def _converter(converter: Any, **more: Any) -> InProcessConverter:
    library = converter if isinstance(converter, Library) else Library("here", converter)
    return InProcessConverter(library.spec, library.function("example.com", "CronTab"), **more)


async def conversion_error(converter: Any, *objects: Any, **more: Any) -> str:
    running = _converter(converter, **more)
    with pytest.raises(ConversionFailedError) as caught:
        await running.convert(objects or [crontab()], V1)
    await running.close()
    return caught.value.message


async def test_function_runs_in_a_thread_on_a_copy() -> None:
    running = _converter(load_converter(f"{HERE}:moves"))
    obj = crontab()
    (out,) = await running.convert([obj], V1)
    assert obj == crontab()
    assert out["spec"] == {"moved": {"x": 1}}
    assert out["metadata"] == {**obj["metadata"], "labels": {"to": "v1"}}
    assert all(name.startswith(f"polykind {HERE}:moves") for name in converters.threads)
    await running.close()


async def test_only_objects_at_another_version_are_converted() -> None:
    running = _converter(converters.moves)
    empty = {"apiVersion": "example.com/v1beta1", "kind": "CronTab"}
    out = await running.convert([crontab("a", "v1"), empty, crontab("b")], V1)
    assert out[0] == crontab("a", "v1")
    assert out[1] == {"apiVersion": V1, "kind": "CronTab"}
    assert out[2]["spec"] == {"moved": {"x": 1}}
    await running.close()


async def test_async_function_is_awaited() -> None:
    running = _converter(converters.awaits)
    assert await running.convert([crontab()], V1) == [crontab(version="v1")]
    await running.close()


async def test_mapping_uses_the_shortest_path() -> None:
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


async def test_exception_fails_the_first_failing_object() -> None:
    message = await conversion_error(converters.picky, crontab("a"), crontab("bad"), crontab("c"))
    assert message == (
        f"{FRAME} failed: cannot convert bad; conversion from version v1beta1 to version v1"
        ' for default/bad (uid uid-bad): "the converter raised ValueError" while calling here'
    )


@pytest.mark.parametrize(
    ("returned", "expected"),
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
async def test_result_is_checked_like_a_webhook_response(returned: Any, expected: str) -> None:
    if not expected:
        running = _converter(lambda obj, to: returned)
        assert (await running.convert([crontab()], V1))[0]["spec"] is None
        await running.close()
        return
    assert (await conversion_error(lambda obj, to: returned)).startswith(f"{FRAME}{expected}")


async def test_system_exit_is_a_conversion_error() -> None:
    def leaves(obj: Any, to: str) -> Any:
        sys.exit(3)

    assert (await conversion_error(leaves)).startswith(f"{FRAME} failed: 3; ")


async def test_hanging_converter_times_out() -> None:
    message = await conversion_error(converters.hangs, seconds=0.05)
    assert message.startswith(f"{FRAME} failed: context deadline exceeded; ")
    converters.hanging.set()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("nothing", "--converter nothing: must be package.module:object or a rules file"),
        (f"{HERE}:absent", f"--converter {HERE}:absent: module '{HERE}' has no attribute 'absent'"),
        ("no.such.module:x", "--converter no.such.module:x: No module named 'no'"),
        (f"{HERE}:__name__", "must be a function, a mapping, or an object with a method convert"),
    ],
)
def test_invalid_converter_flag_is_rejected(spec: str, expected: str) -> None:
    with pytest.raises(ValueError, match="--converter") as caught:
        load_converter(spec)
    assert expected in str(caught.value)


@pytest.mark.parametrize("mapping", [{"CronTab": len}, {("a", "b"): len}, {("a", "b", "c"): 5}])
def test_invalid_mapping_is_rejected(mapping: Any) -> None:
    with pytest.raises(ValueError, match=r"must be \(kind\.group, from version, to version\)"):
        Library("here", mapping)


def test_failing_handles_method_counts_as_false(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def handles(self, group: str, kind: str) -> bool:
            raise RuntimeError("no idea")

        def convert(self, obj: Any, to: str) -> Any:
            return obj

    assert not Library("here", Broken()).handles("example.com", "CronTab")
    assert "no idea" in caplog.text


def test_converter_without_handles_method_handles_every_kind() -> None:
    assert Library("here", converters.moves).handles("any.group", "Any")
    assert load_converter(f"{HERE}:picky").handles("example.com", "CronTab")
    assert not load_converter(f"{HERE}:picky").handles("example.com", "Other")
