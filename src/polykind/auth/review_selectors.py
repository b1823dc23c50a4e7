"""The selectors of a question about access: to which fields or labels it is limited."""

from __future__ import annotations

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.selectors import fields, labels, objects

_NAMES = ("fieldSelector", "labelSelector")


def problems(attributes: JsonObject, at: str) -> list[FieldError]:
    """What is wrong with them. Operators that nobody knows are left to those who will."""
    found: list[FieldError] = []
    for name in _NAMES:
        selector = attributes.get(name)
        if selector is None:
            continue
        path, raw, terms = f"{at}.{name}", selector.get("rawSelector", ""), selector.get("requirements") or ()
        if raw and terms:
            why = "may not specified at the same time as requirements"
            found.append(errors.invalid(f"{path}.rawSelector", raw, why))
        if not raw and not terms:
            why = f"when {path} is specified, requirements or rawSelector is required"
            found.append(errors.required(f"{path}.requirements", why))
        for index, term in enumerate(terms):
            found += _term_problems(term, f"{path}.requirements[{index}]", labelled=name == "labelSelector")
    return found


def _term_problems(term: JsonObject, at: str, *, labelled: bool) -> list[FieldError]:
    found = []
    key, operator, values = term["key"], term["operator"], term.get("values") or ()
    if not labelled and not key:
        found.append(errors.required(f"{at}.key", "must be specified"))
    found += objects.count_problems(operator, values, at)
    return found + objects.label_problems(key, values, at) if labelled else found


def not_understood(attributes: JsonObject, at: str) -> str:
    """Which of them were ignored, wholly or in part; empty if none was."""
    texts = []
    for name in _NAMES:
        selector = attributes.get(name) or {}
        terms = selector.get("requirements") or ()
        bad = sum(not _known(term, labelled=name == "labelSelector") for term in terms)
        if bad or not _readable(name, selector.get("rawSelector", "")):
            part = " partially" if bad < len(terms) else ""
            texts.append(f"{at}.{name}{part} ignored due to parse error")
    return "; ".join(texts)


def _known(term: JsonObject, *, labelled: bool) -> bool:
    if labelled:
        return term["operator"] in objects.SETS or term["operator"] in objects.BARE
    return term["operator"] in objects.SETS and len(term.get("values") or ()) == 1


def _readable(name: str, raw: str) -> bool:
    try:
        (labels if name == "labelSelector" else fields).parse(raw)
    except errors.BadRequestError:
        return False
    return True
