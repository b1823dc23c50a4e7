"""The stock kubectl, run as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEADLINE_SECONDS = 40


@dataclass
class Outcome:
    """The output and exit status of a kubectl command."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """Split a printed table into cells at two or more blanks."""
        return [re.split(r"\s{2,}", line.strip()) for line in self.out.splitlines() if line.strip()]


class Kubectl:
    """kubectl with its own kubeconfig and home directory, so that tests share no cache."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        found = shutil.which("kubectl")
        assert found, "kubectl is not on the PATH: `make test` fetches it"
        self.command = found
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *args: str, stdin: str | None = None, editor: str = "", check: bool = True) -> Outcome:
        """Run a command and wait for it. Raise AssertionError if it fails, unless `check` is false."""
        env = self.env | ({"KUBE_EDITOR": editor} if editor else {})
        done = subprocess.run(
            [self.command, *args],
            input=stdin,
            env=env,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
        assert not check or outcome.code == 0, f"kubectl {' '.join(args)}: {outcome.code}\n{outcome.out}{outcome.err}"
        return outcome

    def json(self, *args: str) -> Any:
        return json.loads(self(*args, "-o", "json").out)

    def follow(self, *args: str, log: Path) -> Following:
        """Start a command in the background and write its output to `log`."""
        return Following([self.command, *args], self.env, log)

    def minor(self) -> int:
        """Return the minor version of the kubectl client, for example 20 for v1.20.2."""
        version = self("version", "--client", "-o", "json").out
        return int(re.sub(r"\D", "", json.loads(version)["clientVersion"]["minor"]))


class Following:
    """A kubectl command that keeps running, such as `get -w`."""

    def __init__(self, command: list[str], env: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)

    def until(self, text: str) -> str:
        """Wait until the output contains `text` and return the whole output."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text not in (printed := self.log.read_text()):
            assert time.monotonic() < deadline, f"{text!r} was not printed:\n{printed}"
            time.sleep(0.02)
        return printed

    def close(self) -> str:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        return self.log.read_text()

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
