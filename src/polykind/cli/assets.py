"""`polykind assets`: writes launchers with which envtest and similar test tools run on Polykind."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import polykind

_MAX_SHEBANG = 127
"""The maximum length of a script's first line (`#!...`) that every Linux kernel and macOS accept."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "assets",
        help="write kube-apiserver and etcd launchers for envtest",
        description="Write the launchers kube-apiserver and etcd, and a link to kubectl if it is installed, into a "
        "directory. With KUBEBUILDER_ASSETS=DIR, controller-runtime's envtest and similar tools run on Polykind.",
    )
    command.add_argument("directory", type=Path, metavar="DIR", help="directory of the launchers; created if absent")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    directory: Path = args.directory.absolute()
    try:
        write_launchers(directory)
    except OSError as error:
        print(f"polykind assets: {error}", file=sys.stderr)
        return 1
    print(f"export KUBEBUILDER_ASSETS={directory}")
    if not (directory / "kubectl").exists():
        print("polykind assets: kubectl was not found on the PATH, so there is no kubectl in DIR", file=sys.stderr)
    return 0


def write_launchers(directory: Path) -> None:
    """Write the launchers, and link kubectl if it is on the PATH. Existing files of these names are replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, script in launcher_scripts(sys.executable).items():
        target = directory / name
        temporary = directory / f".{name}.{os.getpid()}"
        temporary.unlink(missing_ok=True)
        if getattr(sys, "frozen", False):
            # The single-file executable starts as kube-apiserver or etcd if a link with that name runs it.
            temporary.symlink_to(sys.executable)
        else:
            temporary.write_text(script)
            temporary.chmod(0o755)
        temporary.replace(target)
    kubectl = shutil.which("kubectl")
    if kubectl is not None and not (directory / "kubectl").exists():
        (directory / "kubectl").unlink(missing_ok=True)
        (directory / "kubectl").symlink_to(Path(kubectl).absolute())
    if not getattr(sys, "frozen", False):
        _compile_package()


def _compile_package() -> None:
    """Compile the modules of Polykind that have no current bytecode, so that no launcher has to.

    Python does not write bytecode with PYTHONDONTWRITEBYTECODE, which many container images set. Then each start
    would compile hundreds of modules.
    """
    import compileall

    # A directory that cannot be written costs only time, so the result does not matter.
    compileall.compile_dir(Path(polykind.__file__).parent, quiet=2)


def launcher_scripts(python: str) -> dict[str, str]:
    """Return the scripts of the launchers by their names."""
    server = ["import sys", "from polykind.launchers.kube_apiserver import main", "sys.exit(main())"]
    # The etcd launcher needs only the standard library. Without the site module it starts faster, and then the
    # directory of Polykind must be added to the path.
    stub = [
        "import sys",
        f"sys.path.append({str(Path(polykind.__file__).parents[1])!r})",
        "from polykind.launchers.etcd_stub import main",
        "sys.exit(main())",
    ]
    return {"kube-apiserver": _script(python, "", server), "etcd": _script(python, "-IS", stub)}


def _script(python: str, options: str, lines: list[str]) -> str:
    """Return an executable script in Python. `options` are those of the interpreter."""
    head = [f"#!{python} {options}".rstrip()]
    if len(head[0]) > _MAX_SHEBANG or set(python) & set(" '"):
        # The kernel cannot run this interpreter by `#!`, so /bin/sh executes it. Python reads lines 2 and 3 as strings.
        quoted = python.replace("'", "'\"'\"'")
        head = ["#!/bin/sh", f"'''exec' '{quoted}' {options} \"$0\" \"$@\"", "' '''"]
    return "\n".join([*head, *lines, ""])
