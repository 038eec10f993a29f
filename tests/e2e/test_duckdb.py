"""Statements in the dialect of DuckDB: Portion answers them as DuckDB does over typed tables, or refuses them with a reason."""

import datetime
import itertools
import json
import subprocess

import duckdb
import pytest

from harness.command import PORTION

CITIES = ["Faro", "Porto", "Lisboa", "Évora"]


def records():
    """Rows as a server sends them, and as a typed table has them."""
    for n in range(60):
        start = datetime.date(2024, 1, 1) + datetime.timedelta(days=n * 5 % 90)
        end = start + datetime.timedelta(days=1 + n % 4)
        at = datetime.datetime(2024, 3, 1 + n % 28, n % 24, n * 7 % 60)
        price = n * 37 % 400 + 0.25
        zip_code = f"0{1000 + n % 11}"
        sent = {"id": n, "zip": zip_code, "code": str(1000 + n % 7), "city": CITIES[n % 4], "price": f"{price:.2f}", "paid": str(n % 3 == 0).lower()}
        sent |= {"start": start.isoformat(), "end": end.isoformat(), "moment": at.isoformat() + "Z", "tags": ["a", "b"][: n % 3]}
        typed = (n, zip_code, 1000 + n % 7, CITIES[n % 4], price, n % 3 == 0, start, end, at)
        yield sent, typed


@pytest.fixture(scope="module")
def oracle():
    connection = duckdb.connect()
    connection.execute(
        'CREATE TABLE items (id BIGINT, zip TEXT, code BIGINT, city TEXT, price DOUBLE, paid BOOLEAN, "start" DATE, "end" DATE, moment TIMESTAMP)'
    )
    connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [typed for _, typed in records()])
    return connection


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("duckdb") / "items.json"
    path.write_text(json.dumps([sent for sent, _ in records()]))
    return path


VALUES = [
    "count(*)", "sum(price)", "avg(price)", "median(price)", "max(price)", "min(code)", "count(DISTINCT city)", "count_if(paid)",
    "bool_or(paid)", "quantile_cont(price, 0.25)", "stddev(price)", "arg_max(id, price)", "max_by(city, id)",
    "string_agg(DISTINCT city, '|' ORDER BY city)", "round(avg(price)::numeric(10,1), 1)", "sum(price::int)",
    "max(date_diff('day', start, \"end\"))", "sum(year(start))", "max(month(moment))", "sum(code::int % 10)", "avg(hour(moment))",
    "count(*) FILTER (WHERE paid)", "sum(CASE WHEN price > 200 THEN 1 ELSE 0 END)", "product(1 + paid::int)",
    "max(length(city))", "min(upper(city))", "max(lower(city))", "max(len(city))", "max(greatest(price, 100))",
]
CONDITIONS = [
    "true", "paid", "NOT paid", "price > 200", "price BETWEEN 50 AND 250.5", "city ILIKE 'f%'", "city IN ('Faro', 'Évora')",
    "start >= DATE '2024-02-01'", "start < DATE '2024-01-15' + INTERVAL '1 month'", "\"end\" - start = 3",
    "moment >= TIMESTAMP '2024-03-10 00:00:00'", "year(start) = 2024 AND month(start) IN (1, 3)", "code = 1003", "code NOT IN (1001, 1002)",
    "starts_with(city, 'L')", "contains(city, 'or')", "regexp_matches(city, '^[FP]')", "date_trunc('month', start) = DATE '2024-02-01'",
    "paid = 'true'", "paid NOT IN ('true')", "paid IN ('true', 'false')", "paid::text = 'true'", "CAST(paid AS TEXT) ILIKE 'TRUE'", "zip = 1005",
    "zip <> 1005", "EXTRACT(dow FROM start) = 1", "dayname(start) = 'Monday'", "price::int % 2 = 0",
]


def plain(value):
    """A value as both write it."""
    match value:
        case bool():
            return int(value)
        case datetime.datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S").removesuffix(" 00:00:00")
        case datetime.date():
            return value.isoformat()
        case "true" | "false":
            return int(value == "true")
        case str() if value.replace(".", "", 1).isdigit():
            # A column that is selected as it is keeps its texts.
            return round(float(value), 6)
        case str():
            return value.replace("T", " ").removesuffix("Z").removesuffix(" 00:00:00")
        case None:
            return None
    return round(float(value), 6)


def test_statements_are_answered_as_by_duckdb_or_refused(document, oracle):
    wrong, refused = [], 0
    statements = [f"SELECT {value} AS v FROM items WHERE {where}" for value, where in itertools.product(VALUES, CONDITIONS)]
    statements += [
        f"SELECT {key} AS k, {value} AS v FROM items GROUP BY ALL ORDER BY 1, 2"
        for key, value in itertools.product(["city", "paid", "date_trunc('month', start)", "code"], VALUES)
    ]
    statements += [
        "SELECT DISTINCT ON (city) city, id FROM items ORDER BY city, price DESC, id",
        "SELECT id FROM items QUALIFY row_number() OVER (PARTITION BY city ORDER BY price DESC, id) = 1 ORDER BY id",
        "SELECT city, sum(\"end\" - start) AS n FROM items GROUP BY city ORDER BY city",
    ]
    for sql in statements:
        expected = [[plain(value) for value in row] for row in oracle.execute(sql).fetchall()]
        asked = subprocess.run([PORTION, "shape", document, "--sql", sql], capture_output=True, text=True)
        if asked.returncode:
            # A refusal says what to write instead.
            assert "query_invalid" in asked.stderr or "query_too_costly" in asked.stderr, (sql, asked.stderr)
            refused += 1
            continue
        text, _, _ = asked.stdout.rpartition("\n{\"meta\"")
        rows = json.loads(text.replace("\n", "")) if text else json.loads(asked.stdout.splitlines()[0])
        if [[plain(value) for value in row.values()] for row in rows] != expected:
            wrong.append((sql, asked.stdout[:200], expected[:3]))
    assert not wrong, f"{len(wrong)} of {len(statements)}: {wrong[:8]}"
    assert refused * 10 <= len(statements), f"{refused} of {len(statements)} were refused"
