"""Results in a Redis that several instances share: any of them goes on with what another began, and none fails with it."""

import base64
import json
import os
import re
import subprocess
import threading
import time
import urllib.request

import pytest

from harness.command import FIXTURE, PORTION
from harness.figures import at_most
from harness.listening import Listening, served
from harness.peer import Peer
from harness.ports import free_port
from harness.redis import RedisServer, seconds_of
from harness.tls import Certificates
from harness.reply import Reply, items, lawful
from harness.talk import ACCEPT, OverHttp, exchange, messages
from harness.waiting import until
from harness.wire import Wire

ERAS = ["2025-11-25", "2026-07-28"]
PREFIX = "io.modelcontextprotocol"
# No reply waits longer for a store that is lost.
PATIENCE = at_most(8)
# Those that docs/stores.md recommends.
RIGHTS = ("~portion:*", "+@read", "+@write", "+@transaction", "+@connection")
ADA, BOB = {"Authorization": "Bearer ada"}, {"Authorization": "Bearer bob"}


class Draining(Exception):
    """The instance takes no more requests."""


class Caller(OverHttp):
    """A caller of an instance with credentials, in one of the eras of the protocol."""

    def __init__(self, instance, era=ERAS[1], credentials=None):
        super().__init__(instance.url)
        self._credentials = ADA if credentials is None else credentials
        self._is_modern = era == ERAS[1]
        self._era = era
        if not self._is_modern:
            self.open(era)

    def _headers(self):
        return [*super()._headers(), *self._credentials.items()]

    def call(self, tool, /, **arguments):
        parameters = {"name": tool, "arguments": arguments}
        line = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        if not self._is_modern:
            return json.loads(self.ask(json.dumps(line))[-1])["result"]
        meta = {f"{PREFIX}/protocolVersion": self._era, f"{PREFIX}/clientCapabilities": {}}
        parameters["_meta"] = meta
        headers = {
            "Content-Type": "application/json",
            "Accept": ACCEPT,
            "MCP-Protocol-Version": self._era,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            **self._credentials,
        }
        with exchange(self._url, "POST", headers, json.dumps(line).encode()) as response:
            if response.status == 503:
                raise Draining(response.read())
            assert response.status == 200, response.read()
            *_, answer = messages(response)
        return json.loads(answer)["result"]


class Instance(Listening):
    """`portion serve` with a shared store."""

    def __init__(self, store, keys, *options, env=None):
        shared = ("--store", store, "--cursor-keys", str(keys), "--admin", "127.0.0.1:0", "--log-level", "info")
        super().__init__(served(*shared, *options, "--", *FIXTURE), env=env)

    def admin(self, path):
        address = until(lambda: re.search(r"dashboard at http://(\S+)/", "".join(self.said)), "an address")[1]
        with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as response:
            return response.read().decode()

    def health(self):
        return json.loads(self.admin("/health"))

    def is_connected(self):
        return self.health()["store"]["backend"]["available"]


def make_key():
    return base64.b64encode(os.urandom(32)).decode()


@pytest.fixture
def keys(tmp_path):
    file = tmp_path / "cursor.keys"
    file.write_text(f"{make_key()}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def redis(tmp_path):
    with RedisServer(tmp_path) as redis:
        yield redis


def stored(redis, count=1):
    """Waits until results are stored, which happens after their replies."""
    until(lambda: len([key for key in redis.keys() if key.endswith("}")]) >= count, "it is stored")


def code(result):
    return Reply(result).error["code"]


def calls(caller, tool):
    """How often the server behind an instance was called."""
    return int(Reply(caller.call("count_calls", tool=tool)).text)


def walked(callers, first):
    """The items of all pages, each page read from the next of the callers in turn."""
    found, reply, turn = items(first), first, 0
    while reply.next:
        turn += 1
        reply = lawful(callers[turn % len(callers)].call("portion_read", cursor=reply.next))
        found += items(reply)
    return found


@pytest.mark.parametrize("era", ERAS)
def test_a_walk_goes_on_at_any_instance(redis, keys, era):
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        a, b = Caller(one, era), Caller(other, era)
        first = lawful(a.call("list_bookings"))
        stored(redis)
        expected = a.call("portion_read", cursor=first.next)
        assert b.call("portion_read", cursor=first.next) == expected, "the same bytes, whoever answers"
        found = walked([a, b], first)
        assert [one["id"] for one in found] == [one["id"] for one in walked([a], first)] and len(found) == 500
        # A view that one of them made is read by the other, too.
        by_status = lawful(b.call("portion_read", cursor=first.meta["cursor"], sort="id desc"))
        until(lambda: "error" not in json.dumps(a.call("portion_read", cursor=by_status.next)), "views are shared")
        assert calls(b, "list_bookings") == 0, "the server of the other instance was not asked"
        assert b.call("portion_query", cursor=first.next, sql="SELECT COUNT(*) FROM items").get("isError") is not True


def test_the_next_page_is_read_elsewhere_at_once(redis, keys):
    """An instance writes after its reply: another waits for what is being written."""
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        callers = [Caller(one), Caller(other)]
        for _ in range(5):
            first = lawful(callers[0].call("list_bookings"))
            # Another limit makes a view of its own on each page.
            second = lawful(callers[1].call("portion_read", cursor=first.next, fields="id", limit=7))
            third = lawful(callers[0].call("portion_read", cursor=second.next, fields="id,status"))
            assert items(lawful(callers[1].call("portion_read", cursor=third.next)))
            assert len(walked(callers[::-1], first)) == 500


def slow_write(redis):
    redis.ask("CLIENT", "PAUSE", "400", "WRITE")
    time.sleep(0.45)


def test_a_drain_waits_until_results_are_stored(redis, keys):
    with Instance(redis.url(), keys) as other:
        with Instance(redis.url(), keys) as one:
            until(one.is_connected, "the store")
            slow = threading.Thread(target=lambda: [slow_write(redis) for _ in range(6)])
            slow.start()
            a = Caller(one)
            firsts = [lawful(a.call("list_bookings", limit=limit)) for limit in range(5, 12)]
        slow.join()
        until(other.is_connected, "the store")
        b = Caller(other)
        for first in firsts:
            assert items(lawful(b.call("portion_read", cursor=first.next)))


def test_pages_by_number_are_shared_and_a_hash_expires_as_a_whole(redis, keys):
    with Instance(redis.url(), keys, "--snapshot-ttl", "100s") as one, Instance(redis.url(), keys) as other:
        a, b = Caller(one), Caller(other)
        first = lawful(a.call("list_bookings"))
        stored(redis)
        until(lambda: redis.keys("portion:reuse:*"), "equal calls are answered from it")
        second = lawful(b.call("list_bookings", page=2))
        assert items(second) and items(second)[0] not in items(first)
        assert calls(b, "list_bookings") == 0
        (snapshot,) = [key for key in redis.keys() if key.endswith("}")]
        assert redis.ask("TYPE", snapshot).strip() == "hash"
        assert 0 < int(redis.ask("PTTL", snapshot)) <= 600_000
        redis.ask("DEL", snapshot)
        with Instance(redis.url(), keys) as third:
            result = Caller(third).call("portion_read", cursor=first.next)
            assert code(result) == "cursor_expired" and "list_bookings" in json.dumps(result)


@pytest.mark.parametrize("era", ERAS)
def test_another_principal_reads_nothing(redis, keys, era):
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        first = lawful(Caller(one, era).call("list_bookings"))
        stored(redis)
        for instance in (one, other):
            for credentials in (BOB, {}, {"X-API-Key": "ada"}):
                stranger = Caller(instance, era, credentials)
                assert code(stranger.call("portion_read", cursor=first.next)) == "cursor_invalid"
                assert code(stranger.call("portion_query", cursor=first.next, find="1")) == "cursor_invalid"
        assert calls(Caller(other, era, BOB), "list_bookings") == 0
        # Ids are random hexadecimal digits, and `ada` is three of these.
        names = re.sub("[0-9a-f]{32}", "", "".join(redis.keys("*")))
        assert "portion:" in names and "ada" not in names and "Bearer" not in names


def serves_without_the_store(caller, era_name="list_bookings"):
    """Small replies pass as they are, big ones are kept in the process, and nothing waits long."""
    small, took = seconds_of(lambda: caller.call("get_small_booking"))
    assert Reply(small).notice is None and not small.get("isError") and took < PATIENCE, took
    before = calls(caller, era_name)
    big, took = seconds_of(lambda: lawful(caller.call(era_name)))
    assert took < PATIENCE, took
    if big.next:
        following, took = seconds_of(lambda: lawful(caller.call("portion_read", cursor=big.next)))
        assert items(following) and took < PATIENCE, took
    else:
        assert "store_unavailable" in json.dumps(big.notice), big.notice
    assert calls(caller, era_name) == before + 1, "the server is asked once"
    return big


def goes_on(a, b, redis, instances):
    """The store is used again: what one instance stores, the other reads."""
    until(lambda: all(one.is_connected() for one in instances), "it is found again", seconds=at_most(3))
    before = len([key for key in redis.keys() if key.endswith("}")])
    first = lawful(a.call("list_bookings"))
    stored(redis, before + 1)
    assert items(lawful(b.call("portion_read", cursor=first.next)))


def out_of_memory(redis):
    redis.ask("CONFIG", "SET", "maxmemory", "1mb")
    return lambda: redis.ask("CONFIG", "SET", "maxmemory", "0")


def killed(redis):
    redis.kill()
    return redis.start


def stopped(redis):
    redis.pause()
    return redis.resume


def paused(redis):
    redis.ask("CLIENT", "PAUSE", "600000", "ALL")
    # While clients are paused, nobody can end the pause.
    return lambda: (redis.kill(), redis.start())


def read_only(redis):
    redis.ask("REPLICAOF", "127.0.0.1", "1")
    return lambda: redis.ask("REPLICAOF", "NO", "ONE")


@pytest.mark.parametrize("loss", [killed, stopped, paused, out_of_memory, read_only])
def test_a_lost_store_costs_nobody_a_reply(redis, keys, loss):
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        a, b = Caller(one), Caller(other)
        first = lawful(a.call("list_bookings"))
        stored(redis)
        assert items(lawful(b.call("portion_read", cursor=first.next)))
        ends = loss(redis)
        serves_without_the_store(a)
        assert items(lawful(a.call("portion_read", cursor=first.next))), "what a process has, it serves"
        assert items(lawful(b.call("portion_read", cursor=first.next))), "the other has read it before"
        until(lambda: not one.is_connected(), "health tells", seconds=30)
        health = one.health()
        assert health["status"] == "degraded" and any("snapshot store" in reason for reason in health["reasons"])
        assert "portion_store_available 0" in one.admin("/metrics")
        _, took = seconds_of(lambda: serves_without_the_store(a))
        assert took < PATIENCE
        ends()
        goes_on(a, b, redis, [one, other])
        assert "portion_store_available 1" in one.admin("/metrics")


def test_a_cursor_of_another_instance_reads_store_unavailable_while_the_store_is_lost(redis, keys):
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        a, b = Caller(one), Caller(other)
        first = lawful(a.call("list_bookings"))
        stored(redis)
        redis.kill()
        refused, took = seconds_of(lambda: b.call("portion_read", cursor=first.next))
        assert code(refused) == "store_unavailable" and took < PATIENCE
        assert calls(b, "list_bookings") == 0
        redis.start()
        # The store was in memory: what was used since is stored again.
        until(one.is_connected, "it is found again")
        until(other.is_connected, "it is found again")

        def is_stored_again():
            assert items(lawful(a.call("portion_read", cursor=first.next)))
            return redis.keys()

        until(is_stored_again, "what is used is stored again")
        assert items(lawful(b.call("portion_read", cursor=first.next)))


@pytest.mark.parametrize("loss", [out_of_memory, read_only])
def test_a_cursor_of_another_instance_reads_store_unavailable_while_the_store_refuses_writes(redis, keys, loss):
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        a, b = Caller(one), Caller(other)
        lawful(a.call("list_bookings"))
        stored(redis)
        ends = loss(redis)
        until(lambda: not one.is_connected() and not other.is_connected(), "health tells", seconds=30)
        first = lawful(a.call("list_bookings"))
        assert first.next, "what a process has, it serves"
        assert code(b.call("portion_read", cursor=first.next)) == "store_unavailable"
        ends()


def test_without_memory_and_store_a_reply_is_shortened_and_says_so(redis, keys):
    with Instance(redis.url(), keys, "--snapshot-memory", "0") as one:
        caller = Caller(one)
        assert lawful(caller.call("list_bookings")).next, "the store keeps it"
        redis.kill()
        reply = lawful_without_cursor(caller.call("list_bookings"))
        assert "store_unavailable" in json.dumps(reply.notice) and not reply.next
        assert calls(caller, "list_bookings") == 2


def lawful_without_cursor(result):
    reply = Reply(result)
    assert reply.notice and len(json.dumps(result)) < 65536 and not result.get("isError")
    return reply


def test_keys_of_another_type_harm_nobody(redis, keys):
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        a, b = Caller(one), Caller(other)
        first = lawful(a.call("list_bookings"))
        stored(redis)
        for key in redis.keys("portion:*"):
            redis.ask("DEL", key)
            redis.ask("RPUSH", key, "x")
        assert code(b.call("portion_read", cursor=first.next)) in ("store_unavailable", "cursor_expired")
        assert items(lawful(a.call("portion_read", cursor=first.next)))
        serves_without_the_store(a)
        serves_without_the_store(b)


def test_a_store_that_is_not_there_at_the_start_is_found_later(redis, keys):
    redis.kill()
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:
        a, b = Caller(one), Caller(other)
        serves_without_the_store(a)
        redis.start()
        goes_on(a, b, redis, [one, other])


def test_a_wrong_password_is_told_and_harms_nobody(tmp_path, keys):
    with RedisServer(tmp_path, "--requirepass", "right") as redis:
        with Instance(redis.url(":wrong@"), keys) as one:
            serves_without_the_store(Caller(one))
            until(lambda: not one.is_connected(), "health tells")
            assert one.health()["store"]["backend"]["problem"]
            said = "".join(one.said)
            assert "is not available" in said and ":wrong@" not in said
        environment = {"REDIS_PASSWORD": "right"}
        with Instance(redis.url(":${REDIS_PASSWORD}@"), keys, env=environment) as one:
            until(one.is_connected, "the password is right")
            lawful(Caller(one).call("list_bookings"))
            until(lambda: "portion:{" in redis.ask("KEYS", "*", password="right"), "it is stored")
        redis.ask("ACL", "SETUSER", "portion", "on", ">word", *RIGHTS, password="right")
        redis.ask("FLUSHALL", password="right")
        with Instance(redis.url("portion:word@"), keys) as one:
            until(one.is_connected, "these rights are enough")
            lawful(Caller(one).call("list_bookings"))
            until(lambda: "portion:{" in redis.ask("KEYS", "*", password="right"), "it is stored")


def test_tls_with_an_authority_of_its_own(tmp_path, keys):
    certificates = Certificates(tmp_path)
    with RedisServer(tmp_path, certificates=certificates) as redis:
        trusted = f"{redis.url()}?ca={certificates.authority}"
        system = {"SSL_CERT_FILE": str(certificates.authority)}
        with Instance(trusted, keys) as one, Instance(redis.url(), keys, env=system) as other:
            first = lawful(Caller(one).call("list_bookings"))
            stored(redis)
            assert items(lawful(Caller(other).call("portion_read", cursor=first.next)))
        with Instance(redis.url(), keys) as stranger:
            serves_without_the_store(Caller(stranger))
            assert not stranger.is_connected(), "an unknown authority is not trusted"


def test_a_cluster_keeps_the_keys_of_a_result_together(tmp_path, keys):
    with RedisServer(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port())) as redis:
        redis.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        until(lambda: "cluster_state:ok" in redis.ask("CLUSTER", "INFO"), "the cluster is ready", seconds=60)
        redis.ask("ACL", "SETUSER", "portion", "on", ">word", *RIGHTS, "+cluster|slots")
        url = f"redis+cluster://portion:word@127.0.0.1:{redis.port}"
        with Instance(url, keys) as one, Instance(url, keys) as other:
            a, b = Caller(one), Caller(other)
            first = lawful(a.call("list_bookings"))
            stored(redis)
            assert len(walked([a, b], first)) == 500
            redis.kill()
            serves_without_the_store(a)


def test_sentinels_name_the_master(tmp_path, keys):
    sentinel = tmp_path / "sentinel"
    sentinel.mkdir()
    file = sentinel / "sentinel.conf"
    with RedisServer(tmp_path) as redis:
        file.write_text(f"sentinel monitor main 127.0.0.1 {redis.port} 1\n")
        with RedisServer(sentinel, first=(str(file), "--sentinel"), saves=False) as watching:
            redis.ask("ACL", "SETUSER", "portion", "on", ">word", *RIGHTS, "+role")
            url = f"redis+sentinel://portion:word@127.0.0.1:{watching.port}/main"
            with Instance(url, keys) as one, Instance(url, keys) as other:
                until(one.is_connected, "the master is found")
                first = lawful(Caller(one).call("list_bookings"))
                stored(redis)
                assert items(lawful(Caller(other).call("portion_read", cursor=first.next)))


def test_sentinels_fail_over_to_a_replica(tmp_path, keys):
    places = [tmp_path / name for name in ("master", "replica", "sentinel")]
    for place in places:
        place.mkdir()
    master_place, replica_place, sentinel_place = places
    with RedisServer(master_place) as master:
        follows = ("--replicaof", f"127.0.0.1 {master.port}", "--repl-diskless-sync-delay", "0")
        with RedisServer(replica_place, *follows) as replica:
            until(lambda: "master_link_status:up" in replica.ask("INFO", "replication"), "it follows", seconds=60)
            file = sentinel_place / "sentinel.conf"
            watched = f"sentinel monitor main 127.0.0.1 {master.port} 1\nsentinel down-after-milliseconds main 1000\n"
            file.write_text(watched + "sentinel failover-timeout main 3000\n")
            with RedisServer(sentinel_place, first=(str(file), "--sentinel"), saves=False) as watching:
                known = lambda: "slave0:" in watching.ask("INFO", "sentinel") or "slaves=1" in watching.ask("INFO", "sentinel")
                until(known, "the sentinel knows the replica", seconds=60)
                url = f"redis+sentinel://127.0.0.1:{watching.port}/main"
                with Instance(url, keys) as one, Instance(url, keys) as other:
                    a, b = Caller(one), Caller(other)
                    until(one.is_connected, "the master is found", seconds=60)
                    first = lawful(a.call("list_bookings"))
                    stored(master)
                    until(lambda: replica.keys(), "it is replicated")
                    master.kill()
                    serves_without_the_store(a)
                    until(lambda: "role:master" in replica.ask("INFO", "replication"), "the replica is promoted", seconds=60)
                    until(lambda: one.is_connected() and other.is_connected(), "the new master is found", seconds=60)
                    assert items(lawful(b.call("portion_read", cursor=first.next))), "what was replicated is still there"
                    before = len(replica.keys())
                    again = lawful(a.call("list_bookings"))
                    until(lambda: len(replica.keys()) > before, "it is stored at the new master")
                    assert items(lawful(b.call("portion_read", cursor=again.next)))


def test_keys_are_changed_one_instance_after_the_other(redis, tmp_path):
    old, new = make_key(), make_key()
    files = {name: tmp_path / f"{name}.keys" for name in ("old", "both", "new")}
    for file, content in zip(files.values(), (old, f"{new}\n{old}\n", new), strict=True):
        file.write_text(content)
    with Instance(redis.url(), files["old"]) as one, Instance(redis.url(), files["both"]) as other:
        a, b = Caller(one), Caller(other)
        of_old = lawful(a.call("list_bookings"))
        stored(redis)
        assert items(lawful(b.call("portion_read", cursor=of_old.next))), "the earlier key is still accepted"
        of_new = lawful(b.call("list_bookings"))
        stored(redis, 2)
        assert code(a.call("portion_read", cursor=of_new.next)) == "cursor_invalid", "that key is not there yet"
        with Instance(redis.url(), files["new"]) as third:
            c = Caller(third)
            assert code(c.call("portion_read", cursor=of_old.next)) == "cursor_invalid"
            assert items(lawful(c.call("portion_read", cursor=of_new.next)))


def test_two_processes_of_wrap_share_it(redis, keys):
    env = {"PORTION_STORE": redis.url(), "PORTION_CURSOR_KEYS": keys.read_text().strip()}
    command = [PORTION, "wrap", "--", *FIXTURE]
    with Peer(command, env=env) as peer:
        first = lawful(peer.call("list_bookings"))
        expected = lawful(peer.call("portion_read", cursor=first.next))
    with Peer(command, env=env) as peer:
        assert lawful(peer.call("portion_read", cursor=first.next)).result == expected.result
        # The caller of another process is not known to be the same.
        lawful(peer.call("list_bookings", page=2))
        assert Reply(peer.call("count_calls", tool="list_bookings")).text == "1"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--store", "redis://127.0.0.1:1"), ["--cursor-keys", "PORTION_CURSOR_KEYS", "openssl rand -base64 32"]),
        (("--store", "redis://127.0.0.1:1", "--cursor-keys", "/no/such/file"), ["/no/such/file"]),
        (("--store", "redis://127.0.0.1:1", "--cursor-keys", "{short}"), ["5 bytes", "openssl rand -base64 32"]),
        (("--store", "redis://127.0.0.1:1/main", "--cursor-keys", "{keys}"), ["number of a database"]),
        (("--store", "postgres://127.0.0.1", "--cursor-keys", "{keys}"), ["redis://"]),
        (("--store", "fiel"), ["memory", "file", "redis://"]),
    ],
)
def test_what_is_wrong_is_told_at_the_start(tmp_path, keys, options, says):
    short = tmp_path / "short.keys"
    short.write_text(base64.b64encode(b"short").decode())
    options = [option.format(short=short, keys=keys) for option in options]
    done = subprocess.run([PORTION, "wrap", *options, "--", *FIXTURE], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    for word in says:
        assert word in done.stderr, done.stderr


def test_a_password_is_not_shown(tmp_path, keys):
    shared = {"PORTION_STORE": "redis://user:hunter2@127.0.0.1:1", "PORTION_CURSOR_KEYS": keys.read_text().strip()}
    command = [PORTION, "config", "show"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | shared)
    assert done.returncode == 0, done.stderr
    assert "hunter2" not in done.stdout and keys.read_text().strip() not in done.stdout
    assert "127.0.0.1:1" in done.stdout


def test_wrap_ends_in_time_while_the_store_hangs(redis, keys):
    command = [PORTION, "wrap", "--store", redis.url(), "--cursor-keys", str(keys), "--", *FIXTURE]
    with Wire(command) as wire:
        wire.open()
        redis.pause()
        assert b"nextCursor" in wire.call(1, "list_bookings")
        begun = time.monotonic()
        wire.close()
        wire.exit_code()
        assert time.monotonic() - begun < PATIENCE
    redis.resume()
