"""The choice of enabled plugins, and the import of their classes."""

from __future__ import annotations

import pytest

from polykind.admission.plugins.builtin_plugin import BuiltinPlugin
from polykind.admission.plugins.plugin_chain import PluginChain
from polykind.admission.plugins.plugin_table import PLUGINS, choice_errors, enabled_plugins, ineffective_choices
from tests.admission.plugins.plugin_support import FakeObjects, services


def test_default_plugins() -> None:
    names = [plugin.name for plugin in enabled_plugins()]
    assert "PodSecurity" in names
    assert "NodeRestriction" not in names
    assert names.index("LimitRanger") < names.index("Priority") < names.index("ResourceQuota")


def test_flags_enable_and_disable() -> None:
    names = [plugin.name for plugin in enabled_plugins(["NodeRestriction"], ["Priority"])]
    assert "NodeRestriction" in names
    assert "Priority" not in names


@pytest.mark.parametrize(
    ("enable", "disable", "expected"),
    [
        (["Priority"], ["PodSecurity"], []),
        (["Nope"], [], ['enable-admission-plugins plugin "Nope" is unknown']),
        ([], ["Nope"], ['disable-admission-plugins plugin "Nope" is unknown']),
        (
            ["Priority", "LimitRanger"],
            ["LimitRanger", "Priority"],
            ["[LimitRanger Priority] in enable-admission-plugins and disable-admission-plugins overlapped"],
        ),
    ],
)
def test_choice_errors(enable: list[str], disable: list[str], expected: list[str]) -> None:
    assert choice_errors(enable, disable) == expected


def test_ineffective_choices_are_named() -> None:
    sentences = ineffective_choices(["AlwaysAdmit", "Priority"], ["NamespaceLifecycle"])
    assert [sentence.split()[0] for sentence in sentences] == ["AlwaysAdmit", "NamespaceLifecycle"]


def test_all_targets_can_be_imported() -> None:
    chain = PluginChain(PLUGINS, services(FakeObjects()))
    for entry in PLUGINS:
        for resource in entry.resources:
            plural, _, group = resource.partition(".")
            assert all(isinstance(plugin, BuiltinPlugin) for plugin in chain.plugins(group, plural))


def test_other_resources_have_no_plugins() -> None:
    chain = PluginChain(enabled_plugins(), services(FakeObjects()))
    assert chain.plugins("x.io", "pods") == ()
    assert not chain.covers_all


def test_plugins_for_all_resources() -> None:
    chain = PluginChain(enabled_plugins(["AlwaysDeny"]), services(FakeObjects()))
    assert len(chain.plugins("x.io", "vats")) == 1
    assert chain.covers_all
