#!/usr/bin/env python3
"""Measures what Portion adds to a REST API, against stand-ins on this machine. Prints figures and asserts nothing.

    tests/e2e/.venv/client/bin/python tools/rest_figures.py --portion target/release/portion

- the first page of a list: median and p95, direct and through `portion http`, with and without pushdown
- p95 of lists and details against an API that answers after 200 ms, and the time added to one that answers at once
- a walk over 12,000 rows of 52 fields: duration, and the peak memory of Portion
"""

import argparse
import json
import re
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import parse_qs, urlsplit

import requests

ROWS, FIELDS = 12_000, 52
PUSHDOWN = """
endpoints:
  GET /schools: {pushdown: {preset: hostaway, maxFetch: 300}}
  GET /listings: {pushdown: hostaway}
"""


def school(number):
    row = {"id": number, "school_name": f"School {number}", "city_location": ["Oakland", "Fresno"][number % 2]}
    return row | {f"field_{at}": (number * 31 + at * 7) % 100_000 for at in range(FIELDS - len(row))}


def listing(number):
    text = f"Garden Villa {number}. The living room opens onto a terrace. " * 130
    return {"id": number, "name": f"Villa {number}", "city": "Ronda", "price": 80 + number, "description": text[:8_000]}


class Api:
    """`/schools` by limit and offset, `/listings` (60 of 8 KB), `/listings/ID`; each answer takes `delay` seconds."""

    def __init__(self, delay):
        schools = [json.dumps(school(number)) for number in range(ROWS)]
        listings = [json.dumps(listing(number)) for number in range(60)]

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                time.sleep(delay)
                url = urlsplit(self.path)
                query = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
                rows = schools if url.path == "/schools" else listings
                offset, limit = query.get("offset", 0), query.get("limit", 100)
                body = f'{{"status":"success","result":[{",".join(rows[offset : offset + limit])}],"count":{len(rows)}}}'
                if url.path.startswith("/listings/"):
                    body = rows[int(url.path.rsplit("/", 1)[1])]
                data = body.encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


class Portion:
    def __init__(self, binary, upstream, config):
        self._scratch = tempfile.TemporaryDirectory()
        file = Path(self._scratch.name) / "portion.yaml"
        file.write_text(config)
        command = [binary, "http", "--upstream", upstream, "--listen", "127.0.0.1:0", "--admin", "off"]
        command += ["--telemetry", str(Path(self._scratch.name) / "telemetry.db"), "--config", str(file)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"listening on (http\S+)", line):
                self.url = found[1]
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self._scratch.cleanup()

    def peak_mib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def durations(url, count):
    """Milliseconds of `count` requests on one connection, after one that is not counted."""
    with requests.Session() as session:
        session.get(url).raise_for_status()
        found = []
        for _ in range(count):
            begun = time.perf_counter()
            session.get(url).raise_for_status()
            found.append((time.perf_counter() - begun) * 1_000)
    return found


def row(name, direct, through):
    p95 = lambda values: quantiles(values, n=20)[-1]
    added, share = p95(through) - p95(direct), (p95(through) / p95(direct) - 1) * 100
    print(
        f"{name:<34} median {median(direct):8.1f} → {median(through):8.1f} ms   "
        f"p95 {p95(direct):8.1f} → {p95(through):8.1f} ms  ({added:+.1f} ms, {share:+.0f} %)"
    )


def walk(url):
    with requests.Session() as session:
        target, seen = "/schools?fields=all", 0
        while target:
            page = session.get(url + target)
            seen += len(page.json()["result"])
            target = page.links.get("next", {}).get("url")
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--portion", required=True, help="the binary")
    parser.add_argument("--requests", type=int, default=60)
    options = parser.parse_args()
    plain, pushdown = "{}\n", PUSHDOWN
    for delay, name in ((0.2, "200 ms"), (0, "at once")):
        count = options.requests if delay else 4 * options.requests
        with Api(delay) as api:
            for config, kind in ((plain, ""), (pushdown, ", pushdown")):
                with Portion(options.portion, api.url, config) as portion:
                    for path, what in (("/schools", "first page"), ("/listings", "60 listings"), ("/listings/7", "details")):
                        through = durations(portion.url + path, count)
                        row(f"{what} ({name}{kind})", durations(api.url + path, count), through)
    with Api(0) as api, Portion(options.portion, api.url, pushdown.replace("300", "20000")) as portion:
        begun = time.perf_counter()
        seen = walk(portion.url)
        print(f"walk of {seen:,} rows of {FIELDS} fields: {time.perf_counter() - begun:.1f} s, peak {portion.peak_mib():.0f} MiB")


if __name__ == "__main__":
    main()
