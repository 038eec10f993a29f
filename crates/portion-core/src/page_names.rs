//! Names by which a page of a list says what there is beyond it: a total, a next page, or that there is more. They are known by their
//! words, because each API writes them in its own way.
//!
//! ```
//! use portion_core::page_names::{is_total, leads_on, says_more};
//!
//! assert!(is_total("estimated total hits") && !is_total("total pages"));
//! assert!(leads_on("next page token") && !leads_on("next run"));
//! assert!(says_more("more records"));
//! ```

/// Words for a number, of which the name of a total needs one.
const NUMBER_WORDS: &[&str] =
    &["count", "estimated", "found", "matched", "matching", "nb", "num", "total", "totals"];
/// Words for what is counted, and others that such a name may have.
pub(crate) const ITEM_WORDS: &[&str] = &[
    "docs",
    "documents",
    "element",
    "elements",
    "entries",
    "entry",
    "hit",
    "hits",
    "item",
    "items",
    "matches",
    "number",
    "object",
    "objects",
    "odata",
    "of",
    "opensearch",
    "record",
    "records",
    "result",
    "results",
    "row",
    "rows",
    "size",
];
/// Names of a total that consist of other words, or of one.
const TOTAL_NAMES: &[&str] = &["count", "found", "rows before limit at least"];
/// Names of a total that may be a sum of money, or what was found: used only if something else shows that this is a page.
pub(crate) const AMBIGUOUS_TOTAL_NAMES: &[&str] =
    &["hits", "matched", "matches", "total", "total number", "totals"];
/// Words of names of objects with paging information, and those with which such a name ends.
const PAGE_OBJECT_WORDS: &[&str] =
    &["list", "query", "request", "response", "result", "results", "search", "set"];
const PAGE_OBJECT_ENDS: &[&str] = &[
    "cursor",
    "cursors",
    "data",
    "hits",
    "info",
    "links",
    "manifest",
    "meta",
    "metadata",
    "next",
    "page",
    "pager",
    "pagination",
    "paging",
    "total",
];
/// Words of booleans that are true if there is more, and names of those without such a word.
const MORE_WORDS: &[&str] = &["more", "truncated"];
const HAS_MORE_NAMES: &[&str] = &["exceeded transfer limit", "has next", "has next page", "limit reached"];
/// Names of members that lead to the next page, besides those of `next` and words for a place.
const NEXT_NAMES: &[&str] = &[
    "after cursor",
    "after id",
    "continuation",
    "continuation token",
    "continue",
    "cursor",
    "cursor next",
    "end cursor",
    "last evaluated key",
    "more topics url",
    "page token",
];
/// Words that such a name may have beside `next`.
const PLACE_WORDS: &[&str] = &[
    "after",
    "batch",
    "chunk",
    "continuation",
    "cursor",
    "href",
    "index",
    "internal",
    "key",
    "link",
    "mark",
    "marker",
    "odata",
    "offset",
    "page",
    "position",
    "range",
    "records",
    "results",
    "start",
    "token",
    "uri",
    "url",
];

/// Returns true for the name, as words, of an object that holds paging information.
pub fn is_page_object(name: &str) -> bool {
    let words: Vec<&str> = name.split(' ').collect();
    let is = |word: &&str| PAGE_OBJECT_WORDS.contains(word) || PAGE_OBJECT_ENDS.contains(word);
    let ends = match words[..] {
        [.., before, "data"] => before == "meta",
        [.., last] => PAGE_OBJECT_ENDS.contains(&last),
        [] => false,
    };
    ends && words.iter().all(is)
}

/// Returns true for the name of a boolean, as words, that is true if there is more.
pub fn says_more(name: &str) -> bool {
    HAS_MORE_NAMES.contains(&name) || name.split(' ').any(|word| MORE_WORDS.contains(&word))
}

/// Returns true for the name of a member that leads to the next page, as words: `next page token`.
pub fn leads_on(name: &str) -> bool {
    let is_place = |word| word == "next" || PLACE_WORDS.contains(&word);
    NEXT_NAMES.contains(&name) || name.split(' ').any(|word| word == "next") && name.split(' ').all(is_place)
}

/// Returns true for the name of a total, as words, that has no other meaning.
pub fn is_total(name: &str) -> bool {
    is_total_of(name, &[])
}

/// Returns true for the name of a total. `list`: words of the name of the list, of which it may be the total.
pub(crate) fn is_total_of(name: &str, list: &[String]) -> bool {
    let is_number = |word: &str| NUMBER_WORDS.contains(&word);
    let is_item = |word: &str| ITEM_WORDS.contains(&word) || list.iter().any(|own| own == word);
    let words = || name.split(' ');
    TOTAL_NAMES.contains(&name)
        || words().count() > 1
            && words().any(is_number)
            && words().all(|word| is_number(word) || is_item(word))
            && !AMBIGUOUS_TOTAL_NAMES.contains(&name)
}
