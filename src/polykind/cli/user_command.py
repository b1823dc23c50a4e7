"""`polykind user`: issues, lists and revokes the client certificates of users."""

from __future__ import annotations

import argparse
import ipaddress
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from polykind.cli.flags import UsageError, add_list_flag
from polykind.clock import SystemClock
from polykind.contract import JsonObject
from polykind.pki.private_files import kubeconfig, to_base64, write_private
from polykind.pki.user_registry import UserRegistry

_DATA_DIR = Path(".polykind")
_MAX_NAME = 64
"""The limit for common names and organizations in certificates (RFC 5280, appendix A.1)."""
_MAX_DAYS = 3650


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "user",
        help="add, list and revoke users with client certificates",
        description="Add, list and revoke users with client certificates. A running server notices changes within "
        "seconds.",
    )
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_user = actions.add_parser(
        "add",
        help="issue a client certificate and print its kubeconfig",
        description="Issue a client certificate and print a kubeconfig with the certificate and its private key.",
    )
    add_user.add_argument("name", metavar="NAME", help="the user name, for RoleBindings and ClusterRoleBindings")
    add_list_flag(add_user, "--group", "GROUP", "group of the user")
    add_user.add_argument(
        "--days", type=int, default=365, metavar="DAYS", help="lifetime of the certificate (default: %(default)s)"
    )
    add_user.add_argument("--output", type=Path, metavar="FILE", help="write the kubeconfig to a file with mode 0600")
    add_user.add_argument("--server", metavar="URL", help="URL of the server (default: that of the admin kubeconfig)")
    add_user.add_argument(
        "--allow-system-identity",
        action="store_true",
        help="allow names that start with system:, such as the group system:masters, whose members may do everything "
        "whatever RBAC says",
    )
    list_users = actions.add_parser(
        "list", help="list issued certificates", description="List the issued certificates and their states."
    )
    revoke = actions.add_parser(
        "revoke",
        help="revoke certificates",
        description="Revoke all certificates of a user, or the one with a serial number.",
    )
    revoke.add_argument("selection", metavar="NAME|SERIAL", help="the user name or the serial number in `user list`")
    for action, run in ((add_user, _add), (list_users, _list), (revoke, _revoke)):
        action.add_argument(
            "--data-dir",
            type=Path,
            default=_DATA_DIR,
            metavar="DIR",
            help="data directory of the server (default: %(default)s)",
        )
        action.set_defaults(run=_guarded(run))


def _guarded(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Print errors instead of raising them, and return the exit code."""

    def guarded(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except UsageError as error:
            print(f"polykind user {args.action}: {error}", file=sys.stderr)
            return 2
        except (OSError, ValueError) as error:
            print(f"polykind user {args.action}: {error}", file=sys.stderr)
            return 1

    return guarded


def _add(args: argparse.Namespace) -> int:
    _check_names(args.name, args.group, allow_system=args.allow_system_identity)
    if not 1 <= args.days <= _MAX_DAYS:
        raise UsageError(f"--days must be between 1 and {_MAX_DAYS}")
    cluster = _cluster(args.data_dir, args.server)
    # The cryptography library is slow to import, and the other commands do not need it.
    from polykind.pki.client_authority import issue_user

    groups = tuple(dict.fromkeys(args.group))
    pair = issue_user(args.data_dir / "pki", args.name, groups, _now(), timedelta(days=args.days))
    credentials: JsonObject = {
        "client-certificate-data": to_base64(pair.certificate_pem),
        "client-key-data": to_base64(pair.key_pem),
    }
    config = kubeconfig(cluster, args.name, credentials)
    if args.output is None:
        sys.stdout.write(config.decode())
    else:
        write_private(args.output, config)
        serial, expires = pair.certificate.serial_number, pair.certificate.not_valid_after_utc
        print(f"Wrote {args.output} for the user {args.name}: serial {serial:040x}, expires {expires:%Y-%m-%d}.")
    return 0


def _check_names(name: str, groups: list[str], *, allow_system: bool) -> None:
    """Raise UsageError if a name does not fit into a certificate, or is reserved for Kubernetes."""
    for kind, text in (("user name", name), *(("group", group) for group in groups)):
        if not text or len(text) > _MAX_NAME or not text.isprintable() or text != text.strip():
            limits = f"1 to {_MAX_NAME} printable characters, without spaces at the ends"
            raise UsageError(f"the {kind} {text!r} is invalid: certificates hold {limits}")
        if text.startswith("system:") and not allow_system:
            detail = "whose members may do everything and cannot be restricted by RBAC"
            danger = f"a group {detail}" if text == "system:masters" else "reserved for Kubernetes' own identities"
            raise UsageError(f"the {kind} {text} is {danger}; if you mean it, add --allow-system-identity")


def _cluster(data_dir: Path, server: str | None) -> JsonObject:
    """Return the kubeconfig's entry for the server, from the admin kubeconfig. Raise UsageError if it is missing."""
    path = data_dir / "admin.kubeconfig"
    try:
        cluster: JsonObject = json.loads(path.read_bytes())["clusters"][0]["cluster"]
    except FileNotFoundError:
        remedy = f"start `polykind serve --data-dir {data_dir}` once, or name its data directory with --data-dir"
        raise UsageError(f"{path} does not exist: {remedy}") from None
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"{path} is not an admin kubeconfig: {error!r}; restart the server to write it again"
        ) from None
    if server is not None:
        parts = urlsplit(server)
        if parts.scheme != "https" or not parts.hostname:
            raise UsageError(f"--server {server} is not a URL such as https://polykind.example.com:6443")
        cluster["server"] = server.rstrip("/")
    elif _is_local(urlsplit(cluster["server"]).hostname or ""):
        url, flags = cluster["server"], "--server URL, or start the server with --bind-address and --advertise-address"
        print(f"polykind user add: {url} works on this machine only; for other machines use {flags}", file=sys.stderr)
    return cluster


def _is_local(host: str) -> bool:
    """True if a host name or an address means the machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _list(args: argparse.Namespace) -> int:
    now = _now()
    rows = [("NAME", "GROUPS", "SERIAL", "EXPIRES", "STATE")]
    for issued in UserRegistry(args.data_dir / "pki").read():
        expires = datetime.fromisoformat(issued.expires).astimezone(UTC)
        rows.append(
            (
                issued.name,
                ",".join(issued.groups) or "-",
                issued.serial,
                f"{expires:%Y-%m-%d}",
                issued.state(now),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _revoke(args: argparse.Namespace) -> int:
    registry = UserRegistry(args.data_dir / "pki")
    missing = f"no certificate has the user name or serial {args.selection}: see `polykind user list`"
    if not registry.file.exists():
        raise UsageError(missing)
    try:
        revoked = registry.revoke(args.selection, _now().isoformat(timespec="seconds"))
    except KeyError:
        raise UsageError(missing) from None
    for issued in revoked:
        print(f"Revoked the certificate {issued.serial} of {issued.name}.")
    if not revoked:
        print(f"All certificates of {args.selection} were revoked before.")
    return 0


def _now() -> datetime:
    return SystemClock().now().astimezone(UTC)
