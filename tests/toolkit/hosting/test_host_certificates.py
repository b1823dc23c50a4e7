"""Managed and external certificates of a host."""

from __future__ import annotations

import logging
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from polykind.toolkit.hosting import trust_bundle
from polykind.toolkit.hosting.certificate_store import FolderStore
from polykind.toolkit.hosting.host_certificates import ExternalCertificates, ManagedCertificates, in_folder
from polykind.toolkit.hosting.webhook_host import Host
from tests.toolkit.hosting.hosts import Clock, calling, crontabs

NAMES = ["converter.crontabs.svc", "127.0.0.1"]


def own(folder: Path, clock: Clock) -> ManagedCertificates:
    return ManagedCertificates(NAMES, store=FolderStore(folder), clock=clock)


def count(certificates: Any) -> int:
    return len(trust_bundle.parse_certificates(certificates.ca_bundle))


async def test_folder_is_private_and_has_a_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "pki"
    certificates = own(folder, Clock())
    assert await certificates.refresh()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {p.name for p in folder.iterdir()} == {".lock", "authority.pem", "ca.crt", "serving.pem"}
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert (folder / "ca.crt").read_bytes() == certificates.ca_bundle


async def test_certificates_survive_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    first, second = own(tmp_path, clock), own(tmp_path, clock)
    await first.refresh()
    await second.refresh()
    assert (second.ca_bundle, second.expires) == (first.ca_bundle, first.expires)
    assert not await second.refresh()


async def test_without_registration_a_new_ca_is_served_after_a_delay() -> None:
    clock = Clock()
    certificates = ManagedCertificates(NAMES, clock=clock)
    await certificates.refresh()
    served = certificates.context
    certificates.rotate()
    assert await certificates.refresh()
    assert (count(certificates), certificates.context is served) == (2, True)
    clock.turn(hours=22)
    assert not await certificates.refresh()
    clock.turn(hours=2)
    assert await certificates.refresh()
    assert (count(certificates), certificates.context is served) == (2, False)
    clock.turn(days=2)
    assert await certificates.refresh()
    assert (count(certificates), len(trust_bundle.parse_certificates(certificates.retired))) == (1, 1)


async def test_with_registration_a_new_ca_waits_for_publication() -> None:
    clock = Clock()
    certificates = ManagedCertificates(NAMES, clock=clock)
    certificates.wait_for_publication = True
    await certificates.refresh()
    old, served = certificates.ca_bundle, certificates.context
    certificates.rotate()
    await certificates.refresh()
    clock.turn(days=20)
    certificates.mark_published(old)
    assert not await certificates.refresh()
    certificates.mark_published(certificates.ca_bundle)
    assert await certificates.refresh()
    assert certificates.context is not served


async def test_replicas_share_a_folder(tmp_path: Path) -> None:
    clock = Clock()
    one, two = own(tmp_path, clock), own(tmp_path, clock)
    await one.refresh()
    await two.refresh()
    one.rotate()
    await one.refresh()
    one.mark_published(one.ca_bundle)
    await one.refresh()
    assert await two.refresh()
    assert (two.ca_bundle, two.expires) == (one.ca_bundle, one.expires)


def test_certificate_needs_a_name() -> None:
    with pytest.raises(ValueError, match="a certificate needs at least one name"):
        ManagedCertificates([])


class Keeper:
    """A program that manages certificates in a folder, like cert-manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = trustme.CA()

    def write(self, *, ca: trustme.CA | None = None, days: int = 10) -> None:
        self.ca = ca or self.ca
        leaf = self.ca.issue_cert("127.0.0.1", not_after=datetime.now(UTC) + timedelta(days=days))
        (self.folder / "tls.crt").write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        (self.folder / "tls.key").write_bytes(leaf.private_key_pem.bytes())
        (self.folder / "ca.crt").write_bytes(self.ca.cert_pem.bytes())


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    keeper = Keeper(tmp_path)
    keeper.write()
    return keeper


async def test_external_certificates_are_never_written(keeper: Keeper) -> None:
    before = {p.name: p.read_bytes() for p in keeper.folder.iterdir()}
    found = in_folder(NAMES, keeper.folder)
    assert isinstance(found, ExternalCertificates)
    async with Host([crontabs()], certificates=found) as host, calling(host) as caller:
        assert host.ca_bundle.strip() == keeper.ca.cert_pem.bytes().strip()
        assert (await caller.convert())[0] == 200
        await host.refresh()
    assert {p.name: p.read_bytes() for p in keeper.folder.iterdir()} == before


def test_empty_folder_gets_managed_certificates(tmp_path: Path) -> None:
    assert isinstance(in_folder(NAMES, tmp_path), ManagedCertificates)


async def test_changed_files_are_read_again(keeper: Keeper) -> None:
    found = in_folder(NAMES, keeper.folder)
    async with Host([crontabs()], certificates=found) as host, calling(host) as caller:
        before = host.certificates.expires
        await host.refresh()
        assert host.certificates.expires == before
        keeper.write(days=20)
        await host.refresh()
        assert (host.certificates.expires - before).days in (9, 10)
        assert (await caller.convert())[0] == 200


async def test_mismatched_files_are_logged_and_old_ones_served(
    keeper: Keeper, caplog: pytest.LogCaptureFixture
) -> None:
    found = in_folder(NAMES, keeper.folder)
    async with Host([crontabs()], certificates=found) as host, calling(host) as caller:
        certificate = (keeper.folder / "tls.crt").read_bytes()
        keeper.write()
        (keeper.folder / "tls.crt").write_bytes(certificate)
        await host.refresh()
        assert (await caller.convert())[0] == 200
        await host.refresh()
        warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        assert len(warned) == 1
        assert warned[0].startswith(
            f"host certificates: {keeper.folder}/tls.crt and {keeper.folder}/tls.key cannot be served: "
        )
        assert warned[0].endswith("; serving the previous certificate until the files change")


@pytest.mark.parametrize(
    ("name", "message"), [("tls.crt", "the certificate file has no certificate"), ("tls.key", "cannot be")]
)
async def test_unusable_files_fail_the_start(keeper: Keeper, name: str, message: str) -> None:
    (keeper.folder / name).write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=message):
        await in_folder(NAMES, keeper.folder).refresh()


async def test_new_external_ca_is_served_after_publication(keeper: Keeper) -> None:
    found = in_folder(NAMES, keeper.folder)
    found.wait_for_publication = True
    await found.refresh()
    served, old = found.context, keeper.ca
    keeper.write(ca=trustme.CA())
    assert await found.refresh()
    assert found.context is served
    expected = trust_bundle.parse_certificates(keeper.ca.cert_pem.bytes() + old.cert_pem.bytes())
    assert trust_bundle.parse_certificates(found.ca_bundle) == expected
    found.mark_published(found.ca_bundle)
    assert await found.refresh()
    assert found.context is not served
    assert trust_bundle.parse_certificates(found.ca_bundle) == expected[:1]


async def test_external_certificates_without_ca_have_no_bundle(keeper: Keeper) -> None:
    found = ExternalCertificates(keeper.folder / "tls.crt", keeper.folder / "tls.key")
    await found.refresh()
    assert found.ca_bundle == b""


async def test_old_tls_versions_are_rejected() -> None:
    certificates = ManagedCertificates(NAMES)
    await certificates.refresh()
    assert certificates.context.minimum_version == ssl.TLSVersion.TLSv1_2
