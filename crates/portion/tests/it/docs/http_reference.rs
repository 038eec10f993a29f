//! Writes the reference of the HTTP interfaces: of `portion http` from the tables of the code, of the admin listener from its
//! `OpenAPI` document, which a test of the dashboard compares with the code.

use std::fmt::Write as _;

use portion_core::view::CONTROLS;
use portion_rest::RESPONSE_HEADERS;
use serde_json::Value;

use super::{Outcome, check, page};

const FILE: &str = "docs/reference/http.md";
const HEAD: &str = "\
# HTTP reference

A test writes this page. [REST APIs](../rest.md) explains the first part, [Telemetry](../telemetry.md) the second.

## Requests to `portion http`

These query parameters are [controls](../controls.md). They are removed before the API sees a request, except those that the API has itself
(`--api-parameter`, `--openapi`):
";
const FOREIGN_FIELDS: &str = "
A shaped reply has no `X-Portion-*` of the API, and the API's `X-Total-Count` only as `X-Portion-Upstream-Total`, except on
a page of the API. A response that passes as it came keeps these fields of the API, which may be another Portion.
";
const STATUSES: &str = "
The body of an error is JSON: `{\"error\": {\"code\", \"message\", \"advice\"}}`; [Error codes](errors.md) has the status of each.
Errors of the API keep its status. Without a body are 400 for a head that is not valid HTTP, 431 for one over a [limit](limits.md), and
503 for a connection beyond the limit.
";
const ADMIN: &str = "
## The admin listener

`portion serve` and `portion http` listen at `127.0.0.1:9465` (`--admin ADDRESS`, `off`), `portion wrap` with `--admin`. `portion dashboard` serves
the paths below `/api/` and the pages, too. All paths answer `GET` and `HEAD`.

| path | content |
| --- | --- |
| `/` | the dashboard, HTML |
| `/health` | state of this process, JSON: `status` is `ok`, `degraded` with `reasons`, or `draining`, then with status 503 |
| `/metrics` | [metrics](metrics.md), in the text format of Prometheus |
";

#[test]
fn the_reference_has_all_interfaces() -> Outcome {
    let mut text = HEAD.to_owned();
    let controls: Vec<String> = CONTROLS.iter().map(|name| format!("`{name}`")).collect();
    writeln!(text, "{}.\n", controls.join(", "))?;
    text.push_str("## Header fields of replies\n\n| header field | meaning |\n| --- | --- |\n");
    for header in RESPONSE_HEADERS {
        writeln!(text, "| `{}` | {} |", header.name, header.meaning)?;
    }
    text.push_str(FOREIGN_FIELDS);
    text.push_str(STATUSES);
    text.push_str(ADMIN);
    let document: Value = serde_json::from_str(&page("crates/portion-dashboard/src/api/openapi.json")?)?;
    write_paths(&mut text, &document)?;
    check(FILE, &text)
}

/// Writes the paths and the parameters of the document, which says which path takes which.
fn write_paths(text: &mut String, document: &Value) -> Outcome {
    let paths = document["paths"].as_object().ok_or("no paths")?;
    for (path, methods) in paths {
        let summary = methods["get"]["summary"].as_str().ok_or("no summary")?;
        writeln!(text, "| `{path}` | {summary} |")?;
    }
    text.push_str("\n`/api/openapi.json` says which path takes which of these:\n\n| parameter | default | meaning |\n| --- | --- | --- |\n");
    let parameters = document["components"]["parameters"].as_object().ok_or("no parameters")?;
    for (name, parameter) in parameters {
        let default = &parameter["schema"]["default"];
        let default = default.as_str().map_or_else(|| default.to_string().replace("null", ""), str::to_owned);
        let meaning = parameter["description"].as_str().ok_or("no description")?;
        writeln!(text, "| `{name}` | {default} | {meaning} |")?;
    }
    text.push_str("\nAn error has status 400 (invalid parameter), 404 (no such request) or 503 (no records yet), and `{\"error\": …}`.\n");
    Ok(())
}
