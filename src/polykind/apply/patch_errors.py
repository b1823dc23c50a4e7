"""Errors of well-formed patches that cannot be applied."""

from __future__ import annotations

from polykind import errors


class PatchRejectedError(errors.APIError):
    """A patch that cannot be applied to the object. As in kube-apiserver, the message of the 422 has no cause.

    The server reports `cause` only if the patch comes from an admission webhook or policy.
    """

    code, reason = 422, "Invalid"
    include_details = True

    def __init__(self, cause: str = "") -> None:
        super().__init__("the server rejected our request due to an error in our request")
        self.cause = cause


class PatchTestFailedError(PatchRejectedError):
    """A patch with a failed test operation."""

    __test__ = False


def nesting_error() -> errors.BadRequestError:
    """Return the error for values that are nested too deeply to process."""
    return errors.BadRequestError("exceeded max depth")
