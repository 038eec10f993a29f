"""Rows that a server prints in a notation of its language: counted, paged and queried as the data they are; `raw` returns the text."""

import json
import sqlite3
import subprocess

import pytest
import yaml

from harness.command import LEGACY_BIN, PORTION, wrapped
from harness.peer import Peer
from harness.reply import Reply

ROWS = 400
NAMES = ["O'Brien & Sons", 'Acme "Quoted" Ltd', "Müller GmbH", "Back\\slash Inc", None]
TOTALS = "SELECT name, count(*) AS n, round(sum(total), 2) AS total FROM {table} WHERE paid = 1 GROUP BY name ORDER BY name"


def rows():
    for number in range(ROWS):
        note = "two\nlines" if number % 50 == 0 else f"note {number}"
        yield 9_007_199_254_740_000 + number, NAMES[number % 5], number * 7 % 2, round(number * 1.37, 2), note


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("sqlite") / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, name TEXT, paid INTEGER, total REAL, note TEXT)")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows())
    return path


@pytest.fixture(scope="module")
def peer(database):
    command = [str(LEGACY_BIN / "mcp-server-sqlite"), "--db-path", str(database)]
    with Peer(wrapped(command)) as peer:
        peer.tools()
        yield peer


def test_rows_of_a_published_server_are_records(peer, database):
    first = Reply(peer.call("read_query", query="SELECT * FROM orders"))
    assert first.notice["totalCount"] == ROWS
    assert json.loads(first.text)[0] == {"id": 9_007_199_254_740_000, "name": NAMES[0], "paid": 0, "total": 0.0, "note": "two\nlines"}
    answer = Reply(peer.call("portion_query", cursor=first.meta["cursor"], query=TOTALS.format(table="items")))
    with sqlite3.connect(database) as connection:
        expected = connection.execute(TOTALS.format(table="orders")).fetchall()
    assert [tuple(row.values()) for row in json.loads(answer.text)] == expected


def test_raw_is_what_the_server_printed(peer, database):
    first = Reply(peer.call("read_query", query="SELECT id, name FROM orders"))
    cursor, read = first.meta["cursor"], ""
    while cursor:
        page = Reply(peer.call("portion_read", cursor=cursor, **({} if read else {"raw": True})))
        read += page.text
        cursor = page.notice.get("nextCursor")
    with sqlite3.connect(database) as connection:
        connection.row_factory = sqlite3.Row
        printed = str([dict(row) for row in connection.execute("SELECT id, name FROM orders")])
    assert read == printed


def table(records, before, between, after, rule):
    """Records as a program prints them on a terminal, below a rule if there is one."""
    written = [[str(value).replace("\n", " ") for value in record.values()] for record in records]
    widths = [max(map(len, column)) for column in zip(records[0], *written, strict=True)]
    line = lambda cells: before + between.join(map(str.ljust, cells, widths)) + after
    return line(records[0]), rule(widths), map(line, written)


def psql(records):
    names, rule, rows = table(records, " ", " | ", " ", lambda widths: "+".join("-" * (width + 2) for width in widths))
    return "\n".join([names, rule, *rows, f"({len(records)} rows)", ""])


def mysql(records):
    names, rule, rows = table(records, "| ", " | ", " |", lambda widths: f"+{'+'.join('-' * (width + 2) for width in widths)}+")
    return "\n".join([rule, names, rule, *rows, rule, f"{len(records)} rows in set (0.01 sec)", ""])


def kubectl(records):
    names, _, rows = table(records, "", "   ", "", lambda widths: "")
    return "\n".join([names.upper(), *rows, ""])


def shaped(tmp_path, text, *options):
    file = tmp_path / "rows.txt"
    file.write_text(text)
    command = [PORTION, "shape", *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={"HOME": str(tmp_path)}).stdout


def lines(records):
    return "\n".join(map(str, records))


@pytest.mark.parametrize("write", [str, lines, yaml.safe_dump, yaml.safe_dump_all, psql, mysql, kubectl])
def test_each_way_to_print_records_is_counted(tmp_path, write):
    records = [dict(zip(("id", "name", "paid", "total", "note"), row, strict=True)) for row in rows()]
    told = shaped(tmp_path, write(records))
    assert json.loads(told.splitlines()[-1])["totalCount"] == ROWS


@pytest.mark.parametrize("secret", ["hunter2-Zq81xx", "it's-Zq81xx"])
@pytest.mark.parametrize("write", [str, yaml.safe_dump, psql, kubectl])
def test_secrets_in_them_are_hidden(tmp_path, write, secret):
    records = [{"user": f"user{number}", "password": f"{secret}{number}", "note": "words " * 9} for number in range(90)]
    assert "Zq81" not in shaped(tmp_path, write(records), "--redact", "secrets")
