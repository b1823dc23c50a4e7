"""Envelopes of encrypted values: kube-apiserver's own values are read, and changed values are detected."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable

import pytest

from polykind.contract import UnreadableValueError
from polykind.store.value_encryption import (
    CIPHERS,
    IDENTITY,
    PLAIN,
    AesCbc,
    AesGcm,
    ProviderChain,
    RandomBytes,
    Secretbox,
    ValueCipher,
    build_provider,
)

KEY1, KEY2 = b"abcdefghijklmnopqrstuvwxyz012345", b"543210zyxwvutsrqponmlkjihgfedcba"
SECRET = "/registry/secrets/default/kube-s"

# Values that kube-apiserver 1.36 has written to etcd: the provider, the key, the key in the store, the stored value,
# and a part of the protobuf that it contains.
RECORDED = {
    "aesgcm": (
        ("key1", KEY1),
        SECRET,
        "azhzOmVuYzphZXNnY206djE6a2V5MTpGwSLuLvH6iD738jiT8KrNSFI6ROY5RN7pKBUuqtUTlI052F14BNgBrLNHG6ni7nWgPYKBkFVkaWCq"
        "yGGi5i5yVwcj5ssEDgpAk7N4gxbwiNvAn8NHlqlOV6iX1Bac6+CPChddZ/Kk5stmQ79vQV242xF2R8bKe2mvG8pP6iYTEoyFdyE3zULFHaXm"
        "UdsrscMhXe8tVS3SmIVMrhpl8WwOUxb+FlrOp9ymFkSGXalFEOeANlOhiHIwrFdNBe25CN06RfUX1OH+zbsnxkFgpF4ebXXqpJKzlRDZ8wJ9"
        "1Vi7BfzuabHiY4OOk4Hnt6fhGGu/2oosCreMIDnJWdo=",
        b"secretvalue",
    ),
    "aescbc": (
        ("key1", KEY1),
        "/registry/configmaps/default/kube-c",
        "azhzOmVuYzphZXNjYmM6djE6a2V5MToE8Sf4tHd60PZnCP3L/qmlbYEJzHF+o86i3RQ70sDnRJk0EreADSO7L5urCjww7aGIyGB6Qy5ymD4b"
        "Z7EH8KGF5TqjnFNkrV0g7U2d4qc0Dn/FGCPRRaO0Q4rq+se5X6PiP50k64mvXc4R0qXRzSyYSYx9hCoKQceJdfJF8cu70mzmGb9GQ1mMi70B"
        "Uzj5z/Y05M3TOnwfsb2V4+n9wbVRX1Tb3r7nC7eIILALLbS0qv9x8Jl7RP+m4+Ps3NauZODyFhD7z1RilUdHMipiMBawLCxOKOqniReFk6KQ"
        "fwcxEg==",
        b"configvalue",
    ),
    "secretbox": (
        ("all", KEY2),
        "/registry/priorityclasses/p1",
        "azhzOmVuYzpzZWNyZXRib3g6djE6YWxsOgg30/gH6RUl1qdvxoWRC1DsSZwCspruGWvFWKDaknc8rOLvkcjrvYu/6BF3uN75U4NTPE5ZZrV6"
        "Rr4FVM1Xc0iwFYQ2IIxsarRdxinA/ewfi/GLGvSBdGuFI7tXo3w7hZDQ6c1v5WxezGDnsbCeny55MNLtWdreWrBdeNQV2didV4LSawWcQfFI"
        "r0EtFuJ+EAMLH/1cmNQJjzGmod9zffuqkgR6WAOt5bpMBVJhiCyeNqz/wIwsEk3c5QQr7nhYmwKP+CbbyoM6e6+rAhQyT/5jNId6NPqcxRtK"
        "VRgkwo/8uOsqJE/Ax10H3gKWLARG2bRQAc/HEiCF3nN+eVxOeu8bIKajsJf/AD06HUAS++oME2/SC+JWfFzCjxkke+AhrDg0A5fN1PVm",
        b"PriorityClass",
    ),
}


def chain(provider: str, *keys: tuple[str, bytes]) -> ProviderChain:
    return ProviderChain([build_provider(provider, keys)])


@pytest.mark.parametrize("provider", RECORDED)
def test_values_of_kube_apiserver_are_read(provider: str) -> None:
    key, context, encoded, content = RECORDED[provider]
    stored = base64.b64decode(encoded)
    opened = chain(provider, key).open(stored, context.encode())
    assert opened.data.startswith(b"k8s\0")
    assert content in opened.data
    assert not opened.stale
    # The nonce of the recorded value gives the recorded bytes again, so kube-apiserver can read what we write.
    prefix = CIPHERS[provider][0] + key[0].encode() + b":"
    nonce = stored[len(prefix) :]
    ciphers: dict[str, Callable[[bytes, RandomBytes], ValueCipher]]
    ciphers = {"aesgcm": AesGcm, "aescbc": AesCbc, "secretbox": Secretbox}
    cipher = ciphers[provider](key[1], lambda size: nonce[:size])
    assert prefix + cipher.seal(opened.data, context.encode()) == stored


@pytest.mark.parametrize("provider", RECORDED)
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000])
def test_round_trip(provider: str, size: int) -> None:
    keys = chain(provider, ("a", KEY1))
    data = os.urandom(size)
    sealed = keys.seal(data, b"/k")
    assert sealed.startswith(f"k8s:enc:{provider}:v1:a:".encode())
    assert keys.open(sealed, b"/k").data == data
    assert keys.seal(data, b"/k") != sealed


@pytest.mark.parametrize("provider", ["aesgcm", "secretbox"])
def test_every_changed_byte_is_detected(provider: str) -> None:
    keys = chain(provider, ("a", KEY1))
    sealed = keys.seal(b'{"x":1}', b"/k")
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(UnreadableValueError):
            keys.open(changed, b"/k")
    for end in range(len(sealed)):
        with pytest.raises(UnreadableValueError):
            keys.open(sealed[:end], b"/k")


def test_padding_of_cbc_is_verified() -> None:
    keys = chain("aescbc", ("a", KEY1))
    sealed = keys.seal(b"x" * 16, b"/k")
    for short, message in [
        (sealed[:-1], "the stored data is not a multiple of the block size"),
        (sealed[:-32], "invalid PKCS7 data (empty or not padded)"),
        (sealed[:-33], "the stored data was shorter than the required size"),
    ]:
        with pytest.raises(UnreadableValueError, match=re.escape(message)):
            keys.open(short, b"/k")


def test_value_of_another_object_is_detected_by_gcm() -> None:
    keys = chain("aesgcm", ("a", KEY1))
    with pytest.raises(UnreadableValueError, match=r"^cipher: message authentication failed$"):
        keys.open(keys.seal(b"{}", b"/registry/secrets/default/a"), b"/registry/secrets/default/b")


@pytest.mark.parametrize("provider", ["aesgcm", "secretbox"])
def test_wrong_secret_under_the_same_name(provider: str) -> None:
    sealed = chain(provider, ("a", KEY1)).seal(b"{}", b"/k")
    with pytest.raises(UnreadableValueError):
        chain(provider, ("a", KEY2)).open(sealed, b"/k")
    # While keys are rotated, two providers or keys may have the same name.
    both = ProviderChain([build_provider(provider, [("a", KEY2)]), build_provider(provider, [("a", KEY1)])])
    assert both.open(sealed, b"/k")[:2] == (b"{}", True)
    assert chain(provider, ("a", KEY2), ("a", KEY1)).open(sealed, b"/k")[:2] == (b"{}", True)


def test_unknown_keys_and_providers() -> None:
    sealed = chain("aesgcm", ("a", KEY1)).seal(b"{}", b"/k")
    for keys, message in [
        (chain("aesgcm", ("b", KEY1)), "no matching key was found for the provided AES transformer"),
        (chain("secretbox", ("a", KEY1)), "no matching prefix found"),
        (PLAIN, "no matching prefix found"),
    ]:
        with pytest.raises(UnreadableValueError, match=f"^{message}$"):
            keys.open(sealed, b"/k")
    with pytest.raises(UnreadableValueError, match=r"^no matching prefix found$"):
        chain("aesgcm", ("a", KEY1)).open(b"{}", b"/k")


def test_values_of_other_keys_are_stale() -> None:
    new, old = ("new", KEY1), ("old", KEY2)
    by_old, by_new = chain("aesgcm", old).seal(b"{}", b"/k"), chain("aesgcm", new).seal(b"{}", b"/k")
    rotating = ProviderChain([build_provider("aesgcm", [new, old]), IDENTITY])
    assert rotating.open(by_new, b"/k").stale is False
    assert rotating.open(by_old, b"/k").stale is True
    assert rotating.open(b"{}", b"/k").stale is True
    ending = ProviderChain([IDENTITY, build_provider("aesgcm", [new])])
    assert ending.open(by_new, b"/k").stale is True
    assert ending.open(b"{}", b"/k").stale is False
    assert ending.seal(b"{}", b"/k") == b"{}"
