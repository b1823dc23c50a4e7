"""The answers to a patch that could be read but not be applied."""

from __future__ import annotations

from polykind import errors


class PatchRejectedError(errors.APIError):
    """A patch that does not fit the object: a 422 that tells nothing of the cause, as the reference answers.

    `why` is the cause, which only those who are told of the patch of another learn.
    """

    code, reason = 422, "Invalid"
    include_details = True

    def __init__(self, why: str = "") -> None:
        super().__init__("the server rejected our request due to an error in our request")
        self.why = why


class PatchTestFailedError(PatchRejectedError):
    """A patch one of whose tests has failed."""

    __test__ = False


def nesting_error() -> errors.BadRequestError:
    """Refuses values nested deeper than a walk can follow."""
    return errors.BadRequestError("exceeded max depth")
