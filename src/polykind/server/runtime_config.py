"""--runtime-config: the built-in API versions and resources that the server serves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from polykind.apis.machinery.kinds import Kind
from polykind.server.settings import SettingsError

CUSTOM_ONLY: Final = "api/custom-only"
"""A key of --runtime-config that only Polykind has: serve custom resources and the built-in resources they need."""
_ALL: Final = "api/all"
_MATCHERS: Final[Mapping[str, Callable[[str], object]]] = {
    _ALL: lambda version: True,
    "api/ga": re.compile(r"v\d+").fullmatch,
    "api/beta": re.compile(r"v\d+beta\d+").fullmatch,
    "api/alpha": re.compile(r"v\d+alpha\d+").fullmatch,
}
"""The keys that select many versions, with a function that matches versions, in kube-apiserver's order."""
_NEEDED_BY_CUSTOM_RESOURCES: Final = frozenset(
    (
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "rbac.authorization.k8s.io",
        "storagemigration.k8s.io",
    )
)
_NEEDED_CORE: Final = frozenset(("configmaps", "namespaces", "services"))
_BOOLS: Final = {
    **dict.fromkeys(("", "1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}

_Resource = tuple[str, str, str]
"""A built-in resource: group, version and plural."""
_PREVIEWS: Final = {("storagemigration.k8s.io", "v1"): "v1beta1"}
"""Versions of the next Kubernetes release that this server already serves, with the version that each replaces."""


def _maturity(resource: _Resource) -> str:
    """Return the version by which api/ga, api/beta and api/alpha select a resource.

    For a version of the next release, this is the version that it replaces. So api/beta=false turns off the same groups
    as in kube-apiserver.
    """
    return _PREVIEWS.get(resource[:2], resource[1])


class RuntimeConfig:
    """Decides which built-in kinds are served. The constructor raises SettingsError if a key or a value is unknown."""

    def __init__(self, overrides: Mapping[str, str], kinds: Sequence[Kind], *, serve_v1beta1: bool = True) -> None:
        self._served = {(kind.group, kind.version, kind.plural): True for kind in kinds}
        if overrides.get(_ALL) == "false" and len(overrides) == 1:
            raise SettingsError(f"--runtime-config: invalid runtime-config with only {_ALL}=false")
        for key, matches in _MATCHERS.items():
            if key in overrides:
                if overrides[key] not in ("true", "false"):
                    raise SettingsError(f"--runtime-config: invalid value {key}={overrides[key]}")
                self._set(overrides[key] == "true", [gvr for gvr in self._served if matches(_maturity(gvr))])
        if _parse_bool(CUSTOM_ONLY, overrides.get(CUSTOM_ONLY, "false")):
            self._set(False, [gvr for gvr in self._served if not _needed(gvr)])
        self._apply({key: value for key, value in overrides.items() if key not in (*_MATCHERS, CUSTOM_ONLY)})
        if not serve_v1beta1:
            # Kubernetes has removed this version, so api/all does not enable it.
            self._set(False, [gvr for gvr in self._served if gvr[:2] == ("apiextensions.k8s.io", "v1beta1")])

    def serves(self, kind: Kind) -> bool:
        return self._served[kind.group, kind.version, kind.plural]

    def _set(self, served: bool, resources: list[_Resource]) -> None:
        self._served.update(dict.fromkeys(resources, served))

    def _apply(self, overrides: Mapping[str, str]) -> None:
        """Apply the values for single versions, then the values for single resources."""
        # kube-apiserver accepts keys for the core version and ignores them.
        overrides = {key: value for key, value in overrides.items() if key.split("/")[:2] != ["api", "v1"]}
        groups, versions = {gvr[0] for gvr in self._served}, {gvr[:2] for gvr in self._served}
        for key in overrides:
            if key.count("/") not in (1, 2):
                raise SettingsError(f"--runtime-config: runtime-config invalid key {key}")
        unknown = sorted("/".join(key.split("/")[:2]) for key in overrides if key.split("/")[0] not in groups)
        if unknown:
            raise SettingsError(f"--runtime-config: unknown api groups {','.join(unknown)}")
        for key in sorted(overrides, key=lambda key: key.count("/")):
            group, version, *resource = key.split("/")
            if (group, version) not in versions:
                raise SettingsError(f"--runtime-config: group version {group}/{version} that has not been registered")
            if resource and resource[0] != resource[0].lower():
                raise SettingsError(
                    f"--runtime-config: invalid key {key}: group/version/resource and resource is always lowercase "
                    f'plural, not "{resource[0]}"'
                )
            wanted = (group, version, *resource)
            self._set(_parse_bool(key, overrides[key]), [gvr for gvr in self._served if gvr[: len(wanted)] == wanted])


def _needed(gvr: _Resource) -> bool:
    """True if custom resources need this built-in resource for access control, admission, webhooks or namespaces."""
    group, _, plural = gvr
    return plural in _NEEDED_CORE if not group else group in _NEEDED_BY_CUSTOM_RESOURCES


def _parse_bool(key: str, text: str) -> bool:
    """Parse a boolean as Go does. An empty text is true."""
    if text not in _BOOLS:
        reason = f'strconv.ParseBool: parsing "{text}": invalid syntax'
        raise SettingsError(f"--runtime-config: invalid value of {key}: {text}, err: {reason}")
    return _BOOLS[text]
