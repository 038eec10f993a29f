"""V5.4: oversized attempts above 5 % of the traffic raise an alert, and only those do."""

import json
import re
import sqlite3
from contextlib import ExitStack, closing

import pytest

from harness.command import FIXTURE, wrapped
from harness.configured import FRONTS
from harness.hook import Hook, asked
from harness.listening import Listening, served
from harness.peer import Peer
from harness.ports import free_port
from harness.waiting import until

SECONDS = 60
SECRET = "hunter2"
SMALL, LARGE = "get_small_booking", "list_bookings"


class Watched:
    """The fixture server behind Portion, with an operator who listens."""

    def __init__(self, front, folder, hook, **environment):
        self.port = free_port()
        self._records = folder / "telemetry.db"
        options = ["--admin", f"127.0.0.1:{self.port}"]
        environment = {"PORTION_TELEMETRY": str(self._records), "HOOK": SECRET} | environment
        environment["PORTION_ALERT_WEBHOOK"] = f"{hook.url}/${{HOOK}}"
        # V5.4 counts each oversized call; by default only repeated ones count.
        environment.setdefault("PORTION_ALERT_ON", "every")
        with ExitStack() as stack:
            if front == "serve":
                process = Listening(served(*options, "--", *FIXTURE), env=environment)
                self._process = stack.enter_context(process)
                self.peer = stack.enter_context(Peer(self._process.url))
                self.log = lambda: "".join(self._process.said)
            else:
                self.peer = stack.enter_context(Peer(wrapped(FIXTURE, *options), env=environment))
                self.log = self.peer.said
            self._stack = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return self._stack.__exit__(*failure)

    def call(self, small, large):
        """So many of each, the oversized ones last; what is served is counted a moment later."""
        for tool, count in ((SMALL, small), (LARGE, large)):
            expect = self.counted() + count
            for _ in range(count):
                self.peer.call(tool)
            self.until(lambda expect=expect: self.counted() == expect, f"{expect} calls that were counted")

    def health(self):
        return json.loads(asked(self.port, "/health"))

    def counted(self):
        return self.health()["oversized"]["sinceStart"]["requests"]

    def metric(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", asked(self.port, "/metrics"), re.MULTILINE)
        return found and float(found[1])

    def recorded(self):
        """Alerts in the file of records, the oldest first; none as long as there is no file."""
        if not self._records.exists():
            return []
        with closing(sqlite3.connect(self._records)) as records:
            return records.execute("SELECT alert, raised, requests, counted FROM alerts ORDER BY id").fetchall()

    def until(self, holds, what):
        return until(holds, what, seconds=SECONDS, told=self.log)


@pytest.fixture
def hook():
    with Hook() as hook:
        yield hook


@pytest.mark.parametrize("front", FRONTS)
def test_v5_4_oversized_attempts_above_five_per_cent_raise_an_alert(front, tmp_path, hook):
    with Watched(front, tmp_path, hook) as portion:
        portion.call(94, 6)
        path, kind, message = hook.next()
        assert (path, kind) == (f"/{SECRET}", "application/json")
        # The fifth of 99 is the call that makes it so.
        assert (message["alert"], message["state"]) == ("oversized", "raised")
        assert (message["requests"], message["oversized"], message["threshold"]) == (99, 5, 0.05)
        assert message["endpoints"] == [{"endpoint": LARGE, "oversized": 5}]
        assert LARGE in message["text"] and "portion stats --since 5m" in message["text"]
        line = portion.until(lambda: re.search(r"WARN.*", portion.log()), "a warning in the log")[0]
        assert "5.1 % of 99 calls" in line and LARGE in line and "requests=99" in line
        assert SECRET not in portion.log()
        assert portion.metric('portion_alert_active{alert="oversized"}') == 1
        assert portion.metric('portion_alerts_raised_total{alert="oversized"}') == 1
        health = portion.health()
        assert health["status"] == "degraded"
        assert any("oversized" in reason and LARGE in reason for reason in health["reasons"])
        assert health["alerts"][0]["raised"]
        assert health["oversized"]["sinceStart"] == {"share": 0.06, "requests": 100, "oversized": 6}
        assert portion.until(portion.recorded, "a record of the alert") == [("oversized", 1, 99, 5)]
    assert hook.received.empty(), "each change is posted once"


@pytest.mark.parametrize("small,large", [(95, 5), (0, 19)], ids=["5_of_100", "19_of_19"])
def test_v5_4_nothing_else_does(tmp_path, hook, small, large):
    with Watched("serve", tmp_path, hook) as portion:
        portion.call(small, large)
        health = portion.health()
        assert (health["status"], health["reasons"]) == ("ok", [])
        assert health["oversized"]["recent"]["oversized"] == large, "all of them were counted"
        assert portion.metric('portion_alert_active{alert="oversized"}') == 0
        assert "WARN" not in portion.log()
    assert hook.received.empty(), "and nothing was posted by the end"
    assert portion.recorded() == []


def test_by_default_only_clients_that_keep_asking_raise_it(tmp_path, hook):
    with Watched("serve", tmp_path, hook, PORTION_ALERT_ON="repeated") as portion:
        portion.call(37, 1)
        assert portion.health()["oversized"]["recent"]["oversized"] == 0, "the first large list is normal"
        portion.call(0, 1)
        alert = portion.health()["alerts"][0]
        assert (alert["raised"], alert["level"]) == (False, "near"), "1 of 39 is more than 2.5 %"
        assert portion.metric('portion_alert_threshold_ratio{alert="oversized"}') == 0.05
        for _ in range(5):
            portion.peer.call(LARGE, limit=5)
        portion.until(lambda: portion.counted() == 44, "all calls that were counted")
        assert portion.health()["oversized"]["recent"]["oversized"] == 1, "these say how much they want"
        portion.call(0, 2)
        message = hook.next()[2]
        assert (message["state"], message["requests"], message["oversized"]) == ("raised", 46, 3)
        assert "asked again for a result above the budget" in message["text"]
        assert portion.health()["alerts"][0]["level"] == "raised"


def test_v5_4_an_alert_is_over_well_below_that(tmp_path, hook):
    with Watched("serve", tmp_path, hook) as portion:
        portion.call(18, 2)
        assert hook.next()[2]["state"] == "raised"
        portion.call(29, 0)
        assert portion.health()["alerts"][0]["raised"], "2 of 49 are more than 4 %"
        portion.call(1, 0)
        message = hook.next()[2]
        assert (message["state"], message["requests"], message["oversized"]) == ("over", 50, 2)
        assert portion.health()["status"] == "ok"
        assert portion.metric('portion_alert_active{alert="oversized"}') == 0
        recorded = portion.until(lambda: len(portion.recorded()) == 2 and portion.recorded(), "both records")
        assert [raised for _, raised, *_ in recorded] == [1, 0]


def test_v5_4_an_alert_is_over_when_nothing_more_comes(tmp_path, hook):
    with Watched("serve", tmp_path, hook, PORTION_ALERT_WINDOW="10s") as portion:
        portion.call(0, 20)
        raised = hook.next()[2]
        assert (raised["state"], raised["window"]) == ("raised", 10)
        over = hook.next()[2]
        assert (over["state"], over["since"]) == ("over", raised["since"])


def test_v5_4_it_works_where_nothing_is_recorded_and_the_webhook_is_slow_to_take_it(tmp_path):
    with Hook(refuse=1) as hook, Watched("serve", tmp_path, hook, PORTION_TELEMETRY="off") as portion:
        portion.call(0, 20)
        assert portion.health()["alerts"][0]["raised"]
        assert hook.next()[2]["state"] == "raised", "it is tried again"
        assert portion.metric("portion_webhooks_failed_total") == 0
        assert portion.health()["telemetry"] is None


@pytest.mark.parametrize("status", [307, 404])
def test_v5_4_a_webhook_that_is_none_is_told_once_and_not_followed(tmp_path, status):
    with Hook(refuse=1, status=status) as hook, Watched("serve", tmp_path, hook) as portion:
        portion.call(0, 20)
        portion.until(lambda: portion.metric("portion_webhooks_failed_total") == 1, "a message that failed")
        line = portion.until(lambda: re.search(r"an alert could not be sent.*", portion.log()), "a warning")[0]
        assert str(status) in line and SECRET not in line
    assert hook.received.empty()


def test_v5_4_what_is_found_last_is_posted_before_the_end(tmp_path, hook):
    with Watched("serve", tmp_path, hook) as portion:
        portion.call(0, 20)
    assert hook.next()[2]["state"] == "raised"
    assert portion.recorded() == [("oversized", 1, 20, 20)]
