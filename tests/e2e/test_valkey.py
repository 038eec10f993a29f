"""Valkey as the shared store: tests of Redis in which the server matters. `SHARED_STORE=valkey` runs all of them with it."""

import pytest

from harness.redis import VALKEY, RedisServer
from test_shared_store import (  # noqa: F401
    keys,
    redis,
    test_a_cluster_keeps_the_keys_of_a_result_together,
    test_a_lost_store_costs_nobody_a_reply,
    test_a_walk_goes_on_at_any_instance,
    test_pages_by_number_are_shared_and_a_hash_expires_as_a_whole,
    test_sentinels_fail_over_to_a_replica,
)

pytestmark = pytest.mark.skipif(not VALKEY, reason="PyPI has no Valkey for this system")


@pytest.fixture(autouse=True)
def valkey(monkeypatch):
    monkeypatch.setattr(RedisServer, "kind", "valkey")
