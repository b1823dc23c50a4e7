"""Encryption of stored objects as --encryption-provider-config declares it, and the reload of that file."""

from __future__ import annotations

import logging
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from polykind.apis.apiserver.encryption_validation import (
    ANY,
    KEY_BYTES,
    GroupResource,
    masked_rule,
    parse_group_resource,
    validate_encryption_configuration,
)
from polykind.apis.apiserver.types import ENCRYPTION_CONFIGURATION
from polykind.apis.groups import all_kinds
from polykind.contract import JsonObject, Store, UnreadableValueError
from polykind.errors import aggregate_message
from polykind.golang.base64 import decode_base64
from polykind.metrics.metrics import Metrics
from polykind.metrics.series import Family, Number
from polykind.server.config_file import ConfigFileError, decode_config
from polykind.server.settings import SettingsError
from polykind.store.encrypted_store import EncryptedStore
from polykind.store.value_encryption import IDENTITY, PLAIN, Provider, ProviderChain, build_provider

log = logging.getLogger("polykind.encryption")

Record = Callable[[str, str, str, str], None]
"""A function that counts an operation: its resource, its direction, the provider's prefix and its status."""

_NOT_ENCRYPTED = ("_polykind/", "ranges/", "masterleases/")
"""Keys that are not objects of a resource."""


class ResourceEncryption:
    """A ValueTransformer that finds the providers of a key by the resource that the key belongs to."""

    def __init__(self, chains: Mapping[GroupResource, ProviderChain], prefix: str, record: Record) -> None:
        self._chains = chains
        self._prefix = prefix
        self._record = record
        self._by_folder: dict[str, tuple[str, ProviderChain]] = {}
        self._builtins = {
            kind.storage_prefix: GroupResource(kind.plural, kind.group) for kind in reversed(list(all_kinds()))
        }

    def to_storage(self, key: str, value: bytes) -> bytes:
        resource, chain = self._find(key)
        sealed = chain.seal(value, key.encode())
        self._record(resource, "to_storage", chain.writes_with.decode(), "OK")
        return sealed

    def from_storage(self, key: str, value: bytes) -> tuple[bytes, bool]:
        resource, chain = self._find(key)
        try:
            opened = chain.open(value, key.encode())
        except UnreadableValueError:
            self._record(resource, "from_storage", "unknown", "unknown-non-grpc")
            raise
        self._record(resource, "from_storage", opened.prefix.decode() or "identity", "OK")
        return opened.data, opened.stale

    def _find(self, key: str) -> tuple[str, ProviderChain]:
        """Return the name of a key's resource and its providers."""
        path = key.removeprefix(self._prefix)
        first = path.find("/")
        if first < 1:
            # The key has another prefix, or it is not in the folder of a resource.
            return "", PLAIN
        second = path.find("/", first + 1)
        folder = path[: second if second > 0 else first]
        found = self._by_folder.get(folder)
        if found is None:
            if path.startswith(_NOT_ENCRYPTED):
                return "", PLAIN
            found = self._choose(folder)
            # A folder of a core resource is a namespace, so their number is not bounded. Start again if it is large.
            if len(self._by_folder) > 10_000:
                self._by_folder.clear()
            self._by_folder[folder] = found
        return found

    def _choose(self, folder: str) -> tuple[str, ProviderChain]:
        """Return the providers for the first two segments of a key, such as secrets/default or example.com/crontabs."""
        head, _, tail = folder.partition("/")
        resource = self._builtins.get(folder) or self._builtins.get(head) or GroupResource(tail, head)
        wildcard = GroupResource("*", resource.group)
        chain = self._chains.get(resource) or self._chains.get(wildcard) or self._chains.get(ANY) or PLAIN
        return str(resource), chain


def read_encryption_config(path: Path, prefix: str, record: Record) -> ResourceEncryption:
    """Read an EncryptionConfiguration file. Raise SettingsError if it is invalid. The message contains no keys."""
    try:
        body = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as error:
        raise SettingsError(f"--encryption-provider-config {path}: {error.strerror}") from None
    return _build(path, body, mode, prefix, record)


def _build(path: Path, body: bytes, mode: int, prefix: str, record: Record) -> ResourceEncryption:
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        log.warning(
            "encryption: %s contains keys and its mode is %04o: run `chmod 600 %s`", path, stat.S_IMODE(mode), path
        )
    try:
        config = decode_config(body, ENCRYPTION_CONFIGURATION)
    except (ConfigFileError, ValueError) as error:
        raise SettingsError(f"--encryption-provider-config {path}: error while parsing file: {error}") from None
    if problems := validate_encryption_configuration(config):
        raise SettingsError(
            f"--encryption-provider-config {path}: error while parsing file: {aggregate_message(problems)}"
        )
    if masked := masked_rule(config):
        raise SettingsError(f"--encryption-provider-config {path}: error while building transformers: {masked}")
    return ResourceEncryption(_build_chains(config["resources"], path), prefix, record)


def _build_chains(rules: Iterable[JsonObject], path: Path) -> dict[GroupResource, ProviderChain]:
    providers: dict[GroupResource, list[Provider]] = {}
    for rule in rules:
        built = [_build_provider(provider, path) for provider in rule["providers"]]
        for name in rule["resources"]:
            providers.setdefault(parse_group_resource(name), []).extend(built)
    return {resource: ProviderChain(chain) for resource, chain in providers.items()}


def _build_provider(provider: JsonObject, path: Path) -> Provider:
    name = next((name for name in KEY_BYTES if provider.get(name) is not None), None)
    if name is None:
        return IDENTITY
    keys: Sequence[JsonObject] = provider[name]["keys"]
    try:
        return build_provider(name, [(key["name"], decode_base64(key["secret"])) for key in keys])
    except ImportError:
        install = "run `pip install 'polykind[encryption]'`, or use aesgcm"
        raise SettingsError(f"--encryption-provider-config {path}: secretbox needs PyNaCl: {install}") from None


class Encryption:
    """The encryption of a running server: the encrypted store, the reload of the keys, and its health check."""

    def __init__(self, path: Path, prefix: str, store: Store, metrics: Metrics) -> None:
        """Raise SettingsError if the file is invalid."""
        self._path = path
        self._prefix = prefix
        self._operations: Family[Number] = metrics.counter(
            "apiserver_storage_transformation_operations_total",
            "Total number of transformations of stored values, such as encryptions and decryptions.",
            ("resource", "transformation_type", "transformer_prefix", "status"),
        )
        self._reloads: Family[Number] = metrics.counter(
            "apiserver_encryption_config_controller_automatic_reloads_total",
            "Total number of reload successes and failures of encryption configuration.",
            ("status",),
        )
        self._problem = ""
        self.store = EncryptedStore(store, read_encryption_config(path, prefix, self._record))

    def _record(self, resource: str, direction: str, prefix: str, status: str) -> None:
        self._operations.of(resource, direction, prefix, status).value += 1.0

    def reload(self) -> None:
        """Read the file again. If it is invalid, keep the previous keys and report the problem in /readyz."""
        try:
            self.store.replace(read_encryption_config(self._path, self._prefix, self._record))
        except SettingsError as error:
            self._problem = str(error)
            self._reloads.of("failure").add()
            log.error("encryption: cannot reload the configuration, keeping the previous keys: %s", error)
        else:
            self._problem = ""
            self._reloads.of("success").add()
            log.info("encryption: reloaded %s", self._path)

    def decrypted(self, store: Store) -> Store:
        """Return a view of another store, such as a backup, that decrypts with the current keys."""
        return EncryptedStore(store, self.store.transformer)

    def check(self) -> str:
        """Return the reason why the last reload failed, or ""."""
        return self._problem
