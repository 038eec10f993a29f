//! Arguments by which tools walk the pages of their results: `page`, `offset`, `limit`, `cursor`, `starting_after`.

use portion_json::containers::{items, members};
use portion_json::scan::unescape;
use portion_json::span::Span;
use portion_text::names;

use crate::cursor::CursorToken;

/// Names of arguments for a cursor, an id, a page, an offset, and a number of items, as words.
const CURSOR_NAMES: &[&str] = &[
    "after",
    "continuation token",
    "cursor",
    "cursor mark",
    "end cursor",
    "marker",
    "next cursor",
    "next page token",
    "next token",
    "page cursor",
    "page token",
    "pagination token",
    "start cursor",
    "token",
];
const LAST_ID_NAMES: &[&str] = &["after id", "last id", "since id", "starting after"];
const PAGE_NAMES: &[&str] = &["page", "page index", "page no", "page number"];
const OFFSET_NAMES: &[&str] = &["from", "offset", "skip", "start", "start at", "start index"];
const LIMIT_NAMES: &[&str] = &[
    "count",
    "hits per page",
    "limit",
    "max items",
    "max results",
    "page limit",
    "page size",
    "per page",
    "size",
    "take",
    "top",
];

/// Relations of a page to others, of which a link object has some.
pub(crate) const RELATIONS: [&str; 5] = ["next", "prev", "previous", "first", "last"];

/// Maximum bytes of a list of links.
const MAX_LINKS_BYTES: usize = 4 << 10;

/// What an argument selects from the results of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingRole {
    /// The page after a cursor.
    Cursor,
    /// The items after an id.
    LastId,
    /// A page by its number.
    Page,
    /// The items from an index on.
    Offset,
    /// The number of items.
    Limit,
}

/// An argument by which a tool pages its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagingArgument {
    /// Name of the argument.
    pub name: String,
    /// Value in the call.
    pub value: ArgumentValue,
    /// Value of a call without the argument, if the schema of the tool names it.
    pub default: Option<u64>,
}

/// The value of an argument in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArgumentValue {
    /// The call does not have the argument.
    #[default]
    Absent,
    /// Whole number.
    Number(u64),
    /// Offset that the gateway computed from a number of a page.
    Translated(u64),
    /// Anything else.
    Other,
}

/// Items, or bytes of a text, that the page before a page by number did not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnshownRange {
    /// Index of the first item; `None` in a text.
    pub offset: Option<usize>,
    /// Number of items or bytes.
    pub count: usize,
    /// Cursor to the first of them.
    pub cursor: Option<CursorToken>,
}

/// Returns true if an argument of this name pages the results of a tool.
///
/// ```
/// use portion_core::paging::is_paging_argument;
/// assert!(is_paging_argument("pageToken") && is_paging_argument("starting_after"));
/// assert!(!is_paging_argument("query"));
/// ```
pub fn is_paging_argument(argument: &str) -> bool {
    PagingRole::of(argument).is_some()
}

impl PagingRole {
    /// Returns the role of an argument by its name, in camel, snake or kebab case.
    ///
    /// ```
    /// use portion_core::paging::PagingRole;
    /// assert_eq!(PagingRole::of("per_page"), Some(PagingRole::Limit));
    /// assert_eq!(PagingRole::of("query"), None);
    /// ```
    pub fn of(argument: &str) -> Option<Self> {
        let words = names::split_name(argument).join(" ");
        let roles = [
            (Self::Cursor, CURSOR_NAMES),
            (Self::LastId, LAST_ID_NAMES),
            (Self::Page, PAGE_NAMES),
            (Self::Offset, OFFSET_NAMES),
            (Self::Limit, LIMIT_NAMES),
        ];
        let named = roles.into_iter().find(|(_, names)| names.contains(&words.as_str()));
        // MediaWiki: `gapcontinue`, `cmcontinue`, one for each kind of list.
        named.map(|(role, _)| role).or_else(|| words.ends_with("continue").then_some(Self::Cursor))
    }
}

impl PagingArgument {
    /// Creates an argument that the call does not have.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), value: ArgumentValue::Absent, default: None }
    }

    /// Returns what the argument selects.
    pub fn role(&self) -> Option<PagingRole> {
        PagingRole::of(&self.name)
    }

    /// Returns the number that applies to the call, if it is known.
    pub fn number(&self) -> Option<u64> {
        match self.value {
            ArgumentValue::Number(number) | ArgumentValue::Translated(number) => Some(number),
            ArgumentValue::Absent => self.default,
            ArgumentValue::Other => None,
        }
    }

    /// Returns true if the call has a number of this argument.
    pub fn is_given(&self) -> bool {
        matches!(self.value, ArgumentValue::Number(_) | ArgumentValue::Translated(_))
    }
}

/// Returns true if an object of links to the pages beside this one, whatever its name, has one to the next page. Returns `None`
/// for another value.
///
/// ```
/// use portion_core::paging::links_to_next;
/// assert_eq!(links_to_next(r#"{"next":"/a?page=2","last":"/a?page=3"}"#), Some(true));
/// assert_eq!(links_to_next(r#"{"first":"/a","prev":"/a?page=2"}"#), Some(false));
/// assert_eq!(links_to_next(r#"{"next":"/a?page=2","id":7}"#), None);
/// assert_eq!(links_to_next(r#"{"first":"Ada","last":"Lovelace"}"#), None);
/// ```
pub fn links_to_next(object: &str) -> Option<bool> {
    let mut found = None;
    for member in members(object, Span::new(0, object.len())) {
        match &*unescape(member.key.slice(object)) {
            "next" => found = Some(true),
            "prev" | "previous" => found = found.or(Some(false)),
            name if RELATIONS.contains(&name) || matches!(name, "self" | "current") => {}
            _ => return None,
        }
    }
    found
}

/// A link in a list of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedLink {
    /// Relation of its target: `next`.
    pub relation: String,
    /// The target, a JSON string.
    pub url: Span,
    /// The object with the link.
    pub whole: Span,
}

/// Returns the links of a list of them, by their relations: `[{"relation": "next", "url": "…"}]`, as FHIR and HAL have it.
///
/// ```
/// use portion_core::paging::related_links;
/// let list = r#"[{"relation":"self","url":"/a"},{"rel":"next","href":"/b"},{"url":"/c"},7]"#;
/// let found = related_links(list);
/// let shown: Vec<_> = found.iter().map(|link| (&*link.relation, link.url.slice(list))).collect();
/// assert_eq!(shown, [("self", "\"/a\""), ("next", "\"/b\"")]);
/// ```
pub fn related_links(list: &str) -> Vec<RelatedLink> {
    if !list.starts_with('[') || list.len() > MAX_LINKS_BYTES {
        return Vec::new();
    }
    let link = |item: Span| {
        let value = |names: [&str; 2]| {
            let mut members = members(list, item);
            members
                .find(|member| names.contains(&&*unescape(member.key.slice(list))))
                .map(|found| found.value)
        };
        let (relation, url) = (value(["relation", "rel"])?, value(["url", "href"])?);
        Some(RelatedLink { relation: unescape(relation.slice(list)), url, whole: item })
    };
    items(list, Span::new(0, list.len())).filter_map(link).collect()
}

/// Returns true if some argument selects a page, so that a result is a page.
pub(crate) fn selects_pages(arguments: &[PagingArgument]) -> bool {
    arguments.iter().any(|argument| argument.role().is_some_and(|role| role != PagingRole::Limit))
}

/// Returns the number of items that a call asks for, if it is known.
pub fn requested_count(arguments: &[PagingArgument]) -> Option<u64> {
    let limit = |argument: &&PagingArgument| argument.role() == Some(PagingRole::Limit);
    arguments.iter().filter(limit).find_map(PagingArgument::number).filter(|count| *count > 0)
}
