from __future__ import annotations

from polykind.conversion.none import NoneConverter
from tests.conversion.hook import crontab


async def test_only_the_api_version_changes() -> None:
    obj = crontab()
    (out,) = await NoneConverter().convert([obj], "example.com/v1")
    assert out == {**obj, "apiVersion": "example.com/v1"}
    assert obj["apiVersion"] == "example.com/v1beta1"
    assert out["spec"] is obj["spec"]


async def test_every_object_of_a_list_is_converted_in_order() -> None:
    out = await NoneConverter().convert([crontab("a"), crontab("b", "v1")], "example.com/v1")
    assert [(o["apiVersion"], o["metadata"]["name"]) for o in out] == [("example.com/v1", "a"), ("example.com/v1", "b")]
