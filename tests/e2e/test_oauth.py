"""Logins at remote servers, with the authorization server of the official SDK."""

import http.server
import json
import os
import re
import socket
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from mcp.client.stdio import get_default_environment

from harness.command import CLIENT_BIN, PORTION, with_sdk
from harness.listening import Listening, served
from harness.waiting import until
from harness.wire import Wire, request

SECONDS = 60
ERAS = ["2025-06-18", "2025-03-26"]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


def fetch(url, body=None):
    """Status, headers and text; redirects are not followed."""
    data = None if body is None else json.dumps(body).encode()
    try:
        response = OPENER.open(urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=SECONDS)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        return response.status, response.headers, response.read().decode()


class Guarded:
    """The server, with a user whose browser the test is."""

    def __init__(self, url, home, path="/mcp"):
        self.origin, self.url, self.home = url, f"{url}{path}", home
        self.env = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PORTION_NO_BROWSER": "1"}

    def control(self, **change):
        return json.loads(fetch(f"{self.origin}/control", change or None)[2])

    def set(self, **settings):
        return self.control(settings=settings)

    def count(self, name):
        return self.control()["counters"][name]

    def wrap(self, *options, env=None):
        return Wire([PORTION, "wrap", *options, "--url", self.url], env=self.env | (env or {}))

    def run(self, *words, code=0):
        done = subprocess.run(
            [PORTION, *words], env=get_default_environment() | self.env, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == code, done.stderr
        return done

    def files(self):
        return sorted((self.home / "state/portion/oauth").glob("*.json"))

    def stored(self):
        (file,) = self.files()
        return json.loads(file.read_text())

    def change_stored(self, **changes):
        (file,) = self.files()
        stored = json.loads(file.read_text())
        stored["tokens"] |= changes
        file.write_text(json.dumps(stored))

    @contextmanager
    def login(self, *options, stdout=None):
        """`portion login`, which is told to go on by its URL."""
        process = subprocess.Popen(
            [PORTION, "login", self.url, *options],
            env=get_default_environment() | self.env,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def log_in(self, *options):
        with self.login(*options) as process:
            follow(next_url(process.stderr))
            rest = process.stderr.read()
            assert process.wait(SECONDS) == 0, rest


@pytest.fixture(params=ERAS)
def any_era(request, tmp_path):
    with authorization(request.param) as url:
        yield Guarded(url, tmp_path)


@pytest.fixture
def guarded(tmp_path):
    with authorization(ERAS[0]) as url:
        yield Guarded(url, tmp_path)


def authorization(era, path="/mcp"):
    @contextmanager
    def running():
        command = with_sdk("fixture/authorization.py", "--era", era, "--path", path)
        with Listening(command) as server:
            yield server.url

    return running()


def next_url(stderr):
    said = []
    for line in stderr:
        if line.startswith("http"):
            return line.strip()
        said.append(line)
    raise AssertionError(f"no URL was printed: {''.join(said)}")


def url_of(wire, number=1):
    """The URL of the `number`th login that `wrap` asks for."""
    def printed():
        return re.findall(r"^(https?://\S+)$", wire.stderr(), re.M)[number - 1 : number]

    (url,) = until(printed, "a URL is printed", seconds=SECONDS, pause=0.02, told=wire.stderr)
    return url


def redirect_of(url):
    status, headers, text = fetch(url)
    assert status == 302, text
    return headers["Location"]


def follow(url):
    """What a browser does: the authorization server's page, and the redirect back."""
    return fetch(redirect_of(url))


INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}


def opened(wire):
    answer = json.loads(wire.open("2025-06-18"))
    assert "result" in answer, answer
    return answer


def text_of(answer):
    return json.loads(answer)["result"]["content"][0]["text"]


def test_a_login_in_the_browser_lets_the_first_request_through(any_era):
    with any_era.wrap() as wire:
        wire.send(request(0, "initialize", INITIALIZE))
        url = url_of(wire)
        asked = parse_qs(urlsplit(url).query)
        assert asked["code_challenge_method"] == ["S256"] and len(asked["code_challenge"][0]) == 43
        assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")
        # pings are answered meanwhile, and nothing else is
        assert json.loads(wire.ask(request(7, "ping", {}))) == {"jsonrpc": "2.0", "id": 7, "result": {}}
        status, headers, page = follow(url)
        assert status == 200 and "Portion" in page and headers["Referrer-Policy"] == "no-referrer"
        assert "result" in json.loads(wire.line())
        wire.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        assert text_of(wire.call(1, "whoami")) == "you are logged in"
        log = wire.stderr()
    state = any_era.control()
    stored = any_era.stored()
    # the resource is a parameter since 2025-06-18
    resource = any_era.url if state["issuer"] != any_era.origin else None
    assert state["asked"][0]["resource"] == resource and stored.get("resource") == resource
    assert state["counters"]["registrations"] == 1
    (file,) = any_era.files()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    for secret in (stored["tokens"]["access_token"], stored["tokens"]["refresh_token"]):
        assert secret not in log
    # the next process needs no login
    with any_era.wrap() as wire:
        opened(wire)
        assert text_of(wire.call(1, "whoami")) == "you are logged in"
        assert "requires a login" not in wire.stderr()


def test_commands_log_in_list_and_log_out(any_era):
    assert "there are no logins" in any_era.run("login", "--list").stderr
    any_era.log_in()
    assert f"{any_era.url}  renewed automatically" in any_era.run("login", "--list").stdout
    (listed,) = json.loads(any_era.run("login", "--list", "--json").stdout)
    assert listed["server"] == any_era.url and listed["renewable"] and listed["expiresAt"].endswith("Z")
    assert "token" not in json.dumps(listed)
    with any_era.wrap() as wire:
        opened(wire)
    said = any_era.run("logout", any_era.url).stderr
    assert "the server has revoked the tokens" in said
    assert any_era.count("revocations") == 2 and any_era.files() == []
    assert "there is no login" in any_era.run("logout", any_era.url).stderr


def test_a_login_and_a_logout_are_printed_as_json(guarded):
    with guarded.login("--json", stdout=subprocess.PIPE) as process:
        follow(next_url(process.stderr))
        printed, rest = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, rest
    login = json.loads(printed)
    assert login["server"] == guarded.url and login["renewable"] and "token" not in printed
    assert [login] == json.loads(guarded.run("login", "--list", "--json").stdout)
    done = {"server": guarded.url, "removed": True, "revoked": True, "error": None}
    assert json.loads(guarded.run("logout", guarded.url, "--json").stdout) == done
    again = {"server": guarded.url, "removed": False, "revoked": False, "error": None}
    assert json.loads(guarded.run("logout", guarded.url, "--json").stdout) == again


def test_the_browser_is_opened(guarded):
    folder = guarded.home / "bin"
    folder.mkdir()
    browser = folder / "xdg-open"
    browser.write_text(
        f"#!{CLIENT_BIN / 'python'}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n"
    )
    browser.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    with guarded.wrap(env={"PATH": path, "PORTION_NO_BROWSER": ""}) as wire:
        opened(wire)
    assert guarded.count("authorizations") == 1


def test_a_login_that_nobody_finishes_is_an_error_that_names_the_command(guarded):
    with guarded.wrap("--login-timeout", "1s") as wire:
        error = json.loads(wire.ask(request(0, "initialize", INITIALIZE)))["error"]
        assert f"portion login {guarded.url}" in error["message"]
        # the login goes on, and a later request uses it
        follow(url_of(wire))
        # the code may not be exchanged within the second that a request waits
        deadline = time.monotonic() + SECONDS
        number, answer = 1, {}
        while "result" not in answer:
            assert time.monotonic() < deadline, answer
            answer = json.loads(wire.ask(request(number, "initialize", INITIALIZE)))
            number += 1
    assert guarded.count("authorizations") == 1


def test_without_logins_the_error_names_the_command_at_once(guarded):
    with guarded.wrap(env={"PORTION_NO_LOGIN": "1"}) as wire:
        error = json.loads(wire.ask(request(0, "initialize", INITIALIZE)))["error"]
        assert f"portion login {guarded.url}" in error["message"]
    assert guarded.count("registrations") == 0


def test_an_expired_token_is_renewed_before_it_is_used(any_era):
    any_era.set(lifetime=0)
    any_era.log_in()
    any_era.set(lifetime=3600)
    first = any_era.stored()["tokens"]
    with any_era.wrap() as wire:
        opened(wire)
        assert text_of(wire.call(1, "whoami")) == "you are logged in"
        assert "requires a login" not in wire.stderr()
    assert any_era.count("refreshes") == 1
    second = any_era.stored()["tokens"]
    assert first["access_token"] != second["access_token"] and first["refresh_token"] != second["refresh_token"]


def test_a_token_that_the_server_forgot_is_renewed_once_for_all_requests(guarded):
    guarded.log_in()
    with guarded.wrap() as wire:
        opened(wire)
        guarded.control(forget_access=True)
        for number in range(1, 9):
            wire.send(request(number, "tools/call", {"name": "whoami", "arguments": {}}))
        answers = [json.loads(wire.line()) for _ in range(8)]
    assert {answer["id"] for answer in answers} == set(range(1, 9))
    assert all("result" in answer for answer in answers)
    assert guarded.count("refreshes") == 1 and guarded.count("authorizations") == 1


def test_a_revoked_refresh_token_needs_a_login(any_era):
    any_era.log_in()
    any_era.control(forget_access=True, forget_refresh=True)
    with any_era.wrap() as wire:
        wire.send(request(0, "initialize", INITIALIZE))
        follow(url_of(wire))
        assert "result" in json.loads(wire.line())
    assert any_era.count("authorizations") == 2


def test_two_processes_open_one_browser(guarded):
    with guarded.wrap() as one, guarded.wrap() as other:
        for wire in (one, other):
            wire.send(request(0, "initialize", INITIALIZE))
        until(lambda: any("requires a login" in wire.stderr() for wire in (one, other)), "a login", seconds=SECONDS)
        (asking,) = [wire for wire in (one, other) if "requires a login" in wire.stderr()]
        follow(url_of(asking))
        assert all("result" in json.loads(wire.line()) for wire in (one, other))
        said = [wire.stderr() for wire in (one, other)]
    assert sum(text.count("requires a login") for text in said) == 1
    assert guarded.count("authorizations") == 1


def test_two_processes_renew_a_token_once(guarded):
    guarded.log_in()
    with guarded.wrap() as one, guarded.wrap() as other:
        for wire in (one, other):
            opened(wire)
        guarded.control(forget_access=True)
        for wire in (one, other):
            wire.send(request(1, "tools/call", {"name": "whoami", "arguments": {}}))
        assert [text_of(wire.line()) for wire in (one, other)] == ["you are logged in"] * 2
    assert guarded.count("refreshes") == 1


def test_a_scope_that_is_missing_is_requested_with_the_others(any_era):
    any_era.log_in("--scope", "mcp")
    with any_era.wrap() as wire:
        opened(wire)
        assert text_of(wire.call(1, "whoami")) == "you are logged in"
        body = json.dumps(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "admin", "arguments": {}}},
            separators=(",", ":"),
        )
        wire.send(body.encode())
        follow(url_of(wire))
        assert text_of(wire.line()) == "you are an admin"
    assert set(any_era.control()["asked"][-1]["scopes"]) == {"mcp", "admin"}
    assert set(any_era.stored()["tokens"]["scope"].split()) == {"mcp", "admin"}


def altered(url, **changes):
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | changes
    query = {name: value for name, value in query.items() if value is not None}
    return parts._replace(query=urlencode(query)).geturl()


def test_a_redirect_with_a_wrong_state_changes_nothing(guarded):
    with guarded.login() as process:
        redirect = redirect_of(next_url(process.stderr))
        for state in ("wrong", "", None):
            assert fetch(altered(redirect, state=state))[0] == 400
        assert fetch(altered(redirect, state="wrong", error="access_denied", code=None))[0] == 400
        assert fetch(redirect)[0] == 200
        assert process.wait(SECONDS) == 0


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"iss": "https://evil.example"}, "another authorization server, https://evil.example"),
        ({"metadata": {"authorization_response_iss_parameter_supported": True}}, "does not name the authorization server"),
        ({"deny": True}, "access_denied"),
    ],
)
def test_a_redirect_that_must_not_be_trusted_ends_the_login(guarded, settings, said):
    guarded.set(**settings)
    with guarded.login() as process:
        assert follow(next_url(process.stderr))[0] == 400
        text = process.stderr.read()
        assert process.wait(SECONDS) == 1
    assert said in text and guarded.files() == []


def test_an_issuer_in_the_redirect_is_accepted_if_it_is_the_right_one(guarded):
    guarded.set(iss=guarded.control()["issuer"], metadata={"authorization_response_iss_parameter_supported": True})
    guarded.log_in()
    assert len(guarded.files()) == 1


@pytest.mark.parametrize(
    "metadata, said",
    [
        ({"issuer": "https://evil.example"}, "says that it is https://evil.example"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "`javascript`"),
        ({"authorization_endpoint": "http://as.example/authorize"}, "not encrypted"),
        ({"token_endpoint": "http://as.example/token"}, "not encrypted"),
        ({"registration_endpoint": "file:///etc/passwd"}, "`file`"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"registration_endpoint": None}, "--client-id"),
    ],
)
def test_hostile_or_unfit_authorization_servers_are_refused(any_era, metadata, said):
    any_era.set(metadata=metadata)
    assert said in any_era.run("login", any_era.url, code=1).stderr
    assert any_era.count("registrations") == 0 and any_era.files() == []


@pytest.mark.parametrize(
    "resource, said",
    [
        ({"resource": "https://other.example/mcp"}, "https://other.example/mcp"),
        ({"authorization_servers": ["http://as.example"]}, "not encrypted"),
    ],
)
def test_metadata_of_another_resource_is_refused(guarded, resource, said):
    guarded.set(resource=resource)
    assert said in guarded.run("login", guarded.url, code=1).stderr
    assert guarded.files() == []


SECRET_METHODS = ["client_secret_post", "client_secret_basic"]


@pytest.mark.parametrize("method", SECRET_METHODS)
def test_a_client_that_is_registered_already_is_used(any_era, method):
    guarded = any_era
    guarded.set(metadata={"token_endpoint_auth_methods_supported": [method]})
    client = {
        "client_id": "known",
        "client_secret": "s3cret/+ &%41",
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "mcp",
    }
    guarded.env["SECRET_FOR_TEST"] = client["client_secret"]

    def log_in(port):
        guarded.control(clients=[client | {"redirect_uris": [f"http://127.0.0.1:{port}/callback"]}])
        guarded.log_in("--client-id", "known", "--client-secret", "${SECRET_FOR_TEST}", "--callback-port", str(port))

    on_a_free_port(log_in)
    assert guarded.count("registrations") == 0 and guarded.stored()["client"]["client_id"] == "known"
    guarded.control(forget_access=True)
    with guarded.wrap() as wire:
        opened(wire)
    assert guarded.count("refreshes") == 1


@pytest.mark.parametrize("method", SECRET_METHODS)
def test_a_registered_client_keeps_its_secret(any_era, method):
    any_era.set(metadata={"token_endpoint_auth_methods_supported": [method]})
    any_era.log_in()
    [client] = any_era.control()["clients"]
    assert client["token_endpoint_auth_method"] == method and client["client_secret"]
    any_era.control(forget_access=True)
    with any_era.wrap() as wire:
        opened(wire)
        assert client["client_secret"] not in wire.stderr()
    assert any_era.count("refreshes") == 1
    assert "has revoked" in any_era.run("logout", any_era.url).stderr and any_era.count("revocations") == 2


@pytest.mark.parametrize("is_supported", [True, False])
def test_a_metadata_document_is_the_identity_where_the_server_takes_one(any_era, is_supported):
    any_era.set(metadata={"client_id_metadata_document_supported": is_supported})
    url = "https://client.example/portion.json"
    document = {
        "client_id": url,
        "client_name": "Portion",
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
        "scope": "mcp admin",
    }

    def log_in(port):
        any_era.set(documents={url: document | {"redirect_uris": [f"http://127.0.0.1:{port}/callback"]}})
        any_era.log_in("--client-metadata-url", url, "--callback-port", str(port))

    on_a_free_port(log_in)
    assert (any_era.stored()["client"]["client_id"] == url) == is_supported
    assert (any_era.count("documents") > 0) == is_supported
    assert (any_era.count("registrations") == 0) == is_supported
    any_era.control(forget_access=True)
    with any_era.wrap() as wire:
        opened(wire)
    assert any_era.count("refreshes") == 1


@pytest.mark.parametrize("era", ERAS)
def test_a_server_of_2024_11_05_is_logged_in_to(era, tmp_path):
    with authorization(era, "/sse") as origin:
        sse = Guarded(origin, tmp_path, "/sse")
        with sse.wrap("--transport", "sse") as wire:
            wire.send(request(0, "initialize", INITIALIZE))
            follow(url_of(wire))
            assert "result" in json.loads(wire.line())
            wire.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            assert text_of(wire.call(1, "whoami")) == "you are logged in"
        assert len(sse.files()) == 1
        # the transport is detected, and the stored token renewed
        sse.control(forget_access=True)
        with sse.wrap() as wire:
            opened(wire)
            assert text_of(wire.call(1, "whoami")) == "you are logged in"
            assert "requires a login" not in wire.stderr()
        assert sse.count("refreshes") == 1 and sse.count("authorizations") == 1


def on_a_free_port(use, attempts=5):
    """Calls `use` with a free port, and again if another process has taken the port before."""
    for attempt in range(1, attempts + 1):
        with socket.create_server(("127.0.0.1", 0)) as sock:
            port = sock.getsockname()[1]
        try:
            return use(port)
        except AssertionError as error:
            if attempt == attempts or "in use" not in str(error):
                raise


def test_the_configuration_has_the_client(guarded):
    secret = "of the c$nfiguration"
    client = {"client_id": "known", "client_secret": secret, "token_endpoint_auth_method": "client_secret_post", "scope": "mcp admin",
              "grant_types": ["authorization_code", "refresh_token"]}
    guarded.env["SECRET_FOR_TEST"] = secret
    file = guarded.home / "portion.json"

    def log_in(port):
        guarded.control(clients=[client | {"redirect_uris": [f"http://127.0.0.1:{port}/callback"]}])
        login = {"clientId": "known", "clientSecret": "${SECRET_FOR_TEST}", "scope": "mcp", "callbackPort": str(port)}
        file.write_text(json.dumps({"upstreams": {"tracker": {"url": guarded.url, "login": login}}}))
        with Wire([PORTION, "wrap", "--server", "tracker", "--config", str(file)], env=guarded.env) as wire:
            wire.send(request(0, "initialize", INITIALIZE))
            asked = url_of(wire)
            assert f"127.0.0.1%3A{port}" in asked and "scope=mcp&" in f"{asked}&"
            follow(asked)
            assert "result" in json.loads(wire.line())

    on_a_free_port(log_in)
    assert guarded.count("registrations") == 0 and guarded.stored()["client"]["client_id"] == "known"
    file.write_text(json.dumps({"upstreams": {"a": {"url": guarded.url, "login": {"clientSecret": "${SECRET_FOR_TEST}", "callbackPort": "many", "no": "x"}}}}))
    told = guarded.run("config", "check", "--config", str(file), code=2)
    for said in ("no clientId", "not a port", "`no`, which is not known"):
        assert said in told.stdout + told.stderr


@pytest.mark.parametrize("command", ["login", "wrap"])
def test_a_login_by_url_uses_the_configuration(guarded, command):
    client = {"client_id": "known", "token_endpoint_auth_method": "none", "scope": "mcp admin",
              "grant_types": ["authorization_code", "refresh_token"]}
    file = guarded.home / "portion.json"
    options = ["--config", str(file)]

    def log_in(port):
        guarded.control(clients=[client | {"redirect_uris": [f"http://127.0.0.1:{port}/callback"]}])
        login = {"clientId": "known", "scope": "mcp", "callbackPort": str(port)}
        other = {"url": "http://127.0.0.1:1/mcp", "login": {"clientId": "other"}}
        upstreams = {"other": other, "tracker": {"url": guarded.url, "login": login}}
        file.write_text(json.dumps({"upstreams": upstreams}))
        if command == "login":
            guarded.log_in(*options)
            return
        with guarded.wrap(*options) as wire:
            wire.send(request(0, "initialize", INITIALIZE))
            follow(url_of(wire))
            assert "result" in json.loads(wire.line())

    on_a_free_port(log_in)
    assert guarded.count("registrations") == 0 and guarded.stored()["client"]["client_id"] == "known"
    assert guarded.control()["asked"][-1]["scopes"] == ["mcp"]
    # an option comes first
    with guarded.login(*options, "--scope", "admin") as process:
        asked = parse_qs(urlsplit(next_url(process.stderr)).query)
    assert (asked["client_id"], asked["scope"]) == (["known"], ["admin"])
    file.write_text(json.dumps({"upstreams": {"tracker": {"url": guarded.url, "login": {"callbackPort": "many"}}}}))
    assert "not a port" in guarded.run("login", guarded.url, *options, code=2).stderr


def test_a_header_of_the_operator_comes_before_logins(guarded):
    guarded.log_in()
    with guarded.wrap("--header", "Authorization: Bearer wrong") as wire:
        error = json.loads(wire.ask(request(0, "initialize", INITIALIZE)))["error"]
        assert "401" in error["message"] and "--header" in error["message"]


def test_logins_need_encryption(guarded):
    assert "https" in guarded.run("login", "http://mcp.example/mcp", code=2).stderr


def test_the_file_of_another_era_or_a_broken_one_does_not_stop_a_login(guarded):
    guarded.log_in()
    (file,) = guarded.files()
    file.write_text("{")
    with guarded.wrap() as wire:
        wire.send(request(0, "initialize", INITIALIZE))
        follow(url_of(wire))
        assert "result" in json.loads(wire.line())
    assert guarded.stored()["tokens"]["access_token"]


def document(origin, path="/mcp"):
    status, _, text = fetch(f"{origin}/.well-known/oauth-protected-resource{path}")
    return json.loads(text) if status == 200 else status


def test_serve_is_the_resource_under_its_public_url(guarded):
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    behind = json.loads(fetch(f"{guarded.origin}/.well-known/oauth-protected-resource/mcp")[2])
    with Listening(served("--url", guarded.url), env=guarded.env) as portion:
        origin = portion.url.removesuffix("/mcp")
        # without a public URL, everything is as the server says
        assert document(origin) == behind
        assert f"{guarded.origin}/.well-known/" in fetch(portion.url, message)[1]["WWW-Authenticate"]
    public = "https://gateway.example"
    with Listening(served("--public-url", public, "--url", guarded.url), env=guarded.env) as portion:
        origin = portion.url.removesuffix("/mcp")
        assert document(origin) == behind | {"resource": f"{public}/mcp"}
        status, headers, _ = fetch(portion.url, message)
        challenge = headers["WWW-Authenticate"]
        assert status == 401 and guarded.origin not in challenge
        assert f'resource_metadata="{public}/.well-known/oauth-protected-resource/mcp"' in challenge
        assert 'error="invalid_token"' in challenge


def test_a_client_logs_in_through_serve(guarded):
    """A strict client, which is Portion itself, on the address of `serve`."""
    client = Guarded(guarded.origin, guarded.home)

    def log_in(port):
        origin = f"http://127.0.0.1:{port}"
        client.url = f"{origin}/mcp"
        command = [PORTION, "serve", "--listen", f"127.0.0.1:{port}", "--public-url", origin, "--url", guarded.url]
        with Listening(command, env=guarded.env):
            client.log_in()

    on_a_free_port(log_in)
    asked = guarded.control()["asked"][-1]
    assert asked["resource"] == client.url


class Unknown(http.server.BaseHTTPRequestHandler):
    """A server that wants credentials at /mcp, and offers no login."""

    def do_POST(self):
        self.send_response(401 if self.path == "/mcp" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        pass


def test_a_server_without_logins_gets_the_advice_to_use_a_header(tmp_path):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unknown) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        plain = Guarded(f"http://127.0.0.1:{server.server_port}", tmp_path)
        with plain.wrap() as wire:
            error = json.loads(wire.ask(request(0, "initialize", INITIALIZE)))["error"]
            assert "--header" in error["message"] and "offers no login" in error["message"]
        with plain.wrap(env={"PORTION_NO_LOGIN": "1"}) as wire:
            error = json.loads(wire.ask(request(0, "initialize", INITIALIZE)))["error"]
            assert "--header" in error["message"] and "portion login" not in error["message"]
        plain.url = f"{plain.origin}/other"
        assert "offers no login" in plain.run("login", plain.url, code=1).stderr
        server.shutdown()
    assert plain.files() == []
