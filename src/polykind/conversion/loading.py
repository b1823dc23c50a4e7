"""Loading of converters by the value of `--converter`: an object in a Python module, or a rules file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from polykind.codec import yaml_codec
from polykind.codec.yaml_lines import FieldLines, field_lines
from polykind.declare import rules_file
from polykind.declare.conversions import Conversions
from polykind.declare.library import Library


def load_converter(spec: str, *, again: bool = False) -> Library:
    """Load the converter that a --converter flag names. Raise ValueError if it cannot be loaded.

    If `again` is true, a module that has been imported is executed again, as a new module, so that the functions of the
    old one go on to work if the new one is broken. Modules that it imports are not executed again.
    """
    if _is_rules_file(spec):
        return Library(spec, _load_rules_file(Path(spec)))
    module_name, colon, path = spec.partition(":")
    if not (module_name and colon and path):
        raise ValueError(f"--converter {spec}: must be package.module:object or a rules file (.yaml, .yml, .json)")
    try:
        converter: Any = _execute(module_name) if again else importlib.import_module(module_name)
        for name in path.split("."):
            converter = getattr(converter, name)
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"--converter {spec}: {reason}") from error
    return Library(spec, converter)


def converter_file(spec: str) -> Path | None:
    """Return the file of a converter that has been loaded. Return None if its module has no source file."""
    if _is_rules_file(spec):
        return Path(spec)
    file = getattr(sys.modules.get(spec.partition(":")[0]), "__file__", None)
    return Path(file) if file else None


def _is_rules_file(spec: str) -> bool:
    return spec.endswith((".yaml", ".yml", ".json"))


def _execute(name: str) -> ModuleType:
    """Execute the current source of a module that has been imported, and return it as a new module."""
    previous = sys.modules[name]
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None or spec.origin is None:
        raise ImportError(f"No module named {name!r}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Compile the source itself: a cached byte code counts as current if the file changed within the same second.
        exec(compile(Path(spec.origin).read_bytes(), spec.origin, "exec"), module.__dict__)  # noqa: S102
    except BaseException:
        sys.modules[name] = previous
        raise
    return module


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
