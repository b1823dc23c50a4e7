"""Deletion of an object by its stored metadata while the converter of its CRD is down."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.operations.operation import Operation
from polykind.operations.options import DeleteOptions
from polykind.resources.custom import CustomResource
from polykind.verbs.delete import delete_object


async def delete_as_stored(
    op: Operation, options: DeleteOptions, error: ConversionFailedError
) -> tuple[int, JsonObject]:
    """Delete an object at the version it is stored at. Return the HTTP status and the Status of the response.

    Finalizers and preconditions are metadata, which is the same at all versions. Raise `error` if the server has no
    conversion fallback, if the converter is not down, or if admission has to see the object at the request's version.
    Raise ConversionFailedError if finalizers keep an object that is not stored at the storage version, because the
    object then has to be converted.
    """
    resource, admission = op.resource, op.backend.admission
    if not (op.version.representer.has_fallback and error.is_outage and isinstance(resource, CustomResource)):
        raise error
    if admission.mutates or admission.validates:
        raise error
    cached = resource.cache.get(op.key)
    if cached is None:
        raise op.not_found()
    if cached.version not in resource.declared:
        raise error
    version = resource.declared_version(cached.version)
    stored_op = op.at(version, namespace=op.namespace, name=op.name, subresource=op.subresource)
    deletion = await delete_object(stored_op, options)
    details = {"name": op.name, "group": resource.group, "kind": resource.plural, "uid": deletion.uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    if deletion.gone:
        return 200, status
    reason = error.failure.explain()
    op.notes.warn(
        f"conversion fallback: {op.key} is being deleted and finalizers keep it; the response does not show it, "
        f"because the converter fails: {reason}"
    )
    return 202, status
