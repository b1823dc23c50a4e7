"""Finding what `--converter` names: an object in a Python module, or a file of rules."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from polykind.codec import yaml_codec
from polykind.toolkit.declare import rules_file
from polykind.toolkit.declare.conversions import Conversions
from polykind.toolkit.declare.library import Library


def load(spec: str) -> Library:
    """The library that a --converter flag names. Raises ValueError, saying what is wrong with it."""
    if spec.endswith((".yaml", ".yml", ".json")):
        return Library(spec, _declared_in(Path(spec)))
    module_name, colon, path = spec.partition(":")
    if not (module_name and colon and path):
        raise ValueError(f"--converter {spec}: must be package.module:object, or a file of rules")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:
        said = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"--converter {spec}: {said}") from error
    return Library(spec, found)


def _declared_in(file: Path) -> Conversions:
    try:
        return rules_file.conversions(yaml_codec.decode(file.read_bytes()))
    except (OSError, yaml_codec.MalformedYAMLError, ValueError) as error:
        raise ValueError(f"--converter {file}: {error}") from None
