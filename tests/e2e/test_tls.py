"""TLS on both sides: in front of Portion, as a proxy with TLS does it, and to servers and REST APIs."""

import json
import ssl

import pytest
import requests

from harness.command import PORTION, SDK_FIXTURE
from harness.driven import MODERN, SDKS, Driven
from harness.listening import Listening, served
from harness.reply import lawful, walk
from harness.tls import Certificates, TlsEndpoint
from harness.wire import Wire
from test_http_api import ADA, API

CLIENTS = [(name, False) for name in SDKS] + [(name, True) for name in MODERN]
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tls", "version": "1"}},
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def server():
    with Listening([*SDK_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def api():
    with Listening(API) as api:
        yield api


@pytest.fixture(scope="module")
def both_sides(server, certificates):
    """The address of Portion with TLS, in front of a server with TLS."""
    with TlsEndpoint(server.url, certificates) as upstream:
        command = served("--admin", "off", "--url", f"{upstream.url}/mcp")
        with Listening(command, env=certificates.environment) as portion, TlsEndpoint(portion.url, certificates) as front:
            yield front.url


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: " 2026-07-28".join([client[0], ""]) if client[1] else client[0])
def test_sdk_clients_read_a_whole_list(client, both_sides, certificates):
    name, modern = client
    with Driven(name, {"url": both_sides}, modern=modern, env=certificates.environment) as session:
        pages = list(walk(session, lawful(session.call("list_bookings"))))
        assert len(pages) > 1 and sum(len(page.json["bookings"]) for page in pages) == 500


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_both_versions_of_tls(version, server, certificates):
    with TlsEndpoint(server.url, certificates, only=version) as upstream:
        first = initialized(upstream, certificates.environment)
        assert first["result"]["serverInfo"]["name"], first
        assert upstream.versions == {version.name.replace("TLSv1_", "TLSv1.")}


def initialized(upstream, environment):
    """The response of `wrap --url` to the first request."""
    with Wire([PORTION, "wrap", "--url", f"{upstream.url}/mcp"], env=environment) as wire:
        wire.send(json.dumps(INITIALIZE).encode())
        return json.loads(wire.line())


UNTRUSTED = {
    "another authority": ({}, "other"),
    "another name": ({"name": "DNS:example.com"}, None),
    "expired": ({"days": -1}, None),
}


@pytest.mark.parametrize("case", UNTRUSTED)
def test_a_certificate_that_is_not_trusted(case, server, api, tmp_path):
    made, trusted = UNTRUSTED[case]
    shown = Certificates(tmp_path / "shown", **made)
    environment = (Certificates(tmp_path / trusted) if trusted else shown).environment
    with TlsEndpoint(server.url, shown) as upstream:
        error = initialized(upstream, environment)["error"]
        assert "certificate" in error["message"], error
    with TlsEndpoint(f"{api.url}/api", shown) as upstream, proxied(upstream, environment) as proxy:
        response = requests.get(f"{proxy.url}/bookings", headers=ADA, timeout=30)
        assert response.status_code == 502 and "certificate" in json.dumps(response.json()), response.text


def proxied(upstream, environment):
    command = [PORTION, "http", "--upstream", upstream.url, "--listen", "127.0.0.1:0", "--admin", "off"]
    return Listening(command, env=environment)


def test_an_api_with_tls(api, certificates):
    with TlsEndpoint(f"{api.url}/api", certificates) as upstream, proxied(upstream, certificates.environment) as proxy:
        with TlsEndpoint(proxy.url, certificates) as front:
            get = {"headers": ADA, "timeout": 30, "verify": str(certificates.authority)}
            response, items = requests.get(f"{front.url}/bookings", **get), []
            while True:
                assert response.status_code == 200, response.text
                items += response.json()
                if "next" not in response.links:
                    break
                response = requests.get(requests.compat.urljoin(response.url, response.links["next"]["url"]), **get)
            whole = requests.get(f"{api.url}/api/bookings", headers=ADA, timeout=30).json()
            assert [item["id"] for item in items] == [item["id"] for item in whole]


@pytest.mark.parametrize("cut", [0, 1, 100, 5_000, 50_000])
def test_a_response_that_is_cut_off(cut, server, certificates):
    """TLS has an end of its own: without it, nobody knows if the data are whole."""
    with TlsEndpoint(server.url, certificates, cut=cut) as upstream:
        with Wire([PORTION, "wrap", "--url", f"{upstream.url}/mcp"], env=certificates.environment) as wire:
            wire.send(json.dumps(INITIALIZE).encode())
            first = json.loads(wire.line())
            if "error" in first:
                assert first["id"] == 1
                return
            wire.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            wire.send(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_bookings","arguments":{}}}')
            answer = json.loads(wire.line())
            assert answer["id"] == 2
            if "result" in answer:
                assert answer["result"].get("isError") or lawful(answer["result"]).text
