"""The admission chain: mutating plugins, then validating plugins, with reinvocation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from polykind.contract import JsonObject
from polykind.schema.equality import deep_equal

if TYPE_CHECKING:
    from polykind.admission.attributes import Attributes
    from polykind.admission.plugins.plugin_chain import PluginChain
    from polykind.operations.charges import QuotaCharge


class AdmissionPlugin(Protocol):
    """One plugin of the chain, such as all mutating webhooks."""

    @property
    def active(self) -> bool:
        """True if any webhook or policy is configured."""

    async def admit(self, attributes: Attributes) -> None:
        """Admit the request or raise APIError. A mutating plugin may replace `attributes.obj`."""


class QuotaPlugin(Protocol):
    """The plugin ResourceQuota."""

    @property
    def quota_namespaces(self) -> Mapping[str, object]:
        """The namespaces with quotas, as keys."""

    @property
    def sized_namespaces(self) -> Mapping[str, object]:
        """The namespaces in which a quota limits stored bytes, as keys."""

    @property
    def limits_everywhere(self) -> bool:
        """True if the plugin checks requests in namespaces without a quota, too."""

    async def admit(self, attributes: Attributes) -> None:
        """Charge the usage of a request to the quotas of its namespace. Raise APIError if it would exceed one."""

    async def charge_size(
        self, namespace: str, group: str, plural: str, name: str, growth: int, *, dry_run: bool
    ) -> QuotaCharge | None:
        """Charge the bytes by which a custom object grows. Raise ForbiddenError if that would exceed a quota."""


class AdmissionChain:
    """All admission plugins, in order: built-in plugins first, then policies, webhooks and quotas.

    `mutates` is true if a mutating webhook or policy is configured, `validates` if a validating one is. Every write
    reads them, so they are plain attributes that `refresh` keeps up to date. They do not include built-in plugins that
    handle only some resources, for which there is `has_plugins`, and quotas, for which there is `quota_namespaces`.
    """

    __slots__ = (
        "_mutating",
        "_plugins",
        "_quotas",
        "_validating",
        "mutates",
        "quota_namespaces",
        "sized_namespaces",
        "validates",
    )

    def __init__(
        self,
        mutating: Sequence[AdmissionPlugin] = (),
        validating: Sequence[AdmissionPlugin] = (),
        plugins: PluginChain | None = None,
        quotas: QuotaPlugin | None = None,
    ) -> None:
        self._quotas = quotas
        self.quota_namespaces: Mapping[str, object] = quotas.quota_namespaces if quotas is not None else {}
        """The namespaces with quotas, as keys. Writes to other namespaces cost one lookup."""
        self.sized_namespaces: Mapping[str, object] = quotas.sized_namespaces if quotas is not None else {}
        """The namespaces in which a quota limits stored bytes, as keys."""
        self._mutating = tuple(mutating)
        self._validating = tuple(validating)
        self._plugins = plugins
        self.refresh()

    def has_plugins(self, group: str, plural: str) -> bool:
        """True if a built-in plugin handles the resource."""
        return self._plugins is not None and bool(self._plugins.plugins(group, plural))

    def refresh(self) -> None:
        """Recompute `mutates` and `validates` after the configuration of a plugin has changed."""
        always = self._plugins is not None and self._plugins.covers_all
        self.mutates = always or any(plugin.active for plugin in self._mutating)
        everywhere = self._quotas is not None and self._quotas.limits_everywhere
        self.validates = always or everywhere or any(plugin.active for plugin in self._validating)

    async def mutate(self, attributes: Attributes) -> None:
        """Run the mutating plugins. Run them a second time if a webhook or policy must be invoked again."""
        await self._run_mutating(attributes)
        if attributes.reinvocation.rounds.second_needed:
            attributes.reinvocation.rounds.is_second = True
            await self._run_mutating(attributes)

    async def _run_mutating(self, attributes: Attributes) -> None:
        if self._plugins is not None:
            await self._plugins.mutate(attributes)
        for plugin in self._mutating:
            if plugin.active:
                await plugin.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run the validating plugins."""
        if self._plugins is not None:
            await self._plugins.validate(attributes)
        for plugin in self._validating:
            if plugin.active:
                await plugin.admit(attributes)
        quotas = self._quotas
        if quotas is not None and (quotas.limits_everywhere or attributes.namespace in self.quota_namespaces):
            await quotas.admit(attributes)

    async def charge_size(
        self, namespace: str, group: str, plural: str, name: str, growth: int, *, dry_run: bool
    ) -> QuotaCharge | None:
        """Charge the bytes by which a custom object grows. Raise ForbiddenError if that would exceed a quota."""
        if self._quotas is None:
            return None
        return await self._quotas.charge_size(namespace, group, plural, name, growth, dry_run=dry_run)


class Rounds:
    """The rounds of one request: `second_needed` if an object has changed, `is_second` in the second round."""

    __slots__ = ("is_second", "second_needed")

    def __init__(self) -> None:
        self.second_needed = False
        self.is_second = False


class Reinvocation:
    """The reinvocation state of one request: the webhooks and policies that must be invoked a second time.

    There are at most two rounds. In the second, a webhook or policy with reinvocationPolicy IfNeeded is invoked again
    if the object has changed since its first invocation.
    """

    def __init__(self) -> None:
        self.rounds = Rounds()
        self._plugins: dict[int, PluginReinvocation] = {}

    def for_plugin(self, plugin: object) -> PluginReinvocation:
        """Return the reinvocation state of one plugin."""
        return self._plugins.setdefault(id(plugin), PluginReinvocation(self.rounds))


class PluginReinvocation:
    """The webhooks or policies of one plugin that must be invoked again."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._reinvoke: set[Hashable] = set()
        self._invoked: set[Hashable] = set()
        """The webhooks or policies with reinvocationPolicy IfNeeded that were invoked since the object last changed."""
        self._last_obj: JsonObject | None = None

    def begin(self, obj: JsonObject | None) -> None:
        """Begin a round. If other plugins have changed `obj` since this plugin's last round, require reinvocation."""
        if self._rounds.is_second and not deep_equal(self._last_obj, obj):
            self._require()

    def end(self, obj: JsonObject | None) -> None:
        self._last_obj = obj

    def due(self, key: Hashable) -> bool:
        """True if the plugin must invoke the webhook or policy in this round."""
        return not self._rounds.is_second or key in self._reinvoke

    def changed(self) -> None:
        """Record that the object has changed."""
        self._rounds.second_needed = True
        self._require()

    def invoked(self, key: Hashable) -> None:
        """Record the invocation of a webhook or policy with reinvocationPolicy IfNeeded."""
        self._invoked.add(key)

    def _require(self) -> None:
        self._reinvoke |= self._invoked
        self._invoked = set()
