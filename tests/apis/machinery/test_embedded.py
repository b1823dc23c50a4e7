"""Tests of embedded structs."""

from __future__ import annotations

import pytest

from polykind.apis import machinery
from polykind.apis.admissionregistration.types import MUTATING_ADMISSION_POLICY


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ({"apiGroups": 5}, "RuleWithOperations.Rule.apiGroups of type []string"),
        ({"operations": 5}, "RuleWithOperations.operations of type []v1.OperationType"),
        ({"resourceNames": 5}, "resourceNames of type []string"),
    ],
)
def test_error_has_gos_path_of_an_embedded_field(rule: dict[str, int], where: str) -> None:
    policy = {"spec": {"matchConstraints": {"resourceRules": [rule]}}}
    with pytest.raises(machinery.UndecodableObjectError) as raised:
        machinery.decode(policy, MUTATING_ADMISSION_POLICY, report=False)
    place = f"NamedRuleWithOperations.spec.matchConstraints.resourceRules.{where}"
    assert raised.value.detail == f"json: cannot unmarshal number into Go struct field {place}"
