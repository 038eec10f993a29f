"""A machine of a user: a home directory with a project, and the programs that run there."""

import os
import subprocess

from .command import E2E, PORTION

BIN = E2E / "node_modules/.bin"
SECONDS = 120
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "NO_COLOR": "1",
}


class Machine:
    """A home directory with a project, and the commands that run there."""

    def __init__(self, folder):
        self.folder, self.home, self.project = folder, folder / "home", folder / "project"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        self.env = os.environ | QUIET | {"HOME": str(self.home), "XDG_STATE_HOME": str(folder / "state")}
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
            self.env.pop(name, None)

    def run(self, *command, code=0):
        done = subprocess.run(
            command, cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == code, (command, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def portion(self, *arguments, code=0):
        return self.run(PORTION, *arguments, code=code)

    def client(self, name, *arguments):
        return self.run(str(BIN / name), *arguments)
