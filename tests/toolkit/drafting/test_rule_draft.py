"""Drafts for pairs of schemas: they name the right rules, and pass their proof or say where not."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.declare.conversions import Conversions
from polykind.declare.rules_file import parse_rules_file
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.drafting.draft_proof import prove_draft
from polykind.toolkit.drafting.draft_text import python_module, rules_file
from polykind.toolkit.drafting.rule_draft import RuleDraft, draft_rules
from tests.declare.test_rules_carry_themselves import (
    ADDRESS,
    DURATION,
    HOST,
    NUMBER,
    ON,
    PORT,
    QUANTITY,
    TEXT,
    keyed,
    listed,
    manifest,
    mapped,
    obj,
)

Fields = dict[str, JsonObject]
PAIRS: dict[str, tuple[Fields, Fields, list[tuple[str, Any]]]] = {
    "rename": ({"cronSpec": TEXT}, {"cronSchedule": TEXT}, [("move", ["spec.cronSpec", "spec.cronSchedule"])]),
    "described": (
        {"foo": {**TEXT, "description": "The time zone of the schedule."}},
        {"bar": {**TEXT, "description": "The time zone of the schedule."}},
        [("move", ["spec.foo", "spec.bar"])],
    ),
    "moved": ({"port": NUMBER}, {"server": obj(port=NUMBER)}, [("move", ["spec.port", "spec.server.port"])]),
    "values": (
        {"mode": ON},
        {"mode": {"type": "string", "enum": ["Enabled", "Disabled"]}},
        [("renameValues", {"path": "spec.mode", "values": {"On": "Enabled", "Off": "Disabled"}})],
    ),
    "list": ({"host": TEXT}, {"hosts": listed(TEXT)}, [("first", ["spec.host", "spec.hosts"])]),
    "seconds": (
        {"timeoutSeconds": NUMBER},
        {"timeout": DURATION},
        [("duration", {"paths": ["spec.timeoutSeconds", "spec.timeout"], "units": ["s", "text"]})],
    ),
    "milliseconds": (
        {"delaySeconds": NUMBER},
        {"delayMillis": NUMBER},
        [("duration", {"paths": ["spec.delaySeconds", "spec.delayMillis"], "units": ["s", "ms"]})],
    ),
    "memory": (
        {"memoryMiB": NUMBER},
        {"memory": QUANTITY},
        [("quantity", {"paths": ["spec.memoryMiB", "spec.memory"], "units": ["Mi", "text"]})],
    ),
    "wrapped": ({"image": TEXT}, {"image": obj(name=TEXT, tag=TEXT)}, [("wrap", ["spec.image", "spec.image.name"])]),
    "unwrapped": ({"image": obj(name=TEXT)}, {"image": TEXT}, [("unwrap", ["spec.image.name", "spec.image"])]),
    "map": (
        {"ports": keyed(port=NUMBER)},
        {"ports": mapped(obj(port=NUMBER))},
        [("listToMap", {"paths": ["spec.ports", "spec.ports"], "key": "name"})],
    ),
    "split": (
        {"endpoint": ADDRESS},
        {"host": HOST, "port": PORT},
        [
            (
                "split",
                {
                    "text": "spec.endpoint",
                    "parts": ["spec.host", "spec.port"],
                    "separator": ":",
                    "at": "last",
                    "integers": ["spec.port"],
                },
            )
        ],
    ),
    "new fields": (
        {"z": TEXT},
        {"z": TEXT, "timeZone": {**TEXT, "default": "UTC"}, "window": obj(start=TEXT)},
        [
            ("only", {"version": "v2", "path": "spec.timeZone", "default": "UTC"}),
            ("only", {"version": "v2", "path": "spec.window"}),
        ],
    ),
    "gained default": (
        {"policy": TEXT},
        {"policy": {**TEXT, "default": "Always"}},
        [("absentMeans", {"path": "spec.policy", "old": "Always"})],
    ),
}


def draft(old: Fields, new: Fields) -> RuleDraft:
    crd = CRD(manifest(old, new, "optional"))
    out = draft_rules(crd, "v1", "v2")
    prove_draft(crd, out, 12)
    return out


@pytest.mark.parametrize("name", PAIRS)
def test_a_draft_names_the_rules_and_passes_its_proof(name: str) -> None:
    old, new, rules = PAIRS[name]
    out = draft(old, new)
    assert [(rule.name, rule.value) for rule in out.rules] == rules
    assert out.passes, out
    text = rules_file(out)
    assert "passes its proof" in text
    parsed = parse_rules_file(yaml_codec.decode(text.encode()))
    assert parsed.versions == ["v1", "v2"]
    scope: dict[str, Any] = {}
    exec(python_module(out), scope)
    conversions: Conversions = scope["conversions"]
    assert {path[:2] for path in conversions.named_paths} == {path[:2] for path in parsed.named_paths}


def test_equal_versions_need_no_rules() -> None:
    out = draft({"a": TEXT}, {"a": TEXT})
    assert out.rules == []
    assert out.passes
    assert "rules: []" in rules_file(out)


def test_unsure_matches_and_required_fields_are_marked() -> None:
    required = {**obj(a=TEXT, size=NUMBER), "required": ["size"]}
    out = draft({"s": obj(a=TEXT)}, {"s": required})
    text = rules_file(out)
    assert "# DECIDE: spec.s.size is required in v2: which value do objects of the other version get?" in text


def test_a_draft_that_fails_says_where() -> None:
    out = draft({"size": {"type": "boolean"}}, {"size": {"type": "integer"}})
    assert not out.passes
    text = rules_file(out)
    assert "# DECIDE: spec.size is boolean in v1 and integer in v2: write the conversion by hand" in text
    assert "# FAILS ITS PROOF: " in text
    assert "spec.size" in text.partition("FAILS ITS PROOF")[2]


def test_a_field_in_a_list_that_one_version_lacks() -> None:
    out = draft({"jobs": listed(obj(n=TEXT))}, {"jobs": listed(obj(n=TEXT, zone=TEXT))})
    assert [rule.name for rule in out.rules] == ["drop"]
    assert "is that right?" in rules_file(out)
    assert out.passes
