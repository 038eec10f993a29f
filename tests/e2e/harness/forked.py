"""Runs a Python server in a process that `fork_server.py` forks; without that one, by starting Python.

    python -I -S forked.py SOCKET PYTHON SCRIPT [ARGUMENT ...]
"""

import array
import json
import os
import socket
import sys

path, python, *command = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX)
try:
    connection.connect(path)
except OSError:
    os.execv(python, [python, *command])
request = {"command": command, "folder": os.getcwd(), "environment": dict(os.environ)}
body = json.dumps(request).encode() + b"\n"
descriptors = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
sent = connection.sendmsg([body], [descriptors])
connection.sendall(body[sent:])
# Whoever waits for the end of these pipes waits for the server alone.
nowhere = os.open(os.devnull, os.O_RDWR)
for descriptor in range(3):
    os.dup2(nowhere, descriptor)
code = connection.recv(1)
os._exit(code[0] if code else 1)
