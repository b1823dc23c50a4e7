"""docs/guides/operations.md: every procedure runs as written, with a client that writes all the time."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from polykind.cli import main
from tests.support import etcd, pages
from tests.support.pages import Command, Shell
from tests.support.server import free_port
from tests.support.writer import Writer, connect, eventually, missing, request, stored

PAGE = (pages.ROOT / "docs" / "guides" / "operations.md").read_text()
RESTART_SECONDS = 20.0
"""The longest restart on a loaded machine. The page states what a restart usually takes."""
SERVE = Command("polykind serve &", "Serving at https://127.0.0.1:6443\n...\n")


def section(title: str) -> list[pages.File | Command]:
    """Return the steps of a section of the page, up to the next heading of any level."""
    found = re.search(rf"^##+ {re.escape(title)}$(.*?)(?=^##+ |\Z)", PAGE, re.M | re.S)
    assert found, title
    return pages.steps(found[1])


@contextmanager
def opened(folder: Path) -> Iterator[Shell]:
    """A shell in which the commands of etcd are on the PATH."""
    programs = [str(Path(etcd.binary()).parent), str(Path(sys.executable).parent)]
    environment = {"PATH": os.pathsep.join([*programs, os.environ["PATH"]])}
    with pages.shell(folder, environment) as shell:
        yield shell


def test_the_effective_configuration_is_printed(tmp_path: Path) -> None:
    with opened(tmp_path) as shell:
        for step in section("Configure the server"):
            shell.run(step)


def test_backup_restore_upgrade_and_disaster(tmp_path: Path) -> None:
    kubeconfig = tmp_path / ".polykind" / "admin.kubeconfig"
    backup, identity, restore = section("Back up and restore")
    with opened(tmp_path) as shell:
        shell.run(SERVE)
        with Writer(kubeconfig) as writer:
            before = writer.progress()
            shell.run(backup)
            shell.run(identity)
            writer.progress()
            assert (writer.failures, missing(writer.acknowledged, kubeconfig)) == (0, [])
            shell.run(restore)
            assert writer.failures == 0
        # The backup has every write that was acknowledged before it.
        assert not missing(before, kubeconfig)
        with Writer(kubeconfig, name="upgraded") as writer:
            for step in section("Upgrade and downgrade"):
                shell.run(step)
            writer.progress()
            assert writer.longest_pause < RESTART_SECONDS
        assert not missing(writer.acknowledged, kubeconfig)
        shell.run(Command("kill %1; wait %1", ""))
        shutil.rmtree(tmp_path / ".polykind")
        for step in section("The data directory is lost"):
            shell.run(step)
        assert not missing(before, kubeconfig)
        _damage_a_value(shell, tmp_path / ".polykind" / "polykind.db")
        check, repair = section("The database is damaged")
        shell.run(check)
        shell.run(repair)
        assert list((tmp_path / ".polykind").glob("polykind.db*.replaced"))
        shell.run(SERVE)
        assert not missing(before, kubeconfig)


def _damage_a_value(shell: Shell, database: Path) -> None:
    """Stop the server and change a byte of a stored value."""
    shell.run(Command("kill %1; wait %1", ""))
    connection = apsw.Connection(str(database))
    connection.execute(
        "UPDATE log SET value = CAST(replace(CAST(value AS TEXT), 'written-0', 'wrotten-0') AS BLOB) "
        "WHERE key = '/registry/configmaps/default/written-0'"
    )
    connection.close()


def test_certificates_and_tokens_are_rotated(tmp_path: Path) -> None:
    kubeconfig = tmp_path / ".polykind" / "admin.kubeconfig"
    (tmp_path / "tokens.csv").write_text('old-secret-of-alice,alice,1,"team-a"\n')
    for name, subject in (("tls", "the-old-one"), ("new", "the-new-one")):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        names = ["-subj", f"/CN={subject}", "-addext", "subjectAltName=IP:127.0.0.1"]
        files = ["-keyout", str(tmp_path / f"{name}.key"), "-out", str(tmp_path / f"{name}.crt")]
        subprocess.run([*command, *names, *files], check=True, capture_output=True)
    flags = "--tls-cert-file=tls.crt --tls-private-key-file=tls.key --token-auth-file=tokens.csv"
    with opened(tmp_path) as shell:
        shell.run(Command(f"polykind serve {flags} &", SERVE.shown))
        old = connect(kubeconfig)[1]
        with Writer(kubeconfig) as writer:
            for step in section("Rotate certificates and tokens"):
                shell.run(step)
            writer.progress()
        # Requests with the old token fail once; the writer then reads the kubeconfig again.
        assert writer.failures <= 5
        assert not missing(writer.acknowledged, kubeconfig)
        connection, new = connect(kubeconfig)
        assert new != old
        assert request(connection, old, "GET", "/version")[0] == 401
        connection.close()


@pytest.mark.timeout(180)
def test_the_move_to_etcd_replicas_and_the_restore_of_etcd(tmp_path: Path) -> None:
    one, two = (tmp_path / name / "admin.kubeconfig" for name in (".polykind", "two"))
    with etcd.etcd(tmp_path / "etcd") as cluster, opened(tmp_path) as shell:
        (member,) = cluster.members
        second = free_port()

        def run(title: str) -> None:
            for step in section(title):
                assert isinstance(step, Command)
                shell.run(Command(*(localized(text) for text in (step.line, step.shown))))

        def localized(text: str) -> str:
            text = text.replace("http://127.0.0.1:2379", member.url).replace("http://127.0.0.1:2380", member.peer_url)
            return text.replace("etcd-0", member.name).replace("6444", str(second))

        shell.run(SERVE)
        with Writer(one) as writer:
            writer.progress()
            run("Move to etcd")
            writer.progress()
            assert writer.longest_pause < 2 * RESTART_SECONDS
        assert not missing(writer.acknowledged, one)
        with Writer(one, two, name="replica") as writer:
            run("Add and replace replicas")
            writer.progress()
            assert writer.longest_pause < RESTART_SECONDS
        assert not missing(writer.acknowledged, two)
        save, restore = section("etcd has lost its quorum")
        assert isinstance(save, Command)
        assert isinstance(restore, Command)
        kept = sorted(stored(two))
        shell.run(Command(localized(save.line), save.shown))
        with Writer(two, name="after"):
            pass
        member.signal(signal.SIGKILL)
        assert member.process is not None
        member.process.wait()
        shutil.rmtree(member.folder / "data")
        shell.run(Command(localized(restore.line), restore.shown))
        (tmp_path / "etcd-restored").rename(member.folder / "data")
        member.start([member])
        eventually(lambda: _lists(two, kept))
        with Writer(two, name="again") as writer:
            writer.progress()
        assert not missing(writer.acknowledged, two)


def _lists(kubeconfig: Path, names: list[str]) -> bool:
    """True if the server has exactly these ConfigMaps."""
    try:
        return sorted(stored(kubeconfig)) == names
    except (OSError, AssertionError):
        return False


def test_an_older_release_refuses_a_newer_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = pages.blocks(PAGE, "text")
    data = tmp_path / ".polykind"
    data.mkdir()
    connection = apsw.Connection(str(data / "polykind.db"))
    connection.execute("CREATE TABLE log (a); PRAGMA application_id = 0x504b4e44; PRAGMA user_version = 3")
    connection.close()
    assert main(["serve", f"--data-dir={data}", "--secure-port=0"]) == 1
    assert shown.strip().replace(".polykind", str(data), 1) in capsys.readouterr().err


def test_the_format_of_an_older_release_is_updated(tmp_path: Path) -> None:
    """A data directory of format 1, whose rows have no checksums, keeps its objects."""
    data = tmp_path / ".polykind"
    with opened(tmp_path) as shell:
        shell.run(SERVE)
        with Writer(data / "admin.kubeconfig") as writer:
            pass
        shell.run(Command("kill %1; wait %1", ""))
        connection = apsw.Connection(str(data / "polykind.db"))
        connection.execute(
            "ALTER TABLE log DROP COLUMN checksum; DELETE FROM facts WHERE name = 'unchecked'; PRAGMA user_version = 1"
        )
        connection.close()
        shell.run(SERVE)
        assert not missing(writer.acknowledged, data / "admin.kubeconfig")
        shell.run(Command("polykind store check", "no damage found\n"))
