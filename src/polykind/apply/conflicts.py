"""Fields that an apply would change although others own them."""

from __future__ import annotations

from polykind import errors
from polykind.apply.fieldset import Fields, format_path, paths
from polykind.apply.managed_fields import Owner
from polykind.golang.fmt import go_quote


def conflict(found: dict[Owner, Fields]) -> errors.ConflictError:
    """The answer to an apply that meets such fields and is not forced."""
    listed = [
        (_named(owner), [format_path(path, read=True) for path in paths(found[owner])])
        for owner in sorted(found, key=Owner.text)
    ]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": field}
        for name, fields in listed
        for field in fields
    ]
    if len(causes) == 1:
        (name, (field,)) = listed[0]
        message = f"Apply failed with 1 conflict: conflict with {name}: {field}"
    else:
        lines = [line for name, fields in listed for line in (f"conflicts with {name}:", *(f"- {f}" for f in fields))]
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return errors.ConflictError(message, details={"causes": causes})


def _named(owner: Owner) -> str:
    text = go_quote(owner.manager)
    if owner.subresource:
        text += f" with subresource {go_quote(owner.subresource)}"
    return f"{text} using {owner.version}" if owner.operation == "Update" else text
