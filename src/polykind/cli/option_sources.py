"""The sources of a server's options: flags, environment variables and a configuration file, in this order.

Values of the environment and of the file are parsed as if they were given as flags, by the same code.
"""

from __future__ import annotations

import argparse
import difflib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from polykind.server.settings import SettingsError

log = logging.getLogger("polykind")

PREFIX = "POLYKIND_"
NOT_IN_FILES = ("config", "print-config", "help")
"""Flags that a configuration file cannot set."""
_MAX_FILE_BYTES = 1024 * 1024


class OptionSources:
    """Reads the options of a command from all sources. `add_flags` adds the command's flags to a parser."""

    def __init__(self, add_flags: Callable[[argparse.ArgumentParser], None], environment: Mapping[str, str]) -> None:
        self._parser = _RaisingParser(add_help=False, allow_abbrev=False)
        add_flags(self._parser)
        # Without defaults, a parsed namespace has only the options that were given.
        for action in self._parser._actions:
            action.default = argparse.SUPPRESS
        self._actions = {
            flag[2:]: action for action in self._parser._actions for flag in action.option_strings if flag[:2] == "--"
        }
        self._environment = {key: text for key, text in environment.items() if key.startswith(PREFIX)}
        self.origins: dict[str, str] = {}
        """The source of each option that is not a default, by the option's name."""

    def read(self, args: argparse.Namespace, command_line: Sequence[str]) -> None:
        """Set the options in `args` that the command line does not have. Raise SettingsError if one is invalid."""
        given = vars(self._parser.parse_known_args(list(command_line))[0])
        for name, action in self._actions.items():
            if action.dest in given:
                self.origins[name] = f"flag --{name}"
        for name, (value, origin) in (self._read_file(args) | self._read_environment()).items():
            if name not in self.origins:
                self.origins[name] = origin
                setattr(args, self._actions[name].dest, self._parse(name, value, origin))

    def _read_environment(self) -> dict[str, tuple[list[str], str]]:
        """Return the options in the environment. Unknown variables are ignored: Kubernetes sets POLYKIND_PORT."""
        found = {}
        for name, action in self._actions.items():
            key = _variable(name)
            if key in self._environment:
                text = self._environment.pop(key)
                found[name] = text.split(",") if _is_list(action) else [text], key
        known = [_variable(name) for name in self._actions]
        for key in sorted(self._environment):
            for close in difflib.get_close_matches(key, known, 1, 0.9):
                log.warning("server: ignoring the environment variable %s; did you mean %s?", key, close)
        return found

    def _read_file(self, args: argparse.Namespace) -> dict[str, tuple[list[str], str]]:
        path = args.config or self._environment.get(f"{PREFIX}CONFIG")
        if not path:
            return {}
        found = {}
        for name, value in _load(Path(path)).items():
            if name not in self._actions or name in NOT_IN_FILES:
                allowed = [known for known in self._actions if known not in NOT_IN_FILES]
                close = difflib.get_close_matches(str(name).replace("_", "-"), allowed, 1)
                hint = f"; did you mean {close[0]}?" if close else "; its options are the names of the flags"
                raise SettingsError(f"{path}: unknown option {name}{hint}")
            if value is not None:
                texts = _texts(value)
                is_list = _is_list(self._actions[name])
                found[name] = texts if is_list else [",".join(texts)], f"file {path}"
        return found

    def _parse(self, name: str, values: list[str], origin: str) -> Any:
        try:
            parsed = self._parser.parse_args([f"--{name}={value}" for value in values])
        except ValueError as error:
            raise SettingsError(f"{origin}: {error}") from None
        return getattr(parsed, self._actions[name].dest, [])


class _RaisingParser(argparse.ArgumentParser):
    """A parser that raises ValueError instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _variable(name: str) -> str:
    """Return the environment variable of an option."""
    return PREFIX + name.upper().replace("-", "_")


def _is_list(action: argparse.Action) -> bool:
    """True if a flag may be repeated."""
    return isinstance(action, argparse._AppendAction)


def _load(path: Path) -> dict[Any, Any]:
    """Return the options in a YAML file. Raise SettingsError if it is not a mapping."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            raise SettingsError(f"--config {path} is longer than {_MAX_FILE_BYTES} bytes")
        loaded = yaml.load(content, _Loader)  # noqa: S506 (a subclass of the safe loader)
    except OSError as error:
        raise SettingsError(f"--config {path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise SettingsError(f"--config {path} is not valid YAML: {error}") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise SettingsError(f"--config {path} must contain a mapping of flag names to values")
    return loaded


class _Loader(yaml.SafeLoader):
    """A safe loader that rejects duplicate names, and aliases, which could expand without bound."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("aliases are not supported")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name} is given twice")
        return super().construct_mapping(node, deep)


def _texts(value: object) -> list[str]:
    """Return a value of the file as the texts of flags: one per item of a list or of a mapping."""
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, dict):
        return [f"{key}={','.join(_texts(item))}" for key, item in value.items()]
    if isinstance(value, bool):
        return [str(value).lower()]
    return ["" if value is None else str(value)]
