"""The questions: those of the end-to-end tests, and these about documents in other notations.

`ask` is the query that answers a question in the first call. A model that is asked sees only its text.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from question_set import QUESTIONS as PLAIN
from question_set import Question, find, sql


def most(values):
    """The commonest value with its count. A question has one answer, so no other is as common."""
    (value, count), (_, next_count) = Counter(values).most_common(2)
    assert count > next_count
    return [value, count]


def where(records, **wanted):
    return [record for record in records if all(record[name] == value for name, value in wanted.items())]


ORDERS = [
    sql(
        "orders",
        "How many orders are not paid?",
        "SELECT count(*) AS n FROM items WHERE NOT paid",
        lambda d: [len(where(d["orders"], paid=False))],
    ),
    sql(
        "orders",
        "What is the total amount of the paid orders of Café Zoë?",
        "SELECT round(sum(amount), 2) AS total FROM items WHERE paid AND customer = 'Café Zoë'",
        lambda d: [float(sum(order["amount"] for order in where(d["orders"], paid=True, customer="Café Zoë")))],
    ),
    sql(
        "orders",
        "Which customer has the most orders, and how many?",
        "SELECT customer, count(*) AS n FROM items GROUP BY customer ORDER BY n DESC LIMIT 1",
        lambda d: most(order["customer"] for order in d["orders"]),
    ),
    sql(
        "orders",
        "How many orders have no discount?",
        "SELECT count(*) AS n FROM items WHERE discount IS NULL",
        lambda d: [len(where(d["orders"], discount=None))],
    ),
    sql(
        "orders",
        "What is the id of the largest order that was placed in March 2026?",
        "SELECT id FROM items WHERE placed >= '2026-03-01' AND placed < '2026-04-01' ORDER BY amount DESC LIMIT 1",
        lambda d: [max((o for o in d["orders"] if o["placed"].month == 3), key=lambda o: o["amount"])["id"]],
    ),
]

DEVICES = [
    sql(
        "devices",
        "How many devices are unavailable?",
        "SELECT count(*) AS n FROM items WHERE state = 'unavailable'",
        lambda d: [len(where(d["devices"], state="unavailable"))],
    ),
    sql(
        "devices",
        "Which device in the area kitchen has the lowest battery, and how much? The first by entity, if several have it.",
        "SELECT entity, battery FROM items WHERE area = 'kitchen' ORDER BY battery, entity LIMIT 1",
        lambda d: [
            value
            for device in [min(where(d["devices"], area="kitchen"), key=lambda one: (one["battery"], one["entity"]))]
            for value in (device["entity"], device["battery"])
        ],
    ),
    sql(
        "devices",
        "Which area has the most unavailable devices, and how many?",
        "SELECT area, count(*) AS n FROM items WHERE state = 'unavailable' GROUP BY area ORDER BY n DESC LIMIT 1",
        lambda d: most(device["area"] for device in where(d["devices"], state="unavailable")),
    ),
    sql(
        "devices",
        "Which firmware does the device whose entity ends in _017 have?",
        "SELECT firmware FROM items WHERE entity LIKE '%\\_017' ESCAPE '\\'",
        lambda d: [device["firmware"] for device in d["devices"] if device["entity"].endswith("_017")],
    ),
]

STOCK = [
    sql(
        "stock",
        "How many items are in the warehouse of Lyon?",
        "SELECT count(*) AS n FROM items WHERE warehouse = 'Lyon'",
        lambda d: [len(where(d["stock"], warehouse="Lyon"))],
    ),
    sql(
        "stock",
        "What is the total quantity in Turin?",
        "SELECT sum(quantity) AS total FROM items WHERE warehouse = 'Turin'",
        lambda d: [sum(item["quantity"] for item in where(d["stock"], warehouse="Turin"))],
    ),
    sql(
        "stock",
        "Which item is the dearest? Give its sku and price.",
        "SELECT sku, price FROM items ORDER BY price DESC LIMIT 1",
        lambda d: [value for item in [max(d["stock"], key=lambda one: one["price"])] for value in (item["sku"], item["price"])],
    ),
    sql(
        "stock",
        "How many items are sold out (quantity 0)?",
        "SELECT count(*) AS n FROM items WHERE quantity = 0",
        lambda d: [len(where(d["stock"], quantity=0))],
    ),
]

LOANS = [
    sql(
        "loans",
        "How many loans are late?",
        "SELECT count(*) AS n FROM items WHERE days_late > 0",
        lambda d: [sum(loan["days_late"] > 0 for loan in d["loans"])],
    ),
    sql(
        "loans",
        "Which branch has the most days late in total, and how many?",
        "SELECT branch, sum(days_late) AS n FROM items GROUP BY branch ORDER BY n DESC LIMIT 1",
        lambda d: most(branch for loan in d["loans"] for branch in [loan["branch"]] * loan["days_late"]),
    ),
    sql(
        "loans",
        "How many loans of Harbour are due in April 2026?",
        "SELECT count(*) AS n FROM items WHERE branch = 'Harbour' AND due BETWEEN '2026-04-01' AND '2026-04-30'",
        lambda d: [sum(loan["due"].month == 4 for loan in where(d["loans"], branch="Harbour"))],
    ),
    find(
        "loans",
        "When is loan 31123 due?",
        "31123",
        lambda d: [f"{loan['due']}" for loan in where(d["loans"], loan=31123)],
        fields="loan,due",
    ),
]

SERVICES = [
    sql(
        "services",
        "How many services are in CrashLoopBackOff?",
        "SELECT count(*) AS n FROM items WHERE status = 'CrashLoopBackOff'",
        lambda d: [len(where(d["services"], status="CrashLoopBackOff"))],
    ),
    sql(
        "services",
        "How many restarts did the services on node-3 have in total?",
        "SELECT sum(restarts) AS total FROM items WHERE node = 'node-3'",
        lambda d: [sum(service["restarts"] for service in where(d["services"], node="node-3"))],
    ),
    sql(
        "services",
        "Which service that is pending was restarted most often, and how often?",
        "SELECT name, restarts FROM items WHERE status = 'Pending' ORDER BY restarts DESC LIMIT 1",
        lambda d: [
            value
            for service in [max(where(d["services"], status="Pending"), key=lambda one: one["restarts"])]
            for value in (service["name"], service["restarts"])
        ],
    ),
]

SHEET = [
    sql(
        "sheet",
        "How many units were sold in total?",
        "SELECT sum(Units) AS total FROM items",
        lambda d: [sum(row["Units"] for row in d["sheet"])],
    ),
    sql(
        "sheet",
        "Which seller sold the most units in the region North, and how many?",
        "SELECT Seller, sum(Units) AS n FROM items WHERE Region = 'North' GROUP BY Seller ORDER BY n DESC LIMIT 1",
        lambda d: most(seller for row in where(d["sheet"], Region="North") for seller in [row["Seller"]] * row["Units"]),
    ),
    sql(
        "sheet",
        "How many days does the sheet have, without the row of names?",
        "SELECT count(*) AS n FROM items",
        lambda d: [len(d["sheet"])],
    ),
    sql(
        "sheet",
        "How many units were returned in February 2026?",
        "SELECT sum(Returned) AS n FROM items WHERE Date BETWEEN '2026-02-01' AND '2026-02-28'",
        lambda d: [sum(row["Returned"] for row in d["sheet"] if row["Date"][:7] == "2026-02")],
    ),
]


def log(text, statement, answer):
    """A question about the log in a member of an object."""
    return Question("build", text, {"sql": statement, "path": "/stdout"}, answer)


BUILD = [
    log(
        "How many errors does the build have?",
        "SELECT count(*) AS n FROM entries WHERE level = 'ERROR'",
        lambda d: [len(where(d["build"], level="ERROR"))],
    ),
    log(
        "When did the first test of the module store fail?",
        "SELECT min(time) AS first FROM entries WHERE level = 'ERROR' AND text LIKE '%store: test%'",
        lambda d: [f"{where(d['build'], level='ERROR', module='store')[0]['time']:%H:%M:%S}"],
    ),
    log(
        "How many warnings are about the module web?",
        "SELECT count(*) AS n FROM entries WHERE level = 'WARN' AND text LIKE '%web: unused%'",
        lambda d: [len(where(d["build"], level="WARN", module="web"))],
    ),
]

SCHEDULE = [
    sql(
        "schedule",
        "How many talks are there on all days together?",
        "SELECT count(*) AS n FROM items('*/talks')",
        lambda d: [len(d["schedule"])],
    ),
    sql(
        "schedule",
        "How many talks does Mai Tran give?",
        "SELECT count(*) AS n FROM items('*/talks') WHERE speaker = 'Mai Tran'",
        lambda d: [len(where(d["schedule"], speaker="Mai Tran"))],
    ),
    sql(
        "schedule",
        "In which room and on which day is talk T077?",
        "SELECT \"rooms.name\", \"days.date\" FROM items('*/talks') WHERE code = 'T077'",
        lambda d: [value for talk in where(d["schedule"], code="T077") for value in (talk["room"], talk["day"])],
    ),
    sql(
        "schedule",
        "How many minutes of talks are in the Cinema?",
        "SELECT sum(minutes) AS n FROM items('*/talks') WHERE \"rooms.name\" = 'Cinema'",
        lambda d: [sum(talk["minutes"] for talk in where(d["schedule"], room="Cinema"))],
    ),
]

NOTES = [
    sql(
        "notes",
        "How many lines in all files begin with TODO?",
        "SELECT count(*) AS n FROM lines WHERE text LIKE 'TODO%'",
        lambda d: [sum(line.startswith("TODO") for note in d["notes"] for line in note["lines"])],
    ),
    sql(
        "notes",
        "Which file has the most TODOs, and how many?",
        "SELECT name, count(*) AS n FROM lines WHERE text LIKE 'TODO%' GROUP BY name ORDER BY n DESC LIMIT 1",
        lambda d: most(note["path"] for note in d["notes"] for line in note["lines"] if line.startswith("TODO")),
    ),
    sql(
        "notes",
        "How often is Chen to be called?",
        "SELECT count(*) AS n FROM lines WHERE text LIKE 'TODO: call Chen%'",
        lambda d: [sum(line.startswith("TODO: call Chen") for note in d["notes"] for line in note["lines"])],
    ),
]

KINDS = [*ORDERS, *DEVICES, *STOCK, *LOANS, *SERVICES, *SHEET, *BUILD, *SCHEDULE, *NOTES]
QUESTIONS = [*KINDS, *PLAIN]
