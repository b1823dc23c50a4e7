"""Deprecated: read CRD files with `polykind.convert.crd.read_crd`."""

from polykind.convert._deprecated import deprecated_names

__getattr__ = deprecated_names(__name__, {"yamlcodec": "polykind.codec:yaml_codec"})
