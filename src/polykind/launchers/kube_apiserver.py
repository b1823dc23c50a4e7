"""The launcher `kube-apiserver`: runs a server with kube-apiserver's flags and without controllers."""

from __future__ import annotations

import gc
import sys

from polykind.launchers.kube_apiserver_flags import FlagError, ServeArguments, help_text, parse_flags, serve_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAM = "kube-apiserver"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the launcher. Return the exit code."""
    try:
        flags = parse_flags(sys.argv[1:] if arguments is None else arguments)
    except FlagError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    chosen = dict(flags)
    # Test tools ask for help before each start, so this imports nothing of the server.
    if chosen.get("help") == "true":
        print(help_text())
        return 0
    if chosen.get("version", "false") != "false":
        from polykind.server.kubernetes_version import GIT_VERSION

        print(f"Kubernetes {GIT_VERSION}")
        return 0
    # The server enables the collector again when it is ready. Until then there is little to free.
    gc.disable()
    from polykind.server.settings import GATES

    return _serve(serve_arguments(flags, GATES))


def _serve(serve: ServeArguments) -> int:
    import argparse
    import logging
    from functools import partial

    from polykind.cli.flags import configure_logging
    from polykind.cli.serve import add_serve_flags, settings
    from polykind.cli.server_process import report_failure, run_server
    from polykind.server.settings import SettingsError

    # A fixed width: to find the terminal's width, argparse would import large modules.
    parser = argparse.ArgumentParser(_PROGRAM, formatter_class=partial(argparse.HelpFormatter, width=100))
    add_serve_flags(parser)
    args = parser.parse_args(serve.arguments)
    configure_logging(args.verbosity, args.logging_format)
    for remark in serve.remarks:
        logging.getLogger("polykind.launchers").info("kube-apiserver launcher: %s", remark)
    try:
        found = settings(args)
    except SettingsError as error:
        report_failure(args.logging_format, _PROGRAM, error)
        return 2
    temporary = args.ephemeral and args.data_dir is None
    return run_server(found, program=_PROGRAM, stop_with_parent=False, temporary=temporary)


if __name__ == "__main__":
    sys.exit(main())
