from __future__ import annotations

from pathlib import Path

import pytest

from polykind.server.audit_settings import read_audit_policy
from polykind.server.settings import Settings, SettingsError


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("[{}]", "rules[0].level: Required value"),
        (
            "[{level: Loud}]",
            'rules[0].level: Unsupported value: "Loud": supported values: "None", "Metadata", "Request", '
            '"RequestResponse"',
        ),
        (
            "[{level: None, nonResourceURLs: [healthz]}]",
            'rules[0].nonResourceURLs[0]: Invalid value: "healthz": non-resource URL rules must begin with a '
            "'/' character",
        ),
        (
            "[{level: None, nonResourceURLs: ['/a*b']}]",
            "rules[0].nonResourceURLs[0]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be the final "
            "character of the rule",
        ),
        (
            "[{level: None, namespaces: [a], nonResourceURLs: ['*']}]",
            'rules[0].nonResourceURLs: Invalid value: ["*"]: rules cannot apply to both regular resources and '
            "non-resource URLs",
        ),
        (
            "[{level: None, resources: [{resourceNames: [a]}]}]",
            'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one '
            "resource",
        ),
        (
            "[{level: None, omitStages: [Late]}]",
            'rules[0].omitStages[0]: Invalid value: "Late": allowed stages are '
            "RequestReceived,ResponseStarted,ResponseComplete,Panic",
        ),
        ("[]", "loaded illegal policy with 0 rules"),
        ("[{level: None, sound: x}]", 'strict decoding error: unknown field "rules[0].sound"'),
    ],
)
def test_invalid_policy(tmp_path: Path, rules: str, message: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(f"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: {rules}\n")
    with pytest.raises(SettingsError) as caught:
        read_audit_policy(Settings(audit_policy_file=file, audit_log_path="-"))
    assert str(caught.value) == f"loading audit policy file: {file}: {message}"


def test_a_group_must_be_a_name(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    rules = "[{level: None, resources: [{group: apps/v1}]}]"
    file.write_text(f"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: {rules}\n")
    with pytest.raises(SettingsError, match=r'rules\[0\]\.resources\.group: Invalid value: "apps/v1": a lowercase RFC'):
        read_audit_policy(Settings(audit_policy_file=file, audit_log_path="-"))
