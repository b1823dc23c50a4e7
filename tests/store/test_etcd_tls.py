"""etcd over TLS: its certificate is checked, and ours is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from polykind.contract import UnavailableError
from polykind.store.etcd import EtcdAccess, EtcdStore
from tests.support.etcd import etcd

pytestmark = pytest.mark.etcd


class Files(NamedTuple):
    """The client files for an etcd that requires client certificates."""

    url: str
    ca: Path
    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    for name, issued in (("server", ca.issue_cert("127.0.0.1")), ("client", ca.issue_cert("polykind@example.com"))):
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    flags = (
        f"--cert-file={folder / 'server.pem'}",
        f"--key-file={folder / 'server.key'}",
        f"--trusted-ca-file={folder / 'ca.pem'}",
        "--client-cert-auth",
    )
    with etcd(folder, 1, *flags, tls=True) as cluster:
        yield Files(cluster.urls[0], folder / "ca.pem", folder / "client.pem", folder / "client.key")


@pytest.fixture(autouse=True)
def interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the retries: a TLS failure looks like an etcd that is not up yet."""
    monkeypatch.setattr("polykind.store.etcd.revision_reader.TIMEOUT_SECONDS", 1.0)


async def test_valid_certificates(files: Files) -> None:
    store = EtcdStore(EtcdAccess([files.url], files.ca, files.certificate, files.key))
    await store.start()
    revision = await store.put("/r/a", b"1", expect=0)
    held = await store.get("/r/a")
    assert held is not None
    assert held.revision == revision
    await store.close()


async def test_missing_client_certificate_is_rejected(files: Files) -> None:
    with pytest.raises(UnavailableError, match=f"etcd at {files.url} does not respond"):
        await EtcdStore(EtcdAccess([files.url], files.ca)).start()


async def test_server_certificate_of_another_ca_is_rejected(files: Files, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    with pytest.raises(UnavailableError, match=f"etcd at {files.url} does not respond"):
        await EtcdStore(EtcdAccess([files.url], tmp_path / "other.pem", files.certificate, files.key)).start()
