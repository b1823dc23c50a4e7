"""The validation stage of a write, which runs in a worker thread if it takes long."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from polykind import errors
from polykind.admission.evaluation_deadline import EvaluationInterruptedError, on_loop_check
from polykind.contract import InterruptCheck
from polykind.errors import FieldError
from polykind.resources.resource import Validation
from polykind.verbs.context import RequestContext
from polykind.verbs.write import Write


async def run_validation(
    ctx: RequestContext, write: Write, validate: Callable[[InterruptCheck | None], Validation]
) -> Validation:
    """Run `validate` in a worker thread if the object is large or if its CEL rules take long, else on the event loop.

    CEL rules can take long for a small object, so they start on the event loop with a deadline.
    """
    if write.large:
        return await ctx.compute(lambda: validate(None))
    if not ctx.version.strategy.evaluates_rules:
        return validate(None)
    try:
        return validate(on_loop_check())
    except EvaluationInterruptedError:
        return await ctx.compute(lambda: validate(None))


async def invalid_error(
    ctx: RequestContext, write: Write, kind: str, group: str, name: str, field_errors: list[FieldError]
) -> errors.InvalidError:
    """Return the error for an invalid object. A large object may have many field errors."""
    if not write.large:
        return errors.InvalidError(kind, group, name, field_errors)
    return await ctx.compute(lambda: errors.InvalidError(kind, group, name, field_errors))


async def add_warnings(ctx: RequestContext, write: Write) -> None:
    """Send the strategy's warnings about the object to the client."""
    strategy, subresource = ctx.version.strategy, ctx.subresource
    if subresource and write.old is not None:
        find = partial(strategy.subresource_warnings, subresource, write.obj, write.old)
    else:
        find = partial(strategy.warnings, write.obj, write.old)
    for text in await ctx.compute(find) if write.large else find():
        ctx.request.warn(text)
