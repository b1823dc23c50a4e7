"""Damage to the database files: detected, reported by name, and never served as data."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import apsw
import pytest

from polykind.contract import DAMAGED_VALUE, KeyValue, StoreError, UnavailableError, UnknownOutcomeError
from polykind.store.sqlite import SqliteStore
from polykind.store.sqlite.database_file import DatabaseFile
from polykind.store.sqlite.integrity import DamagedStoreError
from polykind.store.sqlite.writer import Writer
from tests.store.test_sqlite import opened

VALUES = {f"/r/{n:03}": b'{"n":%d,"text":"%s"}' % (n, b"x" * (n * 7 % 400)) for n in range(60)}


async def fill(directory: Path) -> None:
    async with opened(directory) as store:
        for key, value in VALUES.items():
            await store.put(key, value, expect=0)


def change_row(directory: Path, statement: str, *bindings: object) -> None:
    """Change a row behind the store's back, as a flipped bit would."""
    connection = apsw.Connection(str(directory / "polykind.db"))
    connection.execute(statement, bindings)
    connection.close()


async def read_all(directory: Path) -> dict[str, bytes]:
    async with opened(directory) as store:
        return {item.key: item.value for item in (await store.range("/r/")).items}


class TestRows:
    @pytest.mark.parametrize(
        "column",
        ["value = CAST('{}' AS BLOB)", "value = 'text'", "previous = 1", "checksum = checksum + 1", "checksum = NULL"],
    )
    async def test_changed_row_is_damaged_and_the_others_are_readable(self, tmp_path: Path, column: str) -> None:
        await fill(tmp_path)
        change_row(tmp_path, f"UPDATE log SET {column} WHERE key = '/r/007'")
        async with opened(tmp_path) as store:
            items = {item.key: item.value for item in (await store.range("/r/")).items}
            one = await store.get("/r/007")
            history = await store.history("/r/", 1, await store.revision())
        assert items == VALUES | {"/r/007": DAMAGED_VALUE}
        assert one is not None
        assert one.value is DAMAGED_VALUE
        assert [event.key for event in history if event.value is DAMAGED_VALUE] == ["/r/007"]

    async def test_damaged_key_can_be_replaced_and_deleted(self, tmp_path: Path) -> None:
        await fill(tmp_path)
        change_row(tmp_path, "UPDATE log SET value = x'00' WHERE key IN ('/r/001', '/r/002')")
        async with opened(tmp_path) as store:
            one, two = await store.get("/r/001"), await store.get("/r/002")
            assert one is not None
            assert two is not None
            revision = await store.put("/r/001", b"new", expect=one.revision)
            assert await store.get("/r/001") == KeyValue("/r/001", b"new", revision)
            await store.delete("/r/002", expect=two.revision)
            assert await store.get("/r/002") is None

    async def test_invalid_text_in_a_key_does_not_hide_other_keys(self, tmp_path: Path) -> None:
        await fill(tmp_path)
        change_row(tmp_path, "UPDATE log SET key = CAST(x'2f722f303037ff' AS TEXT) WHERE key = '/r/007'")
        items = await read_all(tmp_path)
        assert {key: value for key, value in items.items() if value is not DAMAGED_VALUE} == {
            key: value for key, value in VALUES.items() if key != "/r/007"
        }

    async def test_rows_of_an_old_format_stay_readable_without_checksums(self, tmp_path: Path) -> None:
        await fill(tmp_path)
        change_row(
            tmp_path,
            "ALTER TABLE log DROP COLUMN checksum; DELETE FROM facts WHERE name = 'unchecked'; PRAGMA user_version = 1",
        )
        async with opened(tmp_path) as store:
            assert {item.key: item.value for item in (await store.range("/r/")).items} == VALUES
            await store.put("/r/new", b"new", expect=0)
        change_row(tmp_path, "UPDATE log SET checksum = NULL WHERE key = '/r/new'")
        assert await read_all(tmp_path) == VALUES | {"/r/new": DAMAGED_VALUE}


class TestFile:
    async def test_damaged_key_is_restored_from_the_index_and_the_index_from_the_rows(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        await fill(tmp_path)
        async with opened(tmp_path) as store:
            # An older revision of the key must not become the newest.
            old = await store.get("/r/031")
            assert old is not None
            await store.put("/r/031", b"newer", expect=old.revision)
        data = (tmp_path / "polykind.db").read_bytes()
        # The key is in the rows and in the index. Change one of them at a time to another key that exists.
        rebuilt = 0
        for at in [at for at in range(len(data)) if data.startswith(b"/r/031", at)]:
            (tmp_path / "polykind.db").write_bytes(data[: at + 5] + b"5" + data[at + 6 :])
            caplog.clear()
            assert await read_all(tmp_path) == VALUES | {"/r/031": b"newer"}
            # Unused bytes of a page may hold an old copy of the key, whose damage has no effect.
            rebuilt += "rebuilding the damaged index" in caplog.text
        assert rebuilt >= 4

    async def test_no_flipped_bit_is_served(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Every value that the store returns is one that was written, wherever a bit is flipped."""
        original, copy = tmp_path / "original", tmp_path / "copy"
        await fill(original)
        size, chance = (original / "polykind.db").stat().st_size, random.Random(7)
        for _ in range(40):
            caplog.clear()
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(original, copy)
            with (copy / "polykind.db").open("r+b") as file:
                at = chance.randrange(size)
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 1 << chance.randrange(8)]))
            try:
                items = await read_all(copy)
            except StoreError:
                continue
            intact = {key: value for key, value in items.items() if value is not DAMAGED_VALUE}
            assert intact.items() <= VALUES.items(), at
            assert len(items) == len(VALUES) or "is damaged" in caplog.text, at

    async def test_lost_commits_in_the_wal_are_reported(self, tmp_path: Path) -> None:
        running, crashed = tmp_path / "running", tmp_path / "crashed"
        async with opened(running) as store:
            for key, value in VALUES.items():
                await store.put(key, value, expect=0)
            shutil.copytree(running, crashed)
        wal = crashed / "polykind.db-wal"
        with wal.open("r+b") as file:
            file.seek(wal.stat().st_size // 2)
            file.write(b"damage")
        with pytest.raises(DamagedStoreError, match=r"commits after frame [0-9]+ cannot be read"):
            await SqliteStore(crashed).start()
        assert wal.stat().st_size > 0

    async def test_truncated_file_is_reported(self, tmp_path: Path) -> None:
        await fill(tmp_path)
        os.truncate(tmp_path / "polykind.db", 3 * 8192)
        with pytest.raises(StoreError):
            await read_all(tmp_path)


class TestReplacedFile:
    @pytest.mark.parametrize("name", ["polykind.db", "polykind.db-wal"])
    async def test_deleted_file_rejects_writes_until_it_is_back(self, tmp_path: Path, name: str) -> None:
        async with opened(tmp_path) as store:
            await store.put("/r/a", b"1", expect=0)
            (tmp_path / name).rename(tmp_path / "moved")
            assert f"{name} was deleted or replaced" in store.problem
            # The first write finds out, so its outcome is unknown. Later writes are rejected.
            with pytest.raises(UnknownOutcomeError, match=f"{name} was deleted or replaced"):
                await store.put("/r/b", b"2", expect=0)
            with pytest.raises(UnavailableError, match=f"{name} was deleted or replaced") as caught:
                await store.put("/r/c", b"2", expect=0)
            assert not isinstance(caught.value, UnknownOutcomeError)
            (tmp_path / "moved").rename(tmp_path / name)
            await store.put("/r/c", b"2", expect=0)
            assert store.problem == ""

    async def test_file_that_goes_during_a_commit_makes_the_outcome_unknown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with opened(tmp_path) as store:
            answers = iter([f"{tmp_path}/polykind.db"])
            monkeypatch.setattr(Writer, "replaced", lambda file: next(answers, ""))
            with pytest.raises(UnknownOutcomeError):
                await store.put("/r/a", b"1", expect=0)


def test_failed_sync_makes_the_outcome_unknown(tmp_path: Path) -> None:
    writer = Writer.__new__(Writer)
    writer._file, writer.problem = DatabaseFile(tmp_path), ""
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]
    assert isinstance(writer._failure(error), UnknownOutcomeError)
    assert "unknown whether the write is stored" in writer.problem
