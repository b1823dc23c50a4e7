"""Alias of `polykind.toolkit.crd_versions`."""

from polykind.toolkit.crd_versions import DefinedVersion, Definition, Unfit, taken

__all__ = ["DefinedVersion", "Definition", "Unfit", "taken"]
