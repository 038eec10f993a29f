"""Certificates, and a TLS endpoint in front of a server without TLS."""

import socket
import ssl
import subprocess
import threading
from urllib.parse import urlsplit

SECONDS = 60
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Certificates:
    """An authority and a certificate that it signed, made with `openssl`; valid from today for `days`."""

    def __init__(self, directory, *, name="IP:127.0.0.1", days=30):
        directory.mkdir(exist_ok=True)
        self.authority = directory / "ca.pem"
        self.key, request, self.certificate = directory / "key.pem", directory / "request.pem", directory / "cert.pem"
        authority_key, extensions = directory / "ca-key.pem", directory / "extensions"
        extensions.write_text(f"subjectAltName={name}\n")
        openssl("req", "-x509", *NEW_KEY, "-keyout", authority_key, "-out", self.authority, "-subj", "/CN=authority")
        openssl("req", *NEW_KEY, "-keyout", self.key, "-out", request, "-subj", "/CN=server")
        signed_by = ("-CA", self.authority, "-CAkey", authority_key, "-CAcreateserial", "-days", days)
        openssl("x509", "-req", "-in", request, *signed_by, "-out", self.certificate, "-extfile", extensions)

    @property
    def server_options(self):
        files = {"cert": self.certificate, "key": self.key, "ca-cert": self.authority}
        named = [part for name, file in files.items() for part in (f"--tls-{name}-file", str(file))]
        return (*named, "--tls-auth-clients", "no")

    @property
    def client_options(self):
        return ["--tls", "--cacert", str(self.authority)]

    @property
    def environment(self):
        """What makes Portion, Python and Node trust the authority."""
        return {"SSL_CERT_FILE": str(self.authority), "NODE_EXTRA_CA_CERTS": str(self.authority)}


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=SECONDS)


class TlsEndpoint:
    """Accepts connections with TLS at `url` and passes their bytes to the server at `target`, a URL with `http`.

    `cut`: the number of bytes from the server after which a connection is closed, without the end that TLS has for it.
    `only`: the one version of TLS.
    """

    def __init__(self, target, certificates, *, cut=None, only=None):
        parts = urlsplit(target)
        self._target, self._cut = (parts.hostname, parts.port), cut
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.certificate, certificates.key)
        self._context.set_alpn_protocols(["http/1.1"])
        if only:
            self._context.minimum_version = self._context.maximum_version = only
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self.versions = set()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            client = self._context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
            return
        self.versions.add(client.version())
        server = socket.create_connection(self._target)
        threading.Thread(target=self._pump, args=(client, server, None), daemon=True).start()
        self._pump(server, client, self._cut)

    @staticmethod
    def _pump(reading, writing, left):
        try:
            while data := reading.recv(1 << 16):
                if left is not None and len(data) >= left:
                    writing.sendall(data[:left])
                    break
                left = left and left - len(data)
                writing.sendall(data)
        except OSError:
            pass
        for end in (reading, writing):
            try:
                # Of a TLS socket, this closes the connection below it without a word.
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
