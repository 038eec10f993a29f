//! Errors of requests, each with advice for the next call.

use std::borrow::Cow;
use std::fmt::Write as _;

use portion_json::projection::quote_name;
use portion_json::scan::quote;
use portion_text::display::shortened;
use thiserror::Error;

use super::controls::CONTROLS;
use crate::error_code::ErrorCode;

/// A request that cannot be served.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ViewError {
    /// `limit` is not a count.
    #[error("limit is {given}; it must be a whole number from 1 to {max}")]
    Limit {
        /// Value given.
        given: String,
        /// Largest limit allowed.
        max: usize,
    },
    /// `limit` exceeds the policy's maximum.
    #[error("limit exceeds maximum of {max}: {given} was given")]
    LimitTooLarge {
        /// Value given.
        given: String,
        /// Largest limit allowed.
        max: usize,
    },
    /// `page` or `pages` is not a page number or range.
    #[error("{name} is {given}; it must be {}", page_syntax(.name))]
    Page {
        /// Control given.
        name: &'static str,
        /// Value given.
        given: String,
    },
    /// `offset` is not an offset.
    #[error("offset is {0}; it must be a whole number from 0")]
    Offset(String),
    /// An offset before the first item that was fetched.
    #[error("this result begins at offset {first}")]
    BeforeFetched {
        /// Smallest possible offset.
        first: u32,
    },
    /// No item has this field.
    #[error("no item has a field {}{}", visible_name(.given), nearest_field(.nearest.as_deref()))]
    Field {
        /// Name given.
        given: String,
        /// Most similar existing name.
        nearest: Option<String>,
        /// Existing names, the most useful first.
        available: Vec<String>,
    },
    /// The values of this field are hidden and were left out.
    #[error("{} is redacted, and no item has a value of it", shortened(.given))]
    RedactedField {
        /// Name given.
        given: String,
    },
    /// `fields` with a field to leave out: it only lists fields to show.
    #[error("fields lists what to show; it cannot leave out {}", joined(.excluded))]
    Exclusion {
        /// Names of the fields to leave out.
        excluded: Vec<String>,
        /// Names of the fields that remain.
        rest: Vec<String>,
    },
    /// A selection in a result or a part without text or JSON.
    #[error("{0}, so nothing can be selected in it")]
    NoText(&'static str),
    /// `fields` on a text.
    #[error("fields does not apply here: text has no fields")]
    TextHasNoFields,
    /// A path that does not resolve.
    #[error(
        "there is no path {}: {} has no {}{}{}",
        shortened(.given),
        shortened(.reached),
        visible_name(.missing),
        nearest_text(.nearest.as_deref()),
        gap_text(.gap.as_deref())
    )]
    Path {
        /// Path given.
        given: String,
        /// Pointer of the last step that resolves.
        reached: Box<str>,
        /// Step that fails.
        missing: Box<str>,
        /// Most similar existing step.
        nearest: Option<String>,
        /// Steps available there.
        available: Vec<String>,
        /// The items that were not fetched of the list, in words.
        gap: Option<Box<str>>,
    },
    /// A section that does not exist.
    #[error("there is no section {}{}", visible_name(.given), nearest_text(.nearest.as_deref()))]
    Section {
        /// Name given.
        given: String,
        /// Most similar existing name.
        nearest: Option<String>,
        /// Existing sections.
        available: Vec<String>,
        /// True if the value is text, which has lines and no paths.
        is_text: bool,
    },
    /// A line range of a text without lines.
    #[error("the text is empty, so it has no lines")]
    NoLines,
    /// A line range outside the text.
    #[error("{0}")]
    Range(String),
    /// A query on a section of a text, whose tables have the lines of the whole text.
    #[error("a query reads the whole text, not only the section {}", shortened(.section))]
    SectionOfQuery {
        /// Section given.
        section: String,
        /// First and last line of the section.
        lines: (usize, usize),
    },
    /// A `sort` that cannot be applied.
    #[error("sort is {}; {why}", shortened(.given))]
    Sort {
        /// Value given.
        given: String,
        /// Reason.
        why: String,
    },
    /// `sort` on a text.
    #[error("sort is {}; this text has no rows to sort", shortened(.0))]
    SortOfText(String),
    /// `sort` on an object.
    #[error("sort is {}; only lists can be sorted", shortened(.0))]
    SortOfNoList(String),
    /// `sort` on a list that was not fetched completely.
    #[error("sort is {}; only a complete list can be sorted: {gap}", shortened(.given))]
    SortOfPart {
        /// Value given.
        given: String,
        /// The missing items, in words.
        gap: String,
    },
    /// `maxTokens` is outside the policy's range.
    #[error("maxTokens is {given}; it must be a whole number from {min} to {max}")]
    MaxTokens {
        /// Value given.
        given: String,
        /// Minimum.
        min: usize,
        /// Maximum.
        max: usize,
    },
    /// Two controls that exclude each other.
    #[error("{one} and {other} cannot be combined")]
    Conflict {
        /// First control.
        one: &'static str,
        /// Second control.
        other: &'static str,
    },
    /// A control that is given more than once, with different values.
    #[error("{} is given more than once", shortened(.0))]
    Repeated(String),
    /// A page of a value without pages.
    #[error("a single object has no pages")]
    NoPages,
    /// A page of a result with several parts that have pages: their addresses.
    #[error("pages are those of one part, and this result has {}", .0.len())]
    PartsWithPages(Vec<String>),
    /// A query that is incomplete, or has an argument of the wrong type.
    #[error("{0}")]
    Query(String),
    /// An argument of our own tool that is not a control.
    #[error("unknown argument {}", shortened(.0))]
    UnknownArgument(String),
    /// A control with a value of the wrong type.
    #[error("{name} is {given}; it must be {wants}")]
    Malformed {
        /// Error code of the control.
        code: ErrorCode,
        /// Name of the control.
        name: String,
        /// Value given.
        given: String,
        /// Values that it accepts.
        wants: &'static str,
    },
}

fn page_syntax(name: &str) -> &'static str {
    match name {
        "pages" => "a range of page numbers, such as 1-3",
        _ => "a whole number from 1",
    }
}

/// Returns a name, shortened, in quotes if it would not be visible otherwise.
fn visible_name(name: &str) -> Cow<'_, str> {
    let is_visible = name.trim() == name && !name.is_empty();
    let name = shortened(name);
    if is_visible { name } else { quote(&name).into() }
}

fn joined(names: &[String]) -> String {
    shortened(&names.join(", ")).into_owned()
}

fn nearest_field(nearest: Option<&str>) -> String {
    nearest_text(nearest.map(quote_name).as_deref())
}

/// Returns names as they are written in `fields`.
fn list_items(names: &[String]) -> Vec<String> {
    names.iter().map(|name| quote_name(name).into_owned()).collect()
}

fn gap_text(gap: Option<&str>) -> String {
    gap.map(|gap| format!("; {gap}")).unwrap_or_default()
}

fn nearest_text(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

impl ViewError {
    pub(super) fn offset(given: String) -> Self {
        Self::Offset(given)
    }

    pub(super) fn malformed(name: &str, given: String, wants: &'static str) -> Self {
        let code = match name {
            "cursor" => ErrorCode::CursorInvalid,
            "fields" => ErrorCode::FieldUnknown,
            "section" => ErrorCode::SectionUnknown,
            "path" => ErrorCode::PathUnknown,
            "sort" => ErrorCode::SortInvalid,
            _ => ErrorCode::ControlsConflict,
        };
        Self::Malformed { code, name: name.to_owned(), given, wants }
    }

    /// Returns the code for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Limit { .. } => ErrorCode::LimitInvalid,
            Self::LimitTooLarge { .. } => ErrorCode::LimitTooLarge,
            Self::Page { .. } | Self::NoPages | Self::PartsWithPages(_) => ErrorCode::PageInvalid,
            Self::Offset(_) | Self::BeforeFetched { .. } => ErrorCode::OffsetInvalid,
            Self::Field { .. }
            | Self::RedactedField { .. }
            | Self::Exclusion { .. }
            | Self::TextHasNoFields => ErrorCode::FieldUnknown,
            Self::Path { .. } | Self::NoText(_) => ErrorCode::PathUnknown,
            Self::Section { .. } => ErrorCode::SectionUnknown,
            Self::Range(_) | Self::NoLines | Self::SectionOfQuery { .. } => ErrorCode::RangeInvalid,
            Self::Sort { .. } | Self::SortOfText(_) | Self::SortOfNoList(_) | Self::SortOfPart { .. } => {
                ErrorCode::SortInvalid
            }
            Self::MaxTokens { .. } => ErrorCode::MaxTokensInvalid,
            Self::Query(_) => ErrorCode::QueryInvalid,
            Self::Conflict { .. } | Self::Repeated(_) => ErrorCode::ControlsConflict,
            Self::UnknownArgument(_) => ErrorCode::ArgumentUnknown,
            Self::Malformed { code, .. } => *code,
        }
    }

    /// Returns advice for the next call.
    pub fn advice(&self) -> String {
        match self {
            Self::Limit { max, .. } => format!("set limit from 1 to {max}, or omit it"),
            Self::LimitTooLarge { max, .. } => {
                format!("set limit={max} and follow nextCursor, or use a filter of the call itself")
            }
            Self::Page { .. } => "use page=1 for the start, or follow nextCursor".into(),
            Self::NoPages => "omit page and offset; use section, path or fields".into(),
            Self::PartsWithPages(addresses) => {
                name_sentence("add one of these as path: ", &list_items(addresses), "nextCursor leads through all parts")
            }
            Self::BeforeFetched { .. } => "repeat the original call with this offset and no cursor".into(),
            Self::Offset(_) => "use offset=0 for the start, or follow nextCursor".into(),
            Self::Field { available, .. } => {
                name_sentence("choose from: ", &list_items(available), "fields=all returns every field")
            }
            Self::RedactedField { .. } => "omit it; the operator configures redaction".into(),
            Self::Exclusion { rest, .. } if rest.is_empty() => "fields=all returns every field".into(),
            Self::Exclusion { rest, .. } => format!("set fields={}", list_items(rest).join(",")),
            Self::TextHasNoFields => "omit fields; use startLine/endLine, or a query with find".into(),
            Self::NoText(_) => "read a block with cursor and path alone, or with raw".into(),
            Self::Path { available, .. } => {
                name_sentence("available there: ", available, "omit path to see the whole")
            }
            Self::Section { available, is_text: true, .. } => {
                name_sentence("choose from: ", available, "startLine and endLine select lines")
            }
            Self::Section { available, is_text: false, .. } => {
                name_sentence("choose from: ", available, "path selects any value")
            }
            Self::NoLines => "omit startLine and endLine".into(),
            Self::SectionOfQuery { lines: (first, last), .. } => format!(
                "omit section and add WHERE number BETWEEN {first} AND {last} FROM lines, or WHERE start_line BETWEEN \
                 {first} AND {last}; matches of find have line"
            ),
            Self::Range(_) => "set startLine and endLine within the text; -1 is the last line".into(),
            Self::SortOfPart { .. } => {
                "filter by the arguments of the call, or omit sort; sql with ORDER BY sorts what was fetched"
                    .into()
            }
            Self::SortOfText(_) => "omit sort; use startLine/endLine, or a query with find".into(),
            Self::SortOfNoList(_) => {
                "omit sort; path selects a list inside, and sql with ORDER BY sorts a table".into()
            }
            Self::Sort { .. } => "set sort to a field name; append ` desc` for largest first".into(),
            Self::MaxTokens { min, max, .. } => {
                format!("set maxTokens from {min} to {max}, or omit it")
            }
            Self::Query(_) => "set query to a SELECT over items (or lines, of text), or to a text or /regex/ to find; sql and \
                               find say which it is; with, params, keys and context are optional"
                .into(),
            Self::Conflict { one, other } => format!("use {one} or {other}, not both"),
            Self::Repeated(name) => format!("give {} once", shortened(name)),
            Self::UnknownArgument(_) => format!("omit it; the arguments are {}", CONTROLS.join(", ")),
            Self::Malformed { name, wants, .. } => format!("set {name} to {wants}, or omit it"),
        }
    }
}

/// Returns names as a sentence of at most about 600 characters.
fn name_sentence(before: &str, names: &[String], otherwise: &str) -> String {
    if names.is_empty() {
        return otherwise.to_owned();
    }
    let mut text = before.to_owned();
    for (i, name) in names.iter().enumerate() {
        if text.len() + name.len() > 600 {
            let _ = write!(text, " … and {} more", names.len() - i);
            break;
        }
        if i > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    text.push_str("; ");
    text.push_str(otherwise);
    text
}

#[cfg(test)]
mod tests {
    use portion_text::display::MAX_REPEATED_CHARS;

    use super::ViewError;

    #[test]
    fn a_message_repeats_the_beginning_of_what_was_given() {
        let (given, none) = (|| "é%zz ".repeat(6_000) + "x", Vec::new);
        for error in [
            ViewError::Field { given: given(), nearest: None, available: none() },
            ViewError::RedactedField { given: given() },
            ViewError::Exclusion { excluded: vec![given(), given()], rest: none() },
            ViewError::Path {
                given: given(),
                reached: given().into(),
                missing: given().into(),
                nearest: None,
                available: none(),
                gap: Some("some items".into()),
            },
            ViewError::Section { given: given(), nearest: None, available: none(), is_text: true },
            ViewError::SectionOfQuery { section: given(), lines: (1, 2) },
            ViewError::Sort { given: given(), why: "no item has it".to_owned() },
            ViewError::SortOfText(given()),
            ViewError::SortOfNoList(given()),
            ViewError::SortOfPart { given: given(), gap: "some items".to_owned() },
            ViewError::Repeated(given()),
            ViewError::UnknownArgument(given()),
        ] {
            let (message, advice) = (error.to_string(), error.advice());
            assert!(message.contains("é%zz é%zz") && message.contains('…'), "{message}");
            assert!(message.chars().count() < 4 * MAX_REPEATED_CHARS, "{message}");
            assert!(advice.chars().count() < 2 * MAX_REPEATED_CHARS, "{advice}");
        }
        let short = ViewError::Field { given: "x".repeat(200), nearest: None, available: Vec::new() };
        assert!(short.to_string().ends_with("xxx"), "{short}");
    }
}
