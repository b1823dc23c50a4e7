"""Encryption of stored values in kube-apiserver's envelopes: keys and bytes in, bytes out.

An encrypted value is a prefix that names the provider, such as `k8s:enc:aesgcm:v1:`, the name of the key, a colon, the
nonce and the ciphertext. AES-GCM authenticates the key in the store too, so an encrypted value that is copied to
another key cannot be read. AES-CBC and secretbox do not, as in kube-apiserver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from polykind.contract import ENCRYPTED_PREFIX, UnreadableValueError

RandomBytes = Callable[[int], bytes]

_GCM_NONCE_BYTES = 12
_BLOCK_BYTES = 16
_BOX_NONCE_BYTES, _BOX_OVERHEAD_BYTES = 24, 16
_TOO_SHORT = "the stored data was shorter than the required size"


class ValueCipher(Protocol):
    """One key of an encryption provider."""

    def seal(self, data: bytes, context: bytes) -> bytes:
        """Return the nonce and the ciphertext. `context` is the key of the value in the store."""

    def open(self, data: bytes, context: bytes) -> bytes:
        """Return the plaintext. Raise UnreadableValueError if the data was changed or has another key."""


class AesGcm:
    """AES-GCM with a random nonce of 96 bits."""

    def __init__(self, secret: bytes, random: RandomBytes = os.urandom) -> None:
        self._aead = AESGCM(secret)
        self._random = random

    def seal(self, data: bytes, context: bytes) -> bytes:
        nonce = self._random(_GCM_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, data, context)

    def open(self, data: bytes, context: bytes) -> bytes:
        if len(data) < _GCM_NONCE_BYTES:
            raise UnreadableValueError(_TOO_SHORT)
        try:
            return self._aead.decrypt(data[:_GCM_NONCE_BYTES], data[_GCM_NONCE_BYTES:], context)
        except (InvalidTag, ValueError):
            raise UnreadableValueError("cipher: message authentication failed") from None


class AesCbc:
    """AES-CBC with PKCS#7 padding. It detects only changes that damage the padding."""

    def __init__(self, secret: bytes, random: RandomBytes = os.urandom) -> None:
        self._algorithm = algorithms.AES(secret)
        self._random = random

    def seal(self, data: bytes, context: bytes) -> bytes:
        vector = self._random(_BLOCK_BYTES)
        padding = _BLOCK_BYTES - len(data) % _BLOCK_BYTES
        encryptor = Cipher(self._algorithm, modes.CBC(vector)).encryptor()
        return vector + encryptor.update(data + bytes([padding]) * padding) + encryptor.finalize()

    def open(self, data: bytes, context: bytes) -> bytes:
        if len(data) < _BLOCK_BYTES:
            raise UnreadableValueError(_TOO_SHORT)
        if len(data) % _BLOCK_BYTES:
            raise UnreadableValueError("the stored data is not a multiple of the block size")
        decryptor = Cipher(self._algorithm, modes.CBC(data[:_BLOCK_BYTES])).decryptor()
        padded = decryptor.update(data[_BLOCK_BYTES:]) + decryptor.finalize()
        padding = padded[-1] if padded else 0
        if padding == 0 or padding > len(padded):
            raise UnreadableValueError("invalid PKCS7 data (empty or not padded)")
        if padded[-padding:] != bytes([padding]) * padding:
            raise UnreadableValueError("invalid padding on input")
        return padded[:-padding]


class Secretbox:
    """XSalsa20-Poly1305 with a random nonce of 192 bits. It needs the package PyNaCl."""

    def __init__(self, secret: bytes, random: RandomBytes = os.urandom) -> None:
        """Raise ImportError if PyNaCl is not installed."""
        from nacl import bindings, exceptions

        self._secret = secret
        self._random = random
        self._seal = bindings.crypto_secretbox
        self._open = bindings.crypto_secretbox_open
        self._crypto_error = exceptions.CryptoError

    def seal(self, data: bytes, context: bytes) -> bytes:
        nonce = self._random(_BOX_NONCE_BYTES)
        return nonce + self._seal(data, nonce, self._secret)

    def open(self, data: bytes, context: bytes) -> bytes:
        if len(data) < _BOX_NONCE_BYTES + _BOX_OVERHEAD_BYTES:
            raise UnreadableValueError(_TOO_SHORT)
        try:
            return self._open(data[_BOX_NONCE_BYTES:], data[:_BOX_NONCE_BYTES], self._secret)
        except self._crypto_error:
            # kube-apiserver reports every failure of secretbox with this message.
            raise UnreadableValueError("output array was not large enough for encryption") from None


class NamedKey(NamedTuple):
    """A key with the prefix that precedes the nonce in a stored value: the key's name and a colon."""

    prefix: bytes
    cipher: ValueCipher


class Provider(NamedTuple):
    """An encryption provider with its keys. The provider `identity` has an empty prefix and no keys."""

    prefix: bytes
    keys: Sequence[NamedKey] = ()
    no_match: str = ""
    """The error if no key has the name in a stored value."""


IDENTITY = Provider(b"")
CIPHERS: dict[str, tuple[bytes, Callable[[bytes], ValueCipher], str]] = {
    "aesgcm": (b"k8s:enc:aesgcm:v1:", AesGcm, "AES"),
    "aescbc": (b"k8s:enc:aescbc:v1:", AesCbc, "AES"),
    "secretbox": (b"k8s:enc:secretbox:v1:", Secretbox, "Secretbox"),
}
"""The prefix, the cipher and the name in error messages of each provider."""


def build_provider(name: str, keys: Sequence[tuple[str, bytes]]) -> Provider:
    """Build a provider from the names and secrets of its keys. The first key encrypts, every key decrypts."""
    prefix, cipher, title = CIPHERS[name]
    named = [NamedKey(key.encode() + b":", cipher(secret)) for key, secret in keys]
    return Provider(prefix, named, f"no matching key was found for the provided {title} transformer")


class Opened(NamedTuple):
    """A decrypted value. `stale` is true unless the first key of the first provider has encrypted it.

    `prefix` is the provider's prefix.
    """

    data: bytes
    stale: bool
    prefix: bytes


class ProviderChain:
    """The providers of a resource in order: the first one writes, each of them reads the values with its prefix."""

    def __init__(self, providers: Sequence[Provider]) -> None:
        self._providers = tuple(providers)
        self.writes_with = self._providers[0].prefix
        """The prefix of the first provider. It is empty if new values are not encrypted."""

    def seal(self, data: bytes, context: bytes) -> bytes:
        first = self._providers[0]
        if not first.keys:
            return data
        key = first.keys[0]
        return first.prefix + key.prefix + key.cipher.seal(data, context)

    def open(self, data: bytes, context: bytes) -> Opened:
        """Decrypt a stored value. Raise UnreadableValueError if no key can.

        Several providers can have the same prefix while keys are rotated, so the next one is tried after a failure.
        """
        failures: list[str] = []
        for number, provider in enumerate(self._providers):
            if not provider.prefix:
                if not data.startswith(ENCRYPTED_PREFIX):
                    return Opened(data, number != 0, b"")
            elif data.startswith(provider.prefix):
                try:
                    plain, first = _open_with_keys(provider, data[len(provider.prefix) :], context)
                    return Opened(plain, number != 0 or not first, provider.prefix)
                except UnreadableValueError as error:
                    failures.append(str(error))
        raise UnreadableValueError(_join(failures) or "no matching prefix found")


def _open_with_keys(provider: Provider, data: bytes, context: bytes) -> tuple[bytes, bool]:
    """Return the plaintext, and True if the provider's first key has encrypted it."""
    failures: list[str] = []
    for number, key in enumerate(provider.keys):
        if data.startswith(key.prefix):
            try:
                return key.cipher.open(data[len(key.prefix) :], context), number == 0
            except UnreadableValueError as error:
                failures.append(str(error))
    raise UnreadableValueError(_join(failures) or provider.no_match)


def _join(failures: Sequence[str]) -> str:
    """Join messages as Go joins an aggregate of errors."""
    distinct = list(dict.fromkeys(failures))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


PLAIN = ProviderChain([IDENTITY])
"""The chain of resources without a rule: values are stored as they are, and encrypted ones are unreadable."""
