"""The HTML page of a proof run."""

from __future__ import annotations

from polykind import __version__
from polykind.codec.yaml_lines import field_lines
from polykind.contract import JsonObject
from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.edits import Edit
from polykind.toolkit.proving.field_coverage import FieldUse, schema_fields
from polykind.toolkit.proving.losses import Loss
from polykind.toolkit.proving.object_diff import MISSING, Difference, format_path
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.proof_outcome import ProofOutcome, Stage, stages
from polykind.toolkit.proving.proof_problems import property_rule
from polykind.toolkit.reporting import html_components as parts
from polykind.toolkit.reporting.html_builder import Child, Html, element, fragment
from polykind.toolkit.reporting.html_page import html_page
from polykind.toolkit.reporting.source_positions import relative_file

_MAX_MATRIX_ROWS = 400
_OPENED = 5
"""The number of findings that are shown in full. The reader opens the others."""


def proof_page(outcome: ProofOutcome) -> str:
    """Return the report of a run as one HTML document."""
    run = outcome.run
    sections: list[tuple[str, str, str, Html]] = [
        ("properties", "Properties", "", _properties(outcome)),
        ("findings", "Findings", str(outcome.problem_count or ""), _findings(outcome)),
        ("losses", "Losses", str(len(outcome.losses) or ""), _losses(outcome)),
        ("coverage", "Coverage", "", _coverage(outcome)),
        ("settings", "Settings", "", _settings(outcome)),
    ]
    if not outcome.problem_count:
        del sections[1]
    head = parts.header(
        "Conversion test report",
        run.crd.kind,
        outcome.level,
        _capitalize(outcome.verdict),
        [
            ("Tested with", f"{outcome.object_count:,} objects"),
            ("Pairs of versions", len(outcome.pairs)),
            ("Properties", len(run.properties)),
            ("Lost fields", _count_losses(outcome.losses)),
            ("Seed", run.seed),
            ("Duration", f"{outcome.seconds:.1f} s"),
        ],
        "Polykind generated objects from the schemas of the CRD, converted them as the API server does, edited them, "
        "and compared the results. Tests with many objects cannot exclude that another object fails.",
    )
    return html_page(
        f"{run.crd.kind}: {outcome.verdict}",
        head,
        parts.navigation([(anchor, title, count) for anchor, title, count, _ in sections]),
        parts.contents(*(html for *_, html in sections)),
        element("footer", f"Written by polykind prove {__version__}."),
    )


def _count_losses(losses: list[Loss]) -> str:
    acknowledged = sum(1 for loss in losses if loss.reason is not None)
    return f"{len(losses)} ({acknowledged} acknowledged)" if acknowledged else str(len(losses) or "none")


def _capitalize(text: str) -> str:
    """Start a sentence with a capital letter, unless its first word is the name of a version, property or field."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def _anchor(pair: VersionPair, name: str) -> str:
    return f"finding-{name}-{pair[0]}-{pair[1]}"


def _arrow(pair: VersionPair) -> str:
    return f"{pair[0]} → {pair[1]}"


def _properties(outcome: ProofOutcome) -> Html:
    run = outcome.run
    rows = []
    for name in run.properties:
        cells = []
        for pair in outcome.pairs:
            result = proof_report.property_result(run, name, pair)
            if result == "failed":
                cells.append(parts.Cell("failed", "error", f"#{_anchor(pair, name)}"))
            elif result == "ok":
                cells.append(parts.Cell("", "ok", word="holds"))
            elif result == "untested":
                cells.append(parts.Cell("untested", "warning"))
            else:
                cells.append(parts.Cell("", "none", word="does not apply"))
        rows.append((name, cells))
    explained = parts.terms((parts.code(name), property_rule(name).summary) for name in run.properties)
    return parts.section(
        "properties",
        "Properties",
        parts.matrix("Properties by pair of versions", [_arrow(pair) for pair in outcome.pairs], rows, "Property"),
        parts.disclosure("What the properties mean", explained),
        note=f"{_tested(outcome)} A dot means that a property does not apply.",
    )


def _tested(outcome: ProofOutcome) -> str:
    """Say how many objects were tested for each pair."""
    counts = {pair: outcome.run.result(pair).tested for pair in outcome.pairs}
    if len(set(counts.values())) == 1:
        return f"Each pair of versions was tested with {next(iter(counts.values())):,} objects."
    return f"Tested with {', '.join(f'{count:,} objects for {_arrow(pair)}' for pair, count in counts.items())}."


def _findings(outcome: ProofOutcome) -> Html:
    cards = [
        _finding(outcome, pair, finding, opened=number < _OPENED)
        for number, (pair, finding) in enumerate(outcome.findings)
    ]
    for number, remark in enumerate(outcome.remarks, 1):
        where = parts.paragraph("At ", parts.code(str(remark.position))) if remark.position is not None else None
        cards.append(
            parts.card(
                f"remark-{number}", remark.check, parts.paragraph(_capitalize(remark.message)), where, level="warning"
            )
        )
    note = "Each object was simplified as far as the finding stays. Marked lines are the fields that differ."
    return parts.section("findings", "Findings", *cards, note=note)


def _finding(outcome: ProofOutcome, pair: VersionPair, finding: Finding, *, opened: bool) -> Html:
    run = outcome.run
    first, second, third = stages(run, pair, finding)
    body: list[Child] = []
    if finding.location:
        body.append(parts.paragraph("Raised at ", parts.code(relative_file(finding.location))))
    if finding.edit is not None:
        body.append(parts.paragraph("A client edited the object: ", parts.code(_edit_text(finding.edit))))
    body.append(parts.three_way_diff(*(_pane(stage, finding) for stage in (first, second, third))))
    if finding.differences:
        body.append(_differences(finding))
    if finding.edit is not None:
        original = parts.code_block(proof_report.yaml(finding.obj), f"Object at {pair[0]} before the edit")
        body.append(parts.disclosure("Object before the edit", original))
    body.append(parts.paragraph(proof_report.advice(finding), level="note"))
    if steps := proof_report.conversion_steps(run, pair, finding):
        rows: list[list[Child]] = [
            [_arrow((step.origin, step.goal)), parts.code(step.name), parts.code(str(step.position or ""))]
            for step in steps
        ]
        body.append(parts.data_table("Conversion path", ["Conversion", "Function", "Position"], rows))
    if repeat := outcome.repeat(finding.property, pair):
        body.append(parts.command(repeat, "the command that repeats this finding"))
    title = fragment((element("span", finding.property), " ", element("span", _arrow(pair), class_="badge none")))
    paths = list(dict.fromkeys(format_path(each.path) for each in finding.differences))
    listed = [child for path in paths[:3] for child in (" ", parts.code(path))]
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else None
    summary = fragment((f"{_capitalize(finding.message)}{':' if listed else '.'}", *listed, more))
    anchor = _anchor(pair, finding.property)
    return parts.card(anchor, title, *body, level="error", summary=summary, opened=opened)


def _edit_text(edit: Edit) -> str:
    difference = Difference(edit.path, edit.before, edit.after)
    verb = {"dropped": "removed,", "invented": "set to", "changed": "changed:"}[difference.kind]
    return f"{format_path(edit.path)} {verb} {proof_report.format_change(difference)}"


def _pane(stage: Stage, finding: Finding) -> parts.Pane:
    if stage.obj is None:
        return parts.Pane(stage.title, "", stage.version, error=stage.error)
    text = proof_report.yaml(stage.obj)
    marked: set[int] = set()
    if stage.shows_differences:
        [lines] = field_lines(text)
        for difference in finding.differences:
            span = lines.span(difference.path)
            if span is not None and _shows(stage.obj, difference):
                marked.update(range(span[0], span[1] + 1))
    return parts.Pane(stage.title, text, stage.version, marked)


def _shows(obj: JsonObject, difference: Difference) -> bool:
    """True if the object has one of the two values of a difference at the path of the difference."""
    value: object = obj
    for step in difference.path:
        try:
            value = value[step]  # type: ignore[index]
        except (LookupError, TypeError):
            return False
    return any(each is not MISSING and each == value for each in (difference.before, difference.after))


def _differences(finding: Finding) -> Html:
    levels: dict[str, parts.Level] = {"dropped": "error", "invented": "ok", "changed": "warning"}
    signs = {"dropped": "dropped", "invented": "invented", "changed": "changed"}
    rows: list[list[Child]] = [
        [
            parts.code(format_path(each.path)),
            parts.badge(signs[each.kind], levels[each.kind]),
            parts.code(proof_report.format_value(each.before)) if each.before is not MISSING else "",
            parts.code(proof_report.format_value(each.after)) if each.after is not MISSING else "",
        ]
        for each in finding.differences
    ]
    return parts.data_table("Fields that differ", ["Field", "Difference", "Expected", "Actual"], rows)


def _losses(outcome: ProofOutcome) -> Html:
    losses = outcome.losses
    children: list[Child] = []
    if losses:
        children.append(_loss_matrix(outcome, losses))
        if unacknowledged := [loss for loss in losses if loss.reason is None]:
            rows: list[list[Child]] = [
                [
                    _arrow((loss.origin, loss.goal)),
                    parts.code(loss.path),
                    loss.kind,
                    loss.count,
                    parts.code(proof_report.format_example(loss.example)),
                ]
                for loss in unacknowledged
            ]
            children.append(element("h3", "Not acknowledged"))
            head = ["Pair", "Field", "Loss", "Times", "Example"]
            children.append(parts.data_table("Losses that are not acknowledged", head, rows, numbers=[3]))
        if acknowledged := [loss for loss in losses if loss.reason is not None]:
            rows = [
                [_arrow((loss.origin, loss.goal)), parts.code(loss.path), loss.kind, loss.count, loss.reason]
                for loss in acknowledged
            ]
            children.append(element("h3", "Acknowledged"))
            head = ["Pair", "Field", "Loss", "Times", "Reason"]
            children.append(parts.data_table("Acknowledged losses", head, rows, numbers=[3]))
    else:
        children.append(parts.paragraph("Every field of every tested object came back unchanged.", level="ok"))
    note = "Fields that changed in a conversion to another version and back, by field and pair of versions."
    return parts.section("losses", "Loss matrix", *children, note=note)


def _loss_matrix(outcome: ProofOutcome, losses: list[Loss]) -> Html:
    """Return a row per lost field: in how many objects each pair of versions lost or kept it."""
    found: dict[tuple[str, VersionPair], list[Loss]] = {}
    for loss in losses:
        found.setdefault((loss.path, (loss.origin, loss.goal)), []).append(loss)
    rows = [
        (path, [_loss_cell(outcome, path, pair, found.get((path, pair), [])) for pair in outcome.pairs])
        for path in list(dict.fromkeys(loss.path for loss in losses))[:_MAX_MATRIX_ROWS]
    ]
    caption = "Losses by field and pair of versions"
    return parts.matrix(caption, [_arrow(pair) for pair in outcome.pairs], rows, "Field")


def _loss_cell(outcome: ProofOutcome, path: str, pair: VersionPair, losses: list[Loss]) -> parts.Cell:
    if losses:
        acknowledged = all(loss.reason is not None for loss in losses)
        kinds = " and ".join(dict.fromkeys(loss.kind for loss in losses))
        text = f"{kinds} {sum(loss.count for loss in losses):,}×"
        level: parts.Level = "warning" if acknowledged else "error"
        return parts.Cell(text, level, word=", acknowledged" if acknowledged else ", not acknowledged")
    used = outcome.run.result(pair).coverage.get(path)
    if used is None:
        return parts.Cell("", "none", word="not in this version or not tested")
    return parts.Cell(f"kept {used.objects:,}×", "ok")


def _coverage(outcome: ProofOutcome) -> Html:
    children = [_version_coverage(outcome, version) for version in dict.fromkeys(pair[0] for pair in outcome.pairs)]
    note = (
        "The fields of each version's schema, with the number of tested objects that had the field and the number of "
        "distinct values in it (counted up to 1,000)."
    )
    return parts.section("coverage", "Coverage of fields and values", *children, note=note)


def _version_coverage(outcome: ProofOutcome, version: str) -> Html:
    pairs = [pair for pair in outcome.pairs if pair[0] == version]
    total = sum(outcome.run.result(pair).tested for pair in pairs)
    rows: list[list[Child]] = []
    missing = 0
    fields = list(dict.fromkeys(schema_fields(outcome.run.crd.versions[version].openapi)))
    for path in fields:
        uses = [use for pair in pairs if (use := outcome.run.result(pair).coverage.get(path)) is not None]
        objects, distinct = sum(use.objects for use in uses), max((use.distinct for use in uses), default=0)
        missing += not objects
        rows.append(
            [
                parts.code(path),
                parts.bar(objects, total, path, "note") if objects else parts.badge("never set", "warning"),
                f"{objects:,}",
                _distinct(uses, distinct),
            ]
        )
    covered = len(fields) - missing
    summary = fragment(
        (
            f"{version}: {covered} of {len(fields)} fields set ",
            parts.badge("complete", "ok") if not missing else parts.badge(f"{missing} never set", "warning"),
        )
    )
    head = ["Field", "Objects with the field", "Objects", "Distinct values"]
    table = parts.data_table(f"Coverage of {version}", head, rows, numbers=[2, 3])
    return parts.disclosure(summary, table, opened=bool(missing) or len(fields) <= 40)


def _distinct(uses: list[FieldUse], distinct: int) -> str:
    """Return the number of distinct values, or an empty string for objects and lists."""
    return f"{distinct:,}" if uses and distinct else ""


def _settings(outcome: ProofOutcome) -> Html:
    run = outcome.run
    settings = {
        "CRD": run.crd.name,
        "Versions": ", ".join(
            f"{name} (storage)" if version.storage else name for name, version in run.crd.versions.items()
        ),
        "Properties": ", ".join(run.properties),
        "Seed": str(run.seed),
        **outcome.settings,
    }
    listed = parts.terms((name, parts.code(value)) for name, value in settings.items())
    note = "The same seed generates the same objects. The time of a run decides how many."
    return parts.section("settings", "Settings", listed, note=note)
