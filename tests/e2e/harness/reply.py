"""What a reply says, and the laws that every shaped one obeys (fit, nothing lost, progress, never silent)."""

import json

from . import tokens

NOTICE = "io.portion/notice"
BUDGET = 4000
HARD_CAP = 12000
WIRE_BYTES = 65536
LONGEST_WALK = 20_000


class Reply:
    """One result of `tools/call`, `resources/read` or `prompts/get`."""

    def __init__(self, result):
        assert "error" not in result, result
        self.result = result
        self.notice = (result.get("_meta") or {}).get(NOTICE)
        self.meta = (self.notice or {}).get("meta", {})
        self.next = (self.notice or {}).get("nextCursor")
        self.all_texts = [block["text"] for block in _blocks(result) if "text" in block]

    @property
    def texts(self):
        """The payload's texts: all but the notice's."""
        return self.all_texts[:-1] if self.text_notice is not None else self.all_texts

    @property
    def text_notice(self):
        """The notice in the last text block, which holds what a model acts on, or the full notice."""
        last = _json(self.all_texts[-1]) if self.notice and self.all_texts else None
        if not isinstance(last, dict) or not isinstance(last.get("meta"), dict):
            return None
        is_same = all(last.get(key) in (None, self.notice.get(key)) for key in ("nextCursor", "totalCount", "cut", "notShown"))
        return last if is_same and last.get("nextCursor") == self.next else None

    @property
    def text(self):
        return "".join(self.texts)

    @property
    def json(self):
        return exact(self.text)

    @property
    def structured(self):
        return self.result.get("structuredContent")

    @property
    def error(self):
        """Portion's own error object."""
        assert self.result.get("isError") is True, self.result
        error = json.loads(self.all_texts[0])["error"]
        assert set(error) >= {"code", "message", "advice"}, error
        return error


def exact(text):
    """JSON whose numbers keep their spelling, and whose objects keep order and duplicates, as lists of pairs."""
    return json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=Fields)


class Fields(list):
    """An object's members in order; looks its first up by name."""

    def __getitem__(self, key):
        return next(value for name, value in self if name == key) if isinstance(key, str) else super().__getitem__(key)

    def names(self):
        return [name for name, _ in self]


def lawful(result, budget=BUDGET):
    """The reply in `result`, found to be shaped and to keep the laws."""
    reply = Reply(result)
    assert reply.notice, f"not shaped: {json.dumps(result)[:400]}"
    if reply.structured is not None:
        budget = min(budget, HARD_CAP // 2)
    cost = sum(map(tokens.count, reply.all_texts))
    assert cost <= budget, f"text costs {cost} of {budget} tokens"
    if reply.structured is not None:
        cost = tokens.count(json.dumps(reply.structured, ensure_ascii=False, separators=(",", ":")))
        assert cost <= budget, f"structuredContent costs {cost} of {budget} tokens"
        assert not result.get("isError"), "an error carries no structured content"
    assert len(json.dumps(result, ensure_ascii=False).encode()) <= WIRE_BYTES
    if "content" in result:
        assert reply.text_notice is not None, "the last text block is the notice"
    assert reply.meta["cursor"] and reply.meta["kind"]
    assert 0 <= reply.meta["budgetUsed"] <= 1 and reply.meta["budgetRemaining"] >= 0
    for cursor in filter(None, (reply.meta["cursor"], reply.next)):
        assert len(cursor) <= 45 and cursor.isascii() and cursor.isalpha() and cursor.islower()
    shows = reply.text.strip() or any("text" not in block for block in _blocks(result))
    assert not reply.next or shows, "a reply with a nextCursor is not empty"
    return reply


def walk(peer, reply, budget=BUDGET):
    """`reply` and all that follow it, by `portion_read(nextCursor)`."""
    seen = set()
    while True:
        yield reply
        if not reply.next:
            return
        assert reply.next not in seen and len(seen) < LONGEST_WALK, "following nextCursor ends"
        seen.add(reply.next)
        reply = lawful(peer.call("portion_read", cursor=reply.next), budget)


def again(peer, reply, budget=HARD_CAP, **controls):
    """`reply`'s snapshot from where it began, asked for with `controls`, walked to the end."""
    return list(walk(peer, lawful(peer.call("portion_read", cursor=reply.meta["cursor"], **controls), budget), budget))


def items(reply, *path):
    """A page's items: the list at `path` of its payload."""
    value = reply.json
    for name in path:
        value = value[name]
    assert isinstance(value, list) and not isinstance(value, Fields)
    return value


def pages_joined(peer, reply, *path):
    return [item for page in again(peer, reply, fields="all") for item in items(page, *path)]


def raw_joined(peer, reply):
    return "".join(chunk.text for chunk in again(peer, reply, raw=True))


def _blocks(result):
    if "messages" in result:
        return [message["content"] for message in result["messages"]]
    return result.get("contents") or result.get("content") or []


def _json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None
