"""Mutating policies as a step of admission: those with bindings change what is written, one after the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

from polykind import errors
from polykind.admission.attributes import DELETE, Attributes
from polykind.admission.authorizing import authorizer_values
from polykind.admission.conditions import Conditions, MatchFailure
from polykind.admission.expression import Environment
from polykind.admission.expressionvalues import request_value
from polykind.admission.mutation import Mutation, MutationFailure
from polykind.admission.policy_binding import Bound, BoundPolicy, PolicyBinding, exempt, own_namespace, told_name
from polykind.admission.policy_checks import NO_ERROR, Checks, error_type
from polykind.admission.policy_expressions import variables
from polykind.admission.policy_params import FindParams, ParamError, collect
from polykind.admission.reinvocation import Asked
from polykind.admission.telling import inconvertible, told_at
from polykind.cel.cel_types import Type
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.metrics.metrics import Metrics
from polykind.schema.equality import deep_equal


class MutatingBinding(PolicyBinding):
    """A MutatingAdmissionPolicyBinding."""


class MutatingPolicy(BoundPolicy):
    """A MutatingAdmissionPolicy."""

    def __init__(self, policy: JsonObject) -> None:
        super().__init__(policy)
        spec = self.spec
        params, composed = self.param_kind is not None, dict[str, Type]()
        outer = Environment(params=params, variables=composed)
        known = variables(spec.get("variables") or (), outer, composed)
        environment = Environment(params=params, variables=composed, patches=True)
        self.conditions = Conditions(
            spec.get("matchConditions") or (), spec.get("failurePolicy") or "Fail", params=params
        )
        self.mutations = [Mutation(one, environment, known) for one in spec.get("mutations") or ()]
        self.asks = outer.asks or environment.asks or self.conditions.asks
        """Whether it wants an authorizer among its variables."""
        self.reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"


class _Failure(NamedTuple):
    policy: MutatingPolicy
    binding: MutatingBinding | None
    why: str
    reason: str = "Forbidden"

    @property
    def message(self) -> str:
        if self.binding is None:
            return f"policy {go_quote(self.policy.name)} denied request: {self.why}"
        return f"policy '{self.policy.name}' with binding '{self.binding.name}' denied request: {self.why}"


@dataclass(slots=True)
class _Told:
    """A write as it is told at a version, and whether it was changed there."""

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
        meta = (self.param or {}).get("metadata") or {}
        return self.policy.name, self.binding.name, meta.get("namespace"), meta.get("name")


class MutatingPolicies(Bound[MutatingPolicy, MutatingBinding]):
    """All MutatingAdmissionPolicies that are bound."""

    def __init__(self, find: FindParams, metrics: Metrics) -> None:
        super().__init__(find)
        self._checks = Checks(metrics, "mutating")

    async def admit(self, asked: Attributes) -> None:
        if asked.operation == DELETE or exempt(asked):
            return
        gathering = _Gathering(asked)
        for policy, bindings in self.bound:
            await gathering.take(self, policy, bindings)
        failures = gathering.failures
        if gathering.invocations:
            failures += await _Round(gathering, asked.again.of(self), self._checks).run()
        failures = [failure for failure in failures if not failure.policy.ignore]
        if failures:
            raise _refusal(asked, failures)


class _Gathering:
    """Who is to be asked about a write, before anything is changed."""

    def __init__(self, asked: Attributes) -> None:
        self.asked = asked
        self.told: dict[str, _Told] = {}
        self.invocations: list[_Invocation] = []
        self.failures: list[_Failure] = []

    async def take(self, bound: MutatingPolicies, policy: MutatingPolicy, bindings: Sequence[MutatingBinding]) -> None:
        asked = self.asked
        try:
            version = policy.match.version(asked)
            if version is None:
                return
            store = policy.store(bound.find)
        except (errors.APIError, ParamError) as error:
            self._misconfigured(policy, None, error)
            return
        for binding in bindings:
            try:
                if not binding.matches(asked):
                    continue
            except errors.APIError as error:
                self._misconfigured(policy, binding, error)
                continue
            try:
                await self._tell(version)
            except errors.APIError as error:
                self._misconfigured(policy, None, error)
                continue
            try:
                params = await collect(store, binding.param_ref, asked.namespace)
            except (errors.APIError, ParamError) as error:
                self._misconfigured(policy, binding, error)
                continue
            self.invocations += [_Invocation(policy, binding, param, version) for param in params]

    async def _tell(self, version: str) -> None:
        if version not in self.told:
            shown = await told_at(self.asked, version)
            self.told[version] = _Told(shown.obj, shown.old, shown.api_version)

    def _misconfigured(self, policy: MutatingPolicy, binding: MutatingBinding | None, error: Exception) -> None:
        what = "policy" if binding is None else "binding"
        why = error.upstream_message if isinstance(error, errors.APIError) else str(error)
        self.failures.append(_Failure(policy, binding, f"failed to configure {what}: {why}"))


class _Round:
    """One round of all who are due in it; each sees what those before it have made of the object."""

    def __init__(self, gathering: _Gathering, again: Asked, checks: Checks) -> None:
        self._asked = gathering.asked
        self._told = gathering.told
        self._invocations = gathering.invocations
        self._again = again
        self._checks = checks
        self._namespace = _unmanaged(own_namespace(gathering.asked))
        self._last: _Told | None = None
        self._failures: list[_Failure] = []

    async def run(self) -> list[_Failure]:
        self._again.begin(self._asked.obj)
        try:
            for invocation in self._invocations:
                await self._invoke(invocation)
            await self._settle()
        finally:
            self._again.end(self._asked.obj)
        return self._failures

    async def _invoke(self, invocation: _Invocation) -> None:
        policy, told = invocation.policy, self._told[invocation.version]
        request = request_value(self._asked, told.api_version)
        try:
            if not await policy.conditions.match(self._values(invocation, told, request)):
                return
        except MatchFailure as failure:
            self._failures.append(_Failure(policy, invocation.binding, str(failure), "Invalid"))
            return
        if not self._again.due(invocation.key):
            return
        before = told.obj
        await self._mutate(invocation, told)
        if not deep_equal(before, told.obj):
            self._again.changed()
        if policy.reinvoked:
            self._again.invoked(invocation.key)

    async def _mutate(self, invocation: _Invocation, told: _Told) -> None:
        request = request_value(self._asked, told.api_version, invocation.version)
        for mutation in invocation.policy.mutations:
            self._last = told
            if told.obj is None:
                continue
            values = self._values(invocation, told, request) | {"namespaceObject": self._namespace}
            error, begun = NO_ERROR, perf_counter()
            try:
                told.obj = await mutation.make(self._asked, told.obj, values)
                told.changed = True
            except MutationFailure as failure:
                error = error_type(str(failure))
                self._failures.append(_Failure(invocation.policy, invocation.binding, str(failure), "Invalid"))
            except errors.APIError as refusal:
                error = error_type(refusal.message)
                raise
            finally:
                seconds = perf_counter() - begun
                self._checks.count(invocation.policy.name, invocation.binding.name, error, seconds)

    def _values(self, invocation: _Invocation, told: _Told, request: JsonObject) -> dict[str, Any]:
        values = {"object": told.obj, "oldObject": told.old, "request": request, "params": invocation.param}
        return values | authorizer_values(self._asked) if invocation.policy.asks else values

    async def _settle(self) -> None:
        """Bring the object up to date: of what was done at several versions, the last counts."""
        asked, last = self._asked, self._last
        if last is None or last.obj is None or not last.changed:
            return
        self._again.changed()
        obj, resource = last.obj, asked.resource
        stated = obj.get("apiVersion")
        if stated != resource.kind_version:
            obj = await self._converted(obj)
        asked.obj = obj
        asked.changed = True

    async def _converted(self, obj: JsonObject) -> JsonObject:
        resource = self._asked.resource
        why = inconvertible(resource, obj)
        try:
            made = await self._asked.convert(obj, resource.kind_version) if not why else None
        except errors.APIError as error:
            raise errors.InternalError(f"failed to convert object: {error.message}") from None
        if made is None:
            raise errors.InternalError(f"failed to convert object: {why}")
        return made


def _unmanaged(namespace: JsonObject | None) -> JsonObject | None:
    """A namespace without those who manage its fields, as nobody is told of them."""
    if namespace is None:
        return None
    metadata = {name: value for name, value in namespace["metadata"].items() if name != "managedFields"}
    return {"metadata": metadata, **{name: namespace.get(name) or {} for name in ("spec", "status")}}


def _refusal(asked: Attributes, failures: Sequence[_Failure]) -> errors.APIError:
    """All who deny are told, the first in front."""
    resource = asked.resource
    causes = [{"message": failure.message} for failure in failures]
    error = errors.ForbiddenError(resource.plural, resource.group, told_name(asked), "", causes=causes)
    error.message = failures[0].message
    error.reason = failures[0].reason
    return error
