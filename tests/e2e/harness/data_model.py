"""The types of the data model of rental servers: pages, summaries, chunks and telemetry records."""

import jsonschema

STRING, BOOLEAN, COUNT = {"type": "string"}, {"type": "boolean"}, {"type": "integer", "minimum": 0}
CURSOR = {"type": ["string", "null"]}


def record(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


PAGE = record(items={"type": "array"}, nextCursor=CURSOR, meta=record(totalCount=COUNT, pageSize=COUNT, hasMore=BOOLEAN))
SUMMARY = record(
    summary={"type": "object"},
    meta=record(
        kind={"enum": ["preview", "full"]},
        totalFields=COUNT,
        projectedFields={"type": "array", "items": STRING},
        detailsAvailable=record(endpoint=STRING, parameters={"type": "object"}),
    ),
)
CHUNK = record(
    content=STRING,
    chunkIndex=COUNT,
    totalChunks={"type": "integer", "minimum": 1},
    nextCursor=CURSOR,
    metadata=record(startLine=COUNT, endLine=COUNT, totalLines=COUNT, bytesInChunk=COUNT),
)
TELEMETRY_RECORD = record(
    requestId=STRING,
    endpoint=STRING,
    timestamp=STRING,
    estimatedTokens=COUNT,
    responseBytes=COUNT,
    itemCount=COUNT,
    latencyMs=COUNT,
    paginationUsed=BOOLEAN,
    summarizationUsed=BOOLEAN,
    chunkingUsed=BOOLEAN,
    optimizationMetadata={"type": "object"},
)


def parsed(value):
    """The name of the type of a reply, after a check that it has that type alone."""
    assert isinstance(value, dict), value
    (kind, schema), = [
        (kind, schema)
        for kind, (key, schema) in {"page": ("items", PAGE), "summary": ("summary", SUMMARY), "chunk": ("content", CHUNK)}.items()
        if key in value
    ]
    jsonschema.validate(value, schema)
    if kind == "page":
        assert (value["nextCursor"] is None) == (not value["meta"]["hasMore"]), value["meta"]
    elif kind == "summary":
        assert len(value["meta"]["projectedFields"]) <= max(value["meta"]["totalFields"], 1) or value["meta"]["kind"] == "preview"
    else:
        lines = value["metadata"]
        assert value["chunkIndex"] < value["totalChunks"], value
        assert lines["startLine"] <= lines["endLine"] <= lines["totalLines"], lines
        assert lines["bytesInChunk"] == len(value["content"].encode()), lines
        assert value["nextCursor"] or value["chunkIndex"] == value["totalChunks"] - 1, value
    return kind
