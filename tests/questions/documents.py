"""Documents in the notations that servers print beside plain JSON, made anew from a seed.

Each function returns the records, from which answers are computed, and the document, as a server returns it: a text, or
a list of texts for a result of many blocks.
"""

import json
import random
from datetime import date, datetime, timedelta
from decimal import Decimal

SEED = 20261129
CUSTOMERS = ["Acme Ltd", "Bergs Bokhandel", "Café Zoë", "Dupont & Fils", "O'Brien & Sons"]
AREAS = ["attic", "bath", "garden", "kitchen", "office"]
ROOMS = ["Aula", "Blue room", "Cinema"]


def orders(dice):
    """Rows of a database as Python prints them."""
    begin = datetime(2026, 1, 5, 8)
    records = [
        {
            "id": 7001 + n,
            "customer": dice.choice(CUSTOMERS),
            "amount": Decimal(dice.randrange(500, 90_000)) / 100,
            "placed": begin + timedelta(minutes=n * 601 + dice.randrange(600)),
            "discount": dice.choice([None, None, Decimal("0.10"), Decimal("0.25")]),
            "paid": dice.random() < 0.7,
            "tags": tuple(dice.sample(["gift", "fragile", "export", "rush"], dice.randrange(3))),
        }
        for n in range(300)
    ]
    return records, str(records)


def devices(dice):
    """A list in YAML, as home automation and cluster tools print one."""
    records = [
        {
            "entity": f"sensor.{dice.choice(AREAS)}_{n:03}",
            "area": dice.choice(AREAS),
            "state": dice.choice(["on", "off", "off", "unavailable"]),
            "battery": dice.randrange(3, 101),
            "firmware": f"{dice.randrange(1, 4)}.{dice.randrange(10)}.{dice.randrange(10)}",
        }
        for n in range(180)
    ]
    lines = []
    for record in records:
        head, *rest = (f"{name}: {json.dumps(value)}" for name, value in record.items())
        lines += [f"- {head}", *(f"  {line}" for line in rest)]
    return records, "\n".join(lines) + "\n"


def stock(dice):
    """Elements of XML on one line."""
    records = [
        {
            "sku": f"SKU-{1000 + n}",
            "name": f"{dice.choice(['Oak', 'Pine', 'Steel', 'Glass'])} {dice.choice(['chair', 'desk', 'lamp', 'shelf'])} {n}",
            "warehouse": dice.choice(["Basel", "Lyon", "Turin"]),
            "quantity": dice.randrange(0, 60),
            "price": dice.randrange(900, 60_000) / 100,
        }
        for n in range(220)
    ]
    cells = lambda record: "".join(f"<{name}>{record[name]}</{name}>" for name in ("name", "warehouse", "quantity", "price"))
    elements = "".join(f'<item sku="{record["sku"]}">{cells(record)}</item>' for record in records)
    return records, f'<?xml version="1.0"?><stock updated="2026-11-01">{elements}</stock>'


def columns(records, head, between, rule=None, before=""):
    """Records as a program prints them on a terminal."""
    rows = [[str(value) for value in record.values()] for record in records]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [before + between.join(map(str.ljust, cells, widths)) for cells in (head, *rows)]
    return "\n".join([lines[0], *([rule(widths)] if rule else []), *lines[1:]])


def loans(dice):
    """A table as psql prints it, with its rule and its number of rows."""
    records = [
        {
            "loan": 31_000 + n,
            "branch": dice.choice(["Central", "Harbour", "Hillside"]),
            "due": date(2026, 3, 1) + timedelta(days=dice.randrange(90)),
            "days_late": dice.choice([0, 0, 0, dice.randrange(1, 40)]),
        }
        for n in range(260)
    ]
    rule = lambda widths: "+".join("-" * (width + 2) for width in widths)
    return records, f"{columns(records, list(records[0]), ' | ', rule, ' ')}\n({len(records)} rows)\n"


def services(dice):
    """Columns as kubectl and docker print them."""
    records = [
        {
            "name": f"{dice.choice(['billing', 'desk', 'mail', 'search'])}-{n:03}",
            "status": dice.choice(["Running"] * 6 + ["CrashLoopBackOff", "Pending"]),
            "restarts": dice.choice([0, 0, 0, dice.randrange(1, 90)]),
            "node": f"node-{dice.randrange(5)}",
        }
        for n in range(150)
    ]
    return records, columns(records, [name.upper() for name in records[0]], "   ") + "\n"


def sheet(dice):
    """Rows below a row of names, as spreadsheets return them."""
    records = [
        {
            "Date": f"{date(2026, 1, 1) + timedelta(days=n)}",
            "Region": dice.choice(["North", "South", "East"]),
            "Seller": dice.choice(["Aylin", "Bram", "Chiara", "Dag"]),
            "Units": dice.randrange(1, 80),
            "Returned": dice.randrange(0, 5),
        }
        for n in range(330)
    ]
    values = [list(records[0]), *(list(record.values()) for record in records)]
    return records, json.dumps({"range": "Sales!A1:E331", "majorDimension": "ROWS", "values": values})


def build(dice):
    """A log inside a member of an object."""
    begin = datetime(2026, 4, 2, 9, 30)
    records = []
    for n in range(400):
        level = dice.choice(["INFO"] * 12 + ["WARN", "WARN", "ERROR"])
        module = dice.choice(["api", "core", "store", "web"])
        text = {
            "INFO": f"compiled {module} unit {n}",
            "WARN": f"{module}: unused import in unit {n}",
            "ERROR": f"{module}: test case_{n} failed after {dice.randrange(20, 900)} ms",
        }[level]
        records.append({"time": begin + timedelta(seconds=n * 3), "level": level, "module": module, "text": text})
    log = "".join(f"{record['time']:%Y-%m-%d %H:%M:%S} {record['level']} {record['text']}\n" for record in records)
    return records, json.dumps({"exitCode": 1, "stdout": log, "stderr": ""})


def schedule(dice):
    """Lists within lists: days, their rooms, and the talks of each."""
    talks, days = [], []
    for day in ("2026-09-10", "2026-09-11", "2026-09-12"):
        rooms = []
        for room in ROOMS:
            here = [
                {
                    "code": f"T{len(talks) + slot:03}",
                    "title": f"{dice.choice(['Shipping', 'Testing', 'Scaling', 'Teaching'])} {dice.choice(['parsers', 'maps', 'queues', 'robots'])}",
                    "speaker": dice.choice(["Ines Rocha", "Jo Weber", "Kofi Mensah", "Lea Ferri", "Mai Tran"]),
                    "start": f"{9 + slot // 2:02}:{slot % 2 * 30:02}",
                    "minutes": dice.choice([20, 30, 45]),
                }
                for slot in range(14)
            ]
            talks += [{**talk, "day": day, "room": room} for talk in here]
            rooms.append({"name": room, "talks": here})
        days.append({"date": day, "rooms": rooms})
    return talks, json.dumps({"conference": {"title": "Small Tools 2026", "days": days}})


def notes(dice):
    """Many files in one result, a block each, the path in its first line."""
    records = []
    for n in range(24):
        path = f"notes/{dice.choice(['ideas', 'meetings', 'plans'])}/{n:02}.md"
        lines = [f"# {path}", ""]
        for at in range(dice.randrange(20, 40)):
            kind = dice.choice(["text"] * 8 + ["TODO", "budget"])
            spent = dice.randrange(100, 9_000)
            lines.append(
                {
                    "text": f"Line {at} of note {n} says that nothing has changed since the week before.",
                    "TODO": f"TODO: call {dice.choice(['Anna', 'Boris', 'Chen'])} about item {n}-{at}",
                    "budget": f"The budget of part {at} is {spent} EUR.",
                }[kind]
            )
        records.append({"path": path, "lines": lines})
    return records, ["\n".join(record["lines"]) + "\n" for record in records]


KINDS = [orders, devices, stock, loans, services, sheet, build, schedule, notes]


def made():
    """Returns the records and the document of each kind, by name."""
    return {kind.__name__: kind(random.Random(f"{SEED} {kind.__name__}")) for kind in KINDS}


def write(folder):
    """Writes the documents as files; one of many blocks as a folder of files."""
    for name, (_, document) in made().items():
        if isinstance(document, str):
            (folder / name).write_text(document)
            continue
        (folder / name).mkdir()
        for number, text in enumerate(document):
            (folder / name / f"{number:03}").write_text(text)
