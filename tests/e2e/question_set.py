"""Questions about documents, each with the query that a model writes, and the answer computed from the whole document."""

import re
from collections import Counter, defaultdict
from datetime import date, datetime, timezone
from statistics import mean, median, quantiles
from typing import Callable, NamedTuple


class Question(NamedTuple):
    """`ask`: arguments of one follow-up; without them, the first reply holds the answer.

    `document`: a name, or `main+other`; the other result is joined as `other`. `answer`: from the documents, the rows of
    the reply, or strings that it has to hold.
    """

    document: str
    text: str
    ask: dict | None
    answer: Callable


def sql(document, text, statement, answer):
    return Question(document, text, {"sql": statement}, answer)


def find(document, text, pattern, answer, **more):
    return Question(document, text, {"find": pattern, **more}, answer)


def read(document, text, answer, **controls):
    return Question(document, text, controls, answer)


def first(document, text, answer):
    return Question(document, text, None, answer)


def counted(values, *columns):
    """Rows of `SELECT value, count(*) … GROUP BY 1 ORDER BY 2 DESC, 1`."""
    pairs = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
    return [dict(zip(columns, pair, strict=True)) for pair in pairs]


def day(text):
    return date.fromisoformat(text[:10])


def time(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def entries(log):
    """The log's entries: time, level and text."""
    head = re.compile(r"^(\S+ \S+) UTC \[(\d+)\] (?:(\S+) )?([A-Z]+):  (.*)$", re.M)
    return [match.groups() for match in head.finditer(log)]


SCHOOLS = [
    first("schools", "How many institutions are there?", lambda d: [str(len(d["schools"]))]),
    sql(
        "schools",
        "Which five states have the most institutions, and how many each?",
        "SELECT state, COUNT(*) AS n FROM items GROUP BY state ORDER BY n DESC, state LIMIT 5",
        lambda d: counted((s["state"] for s in d["schools"]), "state", "n")[:5],
    ),
    sql(
        "schools",
        "How many historically black colleges are in Alabama?",
        "SELECT COUNT(*) AS n FROM items WHERE state = 'AL' AND designation.hbcu",
        lambda d: [{"n": sum(s["state"] == "AL" and s["designation"]["hbcu"] is True for s in d["schools"])}],
    ),
    sql(
        "schools",
        "Which institution is furthest north, and at which latitude?",
        "SELECT name, location.latitude FROM items ORDER BY location.latitude DESC NULLS LAST LIMIT 1",
        lambda d: [
            {"name": s["name"], "location.latitude": s["location"]["latitude"]}
            for s in [max(d["schools"], key=lambda s: s["location"]["latitude"])]
        ],
    ),
    sql(
        "schools",
        "Which tribal colleges offer graduate programmes, and in which states are they?",
        "SELECT name, state FROM items WHERE designation.tribal = true AND offers.graduate = true ORDER BY name",
        lambda d: [
            {"name": s["name"], "state": s["state"]}
            for s in sorted(d["schools"], key=lambda s: s["name"])
            if s["designation"]["tribal"] and s["offers"]["graduate"]
        ],
    ),
    sql(
        "schools",
        "What percentage of the institutions with medical degrees runs a hospital, to one decimal?",
        "SELECT ROUND(100.0 * COUNT(*) FILTER (WHERE offers.hospital) / COUNT(*), 1) AS pct FROM items WHERE offers.medical",
        lambda d: [
            {"pct": round(100 * mean(s["offers"]["hospital"] is True for s in d["schools"] if s["offers"]["medical"]), 1)}
        ],
    ),
    sql(
        "schools",
        "Which university systems have more than 20 members, and how many each?",
        "SELECT system.name AS system, COUNT(*) AS n FROM items WHERE system.name IS NOT NULL "
        "GROUP BY 1 HAVING COUNT(*) > 20 ORDER BY n DESC, 1",
        lambda d: [
            row
            for row in counted((s["system"]["name"] for s in d["schools"] if s["system"]["name"]), "system", "n")
            if row["n"] > 20
        ],
    ),
    sql(
        "schools",
        "How many home pages (urls.home) have an address with a scheme, such as https? Give each scheme and its number.",
        "SELECT SPLIT_PART(urls.home, '://', 1) AS scheme, COUNT(*) AS n FROM items WHERE urls.home LIKE '%://%' GROUP BY 1 ORDER BY 2 DESC",
        lambda d: counted((s["urls"]["home"].split("://")[0] for s in d["schools"] if "://" in (s["urls"]["home"] or "")), "scheme", "n"),
    ),
    find(
        "schools",
        "In which city is Montana Technological University?",
        "Montana Technological",
        lambda d: [s["city"] for s in d["schools"] if "Montana Technological" in s["name"]],
        fields="name,city",
    ),
    sql(
        "schools",
        "Which institutions are in Berkeley?",
        "SELECT name FROM items WHERE city ILIKE 'berkeley'",
        lambda d: [{"name": s["name"]} for s in d["schools"] if s["city"].lower() == "berkeley"],
    ),
]

BOOKINGS = [
    first(
        "bookings",
        "How many bookings are cancelled?",
        lambda d: [f"cancelled={sum(b['status'] == 'cancelled' for b in d['bookings'])}"],
    ),
    sql(
        "bookings",
        "How many confirmed bookings arrive in August 2026?",
        "SELECT COUNT(*) AS n FROM items WHERE status = 'confirmed' AND DATE_TRUNC('month', arrivalDate) = '2026-08-01'",
        lambda d: [{"n": sum(b["status"] == "confirmed" and b["arrivalDate"][:7] == "2026-08" for b in d["bookings"])}],
    ),
    sql(
        "bookings",
        "What is the revenue per channel, without cancellations?",
        "SELECT channelName, SUM(totalPrice) AS revenue FROM items WHERE status <> 'cancelled' GROUP BY channelName ORDER BY revenue DESC",
        lambda d: summed(
            ((b["channelName"], b["totalPrice"]) for b in d["bookings"] if b["status"] != "cancelled"), "channelName", "revenue"
        ),
    ),
    sql(
        "bookings",
        "What is the median price of a stay?",
        "SELECT MEDIAN(totalPrice) AS median FROM items",
        lambda d: [{"median": median(b["totalPrice"] for b in d["bookings"])}],
    ),
    sql(
        "bookings",
        "How long are stays at the Lake House on average?",
        "SELECT ROUND(AVG(DATEDIFF('day', arrivalDate, departureDate)), 2) AS nights FROM items WHERE listingName = 'Lake House'",
        lambda d: [{"nights": round(mean(b["nights"] for b in d["bookings"] if b["listingName"] == "Lake House"), 2)}],
    ),
    sql(
        "bookings",
        "Which bookings of returning guests are not paid? Give id, guest and arrival of the first five arrivals.",
        "SELECT id, guestName, arrivalDate FROM items WHERE guest.isReturning AND NOT financial.paid "
        "ORDER BY arrivalDate, id LIMIT 5",
        lambda d: [
            {key: b[key] for key in ("id", "guestName", "arrivalDate")}
            for b in sorted(d["bookings"], key=lambda b: (b["arrivalDate"], b["id"]))
            if b["guest"]["isReturning"] and not b["financial"]["paid"]
        ][:5],
    ),
    sql(
        "bookings",
        "Which booking is the most expensive of each channel? Give its id and price.",
        "SELECT channelName, id, totalPrice FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY channelName ORDER BY totalPrice DESC, id) AS rn "
        "FROM items) WHERE rn = 1 ORDER BY channelName",
        lambda d: [
            {"channelName": channel, "id": best["id"], "totalPrice": best["totalPrice"]}
            for channel in sorted({b["channelName"] for b in d["bookings"]})
            for best in [
                min((b for b in d["bookings"] if b["channelName"] == channel), key=lambda b: (-b["totalPrice"], b["id"]))
            ]
        ],
    ),
    sql(
        "bookings",
        "How many messages mention the boiler?",
        "SELECT COUNT(*) AS n FROM items, json_each(messages) AS m WHERE m.value ->> '$.body' LIKE '%boiler%'",
        lambda d: [{"n": sum("boiler" in m["body"] for b in d["bookings"] for m in b["messages"])}],
    ),
    find(
        "bookings",
        "Which error does the boiler show, says the guest of booking 40499?",
        "40499",
        lambda d: re.findall(r"shows (\w+)", " ".join(m["body"] for b in d["bookings"] if b["id"] == 40499 for m in b["messages"])),
        fields="id,messages",
    ),
    read(
        "bookings",
        "Which three bookings are dearest?",
        lambda d: [str(b["id"]) for b in sorted(d["bookings"], key=lambda b: -b["totalPrice"])[:3]],
        sort="totalPrice desc",
        limit=3,
        fields="id,guestName,totalPrice",
    ),
    sql(
        "bookings",
        "How much commission is due per month of arrival in the second quarter? Give the months as 2026-04, too.",
        "SELECT strftime('%Y-%m', arrivalDate) AS month, SUM(financial.commission) AS due FROM items "
        "WHERE arrivalDate BETWEEN '2026-04-01' AND '2026-06-30' GROUP BY month ORDER BY month",
        lambda d: sorted(
            summed(
                (
                    (b["arrivalDate"][:7], b["financial"]["commission"])
                    for b in d["bookings"]
                    if "2026-04" <= b["arrivalDate"][:7] <= "2026-06"
                ),
                "month",
                "due",
            ),
            key=lambda row: row["month"],
        ),
    ),
    sql(
        "bookings",
        "Which bookings of the same listing overlap with booking 40010?",
        "SELECT b.id FROM items a JOIN items b ON a.listingMapId = b.listingMapId AND a.id <> b.id AND b.arrivalDate < a.departureDate "
        "AND b.departureDate > a.arrivalDate WHERE a.id = 40010 ORDER BY b.id",
        lambda d: [
            {"id": b["id"]}
            for a in d["bookings"]
            if a["id"] == 40010
            for b in sorted(d["bookings"], key=lambda b: b["id"])
            if b["id"] != 40010
            and b["listingMapId"] == a["listingMapId"]
            and b["arrivalDate"] < a["departureDate"]
            and b["departureDate"] > a["arrivalDate"]
        ],
    ),
    sql(
        "bookings+listings",
        "How much does each owner earn in 2026, without cancellations?",
        "SELECT o.owner, SUM(b.totalPrice) AS revenue FROM items b JOIN other o ON b.listingMapId = o.listing_id "
        "WHERE b.status != 'cancelled' GROUP BY o.owner ORDER BY revenue DESC",
        lambda d: summed(
            ((owner_of(d, b)["owner"], b["totalPrice"]) for b in d["bookings"] if b["status"] != "cancelled"), "owner", "revenue"
        ),
    ),
    sql(
        "bookings+listings",
        "How many bookings arrive after the licence of the listing has ended?",
        "SELECT COUNT(*) AS n FROM items JOIN other ON items.listingMapId = other.listing_id "
        "WHERE items.arrivalDate::date > other.licence_until::date",
        lambda d: [{"n": sum(b["arrivalDate"] > owner_of(d, b)["licence_until"] for b in d["bookings"])}],
    ),
    sql(
        "bookings+listings",
        "How many bookings with pets are in each listing that allows none? Give the names of the listings, too.",
        "SELECT items.listingName, COUNT(*) AS n FROM items JOIN other ON other.listing_id = items.listingMapId "
        "WHERE guest.pets > 0 AND other.pets = 'no' GROUP BY 1 ORDER BY 2 DESC, 1",
        lambda d: counted(
            (b["listingName"] for b in d["bookings"] if b["guest"]["pets"] > 0 and owner_of(d, b)["pets"] == "no"), "listingName", "n"
        ),
    ),
]


def owner_of(documents, booking):
    return next(row for row in documents["listings"] if int(row["listing_id"]) == booking["listingMapId"])


def summed(pairs, *columns):
    """Rows of `SELECT key, sum(value) … GROUP BY 1 ORDER BY 2 DESC`."""
    sums = defaultdict(int)
    for key, value in pairs:
        sums[key] += value
    ordered = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
    return [dict(zip(columns, pair, strict=True)) for pair in ordered]


TRANSACTIONS = [
    first("transactions", "How many transactions are in the statement?", lambda d: [f'"rows":{len(d["transactions"])}']),
    sql(
        "transactions",
        "What is the sum of the amounts in CHF per category? Give the categories, too.",
        "SELECT category, ROUND(SUM(amount), 2) AS total FROM items WHERE currency = 'CHF' GROUP BY category ORDER BY total DESC",
        lambda d: [
            {**row, "total": round(row["total"], 2)}
            for row in summed(
                ((t["category"], float(t["amount"])) for t in d["transactions"] if t["currency"] == "CHF"), "category", "total"
            )
        ],
    ),
    sql(
        "transactions",
        "Which month had the most amounts below zero, and how many?",
        "SELECT TO_CHAR(date::date, 'YYYY-MM') AS month, COUNT(*) AS n FROM items WHERE amount < 0 GROUP BY 1 ORDER BY n DESC, month LIMIT 1",
        lambda d: counted((t["date"][:7] for t in d["transactions"] if float(t["amount"]) < 0), "month", "n")[:1],
    ),
    sql(
        "transactions",
        "What is the median of the positive amounts of account ACC-2 for travel?",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) AS median FROM items WHERE account = 'ACC-2' AND category = 'travel' AND amount > 0",
        lambda d: [
            {
                "median": median(
                    float(t["amount"])
                    for t in d["transactions"]
                    if t["account"] == "ACC-2" and t["category"] == "travel" and float(t["amount"]) > 0
                )
            }
        ],
    ),
    read(
        "transactions",
        "What are the memos of the two largest amounts?",
        lambda d: [t["memo"].replace('"', '\\"') for t in sorted(d["transactions"], key=lambda t: -float(t["amount"]))[:2]],
        sort="amount desc",
        limit=2,
        fields="date,amount,memo",
    ),
    sql(
        "transactions",
        "How many orders were sent express?",
        "SELECT COUNT(*) AS n FROM items WHERE memo LIKE '%express%'",
        lambda d: [{"n": sum("express" in t["memo"] for t in d["transactions"])}],
    ),
    sql(
        "transactions",
        "What is the running total of ACC-1 at the end of each of the first three months? Give the months, too.",
        "WITH monthly AS (SELECT SUBSTR(date, 1, 7) AS month, SUM(amount) AS total FROM items WHERE account = 'ACC-1' GROUP BY 1) "
        "SELECT month, ROUND(SUM(total) OVER (ORDER BY month), 2) AS running FROM monthly ORDER BY month LIMIT 3",
        lambda d: [
            {
                "month": month,
                "running": round(
                    sum(float(t["amount"]) for t in d["transactions"] if t["account"] == "ACC-1" and t["date"][:7] <= month), 2
                ),
            }
            for month in ("2025-01", "2025-02", "2025-03")
        ],
    ),
]

PODS = [
    first("pods", "How many pods are there?", lambda d: ["80"]),
    sql(
        "pods",
        "Which pods are pending, and on which node?",
        "SELECT metadata.name, spec.nodeName FROM items WHERE status.phase = 'Pending' ORDER BY 1",
        lambda d: [
            {"metadata.name": p["metadata"]["name"], "spec.nodeName": p["spec"]["nodeName"]}
            for p in sorted(d["pods"], key=lambda p: p["metadata"]["name"])
            if p["status"]["phase"] == "Pending"
        ],
    ),
    sql(
        "pods",
        "Which containers were killed for memory (OOMKilled), in the namespace prod? Give pod, container and restarts.",
        "SELECT metadata.name AS pod, c.value ->> '$.name' AS container, c.value ->> '$.restartCount' AS restarts FROM items, "
        "json_each(status.containerStatuses) AS c WHERE metadata.namespace = 'prod' "
        "AND c.value ->> '$.lastState.terminated.reason' = 'OOMKilled' ORDER BY restarts DESC, pod",
        lambda d: [
            {"pod": p["metadata"]["name"], "container": c["name"], "restarts": c["restartCount"]}
            for p, c in sorted(
                ((p, c) for p in d["pods"] for c in p["status"]["containerStatuses"]),
                key=lambda pair: (-pair[1]["restartCount"], pair[0]["metadata"]["name"]),
            )
            if p["metadata"]["namespace"] == "prod" and c["lastState"].get("terminated", {}).get("reason") == "OOMKilled"
        ],
    ),
    sql(
        "pods",
        "Which images of billing run?",
        "SELECT DISTINCT c.value ->> '$.image' AS image FROM items, json_each(spec.containers) AS c "
        "WHERE metadata.labels.app = 'billing' ORDER BY image",
        lambda d: [
            {"image": image}
            for image in sorted(
                {c["image"] for p in d["pods"] if p["metadata"]["labels"]["app"] == "billing" for c in p["spec"]["containers"]}
            )
        ],
    ),
    sql(
        "pods",
        "How many pods of each team run on each node of the first three?",
        "SELECT spec.nodeName AS node, metadata.labels.team AS team, COUNT(*) AS n FROM items GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 3",
        lambda d: [
            {"node": node, "team": team, "n": n}
            for (node, team), n in sorted(
                Counter((p["spec"]["nodeName"], p["metadata"]["labels"]["team"]) for p in d["pods"]).items()
            )[:3]
        ],
    ),
    sql(
        "pods",
        "Where is the log level debug?",
        "SELECT metadata.name FROM items WHERE EXISTS (SELECT 1 FROM json_each(spec.containers) c, json_each(c.value, '$.env') e "
        "WHERE e.value ->> '$.name' = 'LOG_LEVEL' AND e.value ->> '$.value' = 'debug') ORDER BY 1",
        lambda d: [
            {"metadata.name": name}
            for name in sorted(
                p["metadata"]["name"]
                for p in d["pods"]
                if any({"name": "LOG_LEVEL", "value": "debug"} in c["env"] for c in p["spec"]["containers"])
            )
        ],
    ),
    sql(
        "pods",
        "When did the newest pod of mail start?",
        "SELECT MAX(metadata.creationTimestamp) AS newest FROM items WHERE metadata.labels.app = 'mail'",
        lambda d: [{"newest": max(p["metadata"]["creationTimestamp"] for p in d["pods"] if p["metadata"]["labels"]["app"] == "mail")}],
    ),
    find(
        "pods",
        "Which pod has the address 10.0.3.45?",
        "10.0.3.45",
        lambda d: [p["metadata"]["name"] for p in d["pods"] if p["status"]["podIP"] == "10.0.3.45"],
        fields="metadata.name",
    ),
]

INCIDENTS = [
    first(
        "incidents",
        "When did the first and the last incident begin?",
        lambda d: [min(i["startedAt"] for i in d["incidents"]), max(i["startedAt"] for i in d["incidents"])],
    ),
    first(
        "incidents",
        "How many incidents were critical?",
        lambda d: [f"critical={sum(i['impact'] == 'critical' for i in d['incidents'])}"],
    ),
    sql(
        "incidents",
        "How long do critical incidents last on average, in minutes?",
        "SELECT ROUND(AVG(DATEDIFF('minute', startedAt, resolvedAt)), 1) AS minutes FROM items WHERE impact = 'critical' AND resolvedAt IS NOT NULL",
        lambda d: [
            {
                "minutes": round(
                    mean(
                        (time(i["resolvedAt"]) - time(i["startedAt"])).total_seconds() / 60
                        for i in d["incidents"]
                        if i["impact"] == "critical" and i["resolvedAt"]
                    ),
                    1,
                )
            }
        ],
    ),
    sql(
        "incidents",
        "Which incidents are still open, and of which service?",
        "SELECT id, service FROM items WHERE resolvedAt IS NULL",
        lambda d: [{"id": i["id"], "service": i["service"]} for i in d["incidents"] if not i["resolvedAt"]],
    ),
    sql(
        "incidents",
        "What happened in the longest incident, in order? Give time and status of each update.",
        "WITH longest AS (SELECT * FROM items ORDER BY resolvedAt::timestamp - startedAt::timestamp DESC LIMIT 1) "
        "SELECT u.value ->> '$.at' AS at, u.value ->> '$.status' AS status FROM longest, json_each(longest.updates) u ORDER BY at",
        lambda d: [
            {"at": u["at"], "status": u["status"]}
            for u in max(
                (i for i in d["incidents"] if i["resolvedAt"]), key=lambda i: time(i["resolvedAt"]) - time(i["startedAt"])
            )["updates"]
        ],
    ),
    sql(
        "incidents",
        "How many incidents began on each day of the week? Give the number of the day, from 0 (Sunday), and that of incidents.",
        "SELECT EXTRACT(DOW FROM startedAt) AS dow, COUNT(*) AS n FROM items GROUP BY dow ORDER BY dow",
        lambda d: sorted(
            counted((time(i["startedAt"]).isoweekday() % 7 for i in d["incidents"]), "dow", "n"), key=lambda row: row["dow"]
        ),
    ),
    sql(
        "incidents+pods",
        "How many pods does each service with a critical incident have?",
        "SELECT i.service, COUNT(DISTINCT p.metadata.name) AS pods FROM items i JOIN other p ON p.metadata.labels.app = i.service "
        "WHERE i.impact = 'critical' GROUP BY i.service ORDER BY i.service",
        lambda d: [
            {"service": service, "pods": sum(p["metadata"]["labels"]["app"] == service for p in d["pods"])}
            for service in sorted({i["service"] for i in d["incidents"] if i["impact"] == "critical"})
        ],
    ),
]

EVENTS = [
    first(
        "events",
        "How many readings are there?",
        lambda d: [f"reading={sum(e['type'] == 'reading' for e in d['events'])}"],
    ),
    sql(
        "events",
        "What was the highest temperature of each device?",
        "SELECT device, MAX(value.celsius) AS top FROM items WHERE type = 'reading' GROUP BY device ORDER BY device",
        lambda d: [
            {"device": device, "top": max(e["value"]["celsius"] for e in d["events"] if e["device"] == device and "value" in e)}
            for device in ("d0", "d1", "d2")
        ],
    ),
    sql(
        "events",
        "How many readings came in each of the first three hours? Give the hours, too.",
        "SELECT DATE_TRUNC('hour', to_timestamp(ts)) AS hour, COUNT(*) AS n FROM items WHERE type = 'reading' GROUP BY 1 ORDER BY 1 LIMIT 3",
        lambda d: [
            {"hour": hour, "n": n}
            for hour, n in sorted(
                Counter(
                    f"{datetime.fromtimestamp(e['ts'], timezone.utc):%Y-%m-%d %H}:00:00" for e in d["events"] if e["type"] == "reading"
                ).items()
            )[:3]
        ],
    ),
    sql(
        "events",
        "What is the longest pause between two events of device d1, in seconds?",
        "SELECT MAX(gap) AS gap FROM (SELECT ts - LAG(ts) OVER (ORDER BY ts) AS gap FROM items WHERE device = 'd1')",
        lambda d: [
            {"gap": max(b - a for a, b in zip(*(lambda t: (t, t[1:]))([e["ts"] for e in d["events"] if e["device"] == "d1"])))}
        ],
    ),
    sql(
        "events",
        "When did a battery first fall below 50, and of which device?",
        "SELECT device, datetime(ts, 'unixepoch') AS at FROM items WHERE value.battery < 50 ORDER BY ts LIMIT 1",
        lambda d: [
            {"device": e["device"], "at": f"{datetime.fromtimestamp(e['ts'], timezone.utc):%Y-%m-%d %H:%M:%S}"}
            for e in [next(e for e in d["events"] if "value" in e and e["value"]["battery"] < 50)]
        ],
    ),
]

LOG = [
    sql(
        "log",
        "How many entries have the level WARNING, ERROR and FATAL? Give the levels, too.",
        "SELECT level, COUNT(*) AS n FROM entries WHERE level IN ('WARNING', 'ERROR', 'FATAL') GROUP BY level ORDER BY n DESC, level",
        lambda d: counted(
            (level for _, _, _, level, _ in entries(d["log"]) if level in ("WARNING", "ERROR", "FATAL")), "level", "n"
        ),
    ),
    sql(
        "log",
        "Which three errors are most frequent, by their words before the first digit or quote? Give each with its number.",
        r"SELECT REGEXP_EXTRACT(text, 'ERROR:  ([a-z ]+)') AS error, COUNT(*) AS n FROM entries WHERE level = 'ERROR' "
        "GROUP BY 1 ORDER BY n DESC, 1 LIMIT 3",
        lambda d: counted(
            (re.match("[a-z ]+", text)[0] for _, _, _, level, text in entries(d["log"]) if level == "ERROR"), "error", "n"
        )[:3],
    ),
    sql(
        "log",
        "When did the first deadlock occur?",
        "SELECT MIN(time) AS first FROM entries WHERE text ILIKE '%deadlock detected%'",
        lambda d: [next(at for at, _, _, _, text in entries(d["log"]) if "deadlock detected" in text)[11:23]],
    ),
    find(
        "log",
        "Which roles were refused for a wrong password or missing entry? Give them as role@database.",
        "/FATAL:  no pg_hba|authentication failed/",
        lambda d: ["app@library", "nobody@school"],
        limit=2,
    ),
    sql(
        "log",
        "What are the message that the database was interrupted and the one behind it?",
        "SELECT time, SUBSTR(text, 1, 130) AS text FROM entries WHERE time >= (SELECT MIN(time) FROM entries WHERE text LIKE "
        "'%database system was interrupted%') ORDER BY number LIMIT 2",
        lambda d: ["was interrupted", "automatic recovery in progress"],
    ),
    sql(
        "log",
        "How many statements took longer than a second?",
        r"SELECT COUNT(*) AS n FROM entries WHERE REGEXP_EXTRACT(text, 'duration: ([0-9.]+) ms', 1)::float > 1000",
        lambda d: [{"n": sum(float(ms) > 1000 for ms in re.findall(r"duration: ([0-9.]+) ms", d["log"]))}],
    ),
]

QUESTIONS = [*SCHOOLS, *BOOKINGS, *TRANSACTIONS, *PODS, *INCIDENTS, *EVENTS, *LOG]
