"""The conditions of a namespace that is being deleted, with the texts of kube-controller-manager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from polykind.contract import JsonObject

_DISCOVERY_FAILURE = "NamespaceDeletionDiscoveryFailure"
_PARSING_FAILURE = "NamespaceDeletionGroupVersionParsingFailure"
_CONTENT_FAILURE = "NamespaceDeletionContentFailure"
_CONTENT_REMAINING = "NamespaceContentRemaining"
_FINALIZERS_REMAINING = "NamespaceFinalizersRemaining"
_WITHOUT_PROBLEM = {
    _DISCOVERY_FAILURE: ("ResourcesDiscovered", "All resources successfully discovered"),
    _PARSING_FAILURE: ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    _CONTENT_FAILURE: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    _CONTENT_REMAINING: ("ContentRemoved", "All content successfully removed"),
    _FINALIZERS_REMAINING: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""The types of the conditions in their order, each with the reason and message of its status False."""


class ContentReport:
    """The objects that remain after one pass over the content of a namespace, and the failures of that pass."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.waits_for_pods = False
        """True if other resources have not been deleted because Pods remain."""
        self._instances: Counter[str] = Counter()
        self._finalizers: Counter[str] = Counter()

    def add(self, group: str, plural: str, finalizers: Iterable[Iterable[str]]) -> None:
        """Count the remaining objects of a resource, given the finalizers of each."""
        for names in finalizers:
            self._instances[f"{plural}.{group}"] += 1
            self._finalizers.update(names)

    @property
    def empty(self) -> bool:
        """True if the namespace is known to have no content."""
        return not self._instances and not self.failures

    def conditions(self, old: Iterable[JsonObject], now: str) -> list[JsonObject]:
        """Return the conditions of the namespace after the pass. `old` are those before it."""
        conditions = list(old)
        problems = self._problems()
        for type_, without_problem in _WITHOUT_PROBLEM.items():
            reason, message = problems.get(type_, without_problem)
            status = "True" if type_ in problems else "False"
            stated = {"type": type_, "status": status, "reason": reason, "message": message}
            index = next((i for i, one in enumerate(conditions) if one.get("type") == type_), None)
            if index is None:
                conditions.append({**stated, "lastTransitionTime": now})
            else:
                before = conditions[index]
                changed_at = now if before.get("status") != status else before.get("lastTransitionTime")
                conditions[index] = {**before, **stated, "lastTransitionTime": changed_at}
        return conditions

    def _problems(self) -> dict[str, tuple[str, str]]:
        """Return the reason and message of each condition whose status is True."""
        problems = {}
        if self.failures:
            text = f"Failed to delete all resource types, {len(self.failures)} remaining: "
            problems[_CONTENT_FAILURE] = ("ContentDeletionFailed", text + ", ".join(sorted(self.failures)))
        if self.waits_for_pods:
            # kube-controller-manager sets the two conditions below only after it has visited all resources.
            return problems
        if self._instances:
            counts = sorted(f"{name} has {count} resource instances" for name, count in self._instances.items())
            text = f"Some resources are remaining: {', '.join(counts)}"
            problems[_CONTENT_REMAINING] = ("SomeResourcesRemain", text)
        if self._finalizers:
            counts = sorted(f"{name} in {count} resource instances" for name, count in self._finalizers.items())
            text = f"Some content in the namespace has finalizers remaining: {', '.join(counts)}"
            problems[_FINALIZERS_REMAINING] = ("SomeFinalizersRemain", text)
        return problems
