//! Finds the paging information of a payload that is one page of something larger: a total, a next page,
//! a cursor.
//!
//! APIs answer with pages of their own: `{"count": 500, "limit": 100, "offset": 0, "result": […]}`. Only
//! known names near the list count, and only if they indicate that there is more; the items are never
//! searched.

use portion_json::containers::members;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::list::List;
use super::list_detection::is_identity;
use super::object::{Member, ObjectIndex};
use crate::page_names::{
    AMBIGUOUS_TOTAL_NAMES, ITEM_WORDS, LINK_NAMES, MAYBE_NO_MORE_NAMES, PageRole, ZERO_BASED_NAMES,
    is_number_name, is_page_object, is_total, is_total_of, leads_on, says_more, words,
};
use crate::paging::{links_to_next, related_links};

/// Words of names for numbers, whose sum a total may be.
const SUM_WORDS: &[&str] = &[
    "amount", "balance", "bytes", "cost", "count", "currency", "discount", "duration", "fee", "hours",
    "minutes", "number", "paid", "points", "price", "qty", "quantity", "score", "seconds", "size",
    "subtotal", "sum", "tax", "total", "value", "votes",
];
/// Names of members that only a last page has.
const END_NAMES: &[&str] = &["delta link", "next sync token", "odata delta link", "sync token"];
/// Names of objects and lists with the links of a page, one of which leads to the next page.
const LINK_OBJECT_NAMES: &[&str] = &["link", "links", "paging"];
/// Words in the name of a boolean that is true if something is missing, and ends of names that are false then.
const INCOMPLETE_WORDS: &[&str] = &["incomplete", "limited", "partial", "partially", "timed", "truncated"];
const COMPLETE_ENDS: &[&str] = &["complete", "completed", "exact", "finished"];
/// States of a result that is not there yet, and words of names for what went wrong.
const UNFINISHED_STATES: &[&str] = &["in_progress", "partial", "pending", "processing", "queued", "running"];
const TROUBLE_WORDS: &[&str] = &["error", "errors", "failures", "warning", "warnings"];
/// Start of the names of members about a result of `OData`, as JSON.
const ODATA_START: &str = "\"@odata.";

/// Maximum depth of objects with paging information, from the root, and maximum members of such an
/// object.
const MAX_DEPTH: usize = 6;
const MAX_MEMBERS: usize = 64;
/// Fewest items of a list whose length alone shows that it is a page, and the numbers of which sizes of pages are multiples.
const MIN_ROUND_PAGE: u64 = 20;
const PAGE_SIZE_FACTORS: [u64; 2] = [10, 25];
/// Maximum characters shown of the value that leads to the next page.
const MAX_SHOWN_CHARS: usize = 200;

/// Returns true for a member by which the upstream says that items are missing: `incomplete_results: true`, `jobComplete: false`,
/// `status: "RUNNING"`, `errors`.
fn is_caveat(text: &str, member: &Member) -> bool {
    let name = words_of(text, member);
    let has = |wanted: &[&str]| name.split(' ').any(|word| wanted.contains(&word));
    match (member.kind, member.value.slice(text)) {
        (JsonKind::Bool, "true") => has(INCOMPLETE_WORDS) && PageRole::of(&name, member.kind).is_none(),
        // A number of rows that were cut.
        (JsonKind::Number, value) => name.ends_with(" truncated") && value != "0",
        (JsonKind::Bool, _) => name.rsplit(' ').next().is_some_and(|end| COMPLETE_ENDS.contains(&end)),
        (JsonKind::String, value) if has(&["state", "status"]) => {
            UNFINISHED_STATES.contains(&unescape(value).to_lowercase().as_str())
        }
        // Elasticsearch counts up to 10,000.
        (JsonKind::String, "\"gte\"") if has(&["relation"]) => true,
        (JsonKind::String | JsonKind::Array | JsonKind::Object, value) => {
            has(TROUBLE_WORDS) && value.contains(char::is_alphanumeric)
        }
        _ => false,
    }
}

/// Returns true for an object that leads to other pages: by its name, by what it links to, because it says if there is one, or because
/// it has the numbers of one.
pub(crate) fn leads_inside(name: &str, object: &str) -> bool {
    let roles = || {
        let listed = members(object, Span::new(0, object.len())).take(MAX_MEMBERS);
        listed.filter_map(|member| {
            let name = words(&unescape(member.key.slice(object)));
            PageRole::of(&name, JsonKind::of_value(member.value.slice(object)))
        })
    };
    let has = |wanted: &[PageRole]| roles().any(|role| wanted.contains(&role));
    object.starts_with('{')
        && (is_page_object(name)
            || links_to_next(object).is_some()
            || has(&[PageRole::HasNext])
            || has(&[PageRole::PageCount]) && has(&[PageRole::Next, PageRole::Page])
            || has(&[PageRole::Limit]) && has(&[PageRole::Offset]))
}

/// Returns true for a page of other items beside the list: an object with a list of its own name, as `hits.hits` beside aggregations.
fn is_other_page(text: &str, member: &Member) -> bool {
    member.kind == JsonKind::Object
        && is_page_object(&words_of(text, member))
        && members(text, member.value).any(|inner| {
            inner.key.slice(text) == member.key.slice(text) && inner.value.slice(text).starts_with('[')
        })
}

/// Returns true for a member that only pages have: a total, a next page, an object about the page.
pub(super) fn is_page_fact(text: &str, member: &Member) -> bool {
    let name = words_of(text, member);
    let is = |names: &[&str]| names.binary_search(&name.as_str()).is_ok();
    let is_total = member.kind == JsonKind::Number && (is_total(&name) || is(AMBIGUOUS_TOTAL_NAMES));
    let role = PageRole::of(&name, member.kind);
    is_total || role.is_some_and(PageRole::is_certain) || holds_page_facts(text, member)
}

/// Returns true for an object that holds facts about a page rather than content: it has a boolean that says if there is more,
/// and objects and lists of objects are the smaller part of it.
pub(super) fn holds_page_facts(text: &str, member: &Member) -> bool {
    if member.kind != JsonKind::Object || !is_page_object(&words_of(text, member)) {
        return false;
    }
    let Ok(inside) = ObjectIndex::parse(&mut JsonReader::resume(text, member.value.start as usize)) else {
        return false;
    };
    let says_if_more = |inner: &Member| {
        let role = PageRole::of(&words_of(text, inner), inner.kind);
        matches!(role, Some(PageRole::HasNext | PageRole::IsLast))
    };
    let is_content = |inner: &&Member| match inner.kind {
        JsonKind::Object => true,
        JsonKind::Array => inner.value.slice(text)[1..].trim_start().starts_with(['{', '[']),
        _ => false,
    };
    let content: usize = inside.listed.iter().filter(is_content).map(|inner| inner.value.len()).sum();
    inside.len() <= MAX_MEMBERS && inside.listed.iter().any(says_if_more) && 2 * content < member.value.len()
}

/// Returns true for a number of items that pages usually have.
pub(crate) fn is_round_page(items: u64) -> bool {
    items >= MIN_ROUND_PAGE && PAGE_SIZE_FACTORS.iter().any(|factor| items.is_multiple_of(*factor))
}

/// Returns true for a text that begins with a date: `2026-02-01`.
fn is_date(text: &str) -> bool {
    let shape: String = text.chars().take(10).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00"
}

/// Returns the members of a small object.
fn members_inside(text: &str, member: &Member) -> Vec<Member> {
    let mut reader = JsonReader::resume(text, member.value.start as usize);
    let object = ObjectIndex::parse(&mut reader).ok().filter(|object| object.len() <= MAX_MEMBERS);
    object.map(|object| object.listed).unwrap_or_default()
}

/// Returns the name of a member, as words.
fn words_of(text: &str, member: &Member) -> String {
    words(&unescape(member.key.slice(text)))
}

/// Paging information of a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamPage {
    /// Number of items that the upstream has.
    pub total: Option<u64>,
    /// True if more items follow this page; `None` where that is unknown.
    pub has_more: Option<bool>,
    /// Member that leads to the next page: its path, and its value as text.
    pub next_member: Option<(String, String)>,
    /// Number of the next page.
    pub next_page: Option<u64>,
    /// Name of the member with the offset of this page, and the offset of the next page.
    pub next_offset: Option<(String, u64)>,
}

/// Values read from the members around a list.
#[derive(Debug, Default)]
struct PageFields {
    totals: Vec<u64>,
    totals_of_pages: Vec<u64>,
    /// Numbers that are called total: those of a page are not.
    named_totals: Vec<u64>,
    has_more: Option<bool>,
    next_member: Option<(String, String)>,
    page_number: Option<u64>,
    is_zero_based: bool,
    /// A `number` beside the list: that of the page if other members tell how many there are.
    plain_number: Option<u64>,
    page_count: Option<u64>,
    offset: Option<(String, u64)>,
    limit: Option<u64>,
    /// Number of items after this page.
    remaining: Option<u64>,
    /// True if a member says that something is done: the list, where another member has its total.
    is_done: bool,
    /// True if a member exists that only pages have, whatever its value.
    has_page_marker: bool,
    /// True if a member counts the items that were returned, of all that there are.
    counts_returned: bool,
    /// True if the call shows that the list is a page.
    is_called_by_page: bool,
    /// Words of the name of the list.
    list_words: Vec<String>,
    /// True if a total beside the list may be the sum of what the items have.
    may_be_sum: bool,
}

impl List {
    /// Returns true if the upstream has a member that leads to the next page, and leaves it out at the end, as `OData` has it.
    pub fn leaves_out_end(&self, text: &str) -> bool {
        let outermost = self.enclosing_objects.first();
        outermost.is_some_and(|outermost| {
            outermost.members.iter().any(|member| member.key.slice(text).starts_with(ODATA_START))
        })
    }

    /// Returns true if a member beside the list may say that the page is the last one, and none leads to the next page: what is
    /// served of it cannot say that more follows.
    pub fn says_end(&self, text: &str) -> bool {
        let inside = |member: &Member| {
            let leads = leads_inside(&words_of(text, member), member.value.slice(text));
            if leads { members_inside(text, member) } else { Vec::new() }
        };
        let role = |member: &Member| PageRole::of(&words_of(text, member), member.kind);
        let ends = |member: &Member| match role(member) {
            Some(PageRole::IsLast) => member.value.slice(text) == "true",
            Some(PageRole::HasNext) => member.value.slice(text) == "false",
            // A number of a page cannot lead to a part of one.
            Some(PageRole::Next) => member.kind == JsonKind::Null && is_number_name(&words_of(text, member)),
            _ => {
                let name = words_of(text, member);
                let has_links = || match member.kind {
                    JsonKind::Object => true,
                    _ => !related_links(member.value.slice(text)).is_empty(),
                };
                END_NAMES.contains(&&*name)
                    || LINK_OBJECT_NAMES.contains(&&*name) && has_links()
                    || links_to_next(member.value.slice(text)) == Some(false)
            }
        };
        let leads = |member: &Member| {
            role(member) == Some(PageRole::Next) && !ends(member)
                || related_links(member.value.slice(text)).iter().any(|link| link.relation == "next")
        };
        let all = |test: &dyn Fn(&Member) -> bool| {
            self.members_beside().any(|member| test(member) || inside(member).iter().any(test))
        };
        all(&ends) && !all(&leads)
    }

    /// Returns what the members beside the list, and in objects beside it, say against its completeness: names and values.
    pub fn caveats(&self, text: &str) -> Vec<String> {
        let shown = |member: &Member| {
            let value = member.value.slice(text);
            let shown = &value[..value.floor_char_boundary(MAX_SHOWN_CHARS)];
            let more = if shown.len() < value.len() { "…" } else { "" };
            format!("{}: {}{more}", unescape(member.key.slice(text)), shown.trim_matches('"'))
        };
        let found = self.members_beside().flat_map(|member| match member.kind {
            _ if is_caveat(text, member) => vec![shown(member)],
            JsonKind::Object => members_inside(text, member)
                .iter()
                .filter(|inner| is_caveat(text, inner))
                .map(shown)
                .collect(),
            _ => Vec::new(),
        });
        found.collect()
    }

    /// Yields the members beside the list, and those beside each object around it.
    fn members_beside(&self) -> impl Iterator<Item = &Member> {
        let levels = self.enclosing_objects.iter().map(|level| (level.list_member, &level.members));
        let beside =
            levels.flat_map(|(own, members)| members.iter().enumerate().filter(move |(at, _)| *at != own));
        beside.map(|(_, member)| member).take(4 * MAX_MEMBERS)
    }

    /// Returns the paging information in the objects around the list; `None` where it shows neither that
    /// there is more nor that this is the last page. `is_page`: true if the call shows that the list is a page.
    pub fn upstream_page(&self, text: &str, is_page: bool) -> Option<UpstreamPage> {
        let list_name = self.enclosing_objects.last().and_then(|level| level.members.get(level.list_member));
        let list_words = list_name.map(|list| words_of(text, list)).unwrap_or_default();
        let is_sum = |words: &str| words.split(' ').any(|word| SUM_WORDS.contains(&word));
        let may_be_sum = !ITEM_WORDS.contains(&&*list_words) && list_words != "data"
            || self.profile.fields.iter().any(|field| is_sum(&words(&field.path)));
        let list_words = list_words.split(' ').map(str::to_owned).collect();
        let mut fields =
            PageFields { is_called_by_page: is_page, list_words, may_be_sum, ..PageFields::default() };
        let mut path = Vec::new();
        for level in &self.enclosing_objects {
            let beside = level.members.iter().enumerate().filter(|(at, _)| *at != level.list_member);
            let beside = beside.map(|(_, member)| member).filter(|member| !is_other_page(text, member));
            let is_record = level.members.iter().any(|member| is_identity(text, member));
            let (outer, has_more) = (std::mem::take(&mut fields.totals_of_pages), fields.has_more);
            for member in beside.take(4 * MAX_MEMBERS) {
                fields.read_member(text, member, &mut path, false);
            }
            // A total of a record is one of its figures, and one beside the page of an object in it is none of that page.
            if is_record && may_be_sum {
                fields.totals_of_pages.clear();
            } else if fields.has_more == has_more || fields.has_more == Some(true) {
                fields.totals_of_pages.extend(outer);
            }
            fields.read_after(text, &level.members);
            if let Some(inner) = level.members.get(level.list_member) {
                path.push(unescape(inner.key.slice(text)));
            }
        }
        fields.into_page(self.len() as u64)
    }
}

impl PageFields {
    /// Reads a member; `in_page_object` is true inside an object that holds paging information.
    fn read_member(&mut self, text: &str, member: &Member, path: &mut Vec<String>, in_page_object: bool) {
        let key = unescape(member.key.slice(text));
        let name = words(&key);
        let role = PageRole::of(&name, member.kind);
        let value = member.value.slice(text);
        match member.kind {
            JsonKind::Object if path.len() < MAX_DEPTH && leads_inside(&name, value) => {
                self.read_object(text, member, path, key);
            }
            // DynamoDB names the last key of a page as an object, and MediaWiki the arguments of the next page, if there are more.
            JsonKind::Object if leads_on(&name) && value.len() > "{}".len() => {
                self.record_next(path, &key, value);
            }
            JsonKind::Number => {
                let Ok(number) = value.parse::<u64>() else { return };
                self.read_total(&name, number, path, in_page_object);
                match role {
                    Some(PageRole::PageCount) => self.page_count = Some(number),
                    Some(PageRole::Page) if name == "number" && !in_page_object => {
                        self.plain_number = Some(number);
                    }
                    Some(PageRole::Page) => {
                        self.page_number.get_or_insert(number);
                        self.is_zero_based |= number == 0 || ZERO_BASED_NAMES.contains(&name.as_str());
                    }
                    Some(PageRole::Offset) => {
                        self.offset.get_or_insert((key, number));
                    }
                    Some(PageRole::Limit) if name != "size" => {
                        self.limit.get_or_insert(number);
                    }
                    Some(PageRole::Remaining) => self.remaining = Some(number),
                    // It says that there may be others.
                    Some(PageRole::Served) => self.counts_returned |= name == "returned",
                    Some(PageRole::Next) if number > 0 => self.record_next(path, &key, value),
                    _ => {}
                }
            }
            // XML has texts only.
            JsonKind::Bool | JsonKind::String if says_more(&name) && !leads_on(&name) => {
                self.has_more = self.has_more.or_else(|| unescape(value).to_lowercase().parse().ok());
            }
            JsonKind::Bool if MAYBE_NO_MORE_NAMES.contains(&&*name) => self.is_done |= value == "true",
            JsonKind::Bool if role == Some(PageRole::IsLast) => {
                self.has_more = self.has_more.or(Some(value == "false"));
            }
            JsonKind::Array => {
                let next = related_links(value).into_iter().find(|link| link.relation == "next");
                if let Some(next) = next {
                    self.record_next(path, &key, &unescape(next.url.slice(value)));
                }
            }
            JsonKind::String => {
                let content = unescape(value);
                // Some APIs write totals as strings.
                if let Ok(number) = content.parse::<u64>() {
                    self.read_total(&name, number, path, in_page_object);
                }
                let of_next = in_page_object && path.last().is_some_and(|last| last == "next");
                let of_next = of_next && LINK_NAMES.contains(&&*name);
                let of_next = of_next || name == "offset" && content.parse::<u64>().is_err();
                // What is next may also be told in words, or be a date.
                let is_told = name == "next" && (content.contains(' ') || is_date(&content));
                if (leads_on(&name) || of_next) && !content.trim().is_empty() && !is_told {
                    self.record_next(path, &key, &content);
                }
                self.has_page_marker |= name == "previous";
            }
            JsonKind::Null => self.has_page_marker |= leads_on(&name) || name == "previous",
            _ => {}
        }
    }

    /// Reads the cursors `after` and `before` beside the list. Where they are dates, they are those of a filter.
    fn read_after(&mut self, text: &str, members: &[Member]) {
        let named = |name: &str| members.iter().find(|member| unescape(member.key.slice(text)) == name);
        if let (Some(after), Some(_)) = (named("after"), named("before")) {
            let value = unescape(after.value.slice(text));
            if after.kind == JsonKind::String && !value.is_empty() && !value.contains(['-', ':', '/', ' ']) {
                self.record_next(&[], "after", &value);
            }
        }
    }

    /// Records a number if its name is that of a total.
    fn read_total(&mut self, name: &str, number: u64, path: &[String], in_page_object: bool) {
        let is_value_of_total =
            in_page_object && name == "value" && path.last().is_some_and(|last| last == "total");
        let is = |names: &[&str]| names.binary_search(&name).is_ok();
        if name.split(' ').any(|word| word == "total") {
            self.named_totals.push(number);
        }
        if is_total_of(name, &self.list_words)
            || is_value_of_total
            || is(AMBIGUOUS_TOTAL_NAMES) && in_page_object
        {
            self.totals.push(number);
        } else if is(AMBIGUOUS_TOTAL_NAMES) {
            self.totals_of_pages.push(number);
        }
    }

    /// Reads the members of an object that holds paging information.
    fn read_object(&mut self, text: &str, member: &Member, path: &mut Vec<String>, key: String) {
        let mut reader = JsonReader::resume(text, member.value.start as usize);
        let Ok(inside) = ObjectIndex::parse(&mut reader) else { return };
        // An object with many members holds other things.
        let deep = path.len();
        path.push(key);
        if deep < MAX_DEPTH && inside.len() <= MAX_MEMBERS {
            inside.listed.iter().for_each(|member| self.read_member(text, member, path, true));
        }
        path.pop();
    }

    fn record_next(&mut self, path: &[String], key: &str, value: &str) {
        let shown: String = value.chars().take(MAX_SHOWN_CHARS).collect();
        let shown = if shown.len() < value.len() { format!("{shown}…") } else { shown };
        let name = path.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".");
        self.next_member.get_or_insert((name, shown));
    }

    /// Computes the next page from the fields; `items` is the length of the list.
    fn into_page(mut self, items: u64) -> Option<UpstreamPage> {
        self.has_more = self.has_more.or((self.is_done && !self.totals.is_empty()).then_some(false));
        if self.page_number.is_none() && (self.has_more.is_some() || self.page_count.is_some()) {
            self.page_number = self.plain_number;
            self.is_zero_based |= self.page_number.is_some();
        }
        let is_page = self.has_page_marker
            || self.counts_returned
            || self.is_called_by_page
            || self.limit.is_some()
            || self.offset.is_some()
            || self.page_number.is_some()
            || self.page_count.is_some()
            || self.has_more.is_some()
            || self.remaining.is_some()
            || self.next_member.is_some()
            || !self.may_be_sum
            || is_round_page(items);
        let remaining = self.remaining.filter(|remaining| *remaining > 0);
        let computed = remaining.map(|remaining| items.saturating_add(remaining));
        let totals =
            self.totals.iter().chain(self.totals_of_pages.iter().filter(|_| is_page)).chain(&computed);
        let total = totals.copied().filter(|total| *total > items).max();
        // Numbers of pages up to the end of this one.
        let page = self.page_number.map(|page| page.saturating_add(u64::from(self.is_zero_based)));
        let pages = self.page_count.or_else(|| Some(total?.div_ceil(self.limit.filter(|limit| *limit > 0)?)));
        let by_page = page.zip(pages).is_some_and(|(page, pages)| page < pages);
        let items_before = self.offset.as_ref().map_or(0, |(_, begin)| *begin);
        let is_all = self.limit.is_some() && self.named_totals.contains(&items_before.saturating_add(items));
        let next_offset = self.offset.map(|(name, begin)| (name, begin.saturating_add(items)));
        let by_offset = next_offset.as_ref().zip(total).is_some_and(|((_, end), total)| *end < total);
        let next = self.next_member.filter(|_| self.has_more != Some(false));
        if total.is_none() && next.is_none() && self.has_more != Some(true) && !by_page {
            let ends = self.has_more == Some(false)
                || is_all && self.page_number.is_none()
                || self.has_page_marker
                || page.zip(pages).is_some_and(|(page, pages)| page >= pages);
            return ends.then(|| UpstreamPage { has_more: Some(false), ..UpstreamPage::default() });
        }
        let more =
            next.is_some() || remaining.is_some() || self.has_more == Some(true) || by_page || by_offset;
        let known = self.has_more.is_some()
            || self.remaining.is_some()
            || self.has_page_marker
            || page.zip(pages).is_some()
            || next_offset.is_some();
        let on = self.has_more != Some(false);
        Some(UpstreamPage {
            total,
            has_more: if known || next.is_some() { Some(more) } else { None },
            next_member: next,
            next_page: self
                .page_number
                .filter(|_| on && (by_page || pages.is_none()))
                .map(|page| page.saturating_add(1)),
            next_offset: next_offset.filter(|_| on && by_offset),
        })
    }
}
