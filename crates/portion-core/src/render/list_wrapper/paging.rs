//! Rewrites the members beside a list that say which page of it the upstream sent: they say which page is served.
//!
//! A member is one of these by its name and the type of its value, which it keeps; without a next page, what leads to it is
//! null, or left out as HAL has it. Members with the name of a number (`limit`, `from`) count only where another member shows
//! that the list is paged.

use std::collections::HashMap;

use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;

use crate::cursor::{CursorTarget, CursorToken, PartOffset, Position, SnapshotId, stand_in};
use crate::page_names::{LINK_NAMES, PageRole, ZERO_BASED_NAMES, has_word, is_number_name, is_total, words};
use crate::paging::{PagingRole, RELATIONS, related_links};
use crate::payload::UpstreamList;
use crate::render::context::{FollowUpCall, split_address};
use crate::render::rendering::RenderTarget;
use crate::snapshot::{List, Member, ObjectIndex, OrderedList, leads_inside};

/// Largest object, in bytes, that is searched for such members.
const MAX_OBJECT_BYTES: usize = 8 << 10;
/// Largest string, in bytes, that is read as a number.
const MAX_NUMBER_BYTES: usize = 24;
/// Levels of objects with such members: `links.next.href`.
const MAX_DEPTH: usize = 3;
/// Words in names of members whose value is a cursor, and no URL.
const CURSOR_WORDS: [&str; 6] = ["cursor", "token", "marker", "continuation", "after", "key"];

/// The page of a list that a reply serves.
#[derive(Clone, Copy)]
pub(in crate::render) struct ServedPage<'a> {
    target: &'a RenderTarget<'a>,
    /// Index of the first item in the payload.
    item: usize,
    /// Index of the first item in the list of the upstream, if all of that is served; otherwise in its page.
    first: u64,
    /// Number of served items.
    served: u64,
    /// Number of items of a page.
    size: u64,
    /// Number of items of the upstream's list, if it is known.
    total: Option<u64>,
    /// Number of items of the payload.
    fetched: u64,
    /// Number of items of the payload after the served ones.
    rest: u64,
    /// True if a further reply continues the list.
    has_next: bool,
    /// True if all pages of the upstream are served as one list. Otherwise, the list is a part of one of them.
    is_whole_list: bool,
    /// True if the upstream returns no further items for what selects a page: its own next page may have some.
    is_stuck: bool,
    /// True if links have the most expensive cursors, because the page is not settled.
    is_draft: bool,
}

/// Form of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkForm {
    /// `https://host/path?cursor=…`
    Url,
    /// `/path?cursor=…`
    RelativeUrl,
    /// A cursor.
    Cursor,
}

/// A member that states a fact about a page.
struct PagingMember {
    role: PageRole,
    /// Its name, as words.
    name: String,
    /// Level and index of the member of an enclosing object that is or contains it.
    place: (usize, usize),
    /// Its value.
    value: Span,
    /// The value with its name, or the item of a list of links.
    whole: Span,
    /// The links in its value, if that is an object.
    links: Vec<Span>,
    /// True in an object with facts about the page.
    is_inside: bool,
}

/// Returns the members of the enclosing objects that are rewritten, by level and index, with their values.
pub(in crate::render) fn rewritten_members(
    rows: OrderedList<'_>,
    page: &ServedPage<'_>,
) -> HashMap<(usize, usize), String> {
    let mut found = Vec::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate().filter(|(at, _)| *at != level.list_member) {
            find_members(rows, member, (depth, at), 0, &mut found);
        }
    }
    let is_paged = found.iter().any(|member| member.role.is_certain())
        || found.iter().any(|member| member.role != found[0].role);
    let totals = totals_beside(rows);
    // A page that says that it has all items is the whole list.
    let is_whole = totals.iter().any(|(_, total)| *total == page.fetched)
        && found.iter().all(|member| member.fits_only_page(rows));
    let page = &ServedPage {
        is_whole_list: page.is_whole_list || is_whole,
        total: page.total.or(is_whole.then_some(page.fetched)),
        ..*page
    };
    let mut edits: HashMap<(usize, usize), Vec<(Span, String)>> = HashMap::new();
    let is_page = |member: &PagingMember| match member.role {
        PageRole::Page => page.is_whole_list,
        PageRole::IsLast => totals.iter().any(|(is_certain, _)| *is_certain),
        _ => false,
    };
    for member in found.iter().filter(|member| is_paged || member.is_inside || is_page(member)) {
        edits.entry(member.place).or_default().extend(page.edits_of(rows, member, &found));
    }
    let whole = |(depth, at): (usize, usize)| rows.list.enclosing_objects[depth].members[at].value;
    edits.retain(|_, edits| !edits.is_empty());
    edits
        .into_iter()
        .map(|(place, edits)| (place, spliced(rows.slice(whole(place)), whole(place), edits)))
        .collect()
}

/// Returns the totals that the members of the enclosing objects state, each with true if its name has no other meaning.
fn totals_beside(rows: OrderedList<'_>) -> Vec<(bool, u64)> {
    let members = rows.list.enclosing_objects.iter().flat_map(|level| &level.members);
    let total = |member: &Member| {
        let name = words(&unescape(rows.slice(member.key)));
        let is_certain = is_total(&name);
        let is_one = member.kind == JsonKind::Number && (is_certain || name == "total");
        is_one.then(|| Some((is_certain, rows.slice(member.value).parse().ok()?)))?
    };
    members.filter_map(total).collect()
}

/// Returns true if a member beside the list leads to another page.
pub(in crate::render) fn leads_to_page(rows: OrderedList<'_>, member: &Member) -> bool {
    let mut found = Vec::new();
    find_members(rows, member, (0, 0), 0, &mut found);
    found.iter().any(|member| member.role.is_link())
}

/// Returns the member that leads to the next page, with a comma before it, where the upstream has left it out at the end of its
/// own page.
pub(in crate::render) fn added_member(rows: OrderedList<'_>, page: &ServedPage<'_>) -> Option<String> {
    let place = page.place_of(PageRole::Next)?;
    let is_http = matches!(page.target.read_call, FollowUpCall::Http(_));
    let (name, form) = match page.name_of_next() {
        Some(name) => (name, LinkForm::Cursor),
        None if is_http && rows.list.leaves_out_end(rows.text) => ("@odata.nextLink", LinkForm::Url),
        None => return None,
    };
    let is_missing = rows.list.upstream_page(rows.text, true).is_none_or(|page| page.next_member.is_none());
    let link = page.link_to(Some(place).filter(|_| is_missing)?, form)?;
    Some(format!(",{}:{}", quote(name), quote(&link)))
}

/// Returns a text with the whole list in it and its paging members rewritten.
pub(in crate::render) fn rewritten_text(rows: OrderedList<'_>, page: &ServedPage<'_>) -> String {
    let members = rewritten_members(rows, page).into_iter();
    let edits =
        members.map(|((depth, at), json)| (rows.list.enclosing_objects[depth].members[at].value, json));
    spliced(rows.text, Span::new(0, rows.text.len()), edits.collect())
}

/// Replaces spans of a text that begins at the start of `whole`.
fn spliced(text: &str, whole: Span, mut edits: Vec<(Span, String)>) -> String {
    edits.sort_unstable_by_key(|(span, _)| span.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    let keep = |kept: &str, out: &mut String| {
        // What stood before a comma may be left out.
        let is_first = out.trim_end().ends_with(['{', '[']);
        out.push_str(if is_first { kept.trim_start().strip_prefix(',').unwrap_or(kept) } else { kept });
    };
    for (span, json) in edits {
        let (start, end) = ((span.start - whole.start) as usize, (span.end - whole.start) as usize);
        keep(&text[at..start.max(at)], &mut out);
        out.push_str(&json);
        at = end;
    }
    keep(&text[at..], &mut out);
    out
}

/// Finds what a member, or an object with facts about the page, states. Recursion is bounded by [`MAX_DEPTH`].
fn find_members(
    rows: OrderedList<'_>,
    member: &Member,
    place: (usize, usize),
    depth: usize,
    found: &mut Vec<PagingMember>,
) {
    let name = words(&unescape(rows.slice(member.key)));
    // Some APIs write numbers as strings.
    let is_number = member.kind == JsonKind::String
        && member.value.len() <= MAX_NUMBER_BYTES
        && unescape(rows.slice(member.value)).parse::<u64>().is_ok();
    let role = match PageRole::of(&name, if is_number { JsonKind::Number } else { member.kind }) {
        None if depth > 0 && name == "after" => Some(PageRole::Next),
        None if depth > 0 && name == "before" => Some(PageRole::Previous),
        role => role,
    };
    let inner = || {
        if member.kind != JsonKind::Object || member.value.len() > MAX_OBJECT_BYTES {
            return Vec::new();
        }
        // Only the object is read: the rest of a stored text may not be loaded.
        let (object, start) = (rows.slice(member.value), member.value.start as usize);
        let members = ObjectIndex::parse(&mut JsonReader::new(object)).map(|object| object.listed);
        let place = |inner: Member| Member {
            key: inner.key.shifted_by(start),
            value: inner.value.shifted_by(start),
            ..inner
        };
        members.unwrap_or_default().into_iter().map(place).collect::<Vec<_>>()
    };
    if member.kind == JsonKind::Array && member.value.len() <= MAX_OBJECT_BYTES {
        for link in related_links(rows.slice(member.value)) {
            let [value, whole] =
                [link.url, link.whole].map(|span| span.shifted_by(member.value.start as usize));
            if let Some(role) = PageRole::of(&link.relation, JsonKind::String) {
                let (name, links) = (link.relation, vec![value]);
                found.push(PagingMember { role, name, place, value, whole, links, is_inside: true });
            }
        }
    }
    if let Some(role) = role {
        // The arguments of the next page, whatever their names: `{"continue": {"gapcontinue": "…", "continue": "…"}}`.
        let is_link = |inner: &&Member| match inner.kind {
            JsonKind::Object | JsonKind::Array => false,
            _ => name == "continue" || LINK_NAMES.contains(&&*unescape(rows.slice(inner.key))),
        };
        let links: Vec<Span> = inner().iter().filter(is_link).map(|link| link.value).collect();
        if member.kind != JsonKind::Object || !links.is_empty() {
            let (value, is_inside) = (member.value, depth > 0);
            let whole = Span { start: member.key.start, end: value.end };
            return found.push(PagingMember { role, name, place, value, whole, links, is_inside });
        }
    }
    if depth < MAX_DEPTH
        && member.value.len() <= MAX_OBJECT_BYTES
        && leads_inside(&name, rows.slice(member.value))
    {
        inner().iter().for_each(|member| find_members(rows, member, place, depth + 1, found));
    }
}

impl<'a> ServedPage<'a> {
    /// Describes the page of `served` items that begins at an item. `size`: the items of each page. Returns `None` if the
    /// payload says itself what is served: it is a page of the upstream, and served whole.
    pub(in crate::render) fn new(
        target: &'a RenderTarget<'a>,
        list: &List,
        item: usize,
        (served, size): (usize, usize),
    ) -> Option<Self> {
        let len = list.len();
        let rest = len.saturating_sub(item + served);
        let fetched = target.upstream_list.filter(|fetched| fetched.fetched == len);
        let is_part = item > 0 || rest > 0;
        if target.is_answer || fetched.is_none() && !is_part {
            return None;
        }
        Some(Self {
            target,
            item,
            first: (item + fetched.map_or(0, |fetched| fetched.skipped)) as u64,
            served: served as u64,
            size: size as u64,
            total: fetched.and_then(UpstreamList::total_count).map(|total| total as u64),
            fetched: len as u64,
            rest: rest as u64,
            has_next: rest > 0 || served > 0 && fetched.is_some_and(|fetched| fetched.is_partial),
            is_whole_list: fetched.is_some(),
            is_stuck: fetched.is_some_and(UpstreamList::is_stuck),
            is_draft: false,
        })
    }

    /// Returns a page whose links cost as much as those of any page of its size.
    pub(in crate::render) fn draft(self) -> Self {
        Self { is_draft: true, ..self }
    }

    /// Returns the cursors that members may have.
    pub(in crate::render) fn cursors(&self) -> Vec<CursorToken> {
        let roles = [PageRole::Next, PageRole::Previous, PageRole::First, PageRole::Last];
        roles.into_iter().filter_map(|role| self.cursor_at(self.place_of(role)?)).collect()
    }

    /// Returns the new values of a member, with their spans; none if it stays.
    fn edits_of(
        &self,
        rows: OrderedList<'_>,
        member: &PagingMember,
        all: &[PagingMember],
    ) -> Vec<(Span, String)> {
        let own = rows.slice(member.value);
        let is_link = member.role.is_link();
        if is_link && !member.is_number(own) {
            return self.links_of(rows, member, all);
        }
        let value = if is_link {
            self.number_of_link(member, own, all)
        } else {
            self.value_of(rows, member, own, all)
        };
        let Some(value) = value else { return Vec::new() };
        let json = if own.starts_with('"') { quote(&value) } else { value };
        vec![(member.value, json)]
    }

    /// Returns the new value of a number or a boolean, or `None` if it stays.
    fn value_of(
        &self,
        rows: OrderedList<'_>,
        member: &PagingMember,
        own: &str,
        all: &[PagingMember],
    ) -> Option<String> {
        let is_known = self.is_whole_list || self.has_next;
        let flag = match member.role {
            PageRole::HasNext => is_known.then_some(self.has_next),
            PageRole::IsLast => is_known.then_some(!self.has_next),
            PageRole::HasPrevious => self.is_whole_list.then_some(self.first > 0),
            PageRole::IsFirst => self.is_whole_list.then_some(self.first == 0),
            _ => None,
        };
        if let Some(flag) = flag {
            return Some(flag.to_string());
        }
        let number = unescape(own).parse::<u64>().ok()?;
        let value = match member.role {
            PageRole::Limit if self.served > 0 && (self.has_next || !self.is_whole_list) => self.served,
            PageRole::Served if self.is_whole_list && !member.has_word(&["count"]) => self.served,
            PageRole::Served => {
                let stated = || rows.list.upstream_page(rows.text, true)?.total;
                let total = if self.is_whole_list { self.total } else { stated() };
                self.served.min(total.filter(|total| number < *total)?)
            }
            PageRole::Offset if self.is_whole_list => self.first + self.base_of(number)?,
            PageRole::Offset => self.first + number,
            PageRole::Remaining if !self.is_whole_list => number + self.rest,
            // A page of the upstream keeps its number while it is served in parts.
            _ if !self.is_whole_list => return None,
            PageRole::Page => self.page_number(rows, all)?,
            // Without a total, the pages of the upstream have at most as many items as were fetched.
            PageRole::PageCount => {
                let most = || number.saturating_mul(self.fetched);
                self.total.unwrap_or_else(most).div_ceil(self.size_of_pages()?)
            }
            PageRole::End if self.total.is_some_and(|total| number <= total) => self.first + self.served,
            PageRole::Limit => self.size,
            PageRole::Remaining => self.total?.saturating_sub(self.first + self.served),
            _ => return None,
        };
        Some(value.to_string())
    }

    /// Returns the number from which the upstream counts items, given the index of the first item of its page; `None` for
    /// another number.
    fn base_of(&self, number: u64) -> Option<u64> {
        let skipped = self.first - self.item as u64;
        [0, skipped]
            .contains(&number)
            .then_some(0)
            .or_else(|| [1, skipped + 1].contains(&number).then_some(1))
    }

    fn page_number(&self, rows: OrderedList<'_>, all: &[PagingMember]) -> Option<u64> {
        let counts_from_zero = all.iter().any(|member| member.counts_from_zero(rows));
        Some(self.first / self.size_of_pages()? + u64::from(!counts_from_zero))
    }

    /// Returns the number of items of each page, of which an upstream may have fewer than were asked for. `None`: the upstream's own
    /// numbers stay, because pages of this size do not begin here.
    fn size_of_pages(&self) -> Option<u64> {
        let goes_on = self.total.is_none_or(|total| self.first + self.served < total);
        let size = if goes_on && self.served > 0 { self.served.min(self.size) } else { self.size };
        Some(size.max(1)).filter(|size| self.is_draft || self.first.is_multiple_of(*size))
    }

    /// Returns the number of another page, or of its first item, or `None` if it stays.
    fn number_of_link(&self, member: &PagingMember, own: &str, all: &[PagingMember]) -> Option<String> {
        let is_next = member.role == PageRole::Next;
        let is_there = if is_next { self.has_next } else { self.first > 0 };
        let is_page = member.has_word(&["page"])
            || !member.has_word(&["offset"]) && all.iter().any(|other| other.role == PageRole::Page);
        let value = match (is_page, self.is_whole_list) {
            (false, false) if is_next && self.has_next && member.has_word(&["offset"]) => {
                unescape(own).parse::<u64>().ok()?.saturating_sub(self.rest)
            }
            (_, false) => return None,
            _ if !is_there && is_next && self.is_stuck => return None,
            _ if !is_there => return Some("null".to_owned()),
            (false, true) if is_next => self.first + self.served,
            (false, true) => self.first.saturating_sub(self.size),
            (true, true) if is_next => self.first / self.size.max(1) + 2,
            (true, true) => self.first / self.size.max(1),
        };
        Some(value.to_string())
    }

    /// Returns the links of a member to another page, in the form of its own ones.
    fn links_of(
        &self,
        rows: OrderedList<'_>,
        member: &PagingMember,
        all: &[PagingMember],
    ) -> Vec<(Span, String)> {
        // The items before a list that was fetched from an offset are on the API's own pages.
        let leads_before = matches!(member.role, PageRole::Previous | PageRole::First)
            && self.first > self.item as u64
            && (self.item == 0 || member.role == PageRole::First);
        let leads_on = self.is_stuck && member.role == PageRole::Next && !self.has_next;
        if leads_before || leads_on || !(self.is_whole_list || member.role == PageRole::Next && self.has_next)
        {
            return Vec::new();
        }
        let spans = if member.links.is_empty() { vec![member.value] } else { member.links.clone() };
        let link = |span: Span| {
            let link = self.link_to(self.place_of(member.role)?, member.link_form(rows.slice(span)))?;
            Some((span, quote(&link)))
        };
        let links: Option<Vec<_>> = spans.into_iter().map(link).collect();
        let nothing = || {
            if !member.is_left_out(rows, all) {
                return (member.value, "null".to_owned());
            }
            let before = rows.text[..member.whole.start as usize].trim_end();
            let comma = if before.ends_with(',') { before.len() - 1 } else { before.len() };
            (Span { start: comma as u32, ..member.whole }, String::new())
        };
        links.unwrap_or_else(|| if self.is_whole_list { vec![nothing()] } else { Vec::new() })
    }

    /// Returns the first item of the page that a member leads to, as an index in the payload, if there is such a page.
    fn place_of(&self, role: PageRole) -> Option<u64> {
        let (item, skipped) = (self.item as u64, self.first - self.item as u64);
        match role {
            PageRole::Next => self.has_next.then_some(item + self.served),
            PageRole::Previous => (item > 0).then(|| item.saturating_sub(self.size)),
            PageRole::First => Some(0),
            _ => (self.total?.checked_sub(1)? / self.size.max(1) * self.size).checked_sub(skipped),
        }
    }

    fn has_cursor_argument(&self) -> bool {
        self.target.paging_arguments.iter().any(|argument| argument.role() == Some(PagingRole::Cursor))
    }

    /// Returns the name of the member with the next value of an argument for a token: `nextPageToken`.
    fn name_of_next(&self) -> Option<&'static str> {
        self.target.paging_arguments.iter().find_map(|argument| match argument.name.as_str() {
            "pageToken" => Some("nextPageToken"),
            "page_token" => Some("next_page_token"),
            _ => None,
        })
    }

    fn cursor_at(&self, item: u64) -> Option<CursorToken> {
        let target = self.target;
        let (part, ordinal) = (target.part_index as u16, target.portion_index.saturating_add(1));
        let position = Position { part, ordinal, offset: PartOffset::Item(u32::try_from(item).ok()?) };
        let cursor = (target.issue_cursor)(position)?;
        let any = CursorTarget { snapshot: SnapshotId::default(), view: target.view.id(), position };
        Some(if self.is_draft { stand_in(&any) } else { cursor })
    }

    /// Returns the link to the page that begins at an item of the payload.
    fn link_to(&self, item: u64, form: LinkForm) -> Option<String> {
        let cursor = self.cursor_at(item)?;
        match (self.target.read_call, form) {
            (FollowUpCall::Http(_), LinkForm::Cursor) => Some(cursor.as_str().to_owned()),
            (FollowUpCall::Http(address), form) => {
                let (origin, path) = split_address(address);
                let origin = if form == LinkForm::Url { origin } else { "" };
                Some(format!("{origin}{path}?cursor={}", cursor.as_str()))
            }
            // A tool takes a cursor of the gateway where that pages for it, and in its own argument for a cursor.
            (FollowUpCall::Tool(_), _) => {
                let takes_cursor = self.is_whole_list || self.has_cursor_argument();
                takes_cursor.then(|| cursor.as_str().to_owned())
            }
        }
    }
}

impl PagingMember {
    /// Returns true if it may stand beside all items of a list.
    fn fits_only_page(&self, rows: OrderedList<'_>) -> bool {
        let value = rows.slice(self.value);
        match self.role {
            PageRole::Next => matches!(value, "null" | "\"\""),
            PageRole::HasNext => value == "false",
            PageRole::IsLast => value == "true",
            PageRole::Offset => value == "0",
            PageRole::Page | PageRole::PageCount => matches!(value, "0" | "1"),
            _ => true,
        }
    }

    fn has_word(&self, words: &[&str]) -> bool {
        has_word(&self.name, words)
    }

    /// Returns true if a member leads to another page by its number, or that of an item.
    fn is_number(&self, value: &str) -> bool {
        match JsonKind::of_value(value) {
            JsonKind::Number => !self.has_word(&CURSOR_WORDS),
            JsonKind::Null => is_number_name(&self.name),
            _ => false,
        }
    }

    /// Returns true for a link beside others, none of which is null, by its relation: the API leaves out what leads nowhere.
    fn is_left_out(&self, rows: OrderedList<'_>, all: &[PagingMember]) -> bool {
        let beside = || all.iter().filter(|other| other.place == self.place && other.role.is_link());
        self.is_inside
            && RELATIONS.contains(&&*self.name)
            && (!self.links.is_empty() || beside().count() > 1)
            && beside().all(|other| rows.slice(other.value) != "null")
    }

    /// Returns the form of a link. One that is null is a URL if its name does not say otherwise.
    fn link_form(&self, link: &str) -> LinkForm {
        match &*unescape(link) {
            url if url.contains("://") => LinkForm::Url,
            path if path.starts_with(['/', '?']) => LinkForm::RelativeUrl,
            "null" if !self.has_word(&CURSOR_WORDS) => LinkForm::Url,
            _ => LinkForm::Cursor,
        }
    }

    /// Returns true for the number of a page that counts pages from 0.
    fn counts_from_zero(&self, rows: OrderedList<'_>) -> bool {
        let number = || rows.slice(self.value).trim_matches('"') == "0";
        self.role == PageRole::Page && (ZERO_BASED_NAMES.contains(&&*self.name) || number())
    }
}
