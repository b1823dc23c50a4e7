"""The proof of a draft: it converts generated objects, and says which rules do not carry them."""

from __future__ import annotations

from polykind.contract import JsonObject, copy_json
from polykind.declare.conversions import Conversions
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.drafting.rule_draft import DraftRule, RuleDraft
from polykind.toolkit.proving.object_diff import format_path
from polykind.toolkit.proving.proof_run import ProofRun


def prove_draft(crd: CRD, draft: RuleDraft, examples: int = 30) -> None:
    """Convert generated objects with the rules of a draft, and add what fails to the rules or to the draft.

    Rules that are invalid are added as failures, too.
    """
    conversions = Conversions(draft.kind)
    usable = []
    for rule in draft.rules:
        try:
            usable.append(rule.build())
        except ValueError as error:
            rule.failures.append(str(error))
    conversions.between(draft.old, draft.new, *usable)
    run = ProofRun(CRD(_two_versions(crd, draft)), Library("draft", conversions), examples=examples)
    for name, pair in run.cases():
        finding = run.finding(name, pair)
        if finding is None:
            continue
        path = format_path(finding.differences[0].path) if finding.differences else ""
        message = f"{name}, {' to '.join(pair)}: {finding.message}" + (f" ({path})" if path else "")
        concerned = _rule_for(draft, path or finding.message)
        (concerned.failures if concerned is not None else draft.failures).append(message)
    draft.tested = sum(run.result(pair).tested for pair in run.pairs)
    for pair in run.pairs:
        if not run.result(pair).tested:
            draft.failures.append(f"no valid object could be generated for {pair[0]}, so nothing is tested")


def _rule_for(draft: RuleDraft, text: str) -> DraftRule | None:
    """Return the rule with the longest path in a text or above it, or None if no rule names it."""
    plain = "".join(part.partition("]")[2] if index else part for index, part in enumerate(text.split("[")))
    found = [
        (len(path), at)
        for at, rule in enumerate(draft.rules)
        for path in rule.paths
        if path.replace("[*]", "") in plain or (plain and path.startswith(f"{plain}."))
    ]
    return draft.rules[max(found)[1]] if found else None


def _two_versions(crd: CRD, draft: RuleDraft) -> JsonObject:
    """Return the manifest of the CRD with only the two versions of the draft."""
    manifest: JsonObject = copy_json(crd.manifest)
    manifest.pop("status", None)
    spec = manifest["spec"]
    spec["versions"] = [entry for entry in spec["versions"] if entry["name"] in (draft.old, draft.new)]
    if not any(entry["storage"] for entry in spec["versions"]):
        spec["versions"][-1]["storage"] = True
    return manifest
