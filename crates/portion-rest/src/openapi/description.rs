//! Short descriptions.

/// Longest description of a tool, in characters.
const MAX_TOOL_CHARS: usize = 600;
/// Longest description in a schema, in characters.
const MAX_SCHEMA_CHARS: usize = 240;

/// Joins the summary and the description of an operation.
pub(crate) fn tool_description(
    summary: Option<&str>,
    description: Option<&str>,
    request_line: &str,
) -> String {
    let (summary, description) = (summary.unwrap_or_default(), description.unwrap_or_default());
    let repeats = description.to_lowercase().starts_with(&summary.trim_end_matches('.').to_lowercase());
    let text = match (summary, description) {
        ("", "") => return request_line.to_owned(),
        (_, text) if repeats => text.to_owned(),
        (text, "") => text.to_owned(),
        (summary, description) => format!("{}. {description}", summary.trim_end_matches('.')),
    };
    shorten(&text, MAX_TOOL_CHARS)
}

/// Shortens a description in a schema.
pub(crate) fn schema_description(text: &str) -> String {
    shorten(text, MAX_SCHEMA_CHARS)
}

/// Puts a text on one line and cuts it after a word.
fn shorten(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(limit) else { return line };
    let word = line[..end].rfind(' ').filter(|at| *at * 2 > end);
    format!("{}…", line[..word.unwrap_or(end)].trim_end())
}

#[cfg(test)]
mod tests {
    use super::{schema_description, tool_description};

    #[test]
    fn descriptions_are_short_and_not_repeated() {
        let check = |summary: Option<&str>, description: Option<&str>, expect: &str| {
            assert_eq!(tool_description(summary, description, "GET /a"), expect);
        };
        check(Some("List it."), Some("Returns\n all."), "List it. Returns all.");
        check(Some("List it"), Some("List it, all of it."), "List it, all of it.");
        check(None, None, "GET /a");
        check(None, Some("x"), "x");
        assert_eq!(schema_description(&"word ".repeat(100)).chars().count(), 240);
    }
}
