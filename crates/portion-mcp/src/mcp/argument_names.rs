//! Names of arguments of the built-in tools, as models write them.

use portion_core::error_code::ErrorCode;
use portion_core::view::{CONTROLS, control_named};
use portion_gateway::call::Fault;
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;
use portion_text::spelling::closest_name;

use super::walk::{self, Member};

/// Largest number of characters of a name in an error.
const MAX_NAME_CHARS: usize = 64;
/// Other names of controls, without case and separators.
const CONTROL_SYNONYMS: [(&str, &str); 18] = [
    ("nextcursor", "cursor"),
    ("columns", "fields"),
    ("pagesize", "limit"),
    ("perpage", "limit"),
    ("maxresults", "limit"),
    ("count", "limit"),
    ("head", "limit"),
    ("top", "limit"),
    ("skip", "offset"),
    ("pagenumber", "page"),
    ("pagerange", "pages"),
    ("jsonpath", "path"),
    ("jsonpointer", "path"),
    ("orderby", "sort"),
    ("sortby", "sort"),
    ("fromline", "startLine"),
    ("toline", "endLine"),
    ("pointer", "path"),
];
/// Names that ask for a query, without case and separators.
const QUERY_NAMES: [&str; 20] = [
    "aggregate",
    "contains",
    "filter",
    "filters",
    "find",
    "grep",
    "groupby",
    "having",
    "keyword",
    "pattern",
    "q",
    "query",
    "regex",
    "search",
    "searchterm",
    "select",
    "sql",
    "term",
    "text",
    "where",
];

/// An argument of a built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadArgument {
    /// A control.
    Control(&'static str),
    /// A range of lines.
    Lines,
    Unknown,
}

/// Returns the argument that a name means: `start_line` is `startLine`, `page_size` is `limit`.
pub(super) fn read_argument(name: &str) -> ReadArgument {
    let plain = plain_name(name);
    let synonym =
        || CONTROL_SYNONYMS.iter().find(|(synonym, _)| *synonym == plain).map(|(_, control)| *control);
    match control_named(name).or_else(synonym) {
        Some(control) => ReadArgument::Control(control),
        None if matches!(plain.as_str(), "lines" | "line" | "linerange") => ReadArgument::Lines,
        None => ReadArgument::Unknown,
    }
}

/// Returns the cursor of a call of a built-in tool.
pub(super) fn cursor_argument(text: &str, arguments: Span) -> Option<String> {
    walk::string_member(text, arguments, "cursor").or_else(|| {
        let members = walk::members(text, arguments);
        let is_cursor = |member: &&Member| {
            read_argument(&unescape(member.key.slice(text))) == ReadArgument::Control("cursor")
                && walk::kind(text, member.value) == JsonKind::String
        };
        members.iter().find(is_cursor).map(|member| unescape(member.value.slice(text)))
    })
}

/// Returns the argument of the query tool that a name means, with the query: `SQL` is `sql`, `regex` and `search` are
/// `find`, and `query` is either.
pub(super) fn query_argument(name: &str, query: &str) -> Option<(&'static str, String)> {
    let first_word = query.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let is_sql = matches!(first_word.as_str(), "select" | "with" | "describe" | "explain" | "pragma");
    match plain_name(name).as_str() {
        "sql" | "sqlquery" => Some(("sql", query.to_owned())),
        "find" => Some(("find", query.to_owned())),
        "query" | "q" | "statement" if is_sql => Some(("sql", query.to_owned())),
        "query" | "q" | "search" | "searchterm" | "pattern" | "text" | "term" | "keyword" | "grep" => {
            Some(("find", query.to_owned()))
        }
        "regex" if query.starts_with('/') => Some(("find", query.to_owned())),
        "regex" => Some(("find", format!("/{}/", query.replace('/', "\\/")))),
        _ => None,
    }
}

/// Returns the error for an unknown argument of the read tool. `query_tool`: listed name of the query tool.
pub(super) fn unknown_read_argument(name: &str, query_tool: Option<&str>) -> Fault {
    let plain = plain_name(name);
    let advice = match query_tool.filter(|_| QUERY_NAMES.contains(&plain.as_str())) {
        Some(query_tool) => format!(
            "to filter, search or add up, call {query_tool} with this cursor and sql (SELECT … FROM items WHERE …) or find"
        ),
        None if plain == "tail" => {
            "the last 20 lines are startLine=-20; the last items of a list are offset=totalCount-20"
                .to_owned()
        }
        None => format!("{}the arguments are {}", suggestion(name, &CONTROLS), CONTROLS.join(", ")),
    };
    unknown_argument(name, advice)
}

/// Returns the error for an unknown argument of the query tool.
pub(super) fn unknown_query_argument(name: &str) -> Fault {
    const ARGUMENTS: [&str; 8] = ["cursor", "sql", "find", "with", "limit", "params", "keys", "context"];
    let advice = if QUERY_NAMES.contains(&plain_name(name).as_str()) {
        "write it in sql: SELECT … FROM items WHERE …; or search with find".to_owned()
    } else {
        format!("{}the arguments are {}", suggestion(name, &ARGUMENTS), ARGUMENTS.join(", "))
    };
    unknown_argument(name, advice)
}

fn unknown_argument(name: &str, advice: String) -> Fault {
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    Fault::new(ErrorCode::ArgumentUnknown, format!("there is no argument {name}"), advice)
}

fn suggestion(name: &str, names: &[&str]) -> String {
    closest_name(name, names.iter().copied()).map(|name| format!("did you mean {name}? ")).unwrap_or_default()
}

/// Returns a name in lower case, without separators.
fn plain_name(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .take(MAX_NAME_CHARS)
        .collect::<String>()
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{ReadArgument, query_argument, read_argument, unknown_query_argument, unknown_read_argument};

    #[test]
    fn names_are_understood_as_models_write_them() {
        for (name, control) in [
            ("startLine", "startLine"),
            ("start_line", "startLine"),
            ("max-tokens", "maxTokens"),
            ("Limit", "limit"),
            ("page_size", "limit"),
            ("next_cursor", "cursor"),
            ("order_by", "sort"),
            ("skip", "offset"),
            ("Head", "limit"),
        ] {
            assert_eq!(read_argument(name), ReadArgument::Control(control), "{name}");
        }
        assert_eq!(read_argument("lines"), ReadArgument::Lines);
        assert_eq!(read_argument("filter"), ReadArgument::Unknown);
        let sql = Some(("sql", "SELECT 1".to_owned()));
        assert_eq!(query_argument("query", "SELECT 1"), sql);
        assert_eq!(query_argument("Query", "selected works"), Some(("find", "selected works".to_owned())));
        assert_eq!(query_argument("regex", "a/b"), Some(("find", "/a\\/b/".to_owned())));
        assert_eq!(query_argument("SQL", "SELECT 1"), sql);
        assert_eq!(query_argument("Find", "7"), Some(("find", "7".to_owned())));
        assert_eq!(query_argument("colour", "red"), None);
    }

    #[test]
    fn errors_name_the_tool_or_the_argument() {
        let check = |name: &str, query_tool, expect: &str| {
            let fault = unknown_read_argument(name, query_tool);
            assert_eq!(fault.code.name(), "argument_unknown");
            assert!(fault.advice.contains(expect), "{name}: {}", fault.advice);
        };
        check("filter", Some("portion_query"), "call portion_query with");
        check("filter", None, "the arguments are cursor, limit");
        check("tail", Some("portion_query"), "startLine=-20");
        check("sectoin", Some("portion_query"), "did you mean section?");
        assert!(unknown_query_argument("where").advice.contains("SELECT"));
        assert!(unknown_query_argument("parms").advice.contains("did you mean params?"));
    }
}
