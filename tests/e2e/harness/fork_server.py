"""Forks fixture servers from a process that has imported the MCP SDK, because each import takes a second.

    python fork_server.py SOCKET

`forked.py` is the command of such a server. It sends its arguments, its environment and its pipes to the socket.
"""

import array
import json
import os
import runpy
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

DESCRIPTORS = 3
MAX_REQUEST_BYTES = 1 << 20


def main(path):
    import_what_servers_use()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        threading.Thread(target=end_with_the_tests, daemon=True).start()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                os._exit(serve(connection))
            connection.close()


def import_what_servers_use():
    import mcp.server.auth.routes
    import mcp.server.mcpserver
    import mcp.server.sse
    import mcp.server.stdio
    import mcp.server.streamable_http
    import uvicorn.protocols.http.h11_impl  # noqa: F401


def end_with_the_tests():
    # Not by `sys.stdin`, whose lock a fork would copy.
    os.read(0, 1)
    os._exit(0)


def serve(connection):
    """Runs the script of a request in this process. Returns its exit code."""
    request = receive(connection)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    script = request["command"][0]
    sys.argv = request["command"]
    sys.path[0] = str(Path(script).parent)
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
    connection.send(bytes([code & 0xFF]))
    return code & 0xFF


def receive(connection):
    """Reads a request, and puts its descriptors in place of stdin, stdout and stderr."""
    body, ancillary, _, _ = connection.recvmsg(MAX_REQUEST_BYTES, socket.CMSG_SPACE(DESCRIPTORS * 4))
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data)
    while not body.endswith(b"\n"):
        body += connection.recv(MAX_REQUEST_BYTES)
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    return json.loads(body)


def end_with(connection):
    """Ends this process when the one that asked for it has ended."""
    if not connection.recv(1):
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
