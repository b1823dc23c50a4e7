"""The single-file executable: it is `polykind`, or the launcher by whose name a link calls it."""

from __future__ import annotations

import sys
from pathlib import PurePath


def main() -> int:
    """Run the program that the name of the executable selects. Return the exit code."""
    name = PurePath(sys.argv[0]).name
    if name == "etcd":
        from polykind.launchers import etcd_stub

        return etcd_stub.main()
    if name == "kube-apiserver":
        from polykind.launchers import kube_apiserver

        return kube_apiserver.main()
    from polykind import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
