"""The file of --admission-control-config-file: configurations of admission plugins, as kube-apiserver reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polykind.admission.plugins.plugin_table import (
    MUTATING_WEBHOOKS,
    PLUGINS,
    RESOURCE_QUOTAS,
    VALIDATING_WEBHOOKS,
    PluginEntry,
)
from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.server.settings import SettingsError

if TYPE_CHECKING:
    from polykind.apis.machinery.structs import Struct
    from polykind.webhook.credentials import WebhookCredentials

POD_SECURITY, NODE_SELECTOR, TOLERATIONS = "PodSecurity", "PodNodeSelector", "PodTolerationRestriction"
_UNVERSIONED = {"podNodeSelectorPluginConfig": NODE_SELECTOR, "imagePolicy": "ImagePolicyWebhook"}
"""Fields of files that are the configuration of one plugin. kube-apiserver still reads them."""


class AdmissionSettings(NamedTuple):
    """The configurations of the enabled admission plugins, by the name of the plugin."""

    plugins: Mapping[str, JsonObject] = {}
    credentials: Mapping[str, WebhookCredentials] = {}
    """The credentials for the webhooks that the plugin calls."""


def read_admission_settings(path: Path | None, enabled: Sequence[PluginEntry]) -> AdmissionSettings:
    """Read a configuration file. Raise SettingsError if it is invalid, or if a configuration cannot be honoured."""
    if path is None:
        return AdmissionSettings()
    try:
        return _read(path, {plugin.name for plugin in enabled})
    except (ValueError, OSError) as error:
        raise SettingsError(f"--admission-control-config-file {path}: {error}") from None


def _read(path: Path, enabled: set[str]) -> AdmissionSettings:
    plugins: dict[str, JsonObject] = {}
    credentials: dict[str, WebhookCredentials] = {}
    for name, body in _plugin_configurations(path).items():
        if name not in {plugin.name for plugin in PLUGINS}:
            raise ValueError(f"there is no admission plugin {go_quote(name)}")
        if name not in enabled:
            # Like kube-apiserver, which does not build the plugin.
            continue
        try:
            if name in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
                if (found := _webhook_credentials(body)) is not None:
                    credentials[name] = found
            else:
                plugins[name] = _plugin_configuration(name, body)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return AdmissionSettings(plugins, credentials)


def _plugin_configurations(path: Path) -> dict[str, bytes]:
    """Return the configurations in a file, encoded, by the name of the plugin."""
    from polykind.apis.apiserver.admission_types import ADMISSION_CONFIGURATION
    from polykind.server.config_file import read_config

    try:
        value = yaml_codec.decode(path.read_bytes())
    except yaml_codec.MalformedYAMLError:
        value = None
    if isinstance(value, dict) and not (value.get("kind") and value.get("apiVersion")):
        legacy = [plugin for field, plugin in _UNVERSIONED.items() if field in value]
        if legacy:
            return dict.fromkeys(legacy, json_codec.encode(value))
    found: dict[str, bytes] = {}
    for plugin in read_config(path, ADMISSION_CONFIGURATION).get("plugins") or ():
        name: str = plugin["name"]
        if name in found:
            raise ValueError(f"the plugin {go_quote(name)} is configured twice")
        if plugin.get("configuration") is not None:
            found[name] = json_codec.encode(plugin["configuration"])
        elif plugin["path"]:
            found[name] = (path.parent / plugin["path"]).read_bytes()
    return found


def _decode(body: bytes, *kinds: Mapping[str, Struct]) -> JsonObject:
    """Decode a configuration that is of one of several kinds."""
    from polykind.server.config_file import decode_config

    try:
        value = yaml_codec.decode(body)
    except yaml_codec.MalformedYAMLError as error:
        raise ValueError(str(error)) from None
    kind = value.get("kind") if isinstance(value, dict) else None
    chosen = next((types for types in kinds if next(iter(types.values())).kind == kind), kinds[0])
    return decode_config(body, chosen)


def _webhook_credentials(body: bytes) -> WebhookCredentials | None:
    from polykind.apis.apiserver.admission_types import WEBHOOK_CONFIGURATION
    from polykind.webhook.credentials import read_credentials

    config = _decode(body, WEBHOOK_CONFIGURATION)
    if config.get("staticManifestsDir"):
        raise ValueError("staticManifestsDir is not supported: create the webhook configurations through the API")
    kubeconfig: str = config["kubeConfigFile"]
    if not kubeconfig:
        return None
    if not Path(kubeconfig).is_absolute():
        raise ValueError(f"kubeConfigFile: Invalid value: {go_quote(kubeconfig)}: must be an absolute file path")
    return read_credentials(Path(kubeconfig))


def _plugin_configuration(name: str, body: bytes) -> JsonObject:
    """Decode and check the configuration of a built-in plugin."""
    from polykind.apis.apiserver import admission_types

    if name == POD_SECURITY:
        from polykind.admission.plugins.pod_security import PodSecurityDefaults

        config = _decode(body, admission_types.POD_SECURITY_CONFIGURATION)
        PodSecurityDefaults(config)
        return config
    if name == RESOURCE_QUOTAS:
        config = _decode(body, *admission_types.QUOTA_CONFIGURATIONS)
        if any(limited.get("matchScopes") for limited in config.get("limitedResources") or ()):
            raise ValueError("matchScopes of limitedResources are not supported: use matchContains")
        return config
    if name == TOLERATIONS:
        return _decode(body, admission_types.TOLERATION_CONFIGURATION)
    if name == NODE_SELECTOR:
        return _node_selectors(body)
    raise ValueError("this server does not support a configuration of the plugin")


def _node_selectors(body: bytes) -> JsonObject:
    from polykind.admission.plugins.namespace_annotations import parse_selector
    from polykind.errors import APIError

    try:
        config = yaml_codec.decode(body)
    except yaml_codec.MalformedYAMLError as error:
        raise ValueError(str(error)) from None
    selectors = config.get("podNodeSelectorPluginConfig") if isinstance(config, dict) else None
    if not isinstance(selectors, dict) or not all(isinstance(text, str) for text in selectors.values()):
        raise ValueError("podNodeSelectorPluginConfig must map namespaces to node selectors")
    for text in selectors.values():
        try:
            parse_selector(text)
        except APIError as error:
            raise ValueError(error.message) from None
    return {"podNodeSelectorPluginConfig": selectors}
