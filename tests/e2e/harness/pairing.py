"""Portion between each front that it has and each upstream, on addresses of this machine."""

from contextlib import contextmanager

from .command import PORTION
from .listening import Listening, served

FRONTS = ["stdio", "http"]
UPSTREAMS = ["child", "http", "sse"]


def upstream(kind, *, child, base):
    """What `wrap` and `serve` are told to reach a server: as a child, at `base`/mcp, or at `base`/sse."""
    return {"child": ["--", *child], "http": ["--url", f"{base}/mcp"], "sse": ["--url", f"{base}/sse"]}[kind]


@contextmanager
def pairing(front, *behind, env=None):
    """Portion with `front` and what is `behind` it, as a target for clients: `{"command": …}` or `{"url": …}`."""
    if front == "stdio":
        yield {"command": [PORTION, "wrap", *behind]}
    else:
        with Listening(served(*behind), env=env) as portion:
            yield {"url": portion.url, "process": portion.process}
