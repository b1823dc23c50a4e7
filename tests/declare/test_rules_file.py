from __future__ import annotations

from typing import Any

import pytest

from polykind.codec import yaml_codec
from polykind.declare import rules_file
from tests.declare.test_conversions import KIND, crontab

DOCUMENT: dict[str, Any] = yaml_codec.decode(
    "\n".join(line[4:] for line in (rules_file.__doc__ or "").splitlines() if line.startswith("    ")).encode()
)


def test_example_declares_both_directions() -> None:
    conversions = rules_file.parse_rules_file(DOCUMENT)
    assert conversions.kind == KIND
    old = crontab(spec={"cronSpec": "* * * * *", "mode": "On", "host": "a"})
    new = crontab(
        "v2", spec={"schedule": "* * * * *", "mode": "Enabled", "hosts": ["a"], "timeZone": "UTC", "policy": "Always"}
    )
    assert conversions.convert(old, "v2") == new
    assert conversions.convert(new, "v1") == old
    assert conversions.steps["v2", "v1"].loses == {"spec.debug": "it is unused"}


def document(*rules: Any, **more: Any) -> dict[str, Any]:
    return {"kind": KIND, "between": [{"versions": ["v1", "v2"], "rules": list(rules)}], **more}


@pytest.mark.parametrize(
    ("document_value", "message"),
    [
        (None, "the document must have between, kind, and nothing else"),
        (document(more=1), "the document must have between, kind, and nothing else"),
        (document(kind=1), "kind must name a kind and its group"),
        (document(kind="CronTab"), "'CronTab' does not name a kind and its group"),
        (document(between={}), "between must be a list"),
        (document(between=[{}]), r"between\[0\] must have rules, versions, and nothing else"),
        (document(between=[{"versions": "v1", "rules": []}]), r"between\[0\].versions must be a list of two"),
        (document(between=[{"versions": ["v1", "v1"], "rules": []}]), r"between\[0\]: .* leads from one version"),
        (document("move"), r"between\[0\].rules\[0\] must be exactly one rule of: move, first"),
        (document({"copy": []}), r"between\[0\].rules\[0\]: 'copy' is not a rule; the rules are move, first"),
        (document({"move": ["spec.a"]}), r"rules\[0\].move must be a list of two strings, the older first"),
        (document({"move": ["spec.a", "metadata.x"]}), r"rules\[0\].move: metadata.x: a conversion must not change"),
        (
            document({"only": {"version": "v2"}}),
            "only must have path, version and optionally default, and nothing else",
        ),
        (document({"only": {"version": 2, "path": "spec.a"}}), "only.version must be a string"),
        (
            document({"only": {"version": "v3", "path": "spec.a"}}),
            "a rule names the version v3, but the rules are between v1 and v2",
        ),
        (document({"renameValues": {"path": "spec.a", "values": {"x": True}}}), "must map strings to strings"),
    ],
)
def test_errors_name_their_place(document_value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rules_file.parse_rules_file(document_value)
