"""The admission plugin for MutatingAdmissionPolicies, which change the request's object one after the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

from polykind import errors
from polykind.admission import policy_plugin
from polykind.admission.admission_chain import PluginReinvocation
from polykind.admission.attributes import DELETE, Attributes
from polykind.admission.cel_variables import authorizer_values, request_value
from polykind.admission.match_conditions import MatchConditionError, MatchConditions
from polykind.admission.mutation import Mutation, MutationError
from polykind.admission.policy_expressions import compile_variables
from polykind.admission.policy_plugin import AdmissionPolicy, PolicyBinding, PolicyConfigurationError, PolicyPlugin
from polykind.admission.versioned_attributes import conversion_error, convert_attributes
from polykind.apis.admissionregistration.cel_environment import Environment
from polykind.cel.cel_types import Type
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.metrics.metrics import Metrics
from polykind.schema.equality import deep_equal


class MutatingBinding(PolicyBinding):
    """A MutatingAdmissionPolicyBinding."""


class MutatingPolicy(AdmissionPolicy):
    """A MutatingAdmissionPolicy."""

    def __init__(self, policy: JsonObject) -> None:
        super().__init__(policy)
        spec = self.spec
        params, variable_types = self.param_kind is not None, dict[str, Type]()
        outer = Environment(params=params, variables=variable_types)
        composed_variables = compile_variables(spec.get("variables") or (), outer, variable_types)
        environment = Environment(params=params, variables=variable_types, patches=True)
        self.conditions = MatchConditions(
            spec.get("matchConditions") or (), spec.get("failurePolicy") or "Fail", params=params
        )
        self.mutations = [Mutation(one, environment, composed_variables) for one in spec.get("mutations") or ()]
        self.uses_authorizer = outer.uses_authorizer or environment.uses_authorizer or self.conditions.uses_authorizer
        """True if an expression of the policy uses the variable `authorizer`."""
        self.reinvoke_if_needed = spec.get("reinvocationPolicy") == "IfNeeded"


class _Failure(NamedTuple):
    policy: MutatingPolicy
    binding: MutatingBinding | None
    error: str
    reason: str = "Forbidden"

    @property
    def message(self) -> str:
        if self.binding is None:
            return f"policy {go_quote(self.policy.name)} denied request: {self.error}"
        return f"policy '{self.policy.name}' with binding '{self.binding.name}' denied request: {self.error}"


@dataclass(slots=True)
class _VersionedObject:
    """The new and the old object of the request at one version. Mutations replace `obj`."""

    obj: JsonObject | None
    old: JsonObject | None
    api_version: str
    changed: bool = False


class _Invocation(NamedTuple):
    policy: MutatingPolicy
    binding: MutatingBinding
    param: JsonObject | None
    version: str

    @property
    def key(self) -> Hashable:
        """The key of this invocation in the PluginReinvocation: policy, binding and param."""
        meta = (self.param or {}).get("metadata") or {}
        return self.policy.name, self.binding.name, meta.get("namespace"), meta.get("name")


class MutatingPolicies(PolicyPlugin[MutatingPolicy, MutatingBinding]):
    """The admission plugin for all bound MutatingAdmissionPolicies."""

    def __init__(self, find_param_store: policy_plugin.FindParamStore, metrics: Metrics) -> None:
        super().__init__(find_param_store)
        self._metrics = policy_plugin.PolicyMetrics(metrics, "mutating")

    async def admit(self, attributes: Attributes) -> None:
        if attributes.operation == DELETE or policy_plugin.is_exempt_from_policies(attributes):
            return
        collector = _InvocationCollector(attributes)
        for policy, bindings in self.bound:
            await collector.collect(self, policy, bindings)
        failures = collector.failures
        if collector.invocations:
            failures += await _MutatingRound(collector, attributes.reinvocation.for_plugin(self), self._metrics).run()
        failures = [failure for failure in failures if not failure.policy.ignore]
        if failures:
            raise _forbidden(attributes, failures)


class _InvocationCollector:
    """Collects the policy invocations that match a request, before any of them changes the object."""

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.versioned: dict[str, _VersionedObject] = {}
        self.invocations: list[_Invocation] = []
        self.failures: list[_Failure] = []

    async def collect(
        self, plugin: MutatingPolicies, policy: MutatingPolicy, bindings: Sequence[MutatingBinding]
    ) -> None:
        attributes = self.attributes
        try:
            version = policy.match.matching_version(attributes)
            if version is None:
                return
            store = policy.param_store(plugin.find_param_store)
        except (errors.APIError, PolicyConfigurationError) as error:
            self._add_configuration_error(policy, None, error)
            return
        for binding in bindings:
            try:
                if not binding.matches(attributes):
                    continue
            except errors.APIError as error:
                self._add_configuration_error(policy, binding, error)
                continue
            try:
                await self._convert_to(version)
            except errors.APIError as error:
                self._add_configuration_error(policy, None, error)
                continue
            try:
                params = await binding.params(store, attributes.namespace)
            except (errors.APIError, PolicyConfigurationError) as error:
                self._add_configuration_error(policy, binding, error)
                continue
            self.invocations += [_Invocation(policy, binding, param, version) for param in params]

    async def _convert_to(self, version: str) -> None:
        if version not in self.versioned:
            converted = await convert_attributes(self.attributes, version)
            self.versioned[version] = _VersionedObject(converted.obj, converted.old, converted.api_version)

    def _add_configuration_error(
        self, policy: MutatingPolicy, binding: MutatingBinding | None, error: Exception
    ) -> None:
        part = "policy" if binding is None else "binding"
        message = error.upstream_message if isinstance(error, errors.APIError) else str(error)
        self.failures.append(_Failure(policy, binding, f"failed to configure {part}: {message}"))


class _MutatingRound:
    """One round of the policy invocations that must run.

    Each invocation receives the object with the changes of the earlier invocations.
    """

    def __init__(
        self, collector: _InvocationCollector, reinvocation: PluginReinvocation, metrics: policy_plugin.PolicyMetrics
    ) -> None:
        self._attributes = collector.attributes
        self._versioned = collector.versioned
        self._invocations = collector.invocations
        self._reinvocation = reinvocation
        self._metrics = metrics
        self._namespace = _without_managed_fields(policy_plugin.object_namespace(collector.attributes))
        self._last_versioned: _VersionedObject | None = None
        self._failures: list[_Failure] = []

    async def run(self) -> list[_Failure]:
        self._reinvocation.begin(self._attributes.obj)
        try:
            for invocation in self._invocations:
                await self._invoke(invocation)
            await self._convert_back()
        finally:
            self._reinvocation.end(self._attributes.obj)
        return self._failures

    async def _invoke(self, invocation: _Invocation) -> None:
        policy, versioned = invocation.policy, self._versioned[invocation.version]
        request = request_value(self._attributes, versioned.api_version)
        try:
            if not await policy.conditions.match(self._values(invocation, versioned, request)):
                return
        except MatchConditionError as failure:
            self._failures.append(_Failure(policy, invocation.binding, str(failure), "Invalid"))
            return
        if not self._reinvocation.due(invocation.key):
            return
        before = versioned.obj
        await self._mutate(invocation, versioned)
        if not deep_equal(before, versioned.obj):
            self._reinvocation.changed()
        if policy.reinvoke_if_needed:
            self._reinvocation.invoked(invocation.key)

    async def _mutate(self, invocation: _Invocation, versioned: _VersionedObject) -> None:
        request = request_value(self._attributes, versioned.api_version, invocation.version)
        for mutation in invocation.policy.mutations:
            self._last_versioned = versioned
            if versioned.obj is None:
                continue
            values = self._values(invocation, versioned, request) | {"namespaceObject": self._namespace}
            error, begun = policy_plugin.NO_ERROR, perf_counter()
            try:
                versioned.obj = await mutation.apply(self._attributes, versioned.obj, values)
                versioned.changed = True
            except MutationError as failure:
                error = policy_plugin.error_type(str(failure))
                self._failures.append(_Failure(invocation.policy, invocation.binding, str(failure), "Invalid"))
            except errors.APIError as refusal:
                error = policy_plugin.error_type(refusal.message)
                raise
            finally:
                seconds = perf_counter() - begun
                self._metrics.count(invocation.policy.name, invocation.binding.name, error, seconds)

    def _values(self, invocation: _Invocation, versioned: _VersionedObject, request: JsonObject) -> dict[str, Any]:
        values = {"object": versioned.obj, "oldObject": versioned.old, "request": request, "params": invocation.param}
        return values | authorizer_values(self._attributes) if invocation.policy.uses_authorizer else values

    async def _convert_back(self) -> None:
        """Convert the object that was changed last back to the version of the request and set it in the attributes."""
        attributes, last = self._attributes, self._last_versioned
        if last is None or last.obj is None or not last.changed:
            return
        self._reinvocation.changed()
        obj, resource = last.obj, attributes.resource
        api_version = obj.get("apiVersion")
        if api_version != resource.kind_version:
            obj = await self._convert_object(obj)
        attributes.obj = obj
        attributes.changed = True

    async def _convert_object(self, obj: JsonObject) -> JsonObject:
        resource = self._attributes.resource
        message = conversion_error(resource, obj)
        try:
            result = await self._attributes.convert(obj, resource.kind_version) if not message else None
        except errors.APIError as error:
            raise errors.InternalError(f"failed to convert object: {error.message}") from None
        if result is None:
            raise errors.InternalError(f"failed to convert object: {message}")
        return result


def _without_managed_fields(namespace: JsonObject | None) -> JsonObject | None:
    """Return a namespace as the variable `namespaceObject`, without managedFields."""
    if namespace is None:
        return None
    metadata = {name: value for name, value in namespace["metadata"].items() if name != "managedFields"}
    return {"metadata": metadata, **{name: namespace.get(name) or {} for name in ("spec", "status")}}


def _forbidden(attributes: Attributes, failures: Sequence[_Failure]) -> errors.APIError:
    """Return a ForbiddenError with the message of the first failure and all failures as causes."""
    resource = attributes.resource
    causes = [{"message": failure.message} for failure in failures]
    error = errors.ForbiddenError(
        resource.plural, resource.group, policy_plugin.object_name(attributes), "", causes=causes
    )
    error.message = failures[0].message
    error.reason = failures[0].reason
    return error
