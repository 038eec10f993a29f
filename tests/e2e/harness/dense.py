"""Records of a page, out of the table that they may be written as."""

import json


def records(reply, *path, read=json.loads):
    """A page's records, out of the table that they may be written as."""
    value = read(reply.text)
    for name in path:
        value = value[name]
    if reply.meta.get("rows") != "dense":
        return value
    return list(expanded(dict(value)))


def expanded(table):
    columns, absent_if_null = table.get("columns", []), set(table.get("nullIsAbsent", []))
    absent_at = dict(table.get("absentAt", {}))
    for number, cells in enumerate(table["rows"]):
        record = {}
        for name, value in dict(table.get("constants", {})).items():
            put(record, name, value)
        for name, value in zip(columns, cells, strict=False):
            if not (value is None and name in absent_if_null) and str(number) not in map(str, absent_at.get(name, [])):
                put(record, name, value)
        yield record


def put(record, name, value):
    *steps, last = name.split(".")
    for step in steps:
        record = record.setdefault(step, {})
    record[last] = value
