"""The commands and the configuration of docs/guides/identity.md work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from polykind.server.authentication_settings import read_authentication_config
from polykind.server.settings import Settings
from tests.support import pages
from tests.support.server import ServerProcess

PAGE = (pages.ROOT / "docs" / "guides" / "identity.md").read_text()


def test_single_sign_on_configuration_is_valid(tmp_path: Path) -> None:
    block = next(text for text in pages.blocks(PAGE, "yaml") if "AuthenticationConfiguration" in text)
    (tmp_path / "sso.yaml").write_text(block)
    config = read_authentication_config(Settings(data_dir=tmp_path, authentication_config=tmp_path / "sso.yaml"))
    assert [entry["issuer"]["audiences"] for entry in config["jwt"]] == [["polykind"], ["polykind"]]


def test_commands_add_and_revoke_a_user(tmp_path: Path) -> None:
    commands = [command.line for command in pages.commands(PAGE)]
    assert len(commands) == 5
    with ServerProcess(tmp_path / ".polykind") as server:
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {"PATH": programs, "HOME": str(tmp_path), "KUBECONFIG": str(server.kubeconfig)}

        def run(command: str) -> tuple[int, str]:
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
            )
            return done.returncode, done.stdout + done.stderr

        def wait_for(command: str, code: int) -> str:
            """Run a command until it has the exit code, because the server looks for changed files every 5 seconds."""
            deadline = time.monotonic() + 40
            while (result := run(command))[0] != code:
                assert time.monotonic() < deadline, result[1]
                time.sleep(0.2)
            return result[1]

        add, bind, whoami, listing, revoke = commands
        assert "serial" in wait_for(add, 0)
        assert "created" in wait_for(bind, 0)
        assert "alice" in wait_for(whoami, 0)
        assert "developers" in wait_for(listing, 0)
        assert "Revoked" in wait_for(revoke, 0)
        assert "You must be logged in" in wait_for(whoami, 1)
