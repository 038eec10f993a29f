//! Names of arguments by which tools walk the pages of their results: `page`, `offset`, `limit`, `cursor`,
//! `starting_after`.

use crate::words;

/// Arguments that take a cursor, a page, an offset, and how many items there are to be, by their words.
pub(crate) const CURSORS: &[&str] = &[
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
pub(crate) const LAST_IDS: &[&str] = &["after id", "last id", "since id", "starting after"];
pub(crate) const PAGES: &[&str] = &["page", "page index", "page no", "page number"];
pub(crate) const OFFSETS: &[&str] = &["from", "offset", "skip", "start", "start index"];
pub(crate) const LIMITS: &[&str] =
    &["count", "limit", "max results", "page limit", "page size", "per page", "size", "top"];

/// Whether an argument of this name walks the pages of a tool.
///
/// ```
/// use portion_core::paging::walks_pages;
/// assert!(walks_pages("pageToken") && walks_pages("starting_after"));
/// assert!(!walks_pages("query"));
/// ```
pub fn walks_pages(argument: &str) -> bool {
    [CURSORS, LAST_IDS, PAGES, OFFSETS, LIMITS].iter().any(|names| is_one_of(argument, names))
}

/// Whether a name is one of those, in camel, snake or kebab case.
pub(crate) fn is_one_of(argument: &str, names: &[&str]) -> bool {
    names.contains(&words::of_name(argument).join(" ").as_str())
}
