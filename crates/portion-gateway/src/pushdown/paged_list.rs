//! Joins the pages of a list and decides what to request next.
//!
//! The items keep their bytes. They are put into the first page in place of its own items, so the joined list has the
//! form of the upstream's result.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use portion_core::payload::{Block, Content, Payload, UpstreamList};
use portion_json::scan::JsonKind;
use portion_json::span::Span;
use portion_policy::pushdown::{PagingStyle, Pushdown};
use serde_json::{Value, json};

use super::carrier::{Carrier, FoundPage, has_item_blocks};
use super::list_page::{ListPage, value_at};
use super::need::Need;
use super::stated::by_argument;
use crate::paged_call::{FirstPage, PageRequest, PagedCall, PagingNames};

/// A list that grows page by page.
#[derive(Debug, Default)]
pub(crate) struct PagedList {
    pub(super) pushdown: Arc<Pushdown>,
    pub(super) names: PagingNames,
    /// Arguments without those for paging.
    base_arguments: String,
    /// Name of the server, if there are several.
    upstream: Option<Arc<str>>,
    /// The first page.
    first_page: Payload,
    /// Path of the list in the first page; `None` if its JSON is in a string.
    pub(super) path: Option<Arc<str>>,
    /// Places of the list in the first page.
    carriers: Vec<Carrier>,
    /// True if the upstream gave each item a text block of its own, besides `structuredContent`.
    has_item_blocks: bool,
    /// Items as JSON, separated by commas.
    pub(super) items: String,
    pub(super) item_count: usize,
    /// Hash of each id, with that of its last item unless that was redacted; `None` if the items have no unique ids.
    pub(super) seen_ids: Option<HashMap<u64, Option<u64>>>,
    /// Items of the upstream's list before the first fetched one.
    pub(super) skipped: usize,
    /// Items of the first page, if the first reply shows no others.
    pub(super) opening_count: Option<usize>,
    /// Items received, duplicates included, and items skipped.
    pub(super) received_count: usize,
    pub(super) total: Option<usize>,
    has_changed: bool,
    pub(super) next: PageRequest,
    pub(super) end: Option<ListEnd>,
    /// Consecutive pages without new items.
    pub(super) empty_pages: usize,
    last_page_hash: Option<u64>,
    /// Hashes of requested cursors and links.
    pub(super) requested: HashSet<u64>,
    pub(super) page_count: usize,
    /// Pages with new items.
    pub(super) productive_pages: usize,
    /// Number of items that further pages are asked for.
    pub(super) page_size: usize,
    /// Most items that are fetched.
    pub(super) max_items: usize,
    /// True if pages are fetched that no reply needs yet.
    fetches_ahead: bool,
    /// True if the end of the list is known only once another page was requested.
    pub(super) is_end_uncertain: bool,
}

/// Reason why no further page is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListEnd {
    /// All items were fetched.
    Complete,
    /// Fetching stopped, for this reason. Another attempt may get further.
    Stopped(String),
    /// The upstream gives no way to the next page, for this reason.
    Stuck(String),
}

impl PagedCall {
    /// Returns true if a result of the tool has the list.
    pub fn finds_list(&self, result: &Payload) -> bool {
        FoundPage::find_primary(result, &self.pushdown).is_some()
    }
}

impl PagedList {
    /// Begins with the first page. Returns `None` if it has no list.
    pub(crate) fn begin(call: &PagedCall, upstream: Option<Arc<str>>, page: Payload) -> Option<Self> {
        let (pushdown, names) = (Arc::clone(&call.pushdown), call.names.clone());
        let (mut list, found) = Self::with_items(pushdown, names, call.arguments.clone(), page)?;
        list.upstream = upstream;
        let last_id = list.last_id(&found);
        list.last_page_hash = Some(hash_of(&found.text));
        let facts = found.page.facts.with_link(list.first_page.next_link());
        list.total = facts.total;
        let received = list.received_count;
        let mut first = PageRequest::first(&list.pushdown);
        match &call.first {
            FirstPage::Chosen { start, size } => {
                (list.skipped, list.page_size) = (*start, *size);
                let is_filled = matches!(list.pushdown.style, PagingStyle::Page(..));
                list.opening_count = list.opening_count.filter(|_| !is_filled);
            }
            FirstPage::Own(own) => {
                let (skipped, pages) =
                    own.place(received, (facts.total, facts.page_count), facts.goes_on())?;
                if let PageRequest::Number(number) = &mut first {
                    *number += pages;
                }
                list.skipped = skipped;
                list.page_size = own.page_size(skipped, received);
                list.names.limit = list.names.limit.take().filter(|_| own.size.is_some());
                (list.fetches_ahead, list.max_items) = (false, list.item_count);
            }
            FirstPage::Plain { size } => {
                list.page_size = *size;
                (list.fetches_ahead, list.max_items) = (false, list.item_count);
            }
        }
        list.next = first;
        list.opening_count = list.opening_count.filter(|_| list.skipped == 0);
        list.received_count += list.skipped;
        // Some upstreams repeat a page after the end.
        if list.skipped > 0 && facts.total.is_some_and(|total| total <= list.skipped) {
            list.items.clear();
            list.item_count = 0;
            list.end = Some(ListEnd::Complete);
        } else {
            list.advance(&facts, received, last_id);
        }
        Some(list)
    }

    /// Returns the paging of a list that was fetched in part without any configuration.
    pub(crate) fn stated_pushdown(state: &str) -> Option<Arc<Pushdown>> {
        let state: Value = serde_json::from_str(state).ok()?;
        state["names"][1].as_str().and_then(by_argument).map(Arc::new)
    }

    /// Continues with a list that was fetched in part. `state`: its
    /// [`continuation`](UpstreamList::continuation). `is_redacted`: true if its items are not as the upstream wrote them. Returns
    /// `None` for a list of another server.
    pub(crate) fn resume(
        pushdown: Arc<Pushdown>,
        upstream: Option<Arc<str>>,
        (fetched, is_redacted): (Payload, bool),
        (state, opening_count): (&str, Option<usize>),
        need: Need,
    ) -> Option<Self> {
        let state: Value = serde_json::from_str(state).ok()?;
        if state["upstream"].as_str() != upstream.as_deref() {
            return None;
        }
        let number = |key: &str| state[key].as_u64();
        let name = |at: usize| state["names"][at].as_str().map(Arc::from);
        let names = PagingNames { limit: name(0), page: name(1) };
        // The caller may have selected the page in another way than the paging of the tool.
        let pushdown = match &names.page {
            Some(offset) if state["by_offset"] == true => pushdown.by_offset(offset),
            _ => pushdown,
        };
        let base = state["arguments"].as_str()?.to_owned();
        let (mut list, _) = Self::with_items(pushdown, names, base, fetched)?;
        list.next = match &state["next"] {
            Value::Number(next) => PageRequest::Number(next.as_u64()?),
            Value::String(json) => PageRequest::Value(json.clone()),
            Value::Object(arguments) => {
                let pair = |(name, json): (&String, &Value)| Some((name.clone(), json.as_str()?.to_owned()));
                PageRequest::Arguments(arguments.iter().filter_map(pair).collect())
            }
            _ => return None,
        };
        list.upstream = upstream;
        list.opening_count = opening_count;
        list.received_count = number("received")? as usize;
        list.skipped = number("skipped")? as usize;
        list.total = number("total").map(|total| total as usize);
        list.has_changed = state["changed"].as_bool()?;
        (list.page_count, list.productive_pages) = (1, 2);
        list.last_page_hash = number("last");
        if is_redacted {
            list.seen_ids.iter_mut().flat_map(HashMap::values_mut).for_each(|hash| *hash = None);
        }
        list.page_size = number("size")? as usize;
        list.fetches_ahead = state["ahead"].as_bool()?;
        let ahead = if list.fetches_ahead || need == Need::All { list.max_items } else { 0 };
        let needed = if let Need::Items(items) = need { items } else { 0 };
        list.max_items = needed.max(ahead).max(list.item_count.saturating_add(1));
        Some(list)
    }

    fn with_items(
        pushdown: Arc<Pushdown>,
        names: PagingNames,
        base_arguments: String,
        page: Payload,
    ) -> Option<(Self, FoundPage)> {
        let mut all = FoundPage::find_all(&page, &pushdown);
        let primary = FoundPage::primary_index(&all)?;
        let carriers = Carrier::find_all(&page, &all, &all[primary]);
        let path = FoundPage::list_path(&all, &carriers);
        let found = all.swap_remove(primary);
        let (max_items, page_size) = (pushdown.max_fetch, pushdown.page_size);
        let has_item_blocks = has_item_blocks(&page, &carriers, found.page.items.len());
        let mut list = Self {
            pushdown,
            names,
            base_arguments,
            first_page: page,
            path,
            carriers,
            has_item_blocks,
            seen_ids: Some(HashMap::new()),
            opening_count: Some(found.page.items.len()),
            page_size,
            max_items,
            fetches_ahead: true,
            ..Self::default()
        };
        list.add_items(&found.text, &found.page);
        Some((list, found))
    }

    /// Directs the fetch at the items that a request wants, if they lie beyond what is fetched ahead. Where the upstream takes
    /// an offset or the number of a page, the page with the first of these items is requested next; other lists are fetched
    /// up to the last of them.
    pub(crate) fn extend_to(&mut self, wanted: &Range<usize>) {
        if matches!(self.end, Some(ListEnd::Complete | ListEnd::Stuck(_))) {
            return;
        }
        let (page_rows, item_bytes) = (self.item_count, self.items.len() / self.item_count.max(1));
        let within_bytes = self.pushdown.max_fetch_bytes / item_bytes.max(1);
        let is_beyond = wanted.end > self.pushdown.max_fetch.min(within_bytes) && wanted.start >= page_rows
            || self.pushdown.is_far(wanted.start, page_rows);
        if self.skipped == 0 && is_beyond && page_rows > 0 && self.skip_to(wanted, page_rows) {
            return;
        }
        self.max_items = self.max_items.max(wanted.end.saturating_sub(self.skipped));
        if self.item_count < self.max_items && self.items.len() < self.pushdown.max_fetch_bytes {
            self.end = None;
        }
    }

    /// Replaces the first page, of `page_rows` items, by the one that has the first wanted item. Returns false if the upstream
    /// has no way to it.
    fn skip_to(&mut self, wanted: &Range<usize>, page_rows: usize) -> bool {
        let PageRequest::Number(second) = self.next else { return false };
        let (skipped, next) = match &self.pushdown.style {
            PagingStyle::Page(..) => {
                let pages = wanted.start / page_rows;
                (pages * page_rows, (second - 1).saturating_add(pages as u64))
            }
            _ => (wanted.start, wanted.start as u64),
        };
        self.items.clear();
        self.item_count = 0;
        self.seen_ids = Some(HashMap::new());
        self.is_end_uncertain = false;
        if self.total.is_some_and(|total| total <= wanted.start) {
            (self.skipped, self.received_count) = (wanted.start, wanted.start);
            self.end = Some(ListEnd::Complete);
            return true;
        }
        (self.skipped, self.received_count) = (skipped, skipped);
        self.max_items = self.pushdown.max_fetch.max(wanted.end - skipped);
        self.next = PageRequest::Number(next);
        self.end = None;
        true
    }

    /// Returns the arguments of the next page, or `None` at the end.
    pub(crate) fn next_arguments(&self) -> Option<String> {
        let request = || self.names.apply(&self.base_arguments, &self.next, self.page_size);
        self.end.is_none().then(request)
    }

    /// Adds a page.
    pub(crate) fn add_page(&mut self, page: &Payload) {
        let Some(mut found) = FoundPage::find_primary(page, &self.pushdown) else {
            return self.stop(format!("page {} has no list", self.page_count + 1));
        };
        let facts = std::mem::take(&mut found.page.facts).with_link(page.next_link());
        self.first_page.lone_surrogate_count += page.lone_surrogate_count;
        self.first_page.structured_surrogate_count += page.structured_surrogate_count;
        self.first_page.invalid_utf8_count += page.invalid_utf8_count;
        let received = found.page.items.len();
        // Without a total so far, the number of the items of a page is none.
        let is_total = |total: &usize| self.total.is_some() || *total != received;
        if let Some(total) = facts.total.filter(is_total) {
            self.has_changed |= self.total.is_some_and(|before| before != total);
            self.total = Some(total);
        }
        let hash = hash_of(&found.text);
        if self.last_page_hash.replace(hash) == Some(hash) && received > 0 {
            return self.end_at_repetition(&facts);
        }
        let added = self.add_items(&found.text, &found.page);
        self.empty_pages = if added == 0 { self.empty_pages + 1 } else { 0 };
        if added < received {
            self.has_changed = true;
            if self.empty_pages >= 2 {
                return self.end_at_repetition(&facts);
            }
        }
        let last_id = self.last_id(&found);
        self.advance(&facts, received, last_id);
    }

    /// Stops fetching for a reason.
    pub(crate) fn stop(&mut self, reason: String) {
        self.end = Some(ListEnd::Stopped(reason));
    }

    /// Returns true if no further page is requested.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Returns true if all items were fetched.
    pub(crate) fn is_complete(&self) -> bool {
        self.end == Some(ListEnd::Complete)
    }

    /// Returns true if the first page may be the only one, and only another request can tell.
    pub(crate) fn is_end_uncertain(&self) -> bool {
        self.end.is_none() && self.is_end_uncertain
    }

    /// Returns the list as a payload in the form of the first page.
    pub(crate) fn to_payload(&self, pending_reason: Option<&str>) -> Payload {
        let mut payload = self.first_page.clone();
        for carrier in &self.carriers {
            let block = &mut payload.blocks[carrier.block];
            if let Content::Text(text) | Content::Structured(text) = &mut block.content {
                *text = carrier.with_items(&self.items);
            }
        }
        if self.has_item_blocks {
            let text = Content::Text(format!("[{}]", self.items));
            payload.blocks.retain(|block| matches!(block.content, Content::Structured(_)));
            payload.blocks.insert(0, Block::new("/content/0/text", text));
        }
        // A short list is not recognized as one by itself.
        if !self.has_item_blocks {
            payload.list_path.clone_from(&self.path);
        }
        payload.upstream_list = Some(Box::new(self.extent(pending_reason)));
        payload.passes_as_bytes = false;
        payload
    }

    fn extent(&self, pending_reason: Option<&str>) -> UpstreamList {
        let stop_reason = match &self.end {
            Some(ListEnd::Stopped(reason) | ListEnd::Stuck(reason)) => Some(reason.clone()),
            Some(ListEnd::Complete) => None,
            None => pending_reason.map(str::to_owned),
        };
        let (is_partial, is_stuck) = (!self.is_complete(), matches!(self.end, Some(ListEnd::Stuck(_))));
        UpstreamList {
            skipped: self.skipped,
            fetched: self.item_count,
            total: self.total,
            is_partial,
            stop_reason,
            has_changed: self.has_changed,
            continuation: if is_partial && !is_stuck { self.continuation() } else { None },
            opening_count: self.opening_count,
        }
    }

    fn continuation(&self) -> Option<String> {
        let next = match &self.next {
            PageRequest::First => return None,
            PageRequest::Number(number) => json!(number),
            PageRequest::Value(value) => json!(value),
            PageRequest::Arguments(arguments) => {
                Value::Object(arguments.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
            }
        };
        let state = json!({
            "next": next,
            "received": self.received_count,
            "skipped": self.skipped,
            "total": self.total,
            "changed": self.has_changed,
            "size": self.page_size,
            "last": self.last_page_hash,
            "ahead": self.fetches_ahead,
            "names": [self.names.limit.as_deref(), self.names.page.as_deref()],
            "by_offset": matches!(self.pushdown.style, PagingStyle::Offset(_)),
            "arguments": self.base_arguments,
            "upstream": self.upstream.as_deref(),
        });
        Some(state.to_string())
    }

    /// Adds the items of a page, without those that are known by their id and are equal. Returns their number.
    fn add_items(&mut self, text: &str, page: &ListPage) -> usize {
        let ids: Option<Vec<u64>> = page.items.iter().map(|item| self.item_id(text, *item)).collect();
        // Equal ids within a page identify something else than the items.
        let ids = ids.filter(|ids| ids.iter().collect::<HashSet<_>>().len() == ids.len());
        if ids.is_none() && !page.items.is_empty() {
            self.seen_ids = None;
        }
        let mut added = 0;
        for (at, item) in page.items.iter().enumerate() {
            let json = item.slice(text);
            if let (Some(seen), Some(ids)) = (&mut self.seen_ids, &ids) {
                let hash = hash_of(json);
                match seen.insert(ids[at], Some(hash)) {
                    Some(known) if known.is_none_or(|known| known == hash) => continue,
                    // It changed between two pages, or the id is not unique: both items are kept.
                    Some(_) => self.has_changed = true,
                    None => {}
                }
            }
            if self.item_count > 0 {
                self.items.push(',');
            }
            self.items.push_str(json);
            self.item_count += 1;
            added += 1;
        }
        self.received_count += page.items.len();
        self.page_count += 1;
        self.productive_pages += usize::from(added > 0);
        added
    }

    fn item_id(&self, text: &str, item: Span) -> Option<u64> {
        let value = value_at(text, item, &self.pushdown.id)?;
        let json = value.slice(text);
        (!JsonKind::of_value(json).is_container() && json != "null").then(|| hash_of(json))
    }

    /// Returns the id of the last item of a page, as JSON.
    fn last_id(&self, found: &FoundPage) -> Option<String> {
        let value = value_at(&found.text, *found.page.items.last()?, &self.pushdown.id)?;
        Some(value.slice(&found.text).to_owned())
    }
}

pub(super) fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
