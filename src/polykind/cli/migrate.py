"""`polykind migrate`: writes all objects of a CRD at its storage version, on any Kubernetes cluster."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polykind.toolkit.migrating.crd_storage import CRDStorage
    from polykind.toolkit.migrating.migration_journal import Journal
    from polykind.toolkit.migrating.paced_client import PacedClient

_RATE = 50.0
_SHOWN_FAILURES = 20


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "migrate",
        help="rewrite all objects of a CRD at its storage version, on any cluster",
        description="Write every object of a CustomResourceDefinition once, without changing it, so that the API "
        "server stores it at the storage version. Repair managedFields that name removed versions, list again to "
        "verify that nothing is left, and remove the other versions from the CRD's status.storedVersions. An "
        "interrupted run continues where it stopped. Exit codes: 0 all objects are migrated (or with --dry-run, can be "
        "migrated); 1 objects failed, or the stored versions cannot be pruned; 2 invalid usage or no access.",
    )
    flag = command.add_argument
    flag("--kubeconfig", type=Path, metavar="FILE", help="kubeconfig of the cluster (default: as kubectl finds it)")
    flag("--dry-run", action="store_true", help="write nothing: ask the server to try each write, and show what fails")
    flag(
        "--rate",
        type=float,
        default=_RATE,
        metavar="NUMBER",
        help="requests per second (default: %(default)g; 0: no limit)",
    )
    flag(
        "--state",
        type=Path,
        metavar="FILE",
        help="state file of an interrupted run (default: one per server and CRD in $XDG_STATE_HOME/polykind)",
    )
    flag("--restart", action="store_true", help="ignore the state of an interrupted run")
    flag("--keep-stored-versions", action="store_true", help="do not change the CRD's status.storedVersions")
    flag(
        "--via",
        choices=("patch", "storageversionmigration"),
        default="patch",
        help="patch each object, or create a StorageVersionMigration and wait for it (default: patch)",
    )
    flag("crd", metavar="CRD", help="name of the CRD, such as crontabs.example.com")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    from polykind.cluster.cluster_access import KubeconfigError
    from polykind.cluster.cluster_client import ClusterError

    try:
        return uvloop.run(_migrate(args))
    except (KubeconfigError, ClusterError, OSError) as error:
        return _fail(str(error))
    except BaseExceptionGroup as group:
        from polykind.toolkit.migrating.cluster_migration import ForbiddenError

        forbidden, others = group.split(ForbiddenError)
        unexpected = (
            others.subgroup(lambda error: not isinstance(error, ClusterError | BaseExceptionGroup)) if others else None
        )
        if unexpected is not None:
            raise
        cause = (forbidden or group).exceptions[0]
        return _forbidden(args, str(cause), None) if forbidden is not None else _fail(str(cause))


def _fail(message: str) -> int:
    print(f"polykind migrate: {message}", file=sys.stderr)
    return 2


def _forbidden(args: argparse.Namespace, message: str, storage: CRDStorage | None) -> int:
    from polykind.toolkit.migrating.access_rules import migration_rules

    rules = migration_rules(args.crd, storage, via_resource=args.via == "storageversionmigration")
    return _fail(f"{message}\nThe migration needs no more than these rights:\n\n{rules}")


async def _migrate(args: argparse.Namespace) -> int:
    from polykind.cluster.cluster_access import find_access
    from polykind.cluster.cluster_client import ClusterClient
    from polykind.toolkit.migrating.cluster_migration import ForbiddenError, read_crd
    from polykind.toolkit.migrating.paced_client import PacedClient

    if args.rate < 0:
        return _fail("--rate must not be negative")
    storage: CRDStorage | None = None
    async with ClusterClient(find_access(args.kubeconfig, os.environ, Path.home()), "polykind-migrate") as cluster:
        client = PacedClient(cluster, args.rate)
        try:
            storage = await read_crd(client, args.crd)
            if not storage.served:
                return _fail(f"{storage.name} serves no version, so its objects cannot be read")
            print(
                f"{storage.name}: storage version {storage.storage}, stored versions "
                f"{', '.join(storage.stored_versions) or 'unknown'}"
            )
            if args.via == "storageversionmigration":
                return await _migrate_by_resource(args, client, storage)
            return await _migrate_by_patches(args, client, storage)
        except ForbiddenError as error:
            return _forbidden(args, str(error), storage)


def _continued_journal(path: Path, server: str, storage: CRDStorage) -> Journal | None:
    """Return the journal of an interrupted migration, or None if there is none that can be continued."""
    from polykind.toolkit.migrating.migration_journal import load_journal

    journal, ignored = load_journal(path, server, storage.uid, storage.storage)
    if ignored:
        print(f"starting from the first object: {ignored}")
    if journal is not None:
        print(f"continuing after {journal.last or 'the first page'} ({path})")
    return journal


async def _migrate_by_patches(args: argparse.Namespace, client: PacedClient, storage: CRDStorage) -> int:
    from polykind.toolkit.migrating.cluster_migration import ClusterMigration
    from polykind.toolkit.migrating.migration_journal import Journal
    from polykind.toolkit.migrating.migration_resource import served_version
    from polykind.toolkit.reporting.terminal import progress_bar

    server, path = client.cluster.server, args.state or _state_file(client.cluster.server, storage.name)
    journal = None if args.dry_run or args.restart else _continued_journal(path, server, storage)
    journal = journal or Journal(server, storage.uid, storage.storage, storage.stored_versions)
    if not args.dry_run and await served_version(client) is not None:
        print("the cluster can also migrate by itself: --via storageversionmigration")
    with progress_bar() as bar:
        verb = "testing" if args.dry_run else "rewriting"
        migration = ClusterMigration(
            client,
            storage,
            journal,
            dry_run=args.dry_run,
            on_progress=lambda done, total: bar.update(f"{verb} {storage.plural}", done, total),
            on_page=(lambda: None) if args.dry_run else (lambda: journal.save(path)),
        )
        await migration.rewrite_all()
        if args.dry_run:
            return _show_preview(journal)
        late = await migration.verify()
    print(_counts(journal))
    if late:
        print(f"{late} of them appeared only when the objects were listed again")
    if client.throttled:
        print(f"the server asked {client.throttled} times to wait")
    if journal.failures:
        _show_failures(journal, "could not be rewritten")
        print(f"run the command again when this is fixed; it tries the failed objects again ({path})")
        return 1
    print("verified: no object is left")
    result = await _prune(args, client, storage, journal)
    if not result:
        path.unlink(missing_ok=True)
    return result


async def _migrate_by_resource(args: argparse.Namespace, client: PacedClient, storage: CRDStorage) -> int:
    from polykind.toolkit.migrating.migration_journal import Journal
    from polykind.toolkit.migrating.migration_resource import MigrationFailedError, migrate_by_resource, served_version
    from polykind.toolkit.reporting.terminal import progress_bar

    if args.dry_run:
        return _fail("--dry-run cannot be combined with --via storageversionmigration: it tests each patch")
    version = await served_version(client)
    if version is None:
        return _fail(
            f"{client.cluster.server} does not serve storagemigration.k8s.io: use --via patch, or enable the feature "
            "gate StorageVersionMigrator and the API storagemigration.k8s.io"
        )
    journal = Journal(client.cluster.server, storage.uid, storage.storage, storage.stored_versions)
    with progress_bar() as bar:
        try:
            name = await migrate_by_resource(client, storage, version, lambda text: bar.update(text, 0))
        except MigrationFailedError as error:
            print(f"the migration failed: {error}")
            return 1
    print(f"StorageVersionMigration {name} has succeeded")
    return await _prune(args, client, storage, journal)


async def _prune(args: argparse.Namespace, client: PacedClient, storage: CRDStorage, journal: Journal) -> int:
    from polykind.toolkit.migrating.cluster_migration import RefusedError, prune_stored_versions

    if args.keep_stored_versions:
        return 0
    try:
        removed = await prune_stored_versions(client, storage, journal)
    except RefusedError as error:
        print(f"status.storedVersions is unchanged: {error}")
        return 1
    if removed:
        print(f"removed {', '.join(removed)} from status.storedVersions, which is now [{storage.storage}]")
    else:
        print(f"status.storedVersions is [{storage.storage}]")
    return 0


def _state_file(server: str, crd: str) -> Path:
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "polykind"
    return folder / f"migrate-{crd}-{hashlib.sha256(server.encode()).hexdigest()[:8]}.json"


def _show_preview(journal: Journal) -> int:
    tested = journal.rewritten + journal.unchanged
    print(f"{_plural(tested, 'object')} can be rewritten")
    if journal.repaired:
        print(
            f"{_plural(journal.repaired, 'object')} of them need a repair of managedFields, which name removed versions"
        )
    if journal.failures:
        _show_failures(journal, "would fail")
    return 1 if journal.failures else 0


def _counts(journal: Journal) -> str:
    text = f"{_plural(journal.rewritten, 'object')} rewritten, {journal.unchanged} already stored at {journal.storage}"
    return f"{text}, managedFields of {journal.repaired} repaired" if journal.repaired else text


def _show_failures(journal: Journal, verb: str) -> None:
    print(f"{_plural(len(journal.failures), 'object')} {verb}:")
    for key, reason in list(journal.failures.items())[:_SHOWN_FAILURES]:
        print(f"  {key}: {reason}")
    if len(journal.failures) > _SHOWN_FAILURES:
        print(f"  and {len(journal.failures) - _SHOWN_FAILURES} more")
    kinds = Counter(reason.rsplit("(", 1)[-1].rstrip(")") for reason in journal.failures.values())
    print("  by HTTP status: " + ", ".join(f"{kind}: {count}" for kind, count in kinds.most_common()))


def _plural(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
