"""o200k counts that owe nothing to Portion: OpenAI's own encoder over the ranks in js-tiktoken."""

import base64
import json
from functools import lru_cache

import tiktoken

from .command import E2E

RANKS = E2E / "node_modules/js-tiktoken/dist/ranks/o200k_base.js"


@lru_cache(1)
def _o200k():
    source = RANKS.read_text()
    table = json.loads(source[source.index("{") : source.rindex("}") + 1])
    ranks = {}
    for line in table["bpe_ranks"].splitlines():
        # "! FIRST-RANK TOKEN TOKEN …", the tokens in base64
        _, first, *tokens = line.split()
        ranks.update((base64.b64decode(token), int(first) + i) for i, token in enumerate(tokens))
    return tiktoken.Encoding("o200k", pat_str=table["pat_str"], mergeable_ranks=ranks, special_tokens={})


def count(text):
    return len(_o200k().encode(text, disallowed_special=()))
