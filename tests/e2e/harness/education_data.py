"""A stand-in for an education data API: `{"count", "next", "previous", "results"}`, pages of a fixed size by `page`.

It ignores `limit`, as the real one does. Numbers below zero are codes: -1 missing, -2 not applicable, -3 suppressed.
"""

from urllib.parse import urlencode, urlsplit

from .record_fields import SCHOOL, filled
from .rest_stub import Response, RestStub, operation

STRING, INTEGER = {"type": "string"}, {"type": "integer"}

OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Education data", "version": "1"},
    "paths": {
        "/api/v1/schools/ccd/directory/{year}/": {
            "get": operation(
                "get_school_directory",
                ("year", "path", INTEGER),
                ("fips", "query", INTEGER),
                ("page", "query", INTEGER),
                summary="Directory of public schools",
            )
        },
        "/api/v1/schools/ccd/enrollment/{year}/{grade}/": {
            "get": operation(
                "get_school_enrollment",
                ("year", "path", INTEGER),
                ("grade", "path", STRING),
                ("fips", "query", INTEGER),
                ("page", "query", INTEGER),
                summary="Enrollment of public schools by grade",
            )
        },
        "/api/v1/schools/ccd/directory/summaries": {
            "get": operation(
                "get_school_summary",
                ("stat", "query", STRING, True),
                ("var", "query", STRING, True),
                ("by", "query", {"type": "array", "items": STRING}, True),
                summary="Sums and averages of public schools",
            )
        },
    },
}


def school(number, year=2020):
    return {
        "year": year,
        "ncessch": f"06{number:010}",
        "school_id": f"{number:05}",
        "school_name": f"School {number}",
        "leaid": f"06{number % 977:05}",
        "lea_name": f"District {number % 977}",
        "street_location": f"{number} Main Street",
        "city_location": ["Oakland", "Fresno", "Los Angeles"][number % 3],
        "state_location": "CA",
        "zip_location": f"9{number % 10000:04}",
        "phone": "(555)555-0100",
        "fips": [6, 36, 48][number % 3],
        "latitude": 34 + number / 10000,
        "longitude": -118 - number / 10000,
        "school_level": 1 + number % 3,
        "school_type": 1,
        "charter": number % 2,
        "teachers_fte": -1 if number % 11 == 0 else number % 60,
        "free_lunch": -3 if number % 7 == 0 else number % 400,
        "enrollment": -2 if number % 13 == 0 else 100 + number % 900,
    }


class EducationData(RestStub):
    """`rows` schools, in pages of `page_rows` (the real API: 10,000). With `full`, records have all 52 fields.

    With `later_rows`, there are only so many left when a page after the first is asked for.
    """

    def __init__(self, rows=25_000, page_rows=10_000, full=False):
        self.rows, self.page_rows, self.full = rows, page_rows, full
        self.later_rows = None
        self.years = None  # those of enrollments; None: all
        self._schools = {}
        super().__init__({
            "GET /api/v1/schools/ccd/directory/summaries": self._summary,
            "GET /api/v1/schools/ccd/directory/{year}/": self._directory,
            "GET /api/v1/schools/ccd/enrollment/{year}/{grade}/": self._enrollment,
            "GET /api/v1/api-endpoints/": self._endpoints,
        })

    def schools(self, year=2020):
        key = (year, self.rows)
        if key not in self._schools:
            records = (school(number, year) for number in range(self.rows))
            self._schools[key] = [filled(record, SCHOOL, number) for number, record in enumerate(records)] if self.full else list(records)
        return self._schools[key]

    def _directory(self, request):
        return self._page(request, self.schools(int(request.path["year"])))

    def _enrollment(self, request):
        year, grade = int(request.path["year"]), request.path["grade"]
        if self.years is not None and year not in self.years:
            return Response({"detail": "Not found."}, 404)
        rows = ({"year": year, "ncessch": f"06{number:010}", "grade": grade, "fips": [6, 36, 48][number % 3], "enrollment": number % 300} for number in range(self.rows))
        return self._page(request, list(rows))

    def _endpoints(self, request):
        topics = ["directory", "enrollment", "finance"]
        results = [{"endpoint_id": number, "endpoint_url": f"/api/v1/schools/ccd/{topic}/{{year}}/", "years_available": "1986-2022"} for number, topic in enumerate(topics)]
        return {"count": len(results), "next": None, "previous": None, "results": results}

    def _summary(self, request):
        query = request.query
        by, var = query["by"].split(","), query["var"]
        groups = {}
        for number in range(self.rows):
            row = school(number)
            if row.get(var, -1) >= 0:
                groups.setdefault(tuple(row.get(name) for name in by), []).append(row[var])
        count = {"sum": sum, "avg": lambda values: sum(values) / len(values), "count": len}.get(query["stat"])
        if not count:
            return Response({"detail": f"stat {query['stat']} is not known"}, 400)
        results = [dict(zip(by, key, strict=True)) | {var: count(values)} for key, values in sorted(groups.items())]
        return {"count": len(results), "next": None, "previous": None, "results": results}

    def _page(self, request, rows):
        query = request.query
        if "fips" in query:
            rows = [row for row in rows if str(row["fips"]) == query["fips"]]
        number = int(query.get("page", 1))
        rows = rows if number == 1 else rows[: self.later_rows]
        start = (number - 1) * self.page_rows
        if number < 1 or (start >= len(rows) and number > 1):
            return Response({"detail": "Invalid page."}, 404)
        link = lambda page: f"{self.url}{urlsplit(request.target).path}?{urlencode(query | {'page': page})}"
        return {
            "count": len(rows),
            "next": link(number + 1) if start + self.page_rows < len(rows) else None,
            "previous": link(number - 1) if number > 1 else None,
            "results": rows[start : start + self.page_rows],
        }
