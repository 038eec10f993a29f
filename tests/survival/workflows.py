"""What sessions do: steps over documents, drawn from the number of the session, without a look at any reply.

A step is what an agent wants next: `open` a document, `ask` a question with a known answer, `read on`, take one
`record`, read `around` a line, open one of the `details` that a summary offers. How many calls that takes is the
agent's affair.
"""

import collections
import random

Step = collections.namedtuple("Step", "act doc detail")
Session = collections.namedtuple("Session", "number theme heavy steps")

THEMES = ("education", "hostaway", "logs", "docs", "mcp", "rag", "mixed")
FEWEST, MOST = 8, 40
# Every fourth round of the themes is of heavy sessions: long walks, whole logs, many documents.
HEAVY_EACH = 4
# What agents write who want much at once.
WIDE = 100


def session(number, library):
    """`library` maps each class to its documents and their questions, `[(doc, questions)]`."""
    draw = random.Random(f"session {number}")
    theme = THEMES[number % len(THEMES)]
    heavy = number // len(THEMES) % HEAVY_EACH == HEAVY_EACH - 1
    length = draw.randint(MOST * 2 // 3 if heavy else FEWEST, MOST)
    shelves = [library[theme]] if theme != "mixed" else list(library.values())
    steps, opened = [], set()
    while len(steps) < length:
        doc, questions = draw.choice(draw.choice(shelves))
        if doc.rel not in opened:
            steps.append(Step("open", doc, None))
        opened.add(doc.rel)
        kind = doc.meta["kind"]
        work = log if is_log(questions) else prose if kind == "text" else tree if kind == "tree" else records
        steps += work(draw, doc, questions, heavy)
    return Session(number, theme, heavy, steps[:length])


def is_log(questions):
    return any(question["kind"] == "lines" for question in questions)


def records(draw, doc, questions, heavy):
    """A list: find some, turn pages, look at one of those whole, and count or compare."""
    own, whole = some(draw, doc, questions, 1, 3), some(draw, doc, questions, 0, 2)
    one = [Step("record", doc, draw.randrange(min(doc.meta["n"], 20)))]
    return own + pages(draw, doc, heavy) + one + whole


def log(draw, doc, questions, heavy):
    """A log: find what went wrong, read around it, read on."""
    near = [Step("around", doc, question["line"]) for question in questions if "line" in question]
    chunks = [Step("read_on", doc, None)] * (MOST if heavy and draw.random() < 0.5 else draw.randint(0, 3))
    return some(draw, doc, questions, 1, 2) + draw.sample(near, min(len(near), draw.randint(1, 2))) + chunks


def prose(draw, doc, questions, heavy):
    """A document: its sections, some sentences, and some of it from the beginning."""
    chunks = [Step("read_on", doc, None)] * (draw.randint(5, 15) if heavy else draw.randint(0, 3))
    return chunks + some(draw, doc, questions, 1, 3)


def tree(draw, doc, questions, heavy):
    """An object of objects: places in it, and the sections that its summary offers."""
    count = draw.randint(3, 8) if heavy else draw.randint(1, 2)
    details = [Step("details", doc, draw.randrange(1000)) for _ in range(count)]
    return some(draw, doc, questions, 1, 3) + details


def some(draw, doc, questions, least, most):
    count = min(len(questions), draw.randint(least, most))
    return [Step("ask", doc, question) for question in draw.sample(questions, count)]


def pages(draw, doc, heavy):
    """Pages as they come, by a limit of the agent's own, or by one with every field of every record."""
    if not heavy:
        return [Step("read_on", doc, draw.choice((None, None, None, {"limit": WIDE})))] * draw.randint(1, 4)
    asked = draw.choice((None, None, {"limit": WIDE}, {"limit": WIDE, "fields": ["all"]}))
    return [Step("read_on", doc, asked)] * draw.randint(10, 25)
