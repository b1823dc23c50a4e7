"""Alias of `polykind.toolkit.files.offline`."""

from polykind.toolkit.files.offline import Converted, Offline

__all__ = ["Converted", "Offline"]
