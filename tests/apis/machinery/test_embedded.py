"""Structs within structs, whose fields are those of the struct around them."""

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
def test_the_path_to_an_embedded_field_is_told_as_go_tells_it(rule: dict[str, int], where: str) -> None:
    policy = {"spec": {"matchConstraints": {"resourceRules": [rule]}}}
    with pytest.raises(machinery.UndecodableObjectError) as refusal:
        machinery.decode(policy, MUTATING_ADMISSION_POLICY, report=False)
    place = f"NamedRuleWithOperations.spec.matchConstraints.resourceRules.{where}"
    assert refusal.value.detail == f"json: cannot unmarshal number into Go struct field {place}"
