"""The parts that validating and mutating policies share: policies, bindings, params and metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.match_conditions import IGNORE
from polykind.admission.matcher import GROUP, MatchResources
from polykind.apis.admissionregistration.cel_environment import OUT_OF_BUDGET
from polykind.contract import JsonObject
from polykind.metrics.metrics import Metrics
from polykind.selectors.label_selectors import LabelSelector
from polykind.selectors.selector_objects import compile_label_selector

NO_ERROR = "no_error"
_DURATION_BUCKETS = (0.0000005, 0.001, 0.01, 0.1, 1.0)
_EXEMPT = frozenset(
    {
        *(
            (GROUP, f"{prefix}admission{suffix}")
            for prefix in ("validating", "mutating")
            for suffix in ("policies", "policybindings")
        ),
        *(("authentication.k8s.io", plural) for plural in ("selfsubjectreviews", "tokenreviews")),
        *(("authorization.k8s.io", f"{prefix}subjectaccessreviews") for prefix in ("", "local", "self")),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
    }
)


class ParamStore(Protocol):
    """Access to the objects of a paramKind."""

    @property
    def namespaced(self) -> bool: ...

    async def get(self, namespace: str, name: str) -> JsonObject | None: ...

    async def select(self, namespace: str, labels: LabelSelector) -> Sequence[JsonObject]: ...


FindParamStore = Callable[[str, str], ParamStore | None]
"""A function that returns the store of an apiVersion and kind, or None if the kind is not served."""


class PolicyConfigurationError(Exception):
    """A policy or binding that cannot be evaluated, for example because its paramKind is not served."""


class AdmissionPolicy:
    """The common part of both kinds of policies: match constraints and paramKind."""

    def __init__(self, policy: JsonObject) -> None:
        spec = self.spec = policy["spec"]
        self.name: str = policy["metadata"]["name"]
        self.ignore = spec.get("failurePolicy") == IGNORE
        self.param_kind: JsonObject | None = spec.get("paramKind")
        self.match = MatchResources(spec.get("matchConstraints") or {})

    def param_store(self, find: FindParamStore) -> ParamStore | None:
        """Return the store of the paramKind, or None if the policy has no paramKind.

        Raise PolicyConfigurationError if the kind is not served.
        """
        if self.param_kind is None:
            return None
        api_version, kind = (self.param_kind.get(field) or "" for field in ("apiVersion", "kind"))
        store = find(api_version, kind)
        if store is None:
            group, _, version = api_version.rpartition("/")
            name = f"{group}/{version}, Kind={self.param_kind.get('kind')}"
            raise PolicyConfigurationError(f"failed to find resource referenced by paramKind: '{name}'")
        return store


class PolicyBinding:
    """The common part of both kinds of policy bindings."""

    def __init__(self, binding: JsonObject) -> None:
        spec = binding["spec"]
        self.name: str = binding["metadata"]["name"]
        self.policy: str = spec.get("policyName") or ""
        self.param_ref: JsonObject | None = spec.get("paramRef")
        self.match = MatchResources(spec["matchResources"]) if spec.get("matchResources") is not None else None

    def matches(self, attributes: Attributes) -> bool:
        return self.match is None or self.match.matching_version(attributes) is not None

    async def params(self, store: ParamStore | None, namespace: str) -> Sequence[JsonObject | None]:
        """Return the params of the binding. The policy is evaluated once for each of them.

        Return [None] if there are no params. `namespace` is the namespace of the request. Raise
        PolicyConfigurationError if the params cannot be found.
        """
        ref = self.param_ref
        if store is None or ref is None:
            return [None]
        ref_namespace = ref.get("namespace") or ""
        param_namespace = ""
        if store.namespaced:
            param_namespace = ref_namespace or namespace
            if not param_namespace:
                raise PolicyConfigurationError(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                )
        elif ref_namespace:
            raise PolicyConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        if ref.get("name"):
            param = await store.get(param_namespace, ref["name"])
            params = [param] if param is not None else []
        else:
            params = list(await store.select(param_namespace, compile_label_selector(ref.get("selector"))))
        if not params and ref.get("parameterNotFoundAction") == "Deny":
            raise PolicyConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return params


P = TypeVar("P", bound=AdmissionPolicy)
B = TypeVar("B", bound=PolicyBinding)


class PolicyPlugin(ABC, Generic[P, B]):
    """The admission plugin for all policies of one kind."""

    def __init__(self, find_param_store: FindParamStore) -> None:
        self.find_param_store = find_param_store
        self.bound: tuple[tuple[P, tuple[B, ...]], ...] = ()
        """The policies that have bindings, each with its bindings."""

    @property
    def active(self) -> bool:
        return bool(self.bound)

    @abstractmethod
    async def admit(self, attributes: Attributes) -> None: ...

    def configure(self, policies: Mapping[str, P], bindings: Iterable[B]) -> None:
        """Replace the policies and bindings. Both are evaluated in the order of their names."""
        by_policy: dict[str, list[B]] = {}
        for binding in sorted(bindings, key=lambda one: one.name):
            if binding.policy in policies:
                by_policy.setdefault(binding.policy, []).append(binding)
        self.bound = tuple((policies[name], tuple(by_policy[name])) for name in sorted(by_policy))


def is_exempt_from_policies(attributes: Attributes) -> bool:
    """True for policies and their bindings, because a policy must not prevent its own repair, and for reviews."""
    return (attributes.resource.group, attributes.resource.plural) in _EXEMPT


def object_namespace(attributes: Attributes) -> JsonObject | None:
    """Return the namespace that contains the object, or None if the object is cluster-scoped."""
    resource = attributes.resource
    if not attributes.namespace or (resource.kind, resource.kind_version) == ("Namespace", "v1"):
        return None
    namespace = attributes.namespace_object()
    if namespace is None:
        raise errors.NotFoundError("namespaces", "", attributes.namespace)
    return namespace


def object_name(attributes: Attributes) -> str:
    """Return the object's name for error messages."""
    if attributes.name:
        return attributes.name
    meta = (attributes.obj or {}).get("metadata") or {}
    return meta.get("name") or meta.get("generateName") or "Unknown"


class PolicyMetrics:
    """The metrics about checks of one kind of policy, named as in kube-apiserver. `more` are additional label names."""

    def __init__(self, metrics: Metrics, kind: str, *more: str) -> None:
        labels = ("policy", "policy_binding", "error_type", *more)
        name = f"apiserver_{kind}_admission_policy_check"
        self._total = metrics.counter(
            f"{name}_total", f"Checks of {kind} policies, by policy, binding and error type.", labels
        )
        self._seconds = metrics.histogram(
            f"{name}_duration_seconds",
            f"Evaluation time of an expression of a {kind} policy in seconds.",
            labels,
            _DURATION_BUCKETS,
        )

    def count(self, policy: str, binding: str, error: str, seconds: float, *more: str) -> None:
        self._total.of(policy, binding, error, *more).add()
        self._seconds.of(policy, binding, error, *more).observe(seconds)


def error_type(message: str) -> str:
    """Return the metric label error_type for an error message, which depends on the beginning of the message."""
    if message.startswith("compilation"):
        return "compile_error"
    return "out_of_budget" if message.startswith(OUT_OF_BUDGET.partition(",")[0]) else "invalid_error"
