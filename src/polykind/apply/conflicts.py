"""Conflicts between field managers."""

from __future__ import annotations

from polykind import errors
from polykind.apply.fieldset import Fields, format_path, paths
from polykind.apply.managed_fields import Owner
from polykind.golang.fmt import go_quote


def conflict_error(conflicts: dict[Owner, Fields]) -> errors.ConflictError:
    """Return the error for an apply that would change fields of other managers, without force."""
    fields_by_name = [
        (_format_owner(owner), [format_path(path, from_store=True) for path in paths(conflicts[owner])])
        for owner in sorted(conflicts, key=Owner.text)
    ]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": field}
        for name, fields in fields_by_name
        for field in fields
    ]
    if len(causes) == 1:
        (name, (field,)) = fields_by_name[0]
        message = f"Apply failed with 1 conflict: conflict with {name}: {field}"
    else:
        lines = [
            line for name, fields in fields_by_name for line in (f"conflicts with {name}:", *(f"- {f}" for f in fields))
        ]
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return errors.ConflictError(message, details={"causes": causes})


def _format_owner(owner: Owner) -> str:
    text = go_quote(owner.manager)
    if owner.subresource:
        text += f" with subresource {go_quote(owner.subresource)}"
    return f"{text} using {owner.version}" if owner.operation == "Update" else text
