"""YAML to a value: read event by event, so that neither its depth nor its aliases can cost more than is allowed."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from polykind.codec.yaml_builder import Builder
from polykind.codec.yaml_codec import MalformedYAMLError

_SOLIDUS: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\/")


def read(body: bytes) -> tuple[Any, list[str]]:
    """The value of the first document, and a complaint for each key that is repeated. Raises MalformedYAML."""
    if b"\\/" in body:
        _refuse_solidus(body)
    parser = yaml.CSafeLoader(body or b"\n")
    try:
        return Builder().build(parser)
    except yaml.MarkedYAMLError as error:
        raise MalformedYAMLError(_syntax(error)) from None
    except yaml.reader.ReaderError as error:
        raise MalformedYAMLError(f"yaml: {error.reason}") from None
    finally:
        parser.dispose()


def _refuse_solidus(body: bytes) -> None:
    """Refuse a solidus that is escaped between double quotes: our parser takes it, the reference's does not."""
    parser = yaml.CSafeLoader(_SOLIDUS.sub(rb"\1\\q", body))
    try:
        while parser.get_event() is not None:
            pass
    except yaml.MarkedYAMLError as error:
        if error.problem == "found unknown escape character":
            raise MalformedYAMLError(_syntax(error)) from None
    except yaml.reader.ReaderError:
        # The body itself is refused for the same.
        pass
    finally:
        parser.dispose()


def _syntax(error: yaml.MarkedYAMLError) -> str:
    """The parser's complaint, with the line as the reference counts it: one too low unless its scanner complains."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"
