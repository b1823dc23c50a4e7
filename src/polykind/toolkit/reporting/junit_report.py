"""JUnit XML, the format in which most CI systems read test results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from polykind.toolkit.reporting.problem import CheckResult, Problem

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that an XML document cannot contain, not even escaped."""


def junit_xml(
    suite: str, results: Sequence[CheckResult], *, seconds: float = 0.0, properties: Mapping[str, str] | None = None
) -> str:
    """Return a JUnit document with one test suite: a test case per check, a failure for each check with errors.

    Problems below the level `error` do not fail a test case. They are written to its system-out.
    """
    failures = sum(1 for result in results if _errors(result))
    skipped = sum(1 for result in results if result.skipped)
    counts = {"tests": str(len(results)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", {"name": _text(suite), **counts, "time": f"{seconds:.3f}"})
    element = ElementTree.SubElement(root, "testsuite", dict(root.attrib))
    if properties:
        listed = ElementTree.SubElement(element, "properties")
        for name, value in properties.items():
            ElementTree.SubElement(listed, "property", {"name": _text(name), "value": _text(value)})
    for result in results:
        _add_case(element, suite, result)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _errors(result: CheckResult) -> list[Problem]:
    return [problem for problem in result.problems if problem.level == "error"]


def _add_case(suite: ElementTree.Element, prefix: str, result: CheckResult) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {"name": _text(result.name), "classname": _text(f"{prefix}.{result.group}"), "time": f"{result.seconds:.3f}"},
    )
    errors = _errors(result)
    position = next((problem.position for problem in result.problems if problem.position is not None), None)
    if position is not None:
        case.set("file", _text(position.file))
        if position.line:
            case.set("line", str(position.line))
    if errors:
        # Most CI systems show only the first failure of a test case, so several errors become one failure.
        message = errors[0].message if len(errors) == 1 else f"{errors[0].message} (and {len(errors) - 1} more)"
        failure = ElementTree.SubElement(case, "failure", {"message": _text(message), "type": _text(errors[0].rule)})
        failure.text = _text("\n\n".join(_describe(problem) for problem in errors))
    elif result.skipped:
        ElementTree.SubElement(case, "skipped", {"message": _text(result.skipped)})
    if remarks := [problem for problem in result.problems if problem.level != "error"]:
        ElementTree.SubElement(case, "system-out").text = _text("\n\n".join(_describe(each) for each in remarks))


def _describe(problem: Problem) -> str:
    where = f"{problem.position}: " if problem.position is not None else ""
    return "\n\n".join(part for part in (f"{where}{problem.message}", problem.details) if part)


def _text(text: str) -> str:
    """Replace the characters that XML cannot contain."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
