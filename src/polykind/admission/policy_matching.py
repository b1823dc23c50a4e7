"""MatchResources: which writes a policy, or a binding, is about."""

from __future__ import annotations

from polykind.admission.attributes import Attributes
from polykind.admission.rules import Rule, matching_version
from polykind.admission.selection import in_namespace, selects
from polykind.contract import JsonObject
from polykind.errors import NotFoundError
from polykind.selectors.selector_objects import compile_label_selector


class Match:
    """The matchConstraints of a policy or the matchResources of a binding."""

    __slots__ = ("_excluded", "_namespaces", "_objects", "_policy", "_rules")

    def __init__(self, resources: JsonObject) -> None:
        self._namespaces = compile_label_selector(resources.get("namespaceSelector"))
        self._objects = compile_label_selector(resources.get("objectSelector"))
        self._policy = resources.get("matchPolicy") or ""
        self._rules = [Rule(rule) for rule in resources.get("resourceRules") or ()]
        self._excluded = [Rule(rule) for rule in resources.get("excludeResourceRules") or ()]

    def version(self, asked: Attributes) -> str | None:
        """The version of the resource at which a write matches, None if it does not.

        NotFound if it would but for a namespace that is not there.
        """
        missing: NotFoundError | None = None
        try:
            if not in_namespace(self._namespaces, asked):
                return None
        except NotFoundError as error:
            missing = error
        if not selects(self._objects, asked) or self._matching(self._excluded, asked) is not None:
            return None
        found = self._matching(self._rules, asked) if self._rules else asked.resource.version
        if found is not None and missing is not None:
            raise missing
        return found

    def _matching(self, rules: list[Rule], asked: Attributes) -> str | None:
        return matching_version(rules, asked, self._policy)
