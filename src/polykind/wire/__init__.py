"""Alias of the modules that moved to `polykind.codec`."""

from polykind.codec import yaml_codec as yamlcodec

__all__ = ["yamlcodec"]
