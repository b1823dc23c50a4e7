"""`polykind suggest`: drafts the rules between two versions of a CRD."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polykind.cli.diff_versions import add_versions, read_versions


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "suggest",
        help="draft the rules between two versions of a CRD",
        description="Draft conversion rules from the schemas of two versions: renamed and moved fields, other types, "
        "units and values. Comments mark what a person must decide. The draft is tested with generated objects, and "
        "comments say where it fails. Exit codes: 0 the draft passes its proof; 1 it does not; 2 invalid usage.",
    )
    add_versions(command)
    flag = command.add_argument
    flag("--python", action="store_true", help="write a Python module instead of a rules file")
    flag("--output", type=Path, metavar="FILE", help="write the draft to this file, which must not exist")
    flag(
        "--examples",
        type=int,
        default=30,
        metavar="N",
        help="number of objects to test the draft with, for each direction (default: %(default)s)",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from polykind.toolkit.drafting.draft_proof import prove_draft
    from polykind.toolkit.drafting.draft_text import python_module, rules_file
    from polykind.toolkit.drafting.rule_draft import draft_rules

    try:
        crd = read_versions(args)
        if args.examples < 1:
            raise ValueError("--examples must be at least 1")
        draft = draft_rules(crd, args.old, args.new)
        prove_draft(crd, draft, args.examples)
        text = python_module(draft) if args.python else rules_file(draft)
        if args.output is not None:
            with args.output.open("x", encoding="utf-8") as file:
                file.write(text)
        else:
            print(text, end="")
    except (ValueError, OSError) as error:
        print(f"polykind suggest: {error}", file=sys.stderr)
        return 2
    questions = len(draft.decisions) + sum(len(rule.decisions) for rule in draft.rules)
    failures = len(draft.failures) + sum(len(rule.failures) for rule in draft.rules)
    result = (
        f"{failures} places fail the proof" if failures else f"the draft passes its proof with {draft.tested} objects"
    )
    print(f"{len(draft.rules)} rules, {questions} decisions to make; {result}", file=sys.stderr)
    return 0 if draft.passes else 1
