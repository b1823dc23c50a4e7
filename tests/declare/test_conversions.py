from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from polykind.convert import ConversionError, Conversions, Incomplete, NoWay

KIND = "CronTab.stable.example.com"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def crontab(version: str = "v1", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"stable.example.com/{version}",
        "kind": "CronTab",
        "metadata": {"name": "one", "namespace": "team"},
        "spec": {"steps": []},
        **more,
    }


def chain(*edges: tuple[str, str]) -> Conversions:
    """Return conversions whose functions record their calls in the object."""
    out = Conversions(KIND)
    for origin, goal in edges:

        def note(obj: dict[str, Any], step: str = f"{origin}-{goal}") -> None:
            obj["spec"]["steps"].append(step)

        out.add(origin, goal, note)
    return out


def test_function_may_change_or_replace_its_object() -> None:
    crontabs = Conversions(KIND)

    @crontabs.step("v1", "v2")
    def up(obj: dict[str, Any]) -> None:
        obj["spec"] = {"changed": True}

    @crontabs.step("v2", "v1")
    def down(obj: dict[str, Any]) -> dict[str, Any]:
        return {**obj, "spec": {"another": True}}

    assert crontabs.convert(crontab(), "v2") == crontab("v2", spec={"changed": True})
    assert crontabs.convert(crontab("v2"), "stable.example.com/v1") == crontab(spec={"another": True})


def test_convert_does_not_change_its_argument() -> None:
    obj = crontab()
    chain(("v1", "v2")).convert(obj, "v2")
    assert obj == crontab()


def test_shortest_path_is_taken_with_matching_versions() -> None:
    crontabs = chain(("v1", "v2"), ("v2", "v3"), ("v3", "v4"), ("v1", "v3"))
    assert crontabs.convert(crontab(), "v4") == crontab("v4", spec={"steps": ["v1-v3", "v3-v4"]})
    assert crontabs.versions == ["v1", "v2", "v3", "v4"]


def test_path_is_recomputed_after_add() -> None:
    crontabs = chain(("v1", "v2"), ("v2", "v3"))
    assert len(crontabs.path("v1", "v3")) == 2
    crontabs.add("v1", "v3", lambda obj: None)
    assert len(crontabs.path("v1", "v3")) == 1


def test_same_version_needs_no_function() -> None:
    assert chain(("v1", "v2")).convert(crontab(), "v1") == crontab()


def test_missing_path_raises_no_way() -> None:
    with pytest.raises(NoWay, match="no conversion leads from v2 to v1"):
        chain(("v1", "v2")).convert(crontab("v2"), "v1")


def test_other_group_raises_no_way() -> None:
    with pytest.raises(NoWay, match=r"cannot be converted to example.com/v2: it is of the group stable.example.com"):
        chain(("v1", "v2")).convert(crontab(), "example.com/v2")


@pytest.mark.parametrize("obj", [{}, {**crontab(), "kind": "Other"}, {**crontab(), "apiVersion": "example.com/v1"}])
def test_objects_of_other_kinds_are_rejected(obj: dict[str, Any]) -> None:
    with pytest.raises(ConversionError, match=r"is not a CronTab.stable.example.com"):
        chain(("v1", "v2")).convert(obj, "v2")


def test_missing_metadata_is_added() -> None:
    crontabs = Conversions(KIND)
    crontabs.add("v1", "v2", lambda obj: None)
    partial = {"apiVersion": "stable.example.com/v1", "kind": "CronTab"}
    assert crontabs.convert(partial, "v2") == {**partial, "apiVersion": "stable.example.com/v2", "metadata": {}}


def test_exception_names_the_object_and_the_versions() -> None:
    crontabs = Conversions(KIND)

    @crontabs.step("v1", "v2")
    def up(obj: dict[str, Any]) -> None:
        raise ValueError("five fields, not six")

    message = "CronTab team/one cannot be converted from v1 to v2: ValueError: five fields, not six"
    with pytest.raises(ConversionError, match=f"^{message}$") as caught:
        crontabs.convert(crontab(), "v2")
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("returned", [[], "text", 3])
def test_function_must_return_an_object(returned: Any) -> None:
    crontabs = Conversions(KIND)
    crontabs.add("v1", "v2", lambda obj: returned)
    with pytest.raises(ConversionError, match=f"the step returned {type(returned).__name__}, not an object"):
        crontabs.convert(crontab(), "v2")


def test_functions_must_not_be_async() -> None:
    async def up(obj: dict[str, Any]) -> None: ...

    with pytest.raises(TypeError, match="from v1 to v2 must be a plain function"):
        Conversions(KIND).add("v1", "v2", up)


@pytest.mark.parametrize("edge", [("v1", "v1"), ("", "v1"), ("v1", "stable.example.com/v2")])
def test_step_needs_two_versions(edge: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="leads from one version to another"):
        Conversions(KIND).add(*edge, lambda obj: None)


def test_duplicate_step_is_rejected() -> None:
    with pytest.raises(ValueError, match="two steps lead from v1 to v2"):
        chain(("v1", "v2"), ("v1", "v2"))


def test_loss_needs_a_reason() -> None:
    crontabs = Conversions(KIND)
    with pytest.raises(ValueError, match=r"loses spec.timeZone: give a reason"):
        crontabs.add("v2", "v1", lambda obj: None, loses={"spec.timeZone": " "})
    crontabs.add("v2", "v1", lambda obj: None, loses={"spec.timeZone": "v1 knows only UTC"})
    assert crontabs.steps["v2", "v1"].loses == {"spec.timeZone": "v1 knows only UTC"}


@pytest.mark.parametrize("kind", ["", "CronTab", ".example.com", "CronTab."])
def test_kind_needs_a_group(kind: str) -> None:
    with pytest.raises(ValueError, match="does not name a kind and its group"):
        Conversions(kind)


def test_check_reports_all_missing_pairs() -> None:
    chain(("v1", "v2"), ("v2", "v1")).check(["v1", "v2"])
    with pytest.raises(Incomplete, match="no steps lead from v1 to v3, v2 to v3, v3 to v1, v3 to v2") as caught:
        chain(("v1", "v2"), ("v2", "v1")).check(["v1", "v2", "v3"])
    assert len(caught.value.missing) == 4
