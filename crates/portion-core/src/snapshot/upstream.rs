//! Finds what a payload says of itself as a page of something larger: a total, a next page, a cursor.
//!
//! APIs answer with a page of their own: `{"count": 500, "limit": 100, "offset": 0, "result": […]}`. Only known names near
//! the list count, and only where they say that there is more; what stands in the items is never looked at.

use super::list::List;
use super::object::{Member, Members};
use crate::scan::{Kind, Reader, decoded};
use crate::words;

/// Names of a total that mean nothing else, as their words.
const TOTALS: &[&str] = &[
    "count",
    "found",
    "hits total",
    "nb hits",
    "num found",
    "odata count",
    "records total",
    "result count",
    "row count",
    "total count",
    "total elements",
    "total hits",
    "total items",
    "total matches",
    "total records",
    "total results",
    "total rows",
    "total size",
];
/// Names of a total that may be a sum of money: taken where something else says that this is a page.
const TOTALS_OF_PAGES: &[&str] = &["total", "total number"];
/// Names of objects that tell of a page.
const ABOUT_PAGES: &[&str] = &[
    "cursor",
    "cursors",
    "hits",
    "links",
    "meta",
    "metadata",
    "next",
    "page",
    "page info",
    "page metadata",
    "pager",
    "paging",
    "pagination",
    "response metadata",
    "search metadata",
    "total",
];
/// Names of a yes or no that there is more, and of one that there is no more.
const MORE: &[&str] =
    &["has more", "has next", "has next page", "is truncated", "more", "more available", "truncated"];
const NO_MORE: &[&str] = &["is last", "is last page", "last", "last page"];
/// Names of what leads on: a cursor, a token, a URL, a number.
const NEXT: &[&str] = &[
    "after id",
    "continuation",
    "continuation token",
    "cursor next",
    "end cursor",
    "next",
    "next cursor",
    "next href",
    "next link",
    "next marker",
    "next offset",
    "next page",
    "next page token",
    "next page url",
    "next token",
    "next uri",
    "next url",
    "odata next link",
];
/// Names of the number of this page, of how many pages there are, of where this page begins and of how much it may hold.
const PAGE: &[&str] = &["current page", "page", "page index", "page no", "page number"];
const PAGES: &[&str] = &["last page", "nb pages", "num pages", "page count", "pages", "total pages"];
const OFFSET: &[&str] = &["from", "offset", "skip", "start", "start index"];
const LIMIT: &[&str] =
    &["hits per page", "limit", "max results", "page limit", "page size", "per page", "rows", "top"];
/// Pages that are numbered from 0.
const FROM_ZERO: &[&str] = &["number", "page index"];

/// How deep objects that tell of pages are looked into, from the root, and members of one.
const DEPTH: usize = 6;
const MEMBERS: usize = 64;
/// Characters of what leads on that are told.
const TOLD: usize = 200;

/// What a payload says of the page that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamPage {
    /// How many items the upstream has.
    pub total: Option<u64>,
    /// Whether more follow this page; `None` where that is not said.
    pub more: Option<bool>,
    /// The member that leads on, by its path, and its value as text.
    pub next: Option<(String, String)>,
    /// The number of the next page.
    pub next_page: Option<u64>,
    /// The offset of the next page.
    pub next_offset: Option<u64>,
}

/// What was read of the members around a list.
#[derive(Debug, Default)]
struct Seen {
    totals: Vec<u64>,
    totals_of_pages: Vec<u64>,
    more: Option<bool>,
    next: Option<(String, String)>,
    page: Option<u64>,
    from_zero: bool,
    pages: Option<u64>,
    offset: Option<u64>,
    limit: Option<u64>,
    /// Whether a member is there that only pages have, whatever it says.
    paged: bool,
}

impl List {
    /// What the objects around the list say of a larger whole; `None` where they do not say that there is more than this.
    pub fn upstream_page(&self, text: &str) -> Option<UpstreamPage> {
        let mut seen = Seen::default();
        let mut path = Vec::new();
        for level in &self.levels {
            let beside = level.members.iter().enumerate().filter(|(at, _)| *at != level.inner);
            for (_, member) in beside.take(4 * MEMBERS) {
                seen.member(text, member, &mut path, false);
            }
            if let Some(inner) = level.members.get(level.inner) {
                path.push(decoded(inner.key.of(text)));
            }
        }
        seen.concluded(self.len() as u64)
    }
}

impl Seen {
    /// Takes in a member; `told` says that the object around it tells of pages.
    fn member(&mut self, text: &str, member: &Member, path: &mut Vec<String>, told: bool) {
        let key = decoded(member.key.of(text));
        let name = words::of_name(&key).join(" ");
        let is = |names: &[&str]| names.binary_search(&name.as_str()).is_ok();
        let value = member.value.of(text);
        match member.kind {
            Kind::Object if path.len() < DEPTH && is(ABOUT_PAGES) => {
                self.object(text, member, path, key);
            }
            Kind::Number => {
                let Ok(number) = value.parse::<u64>() else { return };
                if is(TOTALS) || told && name == "value" && path.last().is_some_and(|last| last == "total") {
                    self.totals.push(number);
                } else if is(TOTALS_OF_PAGES) {
                    if told { self.totals.push(number) } else { self.totals_of_pages.push(number) }
                }
                if is(PAGES) {
                    self.pages = Some(number);
                } else if is(PAGE) || told && name == "number" {
                    self.page.get_or_insert(number);
                    self.from_zero |= number == 0 || FROM_ZERO.contains(&name.as_str());
                } else if is(OFFSET) {
                    self.offset.get_or_insert(number);
                } else if is(LIMIT) {
                    self.limit.get_or_insert(number);
                } else if is(NEXT) && number > 0 {
                    self.leads_on(path, &key, value);
                }
            }
            Kind::Bool if is(MORE) => self.more = self.more.or(Some(value == "true")),
            Kind::Bool if is(NO_MORE) => self.more = self.more.or(Some(value == "false")),
            Kind::String => {
                let said = decoded(value);
                let of_next = told && path.last().is_some_and(|last| last == "next");
                let of_next = of_next && matches!(name.as_str(), "href" | "after" | "url" | "cursor");
                if (is(NEXT) || of_next) && !said.trim().is_empty() {
                    self.leads_on(path, &key, &said);
                }
                self.paged |= name == "previous";
            }
            Kind::Null => self.paged |= is(NEXT) || name == "previous",
            _ => {}
        }
    }

    /// Takes in the members of an object that tells of pages.
    fn object(&mut self, text: &str, member: &Member, path: &mut Vec<String>, key: String) {
        let mut reader = Reader::resume(text, member.value.start as usize);
        let Ok(inside) = Members::read(&mut reader) else { return };
        // What holds a list of its own tells of other things.
        let deep = path.len();
        path.push(key);
        if deep < DEPTH && inside.len() <= MEMBERS {
            inside.list.iter().for_each(|member| self.member(text, member, path, true));
        }
        path.pop();
    }

    fn leads_on(&mut self, path: &[String], key: &str, value: &str) {
        let shown: String = value.chars().take(TOLD).collect();
        let shown = if shown.len() < value.len() { format!("{shown}…") } else { shown };
        let name = path.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".");
        self.next.get_or_insert((name, shown));
    }

    /// What follows, given how many items the list has.
    fn concluded(self, items: u64) -> Option<UpstreamPage> {
        let is_page = self.paged
            || self.limit.is_some()
            || self.offset.is_some()
            || self.page.is_some()
            || self.pages.is_some()
            || self.more.is_some()
            || self.next.is_some();
        let totals = self.totals.iter().chain(self.totals_of_pages.iter().filter(|_| is_page));
        let total = totals.copied().filter(|total| *total > items).max();
        // How many pages were before this one's end.
        let page = self.page.map(|page| page + u64::from(self.from_zero));
        let pages = self.pages.or_else(|| Some(total?.div_ceil(self.limit.filter(|limit| *limit > 0)?)));
        let by_page = page.zip(pages).is_some_and(|(page, pages)| page < pages);
        let by_offset =
            self.offset.zip(total).is_some_and(|(begin, total)| begin.saturating_add(items) < total);
        let next = self.next.filter(|_| self.more != Some(false));
        if total.is_none() && next.is_none() && self.more != Some(true) && !by_page {
            return None;
        }
        let more = next.is_some() || self.more == Some(true) || by_page || by_offset;
        let known = self.more.is_some() || self.paged || page.zip(pages).is_some() || self.offset.is_some();
        let on = self.more != Some(false);
        Some(UpstreamPage {
            total,
            more: if known || next.is_some() { Some(more) } else { None },
            next,
            next_page: self.page.filter(|_| on && (by_page || pages.is_none())).map(|page| page + 1),
            next_offset: self.offset.filter(|_| on && by_offset).map(|begin| begin + items),
        })
    }
}
