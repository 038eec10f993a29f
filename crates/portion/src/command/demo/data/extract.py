#!/usr/bin/env python3
"""Turns the official IPEDS HD2023 table into schools.ndjson.zst, the records behind `portion demo`.

    python3 extract.py path/to/hd2023.csv

The National Center for Education Statistics (US Department of Education) publishes the table as
https://nces.ed.gov/ipeds/datacenter/data/HD2023.zip and its dictionary as HD2023_Dict.zip beside it.
A work of the United States government, it is in the public domain.

Kept are the public, degree-granting institutions with at least 1,000 students, in the table's order.
Column names are spelt out and grouped; left out are the names and phone numbers of persons, and columns
of little use here: older classifications, reporting flags, further identifiers. Numbers stay the
numbers of the table, codes whose meaning is yes or no become booleans, and what is blank or not
applicable (a negative code) is null.
"""

import csv
import json
import pathlib
import subprocess
import sys


def text(cell):
    cell = " ".join(cell.split())
    return None if cell in ("", "-1", "-2", "-3") else cell


def whole(cell):
    return None if text(cell) is None or int(cell) < 0 else int(cell)


def degrees(cell):
    return None if text(cell) is None else float(cell)


def padded(width):
    """A code of digits whose leading zeros a spreadsheet may have eaten on the way."""

    def code(cell):
        head, dash, tail = (text(cell) or "").partition("-")
        return head.zfill(width) + dash + tail if head.isdigit() else None

    return code


def yes(cell):
    return {1: True, 2: False}.get(whole(cell))


# key of the record, column of the table, type; a key with a dot is a nested one
COLUMNS = [
    ("unitid", "UNITID", whole),
    ("name", "INSTNM", text),
    ("alias", "IALIAS", text),
    ("city", "CITY", text),
    ("state", "STABBR", text),
    ("address.street", "ADDR", text),
    ("address.zip", "ZIP", padded(5)),
    ("address.county", "COUNTYNM", text),
    ("address.county_fips", "COUNTYCD", whole),
    ("address.congressional_district", "CNGDSTCD", whole),
    ("location.latitude", "LATITUDE", degrees),
    ("location.longitude", "LONGITUD", degrees),
    ("location.locale", "LOCALE", whole),
    ("location.cbsa", "CBSA", whole),
    ("location.csa", "CSA", whole),
    ("ids.ein", "EIN", padded(9)),
    ("ids.opeid", "OPEID", padded(8)),
    ("sector", "SECTOR", whole),
    ("level", "ICLEVEL", whole),
    ("control", "CONTROL", whole),
    ("size", "INSTSIZE", whole),
    ("category", "INSTCAT", whole),
    ("highest_degree", "HDEGOFR1", whole),
    ("offers.undergraduate", "UGOFFER", yes),
    ("offers.graduate", "GROFFER", yes),
    ("offers.medical", "MEDICAL", yes),
    ("offers.hospital", "HOSPITAL", yes),
    ("designation.hbcu", "HBCU", yes),
    ("designation.tribal", "TRIBAL", yes),
    ("designation.land_grant", "LANDGRNT", yes),
    ("carnegie.basic", "C21BASIC", whole),
    ("carnegie.undergraduate", "C21IPUG", whole),
    ("carnegie.graduate", "C21IPGRD", whole),
    ("carnegie.enrollment", "C21ENPRF", whole),
    ("carnegie.setting", "C21SZSET", whole),
    ("system.name", "F1SYSNAM", text),
    ("system.code", "F1SYSCOD", whole),
    ("urls.home", "WEBADDR", text),
    ("urls.admissions", "ADMINURL", text),
    ("urls.financial_aid", "FAIDURL", text),
    ("urls.apply", "APPLURL", text),
    ("urls.net_price", "NPRICURL", text),
    ("urls.veterans", "VETURL", text),
    ("urls.disability", "DISAURL", text),
]


def kept(row):
    return yes(row["DEGGRANT"]) and whole(row["CONTROL"]) == 1 and (whole(row["INSTSIZE"]) or 0) >= 2


def record(row):
    out = {}
    for key, column, typed in COLUMNS:
        group, _, leaf = key.rpartition(".")
        (out.setdefault(group, {}) if group else out)[leaf] = typed(row[column])
    return out


def rows(path):
    raw = pathlib.Path(path).read_bytes()
    try:
        table = raw.decode("utf-8-sig")
    except UnicodeDecodeError:  # the table as published is Windows-1252
        table = raw.decode("cp1252")
    return csv.DictReader(table.splitlines())


def main():
    lines = [
        json.dumps(record(row), ensure_ascii=False, separators=(",", ":")) + "\n"
        for row in rows(sys.argv[1])
        if kept(row)
    ]
    target = pathlib.Path(__file__).with_name("schools.ndjson.zst")
    subprocess.run(
        ["zstd", "--ultra", "-22", "-q", "-f", "-o", str(target)], input="".join(lines).encode(), check=True
    )
    print(f"{len(lines)} schools, {len(''.join(lines).encode())} bytes, {target.stat().st_size} compressed")


if __name__ == "__main__":
    main()
