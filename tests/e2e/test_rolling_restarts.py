"""Three instances on one Redis restart one after another, with new keys, while callers walk lists: no walk fails."""

import os
import threading

import pytest

from harness.command import FIXTURE
from harness.listening import Listening, served
from harness.redis import RedisServer
from harness.reply import items, lawful
from harness.waiting import until
from test_shared_store import Caller, Draining, make_key

INSTANCES = 3
WALKERS = 4
ROTATIONS = int(os.environ.get("ROLLING_ROTATIONS", "1"))
"""Changes of the key. Each restarts every instance three times."""
LOST = (ConnectionError, OSError)


class Instances:
    """Instances behind a balancer: a request goes to the next one that takes it."""

    def __init__(self, store, keys):
        self._store, self._keys = store, keys
        self._running = []
        self._turn = 0
        self._lock = threading.Lock()
        self.passed_on = 0

    def __enter__(self):
        self._running = [self._started(self._keys) for _ in range(INSTANCES)]
        return self

    def __exit__(self, *_):
        for instance in self._running:
            instance.__exit__(None, None, None)

    def _started(self, keys):
        options = ("--store", self._store, "--cursor-keys", str(keys), "--admin", "off", "--drain-timeout", "30s")
        return Listening(served(*options, "--", *FIXTURE)).__enter__()

    def restart_all(self, keys):
        for place in range(INSTANCES):
            self._running[place].__exit__(None, None, None)
            assert self._running[place].process.returncode == 143, "it drained, and ended by the signal"
            self._running[place] = self._started(keys)

    def call(self, credentials, tool, **arguments):
        """What the next instance answers that is not restarting. All calls only read, so that a lost one is passed on."""
        def answered():
            for _ in range(INSTANCES):
                with self._lock:
                    self._turn += 1
                    instance = self._running[self._turn % INSTANCES]
                try:
                    return Caller(instance, credentials=credentials).call(tool, **arguments)
                except (Draining, *LOST):
                    self.passed_on += 1
            return None

        return until(answered, "an instance takes the call", seconds=60)


class Walker(threading.Thread):
    """Walks lists to their ends until it is stopped."""

    def __init__(self, instances, name):
        super().__init__(daemon=True)
        self.walks, self.pages, self.failure = 0, 0, None
        self._instances, self._ended = instances, threading.Event()
        self._credentials = {"Authorization": f"Bearer {name}"}

    def run(self):
        try:
            while not self._ended.is_set():
                self._walk()
                self.walks += 1
        except BaseException as failure:  # told by the test
            self.failure = failure

    def stop(self):
        self._ended.set()
        self.join(60)

    def _walk(self):
        reply = lawful(self._instances.call(self._credentials, "list_bookings"))
        seen = items(reply)
        while reply.next:
            reply = lawful(self._instances.call(self._credentials, "portion_read", cursor=reply.next))
            seen += items(reply)
            self.pages += 1
        assert [item["id"] for item in seen] == [f"BK-{number:04}" for number in range(1, 501)]


@pytest.fixture
def redis(tmp_path):
    with RedisServer(tmp_path) as redis:
        yield redis


def test_instances_restart_with_new_keys_and_no_walk_fails(redis, tmp_path):
    def keyring(name, *keys):
        file = tmp_path / name
        file.write_text("\n".join(keys))
        file.chmod(0o600)
        return file

    old = make_key()
    with Instances(redis.url(), keyring("first", old)) as instances:
        walkers = [Walker(instances, number) for number in range(WALKERS)]
        for walker in walkers:
            walker.start()

        def all_go_on():
            """Waits until every walk that was under way has ended."""
            walks = [walker.walks for walker in walkers]
            ahead = lambda: all(w.walks > walked or w.failure for w, walked in zip(walkers, walks, strict=True))
            until(ahead, "every walk ends", seconds=120)
            assert not [walker.failure for walker in walkers if walker.failure]

        all_go_on()
        for number in range(ROTATIONS):
            new = make_key()
            instances.restart_all(keyring(f"{number}-added", old, new))
            instances.restart_all(keyring(f"{number}-first", new, old))
            all_go_on()
            instances.restart_all(keyring(f"{number}-alone", new))
            old = new
        all_go_on()
        for walker in walkers:
            walker.stop()
        assert not [walker.failure for walker in walkers if walker.failure]
        pages = sum(walker.pages for walker in walkers)
        print(f"{9 * ROTATIONS} restarts, {pages} pages, {instances.passed_on} calls passed on to another instance")
