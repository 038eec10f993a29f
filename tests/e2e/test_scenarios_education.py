"""The education data scenarios, without a server of its own: the API of the profile, over stdio and over HTTP."""

import json
from contextlib import ExitStack, contextmanager

import pytest

from harness import tokens
from harness.command import PORTION
from harness.dense import records
from harness.education_data import EducationData
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply

FRONTS = ["REST over stdio", "REST over HTTP"]
SCHOOLS = {"level": "schools", "source": "ccd", "topic": "directory"}
CALIFORNIA = SCHOOLS | {"filters": {"year": 2020}}


@contextmanager
def opened(front, rows, page_rows=10_000):
    with ExitStack() as stack:
        stub = stack.enter_context(EducationData(rows=rows, page_rows=page_rows, full=True))
        target = ["--profile", "education-data", "--upstream", stub.url]
        if front == "REST over stdio":
            peer = stack.enter_context(Peer([PORTION, "wrap", *target]))
        else:
            process = stack.enter_context(Listening(served("--admin", "off", *target)))
            peer = stack.enter_context(Peer(process.url))
        peer.stub = stub
        yield peer


@pytest.fixture(scope="module", params=FRONTS)
def peer(request):
    with opened(request.param, rows=1000) as peer:
        peer.tools()
        yield peer


def data(peer, **more):
    return Reply(peer.call("get_education_data", **CALIFORNIA | more))


def schools(reply):
    return records(reply, "results")


def cost(reply):
    return sum(map(tokens.count, reply.all_texts))


def test_e1_1_1000_schools_are_the_first_20_whole_ones(peer):
    reply = data(peer)
    assert schools(reply) == peer.stub.schools()[:20]
    assert reply.notice["total_count"] == 1000 and cost(reply) < 10_000


def test_e1_2_every_reply_is_compact_json(peer):
    for reply in [data(peer), data(peer, limit=1), Reply(peer.call("list_education_endpoints"))]:
        assert reply.text == json.dumps(json.loads(reply.text), ensure_ascii=False, separators=(",", ":"))


def test_e1_3_a_limit_above_1000_is_refused_with_advice(peer):
    error = data(peer, limit=1001).error
    assert error["code"] == "limit_too_large" and "1000" in error["message"] and error["advice"]


@pytest.fixture(scope="module", params=FRONTS)
def peer_150(request):
    with opened(request.param, rows=150) as peer:
        yield peer


def test_e2_1_page_1_of_150_schools(peer_150):
    reply = data(peer_150, page=1)
    assert len(schools(reply)) == 20 and reply.notice["total_count"] == 150
    assert {"current_page": 1, "page_size": 20, "has_more": True, "next_page": 2}.items() <= facts(reply).items()


def test_e2_2_page_2_then_page_3(peer_150):
    for page in (2, 3):
        reply = data(peer_150, page=page)
        assert schools(reply) == peer_150.stub.schools()[20 * (page - 1) : 20 * page]
        assert facts(reply)["current_page"] == page and facts(reply)["next_page"] == page + 1


def test_e2_3_a_page_past_the_end_is_empty_and_says_so(peer_150):
    reply = data(peer_150, page=99)
    assert schools(reply) == [] and facts(reply)["has_more"] is False and facts(reply)["next_page"] is None


def test_the_last_page_has_no_next_page(peer_150):
    reply = data(peer_150, page=8)
    assert len(schools(reply)) == 10 and facts(reply)["next_page"] is None


@pytest.mark.parametrize("fields", ["school_name,enrollment,ncessch", ["school_name", "enrollment", "ncessch"]])
def test_e3_1_fields_are_those_fields_in_every_record(peer, fields):
    whole, reply = data(peer), data(peer, fields=fields)
    assert all(set(school) == {"school_name", "enrollment", "ncessch"} for school in schools(reply))
    assert len(schools(reply)) == 20 and cost(reply) < cost(whole) / 2


def test_e3_3_an_unknown_field_is_an_error_that_lists_the_fields(peer):
    error = data(peer, fields="school_nam").error
    assert error["code"] == "field_unknown" and "school_name" in error["message"] + error["advice"]


@pytest.mark.parametrize("wrong, code", [
    ({"limit": 0}, "limit_invalid"),
    ({"limit": -1}, "limit_invalid"),
    ({"limit": "many"}, "limit_invalid"),
    ({"page": 0}, "page_invalid"),
    ({"page": 2, "offset": 5}, "controls_conflict"),
])
def test_e4_1_invalid_controls_are_errors(peer, wrong, code):
    assert data(peer, **wrong).error["code"] == code


def test_e4_3_a_page_that_is_too_large_stays_within_the_budget_and_says_so(peer):
    reply = data(peer, limit=1000)
    served, own = schools(reply), peer.stub.schools()
    assert cost(reply) <= HARD_CAP and served
    # Each record is the one of the API at its place, with all or with some of its fields.
    assert all(school.items() <= expected.items() for school, expected in zip(served, own, strict=False))
    assert facts(reply)["has_more"] == (len(served) < len(own))
    assert served == own[: len(served)] or facts(reply)["condensed"]


def test_12000_schools_are_walked_without_loss():
    with opened("REST over stdio", rows=12_000) as peer:
        numbers, page = [], 1
        reply = data(peer, fields="ncessch", limit=1000)
        while True:
            numbers += [school["ncessch"] for school in schools(reply)]
            if not reply.next and not reply.notice.get("next_cursor"):
                break
            page += 1
            assert page < 100
            reply = Reply(peer.call("portion_read", cursor=reply.notice["next_cursor"]))
        assert numbers == [school["ncessch"] for school in peer.stub.schools()]


def test_paths_and_filters_are_those_of_the_api(peer):
    peer.stub.told()
    grade = CALIFORNIA | {"topic": "enrollment", "filters": {"year": 2019, "grade": 9, "fips": [6, 36]}}
    Reply(peer.call("get_education_data", **grade))
    assert peer.stub.told()[0].target.startswith("/api/v1/schools/ccd/enrollment/2019/grade-9/?fips=6,36")
    summary = Reply(peer.call("get_education_data_summary", **SCHOOLS, stat="sum", var="enrollment", by=["fips"]))
    assert "by=fips" in peer.stub.told()[0].target and len(json.loads(summary.text)["results"]) == 3


def test_tools_state_their_controls(peer):
    tools = {tool["name"]: tool for tool in peer.tools()["tools"]}
    for name in ["get_education_data", "get_education_data_summary"]:
        listed = tools[name]["inputSchema"]["properties"]
        assert listed["limit"]["default"] == 20 and listed["limit"]["maximum"] == 1000
        assert {"level", "source", "topic", "filters", "page", "offset", "fields"} <= set(listed)
        assert tools[name]["annotations"]["readOnlyHint"] is True


def facts(reply):
    return reply.notice | reply.meta
