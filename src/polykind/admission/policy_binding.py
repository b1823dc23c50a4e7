"""What both kinds of policies have in common: what they match, and what binds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.conditions import IGNORE
from polykind.admission.policy_matching import Match
from polykind.admission.policy_params import FindParams, ParamStore, unknown_kind
from polykind.admission.rules import GROUP
from polykind.contract import JsonObject

_EXEMPT = frozenset(
    {
        *(
            (GROUP, f"{how}admission{what}")
            for how in ("validating", "mutating")
            for what in ("policies", "policybindings")
        ),
        *(("authentication.k8s.io", plural) for plural in ("selfsubjectreviews", "tokenreviews")),
        *(("authorization.k8s.io", f"{whose}subjectaccessreviews") for whose in ("", "local", "self")),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
    }
)


class BoundPolicy:
    """A policy: what it matches, and the params that it wants."""

    def __init__(self, policy: JsonObject) -> None:
        spec = self.spec = policy["spec"]
        self.name: str = policy["metadata"]["name"]
        self.ignore = spec.get("failurePolicy") == IGNORE
        self.param_kind: JsonObject | None = spec.get("paramKind")
        self.match = Match(spec.get("matchConstraints") or {})

    def store(self, find: FindParams) -> ParamStore | None:
        """Where its params are, None if it wants none. Raises ParamError."""
        if self.param_kind is None:
            return None
        store = find(self.param_kind.get("apiVersion") or "", self.param_kind.get("kind") or "")
        if store is None:
            raise unknown_kind(self.param_kind)
        return store


class PolicyBinding:
    """A binding of a policy."""

    def __init__(self, binding: JsonObject) -> None:
        spec = binding["spec"]
        self.name: str = binding["metadata"]["name"]
        self.policy: str = spec.get("policyName") or ""
        self.param_ref: JsonObject | None = spec.get("paramRef")
        self.match = Match(spec["matchResources"]) if spec.get("matchResources") is not None else None

    def matches(self, asked: Attributes) -> bool:
        return self.match is None or self.match.version(asked) is not None


P = TypeVar("P", bound=BoundPolicy)
B = TypeVar("B", bound=PolicyBinding)


class Bound(ABC, Generic[P, B]):
    """All policies of a kind that are bound, as a step of admission."""

    def __init__(self, find: FindParams) -> None:
        self.find = find
        self.bound: tuple[tuple[P, tuple[B, ...]], ...] = ()

    @property
    def active(self) -> bool:
        return bool(self.bound)

    @abstractmethod
    async def admit(self, asked: Attributes) -> None: ...

    def configure(self, policies: Mapping[str, P], bindings: Iterable[B]) -> None:
        """What is asked from now on: each policy for its bindings, in the order of their names."""
        of: dict[str, list[B]] = {}
        for binding in sorted(bindings, key=lambda one: one.name):
            if binding.policy in policies:
                of.setdefault(binding.policy, []).append(binding)
        self.bound = tuple((policies[name], tuple(of[name])) for name in sorted(of))


def exempt(asked: Attributes) -> bool:
    """Whether no policy is asked: not about policies, lest one keeps itself from being mended, nor about reviews."""
    return (asked.resource.group, asked.resource.plural) in _EXEMPT


def own_namespace(asked: Attributes) -> JsonObject | None:
    """The namespace that a write is in; that of a namespace itself is none."""
    resource = asked.resource
    if not asked.namespace or (resource.kind, resource.kind_version) == ("Namespace", "v1"):
        return None
    namespace = asked.namespace_object()
    if namespace is None:
        raise errors.NotFoundError("namespaces", "", asked.namespace)
    return namespace


def told_name(asked: Attributes) -> str:
    """What a refusal calls the object."""
    if asked.name:
        return asked.name
    meta = (asked.obj or {}).get("metadata") or {}
    return meta.get("name") or meta.get("generateName") or "Unknown"
