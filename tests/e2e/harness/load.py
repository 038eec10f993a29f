"""Callers who walk lists at a given rate, all of them together, until they are stopped."""

import itertools
import json
import os
import threading
import time

from .reply import Reply
from .waiting import until

RATE = float(os.environ.get("LOAD_RATE", "0"))
"""Requests a second of all callers together. Without it each caller asks as soon as it has its answer."""
CALLERS = 48 if RATE else 4
TOTAL = 500
SECONDS = 120


class Pace:
    """Lets requests begin at a rate, and remembers how long each took from the moment when it was due."""

    def __init__(self, rate=RATE):
        self._gap = 1 / rate if rate else 0
        self._due = self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._done = []

    def timed(self, work):
        with self._lock:
            self._due = due = self._due + self._gap if self._gap else time.monotonic()
        time.sleep(max(due - time.monotonic(), 0))
        result = work()
        self._done.append((due, time.monotonic() - due))
        return result

    @property
    def count(self):
        return len(self._done)

    @property
    def rate(self):
        return self.count / (time.monotonic() - self._begun)

    def p99(self, begin=0, end=float("inf")):
        """The time that 99 of 100 requests took at most, of those that were due between two moments."""
        took = sorted(seconds for due, seconds in list(self._done) if begin <= due < end)
        return took[int(len(took) * 0.99)] if took else 0.0


class Walker(threading.Thread):
    """Walks lists to their ends by `call(tool, **arguments)`. `check` judges the sizes of the pages of each walk."""

    def __init__(self, pace, call, check=lambda sizes: None):
        super().__init__(daemon=True)
        self.walks, self.failure = 0, None
        self._pace, self._call, self._check, self._ended = pace, call, check, threading.Event()

    def run(self):
        try:
            while not self._ended.is_set():
                self._walk()
                self.walks += 1
        except BaseException as failure:  # told by the test
            self.failure = failure

    def stop(self):
        self._ended.set()

    def _ask(self, tool, **arguments):
        reply = Reply(self._pace.timed(lambda: self._call(tool, **arguments)))
        assert reply.notice and not reply.result.get("isError"), reply.result
        return reply, [item["id"] for item in json.loads(reply.text)]

    def _walk(self):
        reply, page = self._ask("list_bookings")
        pages = [page]
        while reply.next:
            reply, page = self._ask("portion_read", cursor=reply.next)
            pages.append(page)
        assert list(itertools.chain(*pages)) == [f"BK-{number:04}" for number in range(1, TOTAL + 1)]
        self._check([len(page) for page in pages])


class Load:
    """`with Load(call_of) as load`: `CALLERS` walkers; `call_of(number)` gives the call of each."""

    def __init__(self, call_of, check=lambda sizes: None):
        self.pace = Pace()
        self._walkers = [Walker(self.pace, call_of(number), check) for number in range(CALLERS)]

    def __enter__(self):
        for walker in self._walkers:
            walker.start()
        return self

    def __exit__(self, failure, *_):
        for walker in self._walkers:
            walker.stop()
        for walker in self._walkers:
            walker.join(SECONDS)
        if failure is None:
            self.check()
            if RATE:
                assert self.pace.rate > 0.9 * RATE, f"{self.pace.rate:.0f} requests a second instead of {RATE:.0f}"

    def check(self):
        failures = [walker.failure for walker in self._walkers if walker.failure]
        assert not failures, f"{len(failures)} walks failed, such as: {failures[0]!r}"

    def goes_on(self):
        """Waits until every walk that is under way has ended."""
        before = [walker.walks for walker in self._walkers]
        ended = lambda: all(w.walks > walks or w.failure for w, walks in zip(self._walkers, before, strict=True))
        until(ended, "every walk ends", seconds=SECONDS)
        self.check()

    def keeps_on(self, seconds):
        """Lets the callers go on for a time, and gives when it began and ended."""
        begin = time.monotonic()
        time.sleep(seconds)
        self.check()
        return begin, time.monotonic()

    def __str__(self):
        return f"{self.pace.count} requests, {self.pace.rate:.0f} a second, p99 {self.pace.p99() * 1000:.0f} ms"
