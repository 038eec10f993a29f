"""The configuration changes again and again while callers walk lists: no call fails, and each walk keeps its page size."""

import os
import statistics
import time

from harness.command import FIXTURE
from harness.figures import HANG, at_most
from harness.listening import Listening, served
from harness.load import Load
from harness.replacing import linked, renamed_over
from harness.reply import items, lawful
from harness.waiting import until
from test_shared_store import Caller

RELOADS = int(os.environ.get("RELOADS", "12"))
SIZES = (10, 25)


def check_sizes(sizes):
    *full, last = sizes
    assert sizes[0] in SIZES and set(full) == {sizes[0]} and last <= sizes[0], sizes


def test_each_walk_keeps_its_page_size(tmp_path):
    file = tmp_path / "portion.yaml"
    renamed_over(file, f"defaultPageSize: {SIZES[0]}\n")
    with Listening(served("--config", str(file), "--admin", "off", "--", *FIXTURE)) as front:
        call_of = lambda number: Caller(front, credentials={"Authorization": f"Bearer {number}"}).call
        with Load(call_of, check_sizes) as load:
            asker, delays = call_of("asker"), []
            for number in range(1, RELOADS + 1):
                size = SIZES[number % 2]
                written = time.monotonic()
                (linked if number % 3 == 0 else renamed_over)(file, f"defaultPageSize: {size}\n")
                until(lambda size=size: len(items(lawful(asker("list_bookings")))) == size, "it is in force", seconds=HANG, pause=0.005)
                delays.append(time.monotonic() - written)
            load.goes_on()
        delay = statistics.median(delays)
        print(f"{RELOADS} reloads, in force after {delay * 1000:.0f} ms; {load}")
        assert delay < at_most(0.1), "half of the changes take longer"
