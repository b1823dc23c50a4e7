from __future__ import annotations

from typing import Any

import pytest

from polykind.convert import Conversions
from polykind.declare.library import Library
from tests.declare.test_conversions import KIND, crontab

GROUP = "stable.example.com"
crontabs = Conversions(KIND)
crontabs.add("v1", "v2", lambda obj: obj.update(spec="up"))


async def later(obj: dict[str, Any], to: str) -> dict[str, Any]:
    return obj


@pytest.mark.parametrize("converter", [crontabs, {(KIND, "v1", "v2"): lambda obj: obj.update(spec="up")}])
def test_conversions_and_mappings_handle_the_kinds_they_name(converter: Any) -> None:
    library = Library("here", converter)
    assert library.handles(GROUP, "CronTab")
    assert not library.handles(GROUP, "Other")
    assert not library.handles("example.com", "CronTab")
    assert library.function(GROUP, "CronTab")(crontab(), f"{GROUP}/v2") == crontab("v2", spec="up")


def test_mapping_may_name_several_kinds() -> None:
    other = "Other.stable.example.com"
    library = Library("here", {(KIND, "v1", "v2"): lambda obj: obj, (other, "v1", "v2"): lambda obj: obj})
    assert library.declared is not None
    assert set(library.declared) == {KIND, other}


def test_function_converts_every_kind() -> None:
    library = Library("here", lambda obj, to: {"to": to})
    assert library.handles("any", "Thing")
    assert library.function("any", "Thing")({}, "any/v1") == {"to": "any/v1"}


def test_async_functions_are_recognized() -> None:
    assert Library("here", later).is_async
    assert not Library("here", crontabs).is_async


@pytest.mark.parametrize(
    "mapping",
    [
        {("CronTab", "v1", "v2"): len},
        {(KIND, "v1"): len},
        {"text": len},
        {(KIND, "v1", "v2"): 1},
        {(KIND, "v1", "v2"): later},
        {(KIND, 1, 2): len},
    ],
)
def test_invalid_mapping_is_rejected(mapping: Any) -> None:
    with pytest.raises(
        ValueError, match=r"--converter here: .* must be \(kind.group, from version, to version\) and its value a plain"
    ):
        Library("here", mapping)
