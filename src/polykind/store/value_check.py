"""Verification of stored values: each must be an object, after decryption if the keys are known."""

from __future__ import annotations

from polykind.apis.machinery.protobuf_envelope import MAGIC
from polykind.codec import json_codec
from polykind.contract import DAMAGED_VALUE, ENCRYPTED_PREFIX, UnreadableValueError, ValueTransformer
from polykind.errors import BadRequestError


class ValueCheck:
    """Finds values that the server could not read. Without a transformer, encrypted values are only counted."""

    def __init__(self, transformer: ValueTransformer | None = None, *, protobuf: bool = False) -> None:
        """If `protobuf` is true, the store can also hold unencrypted values in Kubernetes' protobuf format."""
        self._transformer = transformer
        self._protobuf = protobuf
        self.undecrypted = 0
        """The number of encrypted values that were not verified, because there is no transformer."""

    def problem(self, key: str, value: bytes) -> str | None:
        """Return the reason why the server could not read a value.

        Return None if it could, or if the checksum of the value has already failed.
        """
        if value.startswith(DAMAGED_VALUE):
            return None
        encrypted = value.startswith(ENCRYPTED_PREFIX)
        if self._transformer is not None:
            try:
                value, _ = self._transformer.from_storage(key, value)
            except UnreadableValueError as error:
                return f"the value cannot be decrypted: {error}"
        elif encrypted:
            self.undecrypted += 1
            return None
        if value.startswith(MAGIC) and (encrypted or self._protobuf):
            return None
        try:
            decoded = json_codec.decode(value)
        except BadRequestError as error:
            return f"the value is not JSON: {error.message}"
        return None if isinstance(decoded, dict) else "the value is not a JSON object"
