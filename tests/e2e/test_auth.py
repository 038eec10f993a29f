"""Who asks: callers are authenticated by tokens or JSON Web Tokens, and own what they were served."""

import json
import os
import re
import subprocess
import time
from itertools import product

import jwt
import pytest
import requests

from fixture.corpus import bookings
from harness.command import FIXTURE, PORTION, RAW_FIXTURE
from harness.driven import SDKS, Driven
from harness.issuer import Issuer
from harness.listening import Listening, served
from harness.reply import lawful, walk
from harness.talk import OverHttp, exchange
from harness.waiting import until
from test_http_api import API

CALLERS = 50
OPERATOR = "Bearer the-operators-own"


def portion(*arguments, **env):
    return subprocess.run([PORTION, *arguments], capture_output=True, text=True, timeout=60, env={**os.environ, **env})


def new_token(name):
    return json.loads(portion("token", name, "--json").stdout)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Callers:
    """How the callers of one scheme are recognised: options of Portion, and the credential of each by number."""

    def __init__(self, scheme, issuer):
        self.scheme, self.issuer = scheme, issuer
        self.tokens = [new_token(f"caller-{n}") for n in range(CALLERS)] if scheme == "bearer" else []

    @property
    def options(self):
        if self.scheme == "jwt":
            return self.issuer.options()
        hashes = [part for token in self.tokens for part in ("--token-hash", token["entry"])]
        return ["--auth", "bearer", *hashes]

    def credential(self, number):
        if self.scheme == "jwt":
            return bearer(self.issuer.token(f"caller-{number}"))
        return bearer(self.tokens[number]["token"])


class Caller(OverHttp):
    """A client that sends `credential` with each request."""

    def __init__(self, url, credential):
        super().__init__(url)
        self.credential = credential

    def _headers(self):
        return [*self.credential.items(), *super()._headers()]


@pytest.fixture(scope="module")
def issuer():
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module", params=["bearer", "jwt"])
def callers(request, issuer):
    return Callers(request.param, issuer)


@pytest.fixture(scope="module")
def raw():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module", params=["child", "http"])
def front(request, callers, raw):
    behind = {"child": ["--", *FIXTURE], "http": ["--url", f"{raw.url}/mcp", "--header", f"Authorization: {OPERATOR}"]}
    with Listening(served(*callers.options, "--admin", "off", *behind[request.param])) as front:
        front.tool = {"child": "list_bookings", "http": "list_rows"}[request.param]
        yield front


@pytest.fixture(scope="module")
def api():
    with Listening(API) as api:
        yield api


@pytest.fixture(scope="module")
def proxy(callers, api):
    command = [PORTION, "http", "--upstream", f"{api.url}/api", "--listen", "127.0.0.1:0", "--admin", "off"]
    with Listening([*command, *callers.options, "--header", f"Authorization: {OPERATOR}"]) as proxy:
        yield proxy


def post(url, headers, line='{"jsonrpc":"2.0","id":1,"method":"ping"}'):
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return requests.post(url, line, headers=kinds | headers, timeout=30, allow_redirects=False)


@pytest.mark.parametrize("credential", [{}, {"Authorization": "Bearer"}, {"Authorization": "Basic YTpi"}, {"X-API-Key": "a"}], ids=str)
def test_without_a_token_the_response_leads_to_the_metadata(front, credential):
    refused = post(front.url, credential)
    assert refused.status_code == 401 and refused.json()["error"]["message"]
    challenge = refused.headers["www-authenticate"]
    assert challenge.startswith("Bearer ") and "error=" not in challenge
    url = challenge.partition('resource_metadata="')[2].partition('"')[0]
    metadata = requests.get(url, timeout=30)
    assert metadata.status_code == 200 and metadata.json()["resource"] == front.url
    base = front.url.removesuffix("/mcp")
    for path in ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration/mcp", "/other"):
        assert requests.get(base + path, timeout=30).status_code == 404
    for method in ("GET", "DELETE", "OPTIONS", "PUT"):
        assert requests.request(method, front.url, timeout=30).status_code == 401


def test_the_metadata_name_the_issuer(front, callers):
    metadata = requests.get(front.url.replace("/mcp", "/.well-known/oauth-protected-resource"), timeout=30).json()
    expected = [callers.issuer.url] if callers.scheme == "jwt" else None
    assert metadata.get("authorization_servers") == expected and metadata["bearer_methods_supported"] == ["header"]


def test_a_wrong_token_is_refused(front, callers):
    good = callers.credential(0)["Authorization"]
    for wrong in (good[:-2], good + "x", good.replace("Bearer ", "Bearer a"), f"{good} {good}", "Bearer a.b.c"):
        refused = post(front.url, {"Authorization": wrong})
        assert refused.status_code == 401 and 'error="invalid_token"' in refused.headers["www-authenticate"], wrong
        assert wrong.split()[-1] not in refused.text
    with exchange(front.url, "POST", [("Authorization", good)] * 2, b"{}") as response:
        assert response.status == 401


def test_the_upstream_gets_the_operators_credential_only(callers, raw):
    behind = ["--url", f"{raw.url}/mcp", "--header", f"Authorization: {OPERATOR}"]
    for options, expected in ((behind, {OPERATOR}), (behind[:2], set())):
        with Listening(served(*callers.options, "--admin", "off", *options)) as front:
            requests.get(f"{raw.url}/requests", timeout=30)
            caller = Caller(front.url, callers.credential(1))
            caller.open()
            lawful(caller.call(1, "list_rows")["result"])
            told = requests.get(f"{raw.url}/requests", timeout=30).json()
        sent = {value for request in told for name, value in request["headers"] if name.lower() == "authorization"}
        assert told and sent == expected


@pytest.mark.parametrize("sdk", SDKS)
def test_sdk_clients_walk_a_list(front, callers, sdk):
    with Driven(sdk, {"url": front.url, "headers": callers.credential(2)}) as client:
        first = lawful(client.call(front.tool))
        rows = [row["id"] for reply in walk(client, first) for row in reply.json]
    assert rows == [row["id"] for row in json.loads(bookings())]


def test_no_caller_reads_what_another_was_served(front, callers):
    """50 × 50: each caller tries the cursor and the session of each other."""
    owners = [Caller(front.url, callers.credential(n)) for n in range(CALLERS)]
    cursors = []
    for number, owner in enumerate(owners):
        owner.open()
        cursors.append(lawful(owner.call(number, front.tool)["result"]).next)
    read = 0
    errors = set()
    for (i, owner), (j, cursor) in product(enumerate(owners), enumerate(cursors)):
        result = owner.call(j, "portion_read", cursor=cursor)["result"]
        if i == j:
            assert not result.get("isError"), result
        elif not result.get("isError"):
            read += 1
        else:
            errors.add(json.dumps(result))
    assert read == 0 and len(errors) == 1 and "cursor_invalid" in errors.pop()


def test_no_caller_uses_the_session_of_another(front, callers):
    owners = [Caller(front.url, callers.credential(n)) for n in range(10)]
    for owner in owners:
        owner.open()
    refusals = set()
    for one, other in product(owners, owners):
        for method in ("POST", "GET", "DELETE"):
            if one is other:
                continue
            headers = {**one.credential, **other._session, "MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}
            body = '{"jsonrpc":"2.0","id":1,"method":"ping"}' if method == "POST" else None
            kind = {"Content-Type": "application/json"} if body else {}
            refused = requests.request(method, front.url, data=body, headers=headers | kind, timeout=30)
            refusals.add((refused.status_code, refused.text))
    assert {status for status, _ in refusals} == {404} and len(refusals) == 1
    unknown = post(front.url, {**owners[0].credential, "Mcp-Session-Id": "0" * 32, "MCP-Protocol-Version": "2025-11-25"})
    assert (unknown.status_code, unknown.text) in refusals
    for owner in owners:
        assert owner.call(1, "echo" if front.tool == "list_bookings" else "say", text="a") is not None


def test_callers_of_an_api_share_nothing(proxy, callers, api):
    credentials = [callers.credential(n) for n in range(CALLERS)]
    assert requests.get(f"{proxy.url}/bookings", timeout=30).status_code == 401
    nexts = []
    for credential in credentials:
        first = requests.get(f"{proxy.url}/bookings", headers=credential, timeout=30)
        assert first.status_code == 200
        nexts.append(first.links["next"]["url"])
    requests.get(f"{api.url}/requests", timeout=30)
    errors = set()
    with requests.Session() as session:
        for (i, credential), (j, target) in product(enumerate(credentials), enumerate(nexts)):
            response = session.get(proxy.url + target, headers=credential, timeout=30)
            if i == j:
                assert response.status_code == 200
            else:
                errors.add((response.status_code, response.text))
    assert len(errors) == 1 and "cursor_invalid" in errors.pop()[1]
    assert requests.get(f"{api.url}/requests", timeout=30).json() == []
    echoed = requests.get(f"{proxy.url}/echo", headers=credentials[0], timeout=30).json()
    assert echoed["headers"]["authorization"] == OPERATOR


def test_a_cookie_of_the_api_reaches_its_own_caller_only(proxy, callers, api):
    def get(target, number):
        headers = {**callers.credential(number), "X-API-Key": str(number)}
        return requests.get(proxy.url + target, headers=headers, timeout=30)

    requests.get(f"{api.url}/requests", timeout=30)
    cookies = {}
    for number in range(2):
        first = get("/private", number)
        cookies[number] = first.headers["set-cookie"]
        assert f"of-{number};" in cookies[number]
        for target in (first.links["next"]["url"], "/private?page=2", "/private?offset=5"):
            assert "set-cookie" not in get(target, number).headers, target
    assert requests.get(f"{api.url}/requests", timeout=30).json() == ["private"] * 2, "the rest was reused"


def test_metadata_of_an_api(proxy):
    refused = requests.get(f"{proxy.url}/bookings", timeout=30)
    url = refused.headers["www-authenticate"].partition('resource_metadata="')[2].partition('"')[0]
    assert requests.get(url, timeout=30).json()["resource"] == f"{proxy.url}/"


# What is particular to JSON Web Tokens.


@pytest.fixture(scope="module")
def jwt_front(issuer):
    with Listening(served(*issuer.options(), "--jwt-scope", "read", "--admin", "off", "--", *FIXTURE)) as front:
        yield front


@pytest.mark.parametrize("kid", ["RS256", "ES256", "EdDSA"])
def test_a_refreshed_token_keeps_session_and_cursor(jwt_front, issuer, kid):
    caller = Caller(jwt_front.url, bearer(issuer.token("ada", kid, scope="read")))
    caller.open()
    cursor = lawful(caller.call(1, "list_bookings")["result"]).next
    caller.credential = bearer(issuer.token("ada", "EdDSA", scope="write read", jti="another"))
    lawful(caller.call(2, "portion_read", cursor=cursor)["result"])
    caller.credential = bearer(issuer.token("bob", kid, scope="read"))
    with caller.post('{"jsonrpc":"2.0","id":1,"method":"ping"}') as response:
        assert response.status == 404


def test_tokens_that_are_not_for_us(jwt_front, issuer):
    now = time.time()
    wrong = {
        "expired": {"exp": now - 31},
        "not valid yet": {"nbf": now + 60},
        "another issuer": {"iss": "https://evil.example"},
        "another audience": {"aud": "other"},
        "lacks one": {"exp": None},
    }
    for message, changes in wrong.items():
        refused = post(jwt_front.url, bearer(issuer.token("ada", scope="read", **changes)))
        assert refused.status_code == 401 and message in refused.text, (message, refused.text)
        assert message in refused.headers["www-authenticate"]
    claims = jwt.decode(issuer.token("ada", scope="read"), options={"verify_signature": False})
    for token in (jwt.encode(claims, None, "none"), jwt.encode(claims, "secret" * 10, "HS256", headers={"kid": "RS256"})):
        assert post(jwt_front.url, bearer(token)).status_code == 401
    accepted = post(jwt_front.url, bearer(issuer.token("ada", scope="read", exp=time.time() - 5)))
    assert accepted.status_code == 400  # without a session


def test_a_missing_scope_is_forbidden(jwt_front, issuer):
    refused = post(jwt_front.url, bearer(issuer.token("ada", scope="write")))
    challenge = refused.headers["www-authenticate"]
    assert refused.status_code == 403 and 'error="insufficient_scope"' in challenge and 'scope="read"' in challenge


def test_keys_are_fetched_again_for_an_unknown_one_but_not_often(raw):
    with Issuer() as issuer, Listening(served(*issuer.options(), "--admin", "off", "--url", f"{raw.url}/mcp")) as front:
        assert post(front.url, bearer(issuer.token("ada"))).status_code == 200
        issuer.add("next", "ES256")
        assert post(front.url, bearer(issuer.token("ada", "next"))).status_code == 401, "the keys were fetched just now"
        for _ in range(20):
            issuer.add("unknown", "EdDSA")
            assert post(front.url, bearer(issuer.token("ada", "unknown"))).status_code == 401
        assert issuer.requests == ["/keys"]


def test_without_keys_nobody_is_let_in(raw):
    with Issuer() as issuer:
        for path in ("/moved", "/missing"):
            options = [*issuer.options(path), "--admin", "off", "--url", f"{raw.url}/mcp"]
            with Listening(served(*options)) as front:
                refused = post(front.url, bearer(issuer.token("ada")))
                assert refused.status_code == 503 and refused.headers["retry-after"]
        assert "/keys" not in issuer.requests, "the redirect was not followed"


# Addresses, options and the command.


@pytest.mark.parametrize("command", [["serve"], ["http"]], ids=str)
def test_other_machines_are_let_in_with_authentication_only(command, issuer, raw):
    upstream = {"serve": ["--url", f"{raw.url}/mcp"], "http": ["--upstream", raw.url]}[command[0]]
    wide = [*command, "--listen", "0.0.0.0:0", "--admin", "off", *upstream]
    refused = portion(*wide)
    assert refused.returncode and "--auth" in refused.stderr and "--insecure" in refused.stderr
    token = new_token("ci")
    for options in (["--auth", "bearer", "--token-hash", token["entry"]], issuer.options(), ["--auth", "passthrough"]):
        with Listening([PORTION, *wide, *options]) as front:
            assert "warning" not in "".join(front.said)


def test_the_admin_listener_needs_its_token_to_be_reached(raw):
    token, other = new_token("ops"), new_token("ops")
    wide = served("--admin", "0.0.0.0:0", "--url", f"{raw.url}/mcp")
    refused = portion(*wide[1:])
    assert refused.returncode and "--admin-token-hash" in refused.stderr
    with Listening([*wide, "--admin-token-hash", token["entry"]], env={"PORTION_LOG_LEVEL": "info", "PORTION_LOG": "info"}) as front:
        told = until(lambda: re.search(r"dashboard at http://\S+:(\d+)/", "".join(front.said)), "an address")
        admin = f"http://127.0.0.1:{told[1]}"
        for path in ("/metrics", "/", "/api/records"):
            assert requests.get(admin + path, timeout=30).status_code == 401
            assert requests.get(admin + path, headers=bearer(other["token"]), timeout=30).status_code == 401
            assert requests.get(admin + path, headers=bearer(token["token"]), timeout=30).status_code == 200
        assert post(front.url, {}).status_code == 200, "clients need no token"
        stranger, operator = (requests.get(f"{admin}/health", headers=them, timeout=30) for them in ({}, bearer(token["token"])))
        assert stranger.json() == {"status": "ok"} and "version" in operator.json()


def test_a_person_signs_in_to_the_dashboard(raw):
    token = new_token("ops")
    with Listening([*served("--admin", "127.0.0.1:0", "--url", f"{raw.url}/mcp"), "--admin-token-hash", token["entry"]]) as front:
        told = until(lambda: re.search(r"dashboard at (http://\S+)/\n", "".join(front.said)), "an address")
        admin, browser = told[1], requests.Session()
        page = browser.get(f"{admin}/", headers={"Accept": "text/html"}, timeout=30)
        assert page.status_code == 401 and 'name="token"' in page.text and "default-src 'none'" in page.headers["content-security-policy"]
        sign_in = lambda given, **headers: browser.post(
            f"{admin}/sign-in", data={"token": given}, headers=headers, timeout=30, allow_redirects=False
        )
        assert sign_in("wrong").status_code == 401 and not browser.cookies
        assert sign_in(token["token"], Origin="http://evil.example").status_code == 403 and not browser.cookies
        signed_in = sign_in(token["token"], Origin=admin)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        assert {"HttpOnly", "SameSite=Strict"} <= set(signed_in.headers["set-cookie"].split("; "))
        assert browser.get(f"{admin}/", timeout=30).status_code == browser.get(f"{admin}/api/records", timeout=30).status_code == 200
        for password, status in (("wrong", 401), (token["token"], 200)):
            assert requests.get(f"{admin}/api/records", auth=("me", password), timeout=30).status_code == status


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--auth", "bearer"], "auth bearer needs tokenHashes"),
        (["--auth", "jwt", "--jwt-issuer", "a"], "auth jwt needs jwtAudience, jwksUrl"),
        (["--token-hash", "ci=sha256:" + "0" * 64], "tokenHashes has no effect with auth none"),
        (["--auth", "bearer", "--token-hash", "ptn_s3cret"], "without a name"),
        (["--auth", "bearer", "--token-hash", "ci=ptn_s3cret"], "portion token NAME"),
        (["--auth", "passthrough", "--header", "Authorization: s3cret"], "the header Authorization"),
        (["--auth", "passthrough", "--header", "X-Api-Key: s3cret", "--principal-header", "X-User"], "the header X-Api-Key"),
        (["--auth", "baerer"], "bearer"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_together(options, expected):
    refused = portion("serve", "--listen", "127.0.0.1:0", "--admin", "off", *options, "--url", "http://127.0.0.1:9/mcp")
    assert refused.returncode and expected in refused.stderr, refused.stderr
    assert "s3cret" not in refused.stderr


@pytest.mark.parametrize("header", ["Authorization: s3cret", "X-Other: s3cret", "${AUTH_LINE}"], ids=str)
def test_an_api_behind_passthrough_gets_no_header_of_the_operator(header):
    options = ["--auth", "passthrough", "--principal-header", "X-User", "--header", header]
    wide = ["http", "--listen", "0.0.0.0:0", "--admin", "off", *options, "--upstream", "http://127.0.0.1:9"]
    refused = portion(*wide, AUTH_LINE="Authorization: s3cret")
    expected = "x-other" if "Other" in header else "authorization"
    assert refused.returncode and f"the header {expected}" in refused.stderr, refused.stderr
    assert "s3cret" not in refused.stderr


@pytest.mark.parametrize("command", [["serve", "--url"], ["http", "--upstream"]], ids=lambda command: command[0])
def test_passthrough_needs_a_url_without_a_query(command):
    name, option = command
    wide = [name, "--listen", "127.0.0.1:0", "--admin", "off", "--auth", "passthrough"]
    refused = portion(*wide, option, "http://127.0.0.1:9/mcp?api_key=s3cret")
    assert refused.returncode and "the query of its URL" in refused.stderr, refused.stderr
    assert "s3cret" not in refused.stderr


def test_passthrough_needs_one_upstream_that_checks():
    for behind in (["--", *FIXTURE], ["--upstream", "a=http://127.0.0.1:9/mcp", "--upstream", "b=http://127.0.0.1:8/mcp"], ["--url", "http://127.0.0.1:9/sse"]):
        refused = portion("serve", "--listen", "127.0.0.1:0", "--admin", "off", "--auth", "passthrough", *behind)
        assert refused.returncode and "exactly one upstream" in refused.stderr


def test_passthrough_forwards_the_callers_credential(raw):
    with Listening(served("--auth", "passthrough", "--admin", "off", "--url", f"{raw.url}/mcp")) as front:
        requests.get(f"{raw.url}/requests", timeout=30)
        assert post(front.url, bearer("mine")).status_code == 200
        told = requests.get(f"{raw.url}/requests", timeout=30).json()
        assert ["authorization", "Bearer mine"] in [[name.lower(), value] for name, value in told[-1]["headers"]]


def test_a_command_makes_tokens():
    one, other = new_token("ci"), new_token("ci")
    assert one["token"] != other["token"] and one["token"].startswith("ptn_") and one["token"] not in one["entry"]
    shown = portion("token", "ci")
    assert shown.returncode == 0 and "ci=sha256:" in shown.stdout and "ptn_" in shown.stdout
    assert portion("token", "a b").returncode
