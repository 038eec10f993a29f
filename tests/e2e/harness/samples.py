"""Arguments for a schema, good and bad: to see whether two schemas take the same."""

from itertools import islice


def samples(schema, depth=0):
    """Values that `schema` may take and values that it should not, some of each."""
    yield from _fitting(schema, schema, depth)
    yield from (None, 0, -1.5, "", "text", [], {}, [None], {"unknown": 1})


def _fitting(schema, root, depth):
    if depth > 6 or not isinstance(schema, dict):
        return
    if schema.get("$ref", "").startswith("#/"):
        target = root
        for step in schema["$ref"][2:].split("/"):
            target = target[step]
        schema = target | {key: value for key, value in schema.items() if key != "$ref"}
    yield from schema.get("enum", [])
    if "const" in schema:
        yield schema["const"]
    for choice in (*schema.get("anyOf", []), *schema.get("oneOf", [])):
        yield from _fitting(choice, root, depth + 1)
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        yield from _of_kind(kind, schema, root, depth)


def _of_kind(kind, schema, root, depth):
    if kind == "string":
        yield from ("x", "x" * 300, "2026-03-01T12:00:00Z")
    elif kind in ("integer", "number"):
        yield from (schema.get("minimum", 0), schema.get("maximum", 3), 10**9, 0.5)
    elif kind == "boolean":
        yield from (True, False)
    elif kind == "array":
        yield [value for value in islice(_fitting(schema.get("items", {}), root, depth + 1), 2)]
        yield [object_ for object_ in ({}, 1)]
    elif kind == "object" or "properties" in schema:
        yield from _objects(schema, root, depth)


def _objects(schema, root, depth):
    choices = {
        name: list(islice(_fitting(inner, root, depth + 1), 4)) or [1]
        for name, inner in schema.get("properties", {}).items()
    }
    whole = {name: values[0] for name, values in choices.items()}
    required = {name: whole.get(name, 1) for name in schema.get("required", [])}
    yield from (whole, required, whole | {"unknown": 1})
    for name, values in choices.items():
        yield {key: value for key, value in whole.items() if key != name}
        yield from (whole | {name: value} for value in (*values, None, {}, "wrong"))
