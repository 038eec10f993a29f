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

use portion_json::scan::JsonKind;
use portion_text::names::split_name;

/// Members of an object that leads to a page, one of which has the link.
pub const LINK_NAMES: &[&str] = &["after", "cursor", "href", "url", "link", "token"];

/// Fact about a page that a member beside its list states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRole {
    /// A link, a cursor or a number that leads to the next page.
    Next,
    /// The same for the previous page.
    Previous,
    /// The same for the first page.
    First,
    /// The same for the last page.
    Last,
    /// A boolean that is true if there is a next page.
    HasNext,
    /// A boolean that is true if there is none.
    IsLast,
    /// A boolean that is true if there is a previous page.
    HasPrevious,
    /// A boolean that is true if there is none.
    IsFirst,
    /// The number of the page.
    Page,
    /// The number of all pages.
    PageCount,
    /// The index of the first item.
    Offset,
    /// The index of the last item.
    End,
    /// The maximum number of items.
    Limit,
    /// The number of items, where another member states the total.
    Served,
    /// The number of items after the page.
    Remaining,
}

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
/// Names of booleans that are true if there is no more.
const NO_MORE_NAMES: &[&str] = &["is last", "is last page", "last", "last page"];
/// Names of booleans that may say the same, or that something else is done.
pub(crate) const MAYBE_NO_MORE_NAMES: &[&str] =
    &["complete", "completed", "done", "finished", "is complete", "is done", "is end", "is finished"];
/// Names of the number of this page, of the number of pages, of the offset of this page, and of its
/// maximum size.
const PAGE_NUMBER_NAMES: &[&str] = &["current page", "page", "page index", "page no", "page number"];
const PAGE_COUNT_NAMES: &[&str] =
    &["last page", "max num pages", "nb pages", "num pages", "page count", "pages", "total pages"];
const OFFSET_NAMES: &[&str] = &["from", "offset", "skip", "start", "start at", "start index"];
const LIMIT_NAMES: &[&str] =
    &["hits per page", "limit", "max results", "page limit", "page size", "per page", "rows", "top"];
/// Names of the number of items after this page.
const REMAINING_NAMES: &[&str] =
    &["remaining count", "remaining item count", "remaining items", "remaining records", "remaining results"];
/// Names of the number of items of this page, if they differ from the total.
const SERVED_NAMES: &[&str] =
    &["count", "current item count", "item count", "number of elements", "result count", "returned"];
/// Names of page numbers that count from 0.
pub(crate) const ZERO_BASED_NAMES: &[&str] = &["number", "page index"];

impl PageRole {
    /// Returns the role of a member by its name, as words, and the kind of its value.
    pub fn of(name: &str, kind: JsonKind) -> Option<Self> {
        let is = |names: &[&str]| names.binary_search(&name).is_ok();
        // `previousPageUrl` leads to another page if `nextPageUrl` does.
        let is_like_next = |words: &[&str]| {
            let rest = words.iter().find_map(|word| name.strip_prefix(word));
            rest.is_some_and(|rest| leads_on(&format!("next{rest}")))
        };
        Some(match kind {
            JsonKind::Bool if says_more(name) => Self::HasNext,
            JsonKind::Bool if is(NO_MORE_NAMES) || is(MAYBE_NO_MORE_NAMES) => Self::IsLast,
            JsonKind::Bool if name == "first" || name.starts_with("is first") => Self::IsFirst,
            JsonKind::Bool if name.starts_with("has prev") => Self::HasPrevious,
            JsonKind::Number if is(PAGE_COUNT_NAMES) => Self::PageCount,
            JsonKind::Number if is(PAGE_NUMBER_NAMES) || name == "number" => Self::Page,
            JsonKind::Number if is(OFFSET_NAMES) => Self::Offset,
            JsonKind::Number if name == "to" || name == "end index" => Self::End,
            JsonKind::Number if is(LIMIT_NAMES) || name == "size" => Self::Limit,
            JsonKind::Number if is(REMAINING_NAMES) => Self::Remaining,
            JsonKind::Number if is(SERVED_NAMES) => Self::Served,
            JsonKind::Bool | JsonKind::Array => return None,
            // Airtable continues by an offset that is no number.
            JsonKind::String if name == "offset" => Self::Next,
            _ if leads_on(name) => Self::Next,
            _ if is_like_next(&["previous", "prev"]) => Self::Previous,
            _ if is_like_next(&["first"]) => Self::First,
            _ if is_like_next(&["last"]) => Self::Last,
            _ => return None,
        })
    }

    /// Returns true for a member that leads to a page.
    pub fn is_link(self) -> bool {
        matches!(self, Self::Next | Self::Previous | Self::First | Self::Last)
    }

    /// Returns true if a member of this role stands beside no list that is not paged.
    pub(crate) fn is_certain(self) -> bool {
        matches!(self, Self::Next | Self::Previous | Self::HasNext | Self::PageCount | Self::Remaining)
    }
}

/// Returns the words of a name, as the functions here read it: `nextPageToken` is `next page token`.
pub fn words(name: &str) -> String {
    split_name(name).join(" ")
}

/// Returns true if a name, as words, has one of these.
pub fn has_word(name: &str, words: &[&str]) -> bool {
    name.split(' ').any(|word| words.contains(&word))
}

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
    HAS_MORE_NAMES.contains(&name) || has_word(name, MORE_WORDS)
}

/// Returns true for the name of a member that leads to the next page, as words: `next page token`.
pub fn leads_on(name: &str) -> bool {
    let is_place = |word| word == "next" || PLACE_WORDS.contains(&word);
    NEXT_NAMES.contains(&name) || has_word(name, &["next"]) && name.split(' ').all(is_place)
}

/// Returns true for the name of a member that leads to the next page. `is_inside`: true in an object about the page, where `after`
/// does so too.
pub fn leads_on_in(name: &str, is_inside: bool) -> bool {
    leads_on(name) || is_inside && name == "after"
}

/// Returns true for the name of a total, or of a sum of money: only other facts tell.
pub fn may_be_total(name: &str) -> bool {
    name == "total" || is_total(name)
}

/// Returns true for the name of a total, as words, that is not the number of items of a page.
pub fn is_called_total(name: &str) -> bool {
    may_be_total(name) && has_word(name, &["total", "found"])
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

/// Returns true for the name of a member that leads to a page by a number, as words.
pub(crate) fn is_number_name(name: &str) -> bool {
    has_word(name, &["page", "offset"]) && !has_word(name, &["url", "link", "href", "token"])
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_sorted() {
        let tables = [
            super::NO_MORE_NAMES,
            super::MAYBE_NO_MORE_NAMES,
            super::REMAINING_NAMES,
            super::PAGE_NUMBER_NAMES,
            super::PAGE_COUNT_NAMES,
            super::OFFSET_NAMES,
            super::LIMIT_NAMES,
            super::SERVED_NAMES,
        ];
        for names in tables {
            assert!(names.is_sorted(), "{names:?}");
        }
    }
}
