"""--runtime-config: keys, values, and their effect on endpoints and discovery."""

from __future__ import annotations

from pathlib import Path

import pytest

from polykind.apis.groups import all_kinds
from polykind.server.runtime_config import RuntimeConfig
from polykind.server.settings import SettingsError
from tests.support.live import live


def served(overrides: dict[str, str]) -> set[str]:
    config = RuntimeConfig(overrides, all_kinds())
    return {f"{kind.group_version.api_version}/{kind.plural}" for kind in all_kinds() if config.serves(kind)}


def test_everything_that_is_declared_is_served_by_default() -> None:
    assert len(served({})) == len(all_kinds())


@pytest.mark.parametrize(
    ("overrides", "on", "off"),
    [
        ({"apps/v1": "false"}, "batch/v1/jobs", "apps/v1/deployments"),
        ({"api/all": "false", "apps/v1": ""}, "apps/v1/deployments", "batch/v1/jobs"),
        (
            {"api/all": "false", "api/ga": "true"},
            "batch/v1/jobs",
            "storagemigration.k8s.io/v1beta1/storageversionmigrations",
        ),
        ({"api/beta": "false"}, "batch/v1/jobs", "apiextensions.k8s.io/v1beta1/customresourcedefinitions"),
        ({"api/beta": "false"}, "batch/v1/jobs", "storagemigration.k8s.io/v1/storageversionmigrations"),
        ({"apps/v1/daemonsets": "0"}, "apps/v1/deployments", "apps/v1/daemonsets"),
        ({"apps/v1": "false", "apps/v1/daemonsets": "true"}, "apps/v1/daemonsets", "apps/v1/deployments"),
        ({"/v1": "false"}, "batch/v1/jobs", "v1/pods"),
        ({"api/custom-only": "true"}, "v1/namespaces", "v1/pods"),
        ({"api/custom-only": "true", "/v1/secrets": "true"}, "v1/secrets", "v1/pods"),
    ],
)
def test_keys_enable_and_disable(overrides: dict[str, str], on: str, off: str) -> None:
    found = served(overrides)
    assert on in found
    assert off not in found


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"api/all": "false"}, "invalid runtime-config with only api/all=false"),
        ({"api/all": "1"}, "invalid value api/all=1"),
        ({"v1": "true"}, "runtime-config invalid key v1"),
        ({"nope/v1": "true", "also/v2": ""}, "unknown api groups also/v2,nope/v1"),
        ({"apps/v9": "true"}, "group version apps/v9 that has not been registered"),
        ({"apps/v1": "yes"}, 'invalid value of apps/v1: yes, err: strconv.ParseBool: parsing "yes": invalid syntax'),
        ({"apps/v1/Deployments": ""}, 'resource is always lowercase plural, not "Deployments"'),
    ],
)
def test_invalid_keys_and_values_are_rejected(overrides: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        RuntimeConfig(overrides, all_kinds())
    assert reason in str(caught.value)


def test_keys_of_the_core_version_have_no_effect() -> None:
    assert served({"api/v1": "false", "api/v1/pods": "false"}) == served({})


def test_removed_version_is_enabled_by_its_flag_only() -> None:
    for overrides in ({"api/all": "true"}, {"apiextensions.k8s.io/v1beta1": "true"}):
        config = RuntimeConfig(overrides, all_kinds(), serve_v1beta1=False)
        removed = [kind for kind in all_kinds() if kind.group_version.api_version == "apiextensions.k8s.io/v1beta1"]
        assert removed
        assert not any(map(config.serves, removed))


async def test_disabled_versions_have_no_endpoints_and_no_discovery(tmp_path: Path) -> None:
    config = {"apps/v1": "false", "rbac.authorization.k8s.io/v1": "false", "/v1/pods": "false"}
    async with live(tmp_path, runtime_config=config, authorization_mode=("RBAC",)) as running:
        await running.ask("GET", "/apis/apps/v1/deployments", expect=404)
        await running.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", expect=404)
        await running.ask("GET", "/api/v1/pods", expect=404)
        groups = {group["name"] for group in (await running.ask("GET", "/apis"))["groups"]}
        assert not groups & {"apps", "rbac.authorization.k8s.io"}
        assert "pods" not in {entry["name"] for entry in (await running.ask("GET", "/api/v1"))["resources"]}
        assert "apis/apps/v1" not in (await running.ask("GET", "/openapi/v3"))["paths"]
