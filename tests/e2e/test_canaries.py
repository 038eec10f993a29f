"""Secrets are in no log, record, metric, span, error or page: each is a word that is searched for everywhere."""

import itertools
import json
import re

import pytest
import requests

from harness.collector import Collector
from harness.command import PORTION, RAW_FIXTURE
from harness.issuer import AUDIENCE, Issuer
from harness.listening import Listening
from harness.waiting import until
from test_auth import bearer, new_token, portion
from test_http_api import API

NAMES = [
    *("wrong bearer", "basic", "raw authorization", "cookie", "api key", "proxy authorization", "query key"),
    *("operator header", "operator key", "operator query", "environment", "admin guess", "argument", "cursor"),
    *("session", "wrong jwt", "jwt claim", "jwt id", "body", "path", "user information", "uri parameter"),
]
CANARIES = {name: f"canary{number:02}{'x7Qz' * 3}" for number, name in enumerate(NAMES)}
LOG = {"PORTION_LOG": "debug"}


@pytest.fixture(scope="module")
def raw():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def api():
    with Listening(API) as api:
        yield api


def operator():
    """Options and variables with the operator's secrets."""
    headers = ("Authorization: Bearer ${OPERATOR_TOKEN}", "X-API-Key: ${OPERATOR_KEY}")
    options = [part for header in headers for part in ("--header", header)]
    secrets = {"OPERATOR_TOKEN": "operator header", "OPERATOR_KEY": "operator key", "OTHER_SECRET": "environment"}
    return options, {name: CANARIES[canary] for name, canary in secrets.items()}


def attempts(issuer, token):
    """Header fields of callers, right and wrong."""
    jwt = issuer.token("ada", sub=CANARIES["jwt claim"], jti=CANARIES["jwt id"])
    return [
        {},
        bearer(CANARIES["wrong bearer"]),
        bearer(f"{jwt.rpartition('.')[0]}.{CANARIES['wrong jwt']}"),
        bearer(jwt),
        bearer(token),
        {"Authorization": f"Basic {CANARIES['basic']}"},
        {"Authorization": CANARIES["raw authorization"]},
        {"Cookie": f"a={CANARIES['cookie']}"},
        {"X-API-Key": CANARIES["api key"]},
        {"Proxy-Authorization": f"Bearer {CANARIES['proxy authorization']}"},
    ]


def posts():
    say = {"name": "say", "arguments": {"a": CANARIES["argument"]}}
    read = {"name": "portion_read", "arguments": {"cursor": CANARIES["cursor"]}}
    calls = [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call} for call in (say, read, {"name": "list_rows"})]
    for uri in (f"postgres://u:{CANARIES['user information']}@h/db", f"app://x?access_token={CANARIES['uri parameter']}"):
        calls.append({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}})
    return [*map(json.dumps, calls), f'{{"{CANARIES["body"]}"', f'{{"jsonrpc":"1.0","x":"{CANARIES["body"]}"}}']


def admin_of(front):
    told = until(lambda: re.search(r"dashboard at (http://127\.0\.0\.1:\d+)/", "".join(front.said)), "an address")
    return told[1]


def everything(front, admin_token, database, collector):
    """What the operator can see of it, by where."""
    admin, seen = admin_of(front), {}
    for path in ("/health", "/metrics", "/", "/api/records", "/api/endpoints", "/api/experiment"):
        for headers in ({}, bearer(CANARIES["admin guess"]), bearer(admin_token)):
            answer = requests.get(admin + path, headers=headers, timeout=30)
            seen[f"{path} {len(headers)}"] = answer.text + str(answer.headers)
        assert answer.status_code == 200
    until(lambda: collector.traces, "spans at the collector", seconds=30)
    front.__exit__()
    seen["log"] = "".join(front.said)
    for file in database.parent.glob("telemetry.db*"):
        seen[file.name] = file.read_bytes().decode("latin-1")
    seen["otlp"] = "".join(map(str, [*collector.traces, *collector.metrics]))
    return seen


def found(seen, canaries):
    return {(where, name) for (where, text), name in itertools.product(seen.items(), canaries) if CANARIES[name] in text}


@pytest.mark.parametrize("auth", ["none", "bearer", "jwt"])
@pytest.mark.parametrize("front", ["serve", "http"])
def test_no_secret_is_seen(raw, api, tmp_path, auth, front):
    ops, caller = new_token("ops"), new_token("ci")
    options, env = operator()
    with Issuer() as issuer, Collector() as collector:
        options += {
            "none": [],
            "bearer": ["--auth", "bearer", "--token-hash", caller["entry"]],
            "jwt": issuer.options(),
        }[auth]
        query = f"?key={CANARIES['operator query']}"
        options += {"serve": ["--url", f"{raw.url}/mcp{query}"], "http": ["--upstream", f"{api.url}/api{query}"]}[front]
        listeners = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-token-hash", ops["entry"]]
        records = tmp_path / "telemetry.db"
        telemetry = ["--telemetry", str(records), "--otlp", collector.url]
        process = Listening([PORTION, front, *listeners, *telemetry, *options], env=env | LOG).__enter__()
        said = {}
        kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        target = process.url if front == "serve" else f"{process.url}/bookings"
        sessions = [{}, {"Mcp-Session-Id": CANARIES["session"]}]
        for number, (headers, session) in enumerate(itertools.product(attempts(issuer, caller["token"]), sessions)):
            for body in posts():
                answer = requests.post(f"{target}?k={CANARIES['query key']}", body, headers=kinds | headers | session, timeout=30)
                said[f"{number} {body[:40]}"] = answer.text + str(answer.headers)
            lost = process.url.removesuffix("/mcp") + f"/{CANARIES['path']}"
            requests.get(lost, headers=headers, timeout=30)
        seen = everything(process, ops["token"], records, collector)
        assert seen["log"] and seen["otlp"], "there is something to search"
        # The API echoes nothing of these, and callers see nothing of the operator.
        of_operator = ["operator header", "operator key", "operator query", "environment"]
        assert found(said, of_operator) == set()
        # The path of a request to an API is the name of its endpoint.
        named = {"path"} if front == "http" else set()
        assert found(seen, set(NAMES) - named) == set()
        for token in (caller["token"], ops["token"], issuer.token("ada")):
            assert token not in "".join(seen.values())


def test_no_secret_is_in_a_shown_configuration(tmp_path):
    token = new_token("ci")
    file = tmp_path / "portion.yaml"
    file.write_text(
        f"auth: bearer\ntokenHashes: ['{token['entry']}']\n"
        "upstreams: {a: {url: 'http://127.0.0.1:9/mcp', headers: {Authorization: 'Bearer ${OPERATOR_TOKEN}'}}}\n"
    )
    shown = portion("config", "show", "--config", str(file), OPERATOR_TOKEN=CANARIES["operator header"])
    assert shown.returncode == 0 and "(set)" in shown.stdout and "canary" not in shown.stdout + shown.stderr
    file.write_text(f"auth: bearer\ntokenHashes: ['{CANARIES['wrong bearer']}']\njwtAudience: {AUDIENCE}\n")
    wrong = portion("config", "check", str(file))
    assert wrong.returncode and "tokenHashes" in wrong.stdout + wrong.stderr
    assert CANARIES["wrong bearer"] not in wrong.stdout + wrong.stderr
