//! Names of arguments of the built-in tools, as models write them.

use portion_core::error_code::ErrorCode;
use portion_core::view::{CONTROLS, control_named};
use portion_gateway::call::Fault;
use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;
use portion_text::names::closest_name;

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
/// Other names of the arguments of a query, without case and separators.
const QUERY_SYNONYMS: [(&str, &str); 15] = [
    ("q", "query"),
    ("query", "query"),
    ("statement", "query"),
    ("sql", "sql"),
    ("sqlquery", "sql"),
    ("find", "find"),
    ("grep", "find"),
    ("keyword", "find"),
    ("pattern", "find"),
    ("search", "find"),
    ("searchterm", "find"),
    ("term", "find"),
    ("text", "find"),
    ("with", "with"),
    ("params", "params"),
];
/// Names that ask for a query, but are none.
const QUERY_NAMES: [&str; 8] =
    ["aggregate", "contains", "filter", "filters", "groupby", "having", "select", "where"];

/// An argument of a built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadArgument {
    /// A control.
    Control(&'static str),
    /// An argument of a query.
    Query(&'static str),
    /// A regex without slashes.
    Regex,
    /// A range of lines.
    Lines,
    /// Everything at once.
    All,
    Unknown,
}

/// Returns the argument that a name means: `start_line` is `startLine`, `page_size` is `limit`.
pub(super) fn read_argument(name: &str) -> ReadArgument {
    let plain = plain_name(name);
    let meant = |synonyms: &[(&str, &'static str)]| {
        synonyms.iter().find(|(synonym, _)| *synonym == plain).map(|(_, argument)| *argument)
    };
    let control = || control_named(name).or_else(|| meant(&CONTROL_SYNONYMS)).map(ReadArgument::Control);
    match plain.as_str() {
        "lines" | "line" | "linerange" => ReadArgument::Lines,
        "regex" => ReadArgument::Regex,
        "all" | "everything" => ReadArgument::All,
        "keys" => ReadArgument::Query("keys"),
        "context" => ReadArgument::Query("context"),
        _ => {
            meant(&QUERY_SYNONYMS).map(ReadArgument::Query).or_else(control).unwrap_or(ReadArgument::Unknown)
        }
    }
}

/// Returns true if a call of a built-in tool has a query.
pub(super) fn has_query(text: &str, arguments: Span) -> bool {
    let is_query = |member: &Member| {
        let argument = read_argument(&unescape(member.key.slice(text)));
        matches!(argument, ReadArgument::Query(_) | ReadArgument::Regex)
    };
    walk::members(text, arguments).iter().any(is_query)
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

/// Returns a regex between slashes, as JSON: of `regex`, which may have none.
pub(super) fn regex_between_slashes(json: &str) -> String {
    match unescape(json) {
        regex if regex.starts_with('/') || JsonKind::of_value(json) != JsonKind::String => json.to_owned(),
        regex => quote(&format!("/{}/", regex.replace('/', "\\/"))),
    }
}

/// Returns the error for an unknown argument of a built-in tool.
pub(super) fn unknown_argument(name: &str) -> Fault {
    let plain = plain_name(name);
    let advice = if QUERY_NAMES.contains(&plain.as_str()) {
        "to filter, search or add up, set query: SELECT … FROM items WHERE …, or a text to find".to_owned()
    } else if plain == "tail" {
        "the last 20 lines are lines=-20--1; the last items of a list are offset=totalCount-20".to_owned()
    } else {
        format!("{}the arguments are {}, lines, all", suggestion(name, &CONTROLS), CONTROLS.join(", "))
    };
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
    use super::{ReadArgument, read_argument, regex_between_slashes, unknown_argument};

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
        for (name, argument) in
            [("Query", "query"), ("q", "query"), ("SQL", "sql"), ("search_term", "find"), ("With", "with")]
        {
            assert_eq!(read_argument(name), ReadArgument::Query(argument), "{name}");
        }
        assert_eq!(read_argument("lines"), ReadArgument::Lines);
        assert_eq!(read_argument("filter"), ReadArgument::Unknown);
        assert_eq!(read_argument("colour"), ReadArgument::Unknown);
        assert_eq!(regex_between_slashes("\"a/b\""), "\"/a\\\\/b/\"");
        assert_eq!(regex_between_slashes("\"/a/\""), "\"/a/\"");
    }

    #[test]
    fn errors_name_the_argument() {
        let check = |name: &str, expect: &str| {
            let fault = unknown_argument(name);
            assert_eq!(fault.code.name(), "argument_unknown");
            assert!(fault.advice.contains(expect), "{name}: {}", fault.advice);
        };
        check("filter", "set query");
        check("where", "SELECT");
        check("tail", "lines=-20--1");
        check("sectoin", "did you mean section?");
    }
}
