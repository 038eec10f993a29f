"""The payloads of the fixture server as a REST API, with an OpenAPI document that gives its operations the same names."""

import json
from collections import Counter
from urllib.parse import urlsplit

from fixture import corpus
from fixture.server import TEXTS

from .rest_stub import Response, RestStub, operation

JSON_TEXTS = {"photo", "deep", "oddities"}
COUNT, NAME = ("count", "query", {"type": "integer"}), ("name", "path", {"type": "string"}, True)
OPERATIONS = {
    "list_bookings": ("/bookings", [COUNT]),
    "search_bookings": ("/search", []),
    "list_live": ("/live", []),
    "get_booking": ("/bookings/BK-0007", []),
    "get_small_booking": ("/bookings/small", []),
    "read_text": ("/texts/{name}", [NAME]),
    "read_document": ("/documents/{name}", [NAME]),
    "get_noise": ("/noise", []),
    "get_image": ("/image", [("kibibytes", "query", {"type": "integer"})]),
}
OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Bookings", "version": "1"},
    "paths": {path: {"get": operation(name, *parameters)} for name, (path, parameters) in OPERATIONS.items()},
}


class CorpusApi(RestStub):
    """`asked` has all requests, `live` the number of requests for the list that changes."""

    def __init__(self):
        self.counts = Counter()
        super().__init__({
            "GET /bookings": lambda request: as_json(corpus.bookings(int(request.query.get("count", 500)))),
            "GET /search": lambda request: as_json(f'{{"status":"ok","data":{{"items":{corpus.bookings()},"source":"fixture"}}}}'),
            "GET /live": lambda request: as_json(corpus.bookings(500, revision=self.next_number("live"))),
            "GET /bookings/small": lambda request: as_json(corpus.small_booking()),
            "GET /bookings/{id}": lambda request: as_json(corpus.big_booking()),
            "GET /texts/{name}": lambda request: as_text(TEXTS[request.path["name"]]()),
            "GET /documents/{name}": lambda request: document(request.path["name"]),
            "GET /noise": lambda request: as_json(json.dumps(corpus.noise(450_000, seed=self.next_number("noise")))),
            "GET /image": lambda request: Response(b"\x89PNG" * (256 * int(request.query["kibibytes"])), media="image/png"),
        })

    def next_number(self, name):
        self.counts[name] += 1
        return self.counts[name]

    def requests_of(self, path):
        return sum(urlsplit(request.target).path == path for request in self.asked)


def as_json(text):
    return Response(text.encode())


def as_text(text):
    return Response(text.encode(), media="text/plain; charset=utf-8")


def document(name):
    """A text as JSON, because only JSON is read by a reverse proxy: a string, unless it is JSON itself."""
    text = TEXTS[name]()
    return as_json(text if name in JSON_TEXTS else json.dumps(text, ensure_ascii=False))
