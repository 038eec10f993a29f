"""An issuer of JSON Web Tokens: keys of each algorithm, and their public parts at a URL."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "portion-tests"
NEW_KEYS = {
    "RS256": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
}


class Issuer:
    """Serves `/keys`, and signs. `requests` has the paths that were requested."""

    def __init__(self):
        self.requests, self.keys = [], {}
        for algorithm in NEW_KEYS:
            self.add(algorithm, algorithm)
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.requests.append(self.path)
                if self.path == "/moved":
                    self.send_response(302)
                    self.send_header("Location", "/keys")
                    self.end_headers()
                    return
                body = json.dumps({"keys": [key["public"] for key in issuer.keys.values()]}).encode()
                self.send_response(200 if self.path == "/keys" else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def add(self, kid, algorithm):
        """A new key with this id."""
        new, kind = NEW_KEYS[algorithm]
        private = new()
        public = json.loads(kind.to_jwk(private.public_key()))
        self.keys[kid] = {"private": private, "algorithm": algorithm, "public": {**public, "kid": kid, "use": "sig"}}

    def options(self, keys="/keys"):
        """The options by which Portion accepts its tokens."""
        return [
            *("--auth", "jwt", "--jwt-issuer", self.url, "--jwt-audience", AUDIENCE),
            *("--jwks-url", f"{self.url}{keys}"),
        ]

    def token(self, subject, kid="ES256", **changes):
        """A token of one minute; a change to None leaves a claim out."""
        now = time.time()
        claims = {"iss": self.url, "sub": subject, "aud": AUDIENCE, "exp": now + 60, "iat": now, **changes}
        claims = {name: value for name, value in claims.items() if value is not None}
        key = self.keys[kid]
        return jwt.encode(claims, key["private"], key["algorithm"], headers={"kid": kid})
