"""The built-in admission plugins of each resource, imported when a request needs them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from polykind.admission.attributes import Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, PluginServices
from polykind.admission.plugins.plugin_table import PluginEntry


class PluginChain:
    """The enabled built-in plugins, in order. Requests for a resource without plugins cost one lookup."""

    def __init__(self, enabled: Sequence[PluginEntry], services: PluginServices) -> None:
        self._services = services
        self._enabled = [entry for entry in enabled if entry.target]
        self._named = {resource for entry in self._enabled for resource in entry.resources}
        """The resources that the enabled plugins handle."""
        self.covers_all = "*" in self._named
        """True if a plugin handles every resource, including custom resources."""
        self._loaded: dict[str, BuiltinPlugin] = {}
        self._plugins: dict[str, tuple[BuiltinPlugin, ...]] = {}

    def plugins(self, group: str, plural: str) -> tuple[BuiltinPlugin, ...]:
        """Return the plugins that handle a resource. Import them at the first call."""
        name = f"{plural}.{group}" if group else plural
        if not self.covers_all and name not in self._named:
            return ()
        plugins = self._plugins.get(name)
        if plugins is None:
            entries = [entry for entry in self._enabled if name in entry.resources or "*" in entry.resources]
            plugins = self._plugins[name] = tuple(map(self._load, entries))
        return plugins

    def _load(self, entry: PluginEntry) -> BuiltinPlugin:
        plugin = self._loaded.get(entry.name)
        if plugin is None:
            module, _, name = entry.target.partition(":")
            factory = getattr(import_module(f"polykind.admission.plugins.{module}"), name)
            plugin = self._loaded[entry.name] = factory(self._services)
        return plugin

    async def mutate(self, attributes: Attributes) -> None:
        """Run the plugins' mutating step on a create or an update."""
        for plugin in self.plugins(attributes.resource.group, attributes.resource.plural):
            if attributes.obj is not None and plugin.handles(attributes):
                await plugin.mutate(attributes, attributes.obj)

    async def validate(self, attributes: Attributes) -> None:
        """Run the plugins' validating step."""
        obj = attributes.obj if attributes.obj is not None else attributes.old
        for plugin in self.plugins(attributes.resource.group, attributes.resource.plural):
            if obj is not None and plugin.handles(attributes):
                await plugin.validate(attributes, obj)
