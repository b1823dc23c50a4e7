"""The admission plugin for ValidatingAdmissionPolicies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from polykind import errors
from polykind.admission import policy_plugin
from polykind.admission.attributes import Attributes
from polykind.admission.cel_variables import authorizer_values, namespace_value, request_value
from polykind.admission.policy_evaluation import Denial, Evaluation
from polykind.admission.policy_plugin import AdmissionPolicy, PolicyBinding, PolicyConfigurationError, PolicyPlugin
from polykind.admission.versioned_attributes import VersionedAttributes, unconverted
from polykind.contract import JsonObject
from polykind.golang.json import encode_json
from polykind.metrics.metrics import Metrics

_FAILURE_ANNOTATION = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}


class ValidatingBinding(PolicyBinding):
    """A ValidatingAdmissionPolicyBinding."""

    def __init__(self, binding: JsonObject) -> None:
        super().__init__(binding)
        self.actions: Sequence[str] = binding["spec"].get("validationActions") or ()


class ValidatingPolicy(AdmissionPolicy):
    """A ValidatingAdmissionPolicy."""

    def __init__(self, policy: JsonObject) -> None:
        super().__init__(policy)
        self.evaluation = Evaluation(self.spec)


class _PolicyDenial(NamedTuple):
    policy: ValidatingPolicy
    binding: ValidatingBinding | None
    denial: Denial


class ValidatingPolicies(PolicyPlugin[ValidatingPolicy, ValidatingBinding]):
    """The admission plugin for all bound ValidatingAdmissionPolicies."""

    def __init__(self, find_param_store: policy_plugin.FindParamStore, metrics: Metrics) -> None:
        super().__init__(find_param_store)
        self._metrics = policy_plugin.PolicyMetrics(metrics, "validating", "enforcement_action")

    async def admit(self, attributes: Attributes) -> None:
        if policy_plugin.is_exempt_from_policies(attributes):
            return
        denials: list[_PolicyDenial] = []
        for policy, bindings in self.bound:
            denials += await self._evaluate_policy(policy, bindings, attributes)
        if denials:
            raise _forbidden(attributes, denials[0])

    async def _evaluate_policy(
        self, policy: ValidatingPolicy, bindings: Sequence[ValidatingBinding], attributes: Attributes
    ) -> list[_PolicyDenial]:
        try:
            version = policy.match.matching_version(attributes)
        except errors.APIError as error:
            return _configuration_denial(policy, None, error.message)
        if version is None:
            return []
        try:
            store = policy.param_store(self.find_param_store)
        except PolicyConfigurationError as error:
            return _configuration_denial(policy, None, str(error))
        denials: list[_PolicyDenial] = []
        annotations: dict[str, list[str]] = {}
        versioned: VersionedAttributes | None = None
        for binding in bindings:
            try:
                if not binding.matches(attributes):
                    continue
                params = await binding.params(store, attributes.namespace)
                if versioned is None and params:
                    versioned = await _convert(attributes, version)
            except PolicyConfigurationError as error:
                denials += _configuration_denial(policy, binding, str(error))
            except errors.APIError as error:
                denials += _configuration_denial(policy, binding, error.message)
            else:
                if versioned is not None:
                    denials += await self._evaluate_binding(policy, binding, attributes, versioned, params, annotations)
        for key, values in annotations.items():
            attributes.notes.annotate_admission(f"{policy.name}/{key}", ", ".join(dict.fromkeys(values)))
        return denials

    async def _evaluate_binding(
        self,
        policy: ValidatingPolicy,
        binding: ValidatingBinding,
        attributes: Attributes,
        versioned: VersionedAttributes,
        params: Sequence[JsonObject | None],
        annotations: dict[str, list[str]],
    ) -> list[_PolicyDenial]:
        """Return the denials of a policy with one binding, and add its audit annotations to `annotations`."""
        namespace = policy_plugin.object_namespace(attributes)
        common: dict[str, Any] = {"object": versioned.obj, "oldObject": versioned.old}
        if policy.evaluation.uses_authorizer:
            common |= authorizer_values(attributes)
        conditions = {**common, "request": request_value(attributes, versioned.api_version)}
        values = {
            **common,
            "request": request_value(attributes, versioned.api_version, versioned.version),
            "namespaceObject": namespace_value(namespace),
        }
        denials: list[_PolicyDenial] = []
        for param in params:
            result = await policy.evaluation.evaluate(
                {**values, "params": param}, {**conditions, "params": param}, namespace
            )
            for key, text in result.annotations:
                annotations.setdefault(key, []).append(text)
            for denial in result.denials:
                actions = _actions(binding, denial)
                for action in actions:
                    error = policy_plugin.error_type(denial.message)
                    self._metrics.count(policy.name, binding.name, error, denial.seconds, action)
                if "deny" in actions:
                    denials.append(_PolicyDenial(policy, binding, denial))
                if "audit" in actions:
                    text = _failure_annotation(policy, binding, denial)
                    attributes.notes.annotate_admission(_FAILURE_ANNOTATION, text)
                if "warn" in actions:
                    attributes.notes.warn(
                        f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding "
                        f"'{binding.name}': {denial.message}"
                    )
        return denials


def _failure_annotation(policy: ValidatingPolicy, binding: ValidatingBinding, denial: Denial) -> str:
    """Return the audit annotation for a failed validation: a JSON list with one failure."""
    failure = {
        "message": denial.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": denial.validation,
        "validationActions": list(binding.actions),
    }
    return encode_json([failure], sort_keys=False).decode()


def _actions(binding: ValidatingBinding, denial: Denial) -> Sequence[str]:
    """Return the enforcement actions for a denial in lower case, such as "deny" or "warn"."""
    if denial.ignored:
        return ("allow",)
    return ("deny",) if denial.unconditional else [action.lower() for action in binding.actions]


async def _convert(attributes: Attributes, version: str) -> VersionedAttributes:
    """Convert the request's objects to an apiVersion. Raise PolicyConfigurationError if the conversion fails."""
    resource = attributes.resource
    if version == resource.api_version or resource.subresource == "scale":
        return unconverted(attributes)._replace(version=version)
    try:
        obj, old = [
            await attributes.convert(one, version) if one is not None else None
            for one in (attributes.obj, attributes.old)
        ]
    except errors.APIError as error:
        raise PolicyConfigurationError(f"failed to convert object version: {error.upstream_message}") from None
    if (obj is None) != (attributes.obj is None) or (old is None) != (attributes.old is None):
        raise PolicyConfigurationError(f"failed to convert object version: {version} is not served")
    return VersionedAttributes(version, version, obj, old)


def _configuration_denial(
    policy: ValidatingPolicy, binding: ValidatingBinding | None, message: str
) -> list[_PolicyDenial]:
    what = "policy" if binding is None else "binding"
    denial = Denial(f"failed to configure {what}: {message}")
    return [] if policy.ignore else [_PolicyDenial(policy, binding, denial)]


def _forbidden(attributes: Attributes, denials: _PolicyDenial) -> errors.APIError:
    """Return the error for a denied request. Like kube-apiserver, report only the first denial."""
    policy, binding, denial = denials
    with_binding = f" with binding '{binding.name}'" if binding is not None else ""
    message = f"ValidatingAdmissionPolicy '{policy.name}'{with_binding} denied request: {denial.message}"
    resource = attributes.resource
    error = errors.ForbiddenError(
        resource.plural, resource.group, policy_plugin.object_name(attributes), message, causes=[{"message": message}]
    )
    error.reason = denial.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    return error
