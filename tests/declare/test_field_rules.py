from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.convert import Conversions, by_hand, drop, first, move, only, rename_values
from polykind.declare.field_rules import FieldRule
from tests.declare.test_conversions import KIND, crontab

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.none() | st.integers(0, 3) | st.sampled_from(["x", "y"]) | st.lists(st.sampled_from(["x", "y"]), max_size=3)


def between(*rules: FieldRule) -> Conversions:
    out = Conversions(KIND)
    out.between("v1", "v2", *rules)
    return out


def spec(conversions: Conversions, given: dict[str, Any], to: str) -> dict[str, Any]:
    """Convert a spec to the other version."""
    out: dict[str, Any] = conversions.convert(crontab("v1" if to == "v2" else "v2", spec=given), to)["spec"]
    return out


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        (move("spec.cron", "spec.schedule"), {"cron": "*"}, {"schedule": "*"}),
        (move("spec.cron", "spec.schedule"), {}, {}),
        (move("spec.host", "spec.server.host"), {"host": "a"}, {"server": {"host": "a"}}),
        (move("spec.host", "spec.server.host"), {"host": "a", "server": {"p": 1}}, {"server": {"host": "a", "p": 1}}),
        (
            move("spec.jobs[*].cmd", "spec.jobs[*].run.command"),
            {"jobs": [{"cmd": "a"}, {"x": 1}]},
            {"jobs": [{"run": {"command": "a"}}, {"x": 1}]},
        ),
        (rename_values("spec.mode", {"On": "Enabled"}), {"mode": "On"}, {"mode": "Enabled"}),
        (rename_values("spec.mode", {"On": "Enabled"}), {"mode": "Other"}, {"mode": "Other"}),
        (rename_values("spec.mode", {"On": "Enabled"}), {"mode": 1}, {"mode": 1}),
        (
            rename_values("spec.j[*].m", {"a": "b", "b": "a"}),
            {"j": [{"m": "a"}, {"m": "b"}]},
            {"j": [{"m": "b"}, {"m": "a"}]},
        ),
        (first("spec.host", "spec.hosts"), {"host": "a"}, {"hosts": ["a"]}),
        (first("spec.host", "spec.hosts"), {}, {}),
        (only("v2", "spec.zone", default="UTC"), {"x": 1}, {"x": 1, "zone": "UTC"}),
    ],
)
def test_rule_converts_in_both_directions(rule: FieldRule, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert spec(between(rule), old, "v2") == new
    assert spec(between(rule), new, "v1") == old


def test_first_shows_one_value_and_its_edits_win() -> None:
    hosts = between(first("spec.host", "spec.hosts"))
    old = hosts.convert(crontab("v2", spec={"hosts": ["a", "b"]}), "v1")
    assert old["spec"] == {"host": "a"}
    assert hosts.convert(old, "v2") == crontab("v2", spec={"hosts": ["a", "b"]})
    old["spec"]["host"] = "c"
    assert hosts.convert(old, "v2") == crontab("v2", spec={"hosts": ["c"]})


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_only_restores_the_stashed_value(version: str) -> None:
    zones, other = between(only(version, "spec.zone")), "v2" if version == "v1" else "v1"
    obj = crontab(version, spec={"zone": "CET", "x": 1})
    away = zones.convert(obj, other)
    assert away["spec"] == {"x": 1}
    assert zones.convert(away, version) == obj


def test_only_does_not_stash_its_default() -> None:
    zones = between(only("v2", "spec.zone", default={"name": "UTC"}))
    assert zones.convert(crontab("v2", spec={"zone": {"name": "UTC"}}), "v1") == crontab(spec={})
    one, two = (zones.convert(crontab(spec={}), "v2") for _ in range(2))
    one["spec"]["zone"]["name"] = "CET"
    assert two["spec"]["zone"]["name"] == "UTC"
    partial = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {}}
    assert zones.convert(partial, "v2") == {**partial, "apiVersion": "stable.example.com/v2"}


def test_drop_acknowledges_the_loss_in_one_direction() -> None:
    debug = between(drop("v2", "spec.jobs[*].debug", why="nobody used it"))
    assert spec(debug, {"jobs": [{"debug": 1, "x": 2}]}, "v1") == {"jobs": [{"x": 2}]}
    assert debug.steps["v2", "v1"].loses == {"spec.jobs[*].debug": "nobody used it"}
    assert debug.steps["v1", "v2"].loses == {}
    assert between(drop("v1", "spec.old", why="gone")).steps["v1", "v2"].loses == {"spec.old": "gone"}


def test_rules_apply_in_reverse_on_the_way_back() -> None:
    conversions = between(
        rename_values("spec.mode", {"On": "Enabled"}),
        move("spec.mode", "spec.state"),
        by_hand(lambda obj: obj["spec"].update(n=1), lambda obj: obj["spec"].pop("n")),
    )
    assert spec(conversions, {"mode": "On"}, "v2") == {"state": "Enabled", "n": 1}
    assert spec(conversions, {"state": "Enabled", "n": 1}, "v1") == {"mode": "On"}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: move("spec.a[*].x", "spec.b[*].x"), "do not go through the same lists"),
        (lambda: rename_values("spec.m", {"a": "c", "b": "c"}), "two values must not become the same"),
        (lambda: first("spec.a[*].x", "spec.b"), "must not go through a list"),
        (lambda: only("v2", "spec.a[*].x"), "must not go through a list"),
        (lambda: drop("v2", "spec.a", why=""), "is dropped: give a reason"),
        (lambda: between(only("v3", "spec.a")), "a rule names the version v3, but the rules are between v1 and v2"),
        (lambda: move("metadata.name", "spec.name"), "a conversion must not change"),
    ],
)
def test_rule_that_cannot_be_reversed_is_rejected(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


@given(st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES)))
def test_combined_rules_lose_nothing(given: dict[str, Any]) -> None:
    conversions = between(
        move("spec.a", "spec.first"), only("v1", "spec.b"), move("spec.c", "spec.second"), first("spec.d", "spec.ds")
    )
    obj = crontab(spec=given)
    assert conversions.convert(conversions.convert(obj, "v2"), "v1") == obj


def test_only_does_not_recreate_a_parent_that_an_old_client_removed() -> None:
    crontabs = Conversions("CronTab.stable.example.com")
    crontabs.between("v1", "v2", only("v2", "spec.timeZone"))
    obj: dict[str, Any] = {"apiVersion": "stable.example.com/v2", "metadata": {}, "spec": {"timeZone": "UTC"}}
    crontabs.steps["v2", "v1"].function(obj)
    del obj["spec"]
    crontabs.steps["v1", "v2"].function(obj)
    assert "spec" not in obj


def test_rules_know_their_paths_and_their_place() -> None:
    crontabs = Conversions("CronTab.stable.example.com")
    crontabs.between("v1", "v2", move("spec.a", "spec.b"), only("v2", "spec.c"))
    assert [named[:2] for named in crontabs.named_paths] == [("v1", "spec.a"), ("v2", "spec.b"), ("v2", "spec.c")]
    assert all(__file__ in place for _, _, place in crontabs.named_paths)
