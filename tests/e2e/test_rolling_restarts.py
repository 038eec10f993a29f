"""Three instances on one Redis restart one after another, with new keys, while callers walk lists: no walk fails."""

import os
import threading

import pytest

from harness.command import FIXTURE
from harness.listening import Listening, served
from harness.load import Load
from harness.redis import RedisServer
from harness.waiting import until
from test_shared_store import Caller, Draining, make_key

INSTANCES = 3
ROTATIONS = int(os.environ.get("ROLLING_ROTATIONS", "1"))
"""Changes of the key. Each restarts every instance three times."""
REQUESTS = int(os.environ.get("ROLLING_REQUESTS", "0"))
"""The fewest requests."""
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

    def call_of(self, number):
        """Calls of one caller, which the next instance answers that is not restarting. A lost call is passed on, for all only read."""
        return lambda tool, **arguments: self._call({"Authorization": f"Bearer {number}"}, tool, arguments)

    def _call(self, credentials, tool, arguments):
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
    with Instances(redis.url(), keyring("first", old)) as instances, Load(instances.call_of) as load:
        load.goes_on()
        for number in range(ROTATIONS):
            new = make_key()
            instances.restart_all(keyring(f"{number}-added", old, new))
            instances.restart_all(keyring(f"{number}-first", new, old))
            load.goes_on()
            instances.restart_all(keyring(f"{number}-alone", new))
            old = new
        load.goes_on()
        while load.pace.count < REQUESTS:
            load.keeps_on(1)
    print(f"{9 * ROTATIONS} restarts, {instances.passed_on} calls passed on to another instance; {load}")
