"""The configuration changes again and again while callers walk lists: no call fails, and each walk keeps its page size."""

import os
import statistics
import threading
import time

from harness.command import FIXTURE
from harness.listening import Listening, served
from harness.replacing import linked, renamed_over
from harness.reply import items, lawful
from harness.waiting import until
from test_shared_store import Caller

RELOADS = int(os.environ.get("RELOADS", "12"))
CALLERS = 4
SIZES = (10, 25)
TOTAL = 500


class Walker(threading.Thread):
    """Walks lists to their ends until it is stopped."""

    def __init__(self, front, number):
        super().__init__(daemon=True)
        self.calls, self.walks, self.failure, self.ended = 0, 0, None, threading.Event()
        self._caller = Caller(front, credentials={"Authorization": f"Bearer {number}"})

    def run(self):
        try:
            while not self.ended.is_set():
                self._walk()
        except BaseException as failure:  # told by the test
            self.failure = failure

    def _walk(self):
        reply = lawful(self._caller.call("list_bookings"))
        size, seen = len(items(reply)), len(items(reply))
        assert size in SIZES, size
        while reply.next:
            reply = lawful(self._caller.call("portion_read", cursor=reply.next))
            self.calls += 1
            seen += len(items(reply))
            assert len(items(reply)) == size or not reply.next, f"a page of {len(items(reply))} in a walk of {size}"
        assert seen == TOTAL
        self.walks += 1


def test_each_walk_keeps_its_page_size(tmp_path):
    file = tmp_path / "portion.yaml"
    renamed_over(file, f"defaultPageSize: {SIZES[0]}\n")
    with Listening(served("--config", str(file), "--admin", "off", "--", *FIXTURE)) as front:
        walkers = [Walker(front, number) for number in range(CALLERS)]
        for walker in walkers:
            walker.start()
        asker, delays = Caller(front, credentials={"Authorization": "Bearer asker"}), []
        for number in range(1, RELOADS + 1):
            size = SIZES[number % 2]
            written = time.monotonic()
            (linked if number % 3 == 0 else renamed_over)(file, f"defaultPageSize: {size}\n")
            until(lambda size=size: len(items(lawful(asker.call("list_bookings")))) == size, "it is in force", seconds=60, pause=0.005)
            delays.append(time.monotonic() - written)
        walks = [walker.walks for walker in walkers]
        until(lambda: all(w.walks > before or w.failure for w, before in zip(walkers, walks, strict=True)), "walks end", seconds=60)
        for walker in walkers:
            walker.ended.set()
            walker.join(60)
        assert not [walker.failure for walker in walkers if walker.failure]
        print(f"{RELOADS} reloads, {sum(walker.calls for walker in walkers)} pages, in force after {statistics.median(delays) * 1000:.0f} ms")
