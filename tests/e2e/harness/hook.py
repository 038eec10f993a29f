"""Where alerts are posted, and what an operator asks of a running Portion."""

import json
import queue
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .waiting import until

SECONDS = 60


class Hook:
    """A server that takes messages: `received` in their order, refusing the first `refuse` of them with `status`."""

    def __init__(self, *, refuse=0, status=503):
        self.received = queue.Queue()
        self._refuse, self._status = refuse, status

    def __enter__(self):
        hook = self

        class Taking(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook._refuse -= 1
                self.send_response(hook._status if hook._refuse >= 0 else 204)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                if hook._refuse < 0:
                    hook.received.put((self.path, self.headers["Content-Type"], json.loads(body)))

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def next(self):
        return self.received.get(timeout=SECONDS)


def asked(port, path):
    """What Portion answers its operator. The listener of the operator begins a moment after the one of clients."""
    with until(lambda: opened(f"http://127.0.0.1:{port}{path}"), "a listener for the operator", seconds=SECONDS) as answer:
        return answer.read().decode()


def opened(url):
    """The response at a URL, or `None` where nothing listens."""
    try:
        return urllib.request.urlopen(url, timeout=SECONDS)
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return None
        raise
