"""One agent at work: a server process of its own, and a window that every call and every reply goes into."""

import json
import math
import re


class Window:
    """What a model's context holds, in tokens."""

    def __init__(self, size, begun):
        self.size, self.used, self.calls, self.largest = size, begun, 0, 0

    def take(self, call, reply):
        self.used += call + reply
        self.calls += 1
        self.largest = max(self.largest, reply)

    @property
    def overflowed(self):
        return self.used > self.size


class Seen:
    """What the agent has of a document: the first reply, the places that it gave, and how far it was read."""

    def __init__(self, text, whole, places):
        self.text, self.whole, self.places = text, whole, places
        self.cursor = places.get("cursor")

    def sections(self):
        """What a summary says can be read of it."""
        offered = re.search(r'"detailsAvailable":.*?"sections":(\{.*?\})', self.text)
        return list(json.loads(offered[1])) if offered else []


class Conversation:
    """Does steps, by the calls that replies name. What is in the window whole is not called for again."""

    # A client that refuses a reply says so in about as many tokens.
    REFUSAL = 40

    def __init__(self, harness, config, size, system, refused_above=None):
        self.agent, self.refused_above = harness.agent, refused_above
        self.shaper = harness.mcp_shaper.McpShaper(config)
        self.window = Window(size, system + self.agent.tok(compact(self.shaper.tools)))
        self.rpc, self.shaper.rpc = self.shaper.rpc, self.metered
        self.seen, self.replies, self.useless = {}, 0, 0
        self.asked = self.right = self.wrong = self.unanswered = 0

    def metered(self, method, params):
        result = self.rpc(method, params)
        text = "\n".join(block.get("text", "") for block in result["content"])
        cost = self.agent.tok(text)
        refused = self.refused_above is not None and cost > self.refused_above
        self.replies += 1
        self.useless += refused or result.get("isError", False) or not text
        self.window.take(self.agent.tok(compact(params)), self.REFUSAL if refused else cost)
        return result

    def do(self, step):
        """A step is answered if any reply to it was of use, or none was needed."""
        self.replies = self.useless = 0
        able = getattr(self, step.act)(step.doc, step.detail)
        if not able or (self.replies and self.useless == self.replies) or self.window.overflowed:
            self.unanswered += 1

    def open(self, doc, _):
        text, whole = self.shaper.open(doc)
        if not self.useless:
            self.seen[doc.rel] = Seen(text, whole, dict(self.shaper.vars))
        return True

    def ask(self, doc, question):
        self.asked += 1
        seen = self.at(doc)
        if not seen:
            return False
        found = self.agent.run(question, doc, self.shaper, seen.text, None, math.inf, seen.whole)
        if not self.window.overflowed:
            self.right += found["ok"]
            self.wrong += found["wrong"]
        return True

    def read_on(self, doc, asked):
        seen = self.at(doc)
        if not seen or not seen.cursor:
            return bool(seen)
        self.shaper.vars["cursor"] = seen.cursor
        if asked is None:
            self.shaper.follow(doc, {"op": "next"})
        else:
            self.shaper.first = {**seen.places, "handle": seen.cursor}
            self.shaper.follow(doc, {"op": "page", **asked})
        seen.cursor = self.shaper.vars.get("cursor")
        return True

    def record(self, doc, index):
        """One record whole. What came as a summary has no records to count, but sections by name."""
        return self.section(doc, index) or self.look(doc, {"op": "page", "offset": index, "limit": 1})

    def around(self, doc, line):
        return self.look(doc, {"op": "range", "start": max(line - 5, 0), "end": line + 10})

    def details(self, doc, number):
        return self.section(doc, number) or doc.rel in self.seen

    def section(self, doc, number):
        names = self.seen[doc.rel].sections() if doc.rel in self.seen else []
        return bool(names) and self.look(doc, {"op": "section", "title": names[number % len(names)]})

    def look(self, doc, op):
        seen = self.at(doc)
        if seen and not seen.whole:
            self.shaper.follow(doc, op)
        return bool(seen)

    def at(self, doc):
        """Goes back to a document: the harness' shaper knows one at a time."""
        seen = self.seen.get(doc.rel)
        if seen:
            self.shaper.doc, self.shaper.first, self.shaper.vars = doc.name, dict(seen.places), dict(seen.places)
        return seen

    def outcome(self):
        window = self.window
        return {
            "finished": not window.overflowed and not self.unanswered,
            "overflowed": window.overflowed,
            "tokens": window.used,
            "calls": window.calls,
            "largest": window.largest,
            "asked": self.asked,
            "right": self.right,
            "wrong": self.wrong,
            "unanswered": self.unanswered,
        }

    def close(self):
        self.shaper.close()


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
