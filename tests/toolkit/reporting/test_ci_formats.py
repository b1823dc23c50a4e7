"""The formats for CI systems: JUnit, SARIF and annotations of GitHub Actions."""

from __future__ import annotations

import os
from xml.etree import ElementTree

import jsonschema_rs
import pytest

from polykind.toolkit.reporting.github_annotations import in_github_actions, workflow_commands
from polykind.toolkit.reporting.junit_report import junit_xml
from polykind.toolkit.reporting.problem import CheckResult, Problem, Rule
from polykind.toolkit.reporting.sarif_report import sarif_log
from polykind.toolkit.reporting.source_positions import SourcePosition

LOST = Problem(
    "there-and-back",
    "spec.timeZone is lost, 100%",
    details="before:\n  <a> \x00",
    position=SourcePosition(os.path.abspath("dir/my conv.py"), 7),
    related=[("v1 to v2", SourcePosition("/elsewhere/up.py", 3))],
    subject="v2 to v1",
)
REMARK = Problem("unknown-path", "no such field", level="warning")


TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "message": TEXT,
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "uri": {"type": "string", "format": "uri-reference"},
                        "uriBaseId": {"const": "SRCROOT"},
                    },
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        },
    },
}
RESULT = {
    "type": "object",
    "required": ["message"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "locations": {"type": "array", "items": LOCATION},
        "relatedLocations": {"type": "array", "items": LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
DRIVER = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "string"},
        "rules": {
            "type": "array",
            "uniqueItems": True,
            "items": {
                "type": "object",
                "required": ["id"],
                "additionalProperties": False,
                "properties": {"id": {"type": "string"}, "shortDescription": TEXT, "help": TEXT},
            },
        },
    },
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}},
                    "invocations": {
                        "type": "array",
                        "items": {"type": "object", "required": ["executionSuccessful"]},
                    },
                    "originalUriBaseIds": {"type": "object"},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "items": RESULT},
                    "properties": {"type": "object"},
                },
            },
        },
    },
}
"""The parts of SARIF 2.1.0 that the reports use. No package registry has the official JSON schema."""


def test_junit_lists_passed_failed_and_skipped_checks() -> None:
    results = [
        CheckResult("there-and-back", "v2 to v1", [LOST, REMARK], seconds=1.5),
        CheckResult("order-kept", "v2 to v1", [REMARK]),
        CheckResult("edit-survives", "v1 to v2", skipped="interrupted"),
    ]
    root = ElementTree.fromstring(junit_xml("CronTab", results, seconds=2.0, properties={"seed": "3"}))
    suite = root[0]
    assert root.tag == "testsuites"
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "2.000",
    }
    assert [(p.get("name"), p.get("value")) for p in suite.iter("property")] == [("seed", "3")]
    failed, passed, skipped = suite.findall("testcase")
    assert (failed.get("classname"), failed.get("name"), failed.get("line")) == (
        "CronTab.v2 to v1",
        "there-and-back",
        "7",
    )
    failure = failed.find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type")) == ("spec.timeZone is lost, 100%", "there-and-back")
    assert failure.text == "dir/my conv.py:7: spec.timeZone is lost, 100%\n\nbefore:\n  <a> \ufffd"
    assert failed.findtext("system-out") == passed.findtext("system-out") == "no such field"
    assert passed.find("failure") is None
    assert [child.get("message") for child in skipped] == ["interrupted"]


def test_github_annotations_are_escaped_and_relative_to_the_checkout() -> None:
    environ = {"GITHUB_WORKSPACE": os.getcwd()}
    assert workflow_commands([LOST, REMARK], environ) == [
        "::error file=dir/my conv.py,line=7,title=there-and-back%2C v2 to v1::spec.timeZone is lost, 100%25%0A%0A"
        "before:%0A  <a> \x00",
        "::warning title=unknown-path::no such field",
    ]
    assert in_github_actions({"GITHUB_ACTIONS": "true"})
    assert not in_github_actions({})


def test_sarif_names_rules_files_and_lines() -> None:
    rules = [Rule("there-and-back", "Nothing is lost.", "Stash it."), Rule("unknown-path", "Fields exist.")]
    log = sarif_log("prove", rules, [LOST, REMARK], properties={"seed": 3})
    assert [error.message for error in jsonschema_rs.validator_for(SARIF).iter_errors(log)] == []
    [run] = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["there-and-back", "unknown-path"]
    first, second = run["results"]
    assert first["message"]["text"].startswith("v2 to v1: spec.timeZone is lost, 100%\n\nbefore:")
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "dir/my%20conv.py", "uriBaseId": "SRCROOT"},
                "region": {"startLine": 7},
            }
        }
    ]
    assert first["relatedLocations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/up.py"}
    assert (first["level"], second["level"], second["ruleIndex"]) == ("error", "warning", 1)
    assert "locations" not in second
    with pytest.raises(ValueError, match="the rule x is not listed"):
        sarif_log("prove", rules, [Problem("x", "y")])
