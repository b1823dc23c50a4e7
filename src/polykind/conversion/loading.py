"""Loading of converters by the value of `--converter`: an object in a Python module, or a rules file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from polykind.codec import yaml_codec
from polykind.codec.yaml_lines import FieldLines, field_lines
from polykind.declare import rules_file
from polykind.declare.conversions import Conversions
from polykind.declare.library import Library


def load_converter(spec: str) -> Library:
    """Load the converter that a --converter flag names. Raise ValueError if it cannot be loaded."""
    if spec.endswith((".yaml", ".yml", ".json")):
        return Library(spec, _load_rules_file(Path(spec)))
    module_name, colon, path = spec.partition(":")
    if not (module_name and colon and path):
        raise ValueError(f"--converter {spec}: must be package.module:object or a rules file (.yaml, .yml, .json)")
    try:
        converter: Any = importlib.import_module(module_name)
        for name in path.split("."):
            converter = getattr(converter, name)
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"--converter {spec}: {reason}") from error
    return Library(spec, converter)


def _load_rules_file(file: Path) -> Conversions:
    try:
        data = file.read_bytes()
        return rules_file.parse_rules_file(yaml_codec.decode(data), _line_finder(file, data))
    except (OSError, yaml_codec.MalformedYAMLError, ValueError) as error:
        raise ValueError(f"--converter {file}: {error}") from None


def _line_finder(file: Path, data: bytes) -> rules_file.FindPlace:
    """Return a function that finds the line of a rule. The file is parsed for its lines at the first rule."""
    lines: list[FieldLines] = []

    def find(pointer: rules_file.Pointer) -> str:
        if not lines:
            lines.extend(field_lines(data.decode(errors="replace")) or [FieldLines()])
        return f"{file}:{lines[0].nearest(pointer)}"

    return find
