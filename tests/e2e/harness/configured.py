"""Portion with a configuration file that changes while it runs."""

from contextlib import ExitStack
from pathlib import Path

from .command import FIXTURE, wrapped
from .listening import Listening, served
from .peer import Peer
from .replacing import renamed_over
from .waiting import until

FRONTS = ["wrap", "serve"]


class Configured:
    """The fixture server behind Portion with the file at `path`, and a client."""

    def __init__(self, front, path):
        self.front, self.path = front, Path(path)

    def __enter__(self):
        options = ["--config", str(self.path)]
        with ExitStack() as stack:
            if self.front == "serve":
                self._process = stack.enter_context(Listening(served(*options, "--", *FIXTURE)))
                self.peer = stack.enter_context(Peer(self._process.url))
            else:
                self.peer = stack.enter_context(Peer(wrapped(FIXTURE, *options)))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *failure):
        return self._stack.__exit__(*failure)

    def write(self, text, way=renamed_over):
        way(self.path, text)

    def log(self):
        """What Portion has said on stderr."""
        return "".join(self._process.said) if self.front == "serve" else self.peer.said()

    def until(self, holds, what):
        """Asks again until it holds; a change is active soon after it was written."""
        return until(holds, what, pause=0.02, told=self.log)
