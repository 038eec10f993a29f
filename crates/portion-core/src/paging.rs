//! Names of arguments by which tools walk the pages of their results: `page`, `offset`, `limit`, `cursor`,
//! `starting_after`.

use portion_text::name_words;

/// Names of arguments for a cursor, an id, a page, an offset, and a number of items, as words.
pub(crate) const CURSOR_ARGUMENTS: &[&str] = &[
    "after",
    "continuation token",
    "cursor",
    "end cursor",
    "marker",
    "next cursor",
    "next page token",
    "next token",
    "page cursor",
    "page token",
    "start cursor",
    "token",
];
pub(crate) const LAST_ID_ARGUMENTS: &[&str] = &["after id", "last id", "since id", "starting after"];
pub(crate) const PAGE_ARGUMENTS: &[&str] = &["page", "page index", "page no", "page number"];
pub(crate) const OFFSET_ARGUMENTS: &[&str] = &["from", "offset", "skip", "start", "start index"];
pub(crate) const LIMIT_ARGUMENTS: &[&str] =
    &["count", "limit", "max results", "page limit", "page size", "per page", "size", "top"];

/// Returns true if an argument of this name pages the results of a tool.
///
/// ```
/// use portion_core::paging::is_paging_argument;
/// assert!(is_paging_argument("pageToken") && is_paging_argument("starting_after"));
/// assert!(!is_paging_argument("query"));
/// ```
pub fn is_paging_argument(argument: &str) -> bool {
    [CURSOR_ARGUMENTS, LAST_ID_ARGUMENTS, PAGE_ARGUMENTS, OFFSET_ARGUMENTS, LIMIT_ARGUMENTS]
        .iter()
        .any(|names| is_named_like(argument, names))
}

/// Returns true if a name in camel, snake or kebab case is one of `names`.
pub(crate) fn is_named_like(argument: &str, names: &[&str]) -> bool {
    names.contains(&name_words::split_name(argument).join(" ").as_str())
}
