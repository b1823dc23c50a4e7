from __future__ import annotations

import functools
import os
from pathlib import Path

from polykind.toolkit.reporting.source_positions import (
    CRDFile,
    SourcePosition,
    function_position,
    is_own_function,
    parse_position,
    relative_file,
)

CRD = """\
# Two documents in one file.
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.example.com
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              ports:
                items:
                  properties:
                    name: {type: string}
              labels:
                additionalProperties:
                  type: string
  - name: v2
    storage: true
"""


def test_positions_in_a_crd_file(tmp_path: Path) -> None:
    file = tmp_path / "crd.yaml"
    file.write_text(CRD)
    crd = CRDFile(file, "crontabs.example.com")
    lines = CRD.splitlines()

    def line(version: str, path: str = "") -> str:
        return lines[crd.position(version, path).line - 1].strip()

    assert line("v1", "spec.ports[*].name") == "name: {type: string}"
    assert line("v1", "spec.ports[0].name") == "name: {type: string}"
    assert line("v1", "spec.ports[*].missing") == "items:"
    assert line("v1", "spec.labels.x") == "additionalProperties:"
    assert line("v2", "spec") == "- name: v2"
    assert line("v3", "spec") == "versions:"


def test_unreadable_crd_files_have_no_lines(tmp_path: Path) -> None:
    assert CRDFile(tmp_path / "missing.yaml", "x").position("v1", "spec") == (str(tmp_path / "missing.yaml"), 0)
    (tmp_path / "crd.yaml").write_text(CRD)
    assert CRDFile(tmp_path / "crd.yaml", "another.example.com").position("v1").line == 0


def test_positions_of_functions() -> None:
    def convert(obj: object) -> None: ...

    first = convert.__code__.co_firstlineno
    for function in (convert, functools.partial(convert), functools.wraps(convert)(lambda obj: None)):
        assert function_position(function) == SourcePosition(__file__, first)
    assert function_position(len) is None
    convert.__dict__["declared_at"] = "rules.yaml:7"
    assert function_position(convert) == SourcePosition("rules.yaml", 7)


def test_positions_as_text() -> None:
    assert str(SourcePosition(os.path.abspath("a.py"), 3)) == "a.py:3"
    assert str(SourcePosition("/elsewhere/a.py")) == "/elsewhere/a.py"
    assert parse_position("/x/a.py:12, in down") == ("/x/a.py", 12)
    assert parse_position("nothing") is None


def test_functions_of_polykind_are_recognized() -> None:
    assert is_own_function(relative_file)
    assert not is_own_function(test_functions_of_polykind_are_recognized)
    assert not is_own_function(len)
