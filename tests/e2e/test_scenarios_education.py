"""The education data scenarios on each front: a wrapped server, the API as tools, and `portion http`."""

import json
import time
from contextlib import ExitStack, contextmanager

import pytest

from harness import tokens
from harness.command import PORTION, with_sdk, wrapped
from harness.dense import records
from harness.education_data import EducationData
from harness.figures import at_most
from harness.fronts import HttpShown, McpShown, get, proxy
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP

FRONTS = ["wrapped", "REST over stdio", "REST through serve", "portion http"]
EDUCATION = with_sdk("fixture/education.py")
SCHOOLS = {"level": "schools", "source": "ccd", "topic": "directory"}
CALIFORNIA = SCHOOLS | {"filters": {"year": 2020}}
PROFILE = ["--profile", "education-data"]


class Tools:
    is_http = False

    def __init__(self, peer, stub):
        self.peer, self.stub = peer, stub

    def data(self, **more):
        return McpShown(self.peer.call("get_education_data", **CALIFORNIA | more))

    def summary(self, **more):
        return McpShown(self.peer.call("get_education_data_summary", **SCHOOLS | more))

    def at(self, shown, cursor):
        return McpShown(self.peer.call("portion_read", cursor=cursor))

    def log(self):
        return self.peer.said()


class Paths:
    is_http = True

    def __init__(self, url, stub):
        self._url, self.stub = f"{url.rstrip('/')}/api/v1/schools/ccd/directory", stub

    def data(self, fields=None, **more):
        fields = ",".join(fields) if isinstance(fields, list) else fields
        return HttpShown(get(f"{self._url}/2020/", more | ({"fields": fields} if fields else {})))

    def summary(self, by, **more):
        return HttpShown(get(f"{self._url}/summaries", more | {"by": ",".join(by)}))

    def at(self, shown, cursor):
        return HttpShown(get(shown.url, {"cursor": cursor}))


@contextmanager
def opened(front, rows, *options, later_rows=None):
    """The data on a front. `later_rows`: how many schools are left after the first of the pages of 1,000 was read."""
    with ExitStack() as stack:
        if front == "wrapped":
            server = [*EDUCATION, "--rows", str(rows), *(["--later-rows", str(later_rows)] if later_rows else [])]
            yield Tools(stack.enter_context(Peer(wrapped(server, *PROFILE, *options))), EducationData(rows=rows, full=True))
            return
        stub = stack.enter_context(EducationData(rows=rows, full=True))
        if later_rows:
            stub.later_rows, stub.page_rows = later_rows, 1000
        target = [*PROFILE, "--upstream", stub.url, *options]
        if front == "REST over stdio":
            yield Tools(stack.enter_context(Peer([PORTION, "wrap", *target])), stub)
            return
        http = front == "portion http"
        command = proxy("--admin", "off", *target) if http else served("--admin", "off", *target)
        process = stack.enter_context(Listening(command))
        yield Paths(process.url, stub) if http else Tools(stack.enter_context(Peer(process.url)), stub)


def fronts_of(rows, names=FRONTS):
    @pytest.fixture(scope="module", params=names)
    def fixture(request):
        with opened(request.param, rows) as front:
            if not front.is_http:
                front.peer.tools()
            yield front

    return fixture


front = fronts_of(1000)
front_150 = fronts_of(150)


def schools(shown):
    return records(shown, "results")


def facts(shown):
    return shown.notice | shown.meta


def test_e1_1_1000_schools_are_the_first_20_whole_ones(front):
    shown = front.data()
    assert schools(shown) == front.stub.schools()[:20]
    assert shown.total == 1000 and shown.cost < 10_000


@pytest.mark.parametrize("counter", ["o200k", "cl100k", "claude", "chars4", "len4"])
def test_e1_1_whatever_the_counter(counter):
    with opened("REST over stdio", 1000, "--tokenizer", counter) as front:
        shown = front.data()
        assert schools(shown) == front.stub.schools()[:20]
        assert shown.total == 1000 and shown.cost < 10_000


def test_e1_2_every_reply_is_compact_json_under_the_threshold(front):
    for shown in [front.data(), front.data(limit=1), front.summary(stat="sum", var="enrollment", by=["fips"])]:
        assert shown.text == json.dumps(json.loads(shown.text), ensure_ascii=False, separators=(",", ":"))
        assert shown.cost <= 9_500


def test_e1_3_a_limit_above_1000_is_an_error_with_guidance(front):
    error = front.data(limit=1001).error
    assert error["code"] == "limit_too_large" and "1000" in error["message"] and error["advice"]


def test_e2_1_page_1_of_150_schools(front_150):
    shown = front_150.data(page=1)
    assert len(schools(shown)) == 20 and shown.total == 150
    assert {"total_count": 150, "current_page": 1, "page_size": 20, "has_more": True, "next_page": 2}.items() <= facts(shown).items()


def test_e2_2_page_2_then_page_3(front_150):
    for page in (2, 3):
        shown = front_150.data(page=page)
        assert schools(shown) == front_150.stub.schools()[20 * (page - 1) : 20 * page]
        assert (facts(shown)["current_page"], facts(shown)["next_page"]) == (page, page + 1)


def test_e2_3_a_page_past_the_end_is_empty_and_says_so(front_150):
    shown = front_150.data(page=99)
    assert schools(shown) == [] and facts(shown)["has_more"] is False and facts(shown)["next_page"] is None


def test_the_last_page_has_no_next_page(front_150):
    shown = front_150.data(page=8)
    assert len(schools(shown)) == 10 and facts(shown)["next_page"] is None
    assert (facts(shown)["current_page"], facts(shown)["page_size"]) == (8, 20)


@pytest.mark.parametrize("fields", ["school_name,enrollment,ncessch", ["school_name", "enrollment", "ncessch"]])
def test_e3_1_fields_are_those_fields_in_every_record(front, fields):
    shown = front.data(fields=fields)
    assert all(set(school) == {"school_name", "enrollment", "ncessch"} for school in schools(shown))
    assert len(schools(shown)) == 20


def test_e3_2_without_fields_there_are_all(front):
    assert all(set(school) == set(whole) for school, whole in zip(schools(front.data()), front.stub.schools(), strict=False))


def test_e3_3_an_unknown_field_is_an_error_that_lists_the_fields(front):
    error = front.data(fields="school_nam").error
    assert error["code"] == "field_unknown" and "school_name" in error["message"] + error["advice"]


@pytest.mark.parametrize("wrong, code", [
    ({"limit": 0}, "limit_invalid"),
    ({"limit": -1}, "limit_invalid"),
    ({"limit": "many"}, "limit_invalid"),
    ({"page": 0}, "page_invalid"),
    ({"page": 2, "offset": 5}, "controls_conflict"),
], ids=str)
def test_e4_1_invalid_controls_are_errors(front, wrong, code):
    assert front.data(**wrong).error["code"] == code


@pytest.mark.parametrize("name", ["REST over stdio", "REST through serve", "portion http"])
def test_e4_2_a_total_that_changes_between_pages_is_consistent_or_said(name):
    """Pages of one walk are of one snapshot; a total that moves while the API's pages are read is said."""
    with opened(name, rows=150) as front:
        first = front.data()
        front.stub.rows = 90
        second = front.at(first, first.notice["next_cursor"])
        front.stub.rows = 150
        assert second.total == 150 and schools(second) == front.stub.schools()[20:40]


def test_e4_2_a_walk_of_a_wrapped_server_is_consistent(front_150):
    numbers, shown = [], front_150.data(fields="ncessch")
    while True:
        numbers += [school["ncessch"] for school in schools(shown)]
        if not facts(shown).get("has_more"):
            break
        front_150.data(fields="ncessch")
        shown = front_150.at(shown, shown.notice["next_cursor"])
    assert numbers == [school["ncessch"] for school in front_150.stub.schools()]


@pytest.mark.parametrize("name", FRONTS)
def test_e4_2_a_total_that_changes_while_the_pages_are_read_is_said(name):
    """Of 3,000 schools only 2,900 are left after the first page. None is lost or comes twice, and the change is said."""
    with opened(name, rows=3000, later_rows=2900) as front:
        shown = front.data(fields="ncessch", limit=500)
        own = [school["ncessch"] for school in front.stub.schools()]
        assert numbers_of(shown) == own[:500]
        numbers, said = numbers_of(shown), []
        while facts(shown)["has_more"]:
            shown = front.at(shown, shown.notice["next_cursor"])
            numbers += numbers_of(shown)
            said.append(facts(shown).get("changed"))
        assert numbers == own[:2900]
        assert said[-1] is True, "the last page says so"


@pytest.mark.parametrize("name", FRONTS)
def test_e4_2_nothing_is_said_of_a_total_that_does_not_change(name):
    with opened(name, rows=3000, later_rows=3000) as front:
        shown, told = front.data(fields="ncessch", limit=500), []
        while facts(shown)["has_more"]:
            shown = front.at(shown, shown.notice["next_cursor"])
            told.append("changed" in facts(shown))
        assert len(told) >= 2 and not any(told)


def test_e4_3_a_page_that_is_too_large_stays_within_the_budget_and_says_so(front):
    shown = front.data(limit=1000)
    served_, own = schools(shown), front.stub.schools()
    assert shown.cost <= HARD_CAP and served_
    # Each record is the one of the API at its place, with all or with some of its fields.
    assert all(school.items() <= expected.items() for school, expected in zip(served_, own, strict=False))
    assert facts(shown)["has_more"] == (len(served_) < len(own))
    assert served_ == own[: len(served_)] or facts(shown)["condensed"]


@pytest.mark.parametrize("name", FRONTS)
def test_e5_12000_schools_are_walked_without_loss(name):
    with opened(name, rows=12_000) as front:
        numbers, shown = [], front.data(fields="ncessch", limit=1000)
        for _ in range(100):
            numbers += [school["ncessch"] for school in schools(shown)]
            if not facts(shown)["has_more"]:
                break
            shown = front.at(shown, shown.notice["next_cursor"])
        assert numbers == [school["ncessch"] for school in front.stub.schools()]


@pytest.fixture(scope="module", params=FRONTS)
def front_12000(request):
    with opened(request.param, rows=12_000) as front:
        if not front.is_http:
            front.peer.tools()
        yield front, [school["ncessch"] for school in front.stub.schools()]


def numbers_of(shown):
    return [school["ncessch"] for school in schools(shown)]


def test_e5_12000_schools_are_walked_by_page_without_loss(front_12000):
    """The API has 10,000 rows a page, and as many are fetched ahead."""
    front, own = front_12000
    seen, page = [], 1
    while page:
        shown = front.data(fields="ncessch", limit=500, page=page)
        assert shown.total == 12_000 and facts(shown)["current_page"] == page
        seen += numbers_of(shown)
        page = facts(shown)["next_page"]
    assert seen == own


@pytest.mark.parametrize("place, first, count", [
    ({"page": 500}, 9_980, 20),
    ({"page": 501}, 10_000, 20),
    ({"page": 600}, 11_980, 20),
    ({"offset": 9_990}, 9_990, 20),
    ({"offset": 10_000}, 10_000, 20),
    ({"offset": 11_990}, 11_990, 10),
    ({"page": 11, "limit": 1000}, 10_000, 1_000),
], ids=str)
def test_e5_every_page_and_offset_is_reached(front_12000, place, first, count):
    front, own = front_12000
    shown = front.data(fields="ncessch", **place)
    assert numbers_of(shown) == own[first : first + count]
    assert shown.total == 12_000 and facts(shown)["offset"] == first
    assert facts(shown)["has_more"] is (first + count < 12_000)


def test_a_page_without_a_limit_has_20_schools_whatever_limit_an_earlier_call_had(front_12000):
    front, own = front_12000
    assert len(numbers_of(front.data(fields="ncessch", limit=500))) == 500
    assert numbers_of(front.data(fields="ncessch", page=3)) == own[40:60]


@pytest.mark.parametrize("place", [{"page": 601}, {"page": 5_000}, {"offset": 12_000}], ids=str)
def test_e2_3_a_page_past_the_end_of_a_long_list_is_empty_and_says_so(front_12000, place):
    shown = front_12000[0].data(fields="ncessch", **place)
    assert schools(shown) == [] and shown.total == 12_000
    assert facts(shown)["has_more"] is False and facts(shown)["next_page"] is None and facts(shown)["past_end"]


@pytest.fixture(scope="module", params=FRONTS)
def front_999(request):
    with opened(request.param, rows=999) as front:
        front.data()
        yield front


@pytest.mark.figures
@pytest.mark.parametrize("asked", [{}, {"limit": 999, "fields": "ncessch,school_name,enrollment"}, {"page": 50}, {"limit": 999}], ids=str)
def test_e5_below_1000_records_a_reply_takes_3_seconds_at_most(front_999, asked):
    begun = time.perf_counter()
    shown = front_999.data(**asked)
    took = time.perf_counter() - begun
    assert schools(shown) and shown.total == 999
    assert took <= at_most(3)


@pytest.mark.figures
def test_e5_below_1000_records_a_whole_walk_takes_3_seconds_at_most(front_999):
    begun = time.perf_counter()
    shown = front_999.data(fields="ncessch,school_name,enrollment", limit=200)
    numbers = numbers_of(shown)
    while facts(shown)["has_more"]:
        shown = front_999.at(shown, shown.notice["next_cursor"])
        numbers += numbers_of(shown)
    took = time.perf_counter() - begun
    assert numbers == [school["ncessch"] for school in front_999.stub.schools()]
    assert took <= at_most(3)


def test_e5_what_cost_100000_tokens_costs_less_than_10000(front):
    whole = tokens.count(json.dumps(front.stub.schools()))
    assert whole > 100_000 and front.data().cost < 10_000


def test_e5_three_of_ten_or_more_fields_save_half(front):
    whole, shown = front.data(), front.data(fields="school_name,enrollment,ncessch")
    assert len(schools(whole)[0]) >= 10 and shown.cost < whole.cost / 2


def test_e5_near_the_threshold_there_is_a_warning(front):
    for limit in range(20, 60, 2):
        shown = front.data(limit=limit, maxTokens=9_500) if front.is_http else front.data(limit=limit)
        if facts(shown)["budget_used"] >= 0.8:
            assert facts(shown)["warning"]
            return
    raise AssertionError("no reply is near the threshold")


@pytest.mark.parametrize("name", ["wrapped", "REST over stdio", "REST through serve"])
def test_e5_tools_state_their_controls(name):
    with opened(name, rows=20) as front:
        tools = {tool["name"]: tool for tool in front.peer.tools()["tools"]}
    for tool in ["get_education_data", "get_education_data_summary"]:
        listed = tools[tool]["inputSchema"]["properties"]
        assert {"level", "source", "topic", "limit", "fields"} <= set(listed)
        if name != "wrapped":
            assert listed["limit"]["default"] == 20 and listed["limit"]["maximum"] == 1000
            assert {"filters", "page", "offset"} <= set(listed)
            assert tools[tool]["annotations"]["readOnlyHint"] is True


@pytest.mark.parametrize("name", ["wrapped", "REST through serve"])
def test_codes_are_missing_values_in_sums_and_averages_and_are_explained(name):
    with opened(name, rows=150) as front:
        cursor = front.data().meta["cursor"]
        values = [school["free_lunch"] for school in front.stub.schools()]
        known = [value for value in values if value >= 0]
        assert len(known) < len(values)
        sql = "SELECT sum(free_lunch) AS s, avg(free_lunch) AS a, count(free_lunch) AS n, count(*) AS c FROM items"
        shown = McpShown(front.peer.call("portion_query", cursor=cursor, sql=sql))
        [row] = json.loads(shown.text)
        assert (row["s"], row["n"], row["c"]) == (sum(known), len(known), 150)
        assert abs(row["a"] - sum(known) / len(known)) < 1e-9
        assert "-3 suppressed" in shown.meta["missing"] and "NULL" in shown.meta["missing"]
        sql = "SELECT count(*) AS n FROM items WHERE json_extract(item, '$.free_lunch') = -3"
        [row] = json.loads(McpShown(front.peer.call("portion_query", cursor=cursor, sql=sql)).text)
        assert row["n"] == values.count(-3), "the record has the codes"


def test_codes_are_no_part_of_the_facts_about_a_column():
    """The list is complete in one page, so that the first reply describes it."""
    with opened("wrapped", rows=90) as front:
        facts = front.data().meta["about"]["free_lunch"]
        values = [school["free_lunch"] for school in front.stub.schools()]
        assert f"{values.count(-3)} suppressed (-3)" in facts and "-3…" not in facts
        assert facts.startswith(f"number {min(value for value in values if value >= 0)}…")


@pytest.mark.parametrize("name", ["REST over stdio", "REST through serve"])
def test_labels_are_asked_of_the_api(name):
    with opened(name, rows=30) as front:
        front.stub.told()
        front.data(add_labels=True)
        assert "add_labels=true" in front.stub.told()[0].target


@pytest.mark.parametrize("name", ["REST over stdio", "REST through serve"])
def test_paths_and_filters_are_those_of_the_api(name):
    with opened(name, rows=30) as front:
        asked = lambda: [request.target for request in front.stub.told()]
        grade = CALIFORNIA | {"topic": "enrollment", "filters": {"year": 2019, "grade": 9, "fips": [6, 36]}}
        front.peer.call("get_education_data", **grade)
        assert asked()[0].startswith("/api/v1/schools/ccd/enrollment/2019/grade-9/?fips=6,36")
        summary = front.summary(stat="sum", var="enrollment", by=["fips"])
        assert "by=fips" in asked()[0] and len(json.loads(summary.text)["results"]) == 3


def enrollment(front, **filters):
    return McpShown(front.peer.call("get_education_data", **SCHOOLS | {"topic": "enrollment", "filters": filters}, limit=1000))


@pytest.mark.parametrize("name", ["REST over stdio", "REST through serve"])
def test_several_grades_and_years_are_one_list(name):
    """The second page of the API is read, too, and a walk has every row of every grade once."""
    with opened(name, rows=3_000) as front:
        front.stub.page_rows = 2_000
        shown = enrollment(front, year=2019, grade=[9, 10, 9])
        asked = {request.target.split("?")[0] for request in front.stub.told()}
        assert asked == {f"/api/v1/schools/ccd/enrollment/2019/grade-{grade}/" for grade in (9, 10)}
        assert shown.total == 6_000
        sql = "SELECT grade, count(*) AS n, count(DISTINCT ncessch) AS schools FROM items GROUP BY grade ORDER BY grade"
        counted = McpShown(front.peer.call("portion_query", cursor=shown.meta["cursor"], sql=sql))
        assert json.loads(counted.text) == [{"grade": f"grade-{grade}", "n": 3_000, "schools": 3_000} for grade in (10, 9)]
        assert enrollment(front, year=[2018, 2019], grade=[9, 10]).total == 12_000
        assert "at most 20" in str(front.peer.call("get_education_data", **SCHOOLS | {"filters": {"year": list(range(2000, 2021))}}))


@pytest.mark.parametrize("name", ["REST over stdio", "REST through serve"])
def test_a_year_that_is_not_there_is_named(name):
    with opened(name, rows=30) as front:
        front.stub.years = {2019}
        shown = enrollment(front, year=[2018, 2019], grade=9)
        assert shown.total == 30
        assert json.loads(shown.text)["notFound"] == ["/api/v1/schools/ccd/enrollment/2018/grade-9/"]
        assert "HTTP 404" in str(front.peer.call("get_education_data", **SCHOOLS | {"topic": "enrollment", "filters": {"year": [2017, 2018], "grade": 9}}))
