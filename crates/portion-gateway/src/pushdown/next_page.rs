//! Decides what to request after a page, and where a list ends.

use portion_core::payload::UpstreamList;
use portion_json::scan::unescape;
use portion_policy::pushdown::PagingStyle;

use super::list_page::{NextPage, PageFacts};
use super::paged_list::{ListEnd, PagedList, hash_of};
use crate::paged_call::{PageRequest, arguments_of_url};

/// Consecutive pages without new items after which a list has ended.
const MAX_EMPTY_PAGES: usize = 3;

impl PagedList {
    /// Decides what to request after a page with `received` items.
    pub(super) fn advance(&mut self, facts: &PageFacts, received: usize, last_id: Option<String>) {
        // Some upstreams give the size of the page as the total, beside a link to the next page, or on a page that is full.
        let may_go_on = matches!(facts.next, NextPage::Value(_))
            || facts.next == NextPage::Unknown && facts.has_more.is_none() && received >= self.page_size;
        if self.page_count == 1 && may_go_on && facts.has_more != Some(false) && self.total == Some(received)
        {
            self.total = None;
        }
        let is_last = facts.has_more == Some(false)
            || (facts.next == NextPage::End && facts.has_more != Some(true))
            || (self.total.is_some_and(|total| self.received_count >= total) && facts.has_more != Some(true));
        if is_last {
            return self.finish();
        }
        let promises_more =
            facts.has_more == Some(true) || matches!(facts.next, NextPage::Value(_)) || self.total.is_some();
        self.is_end_uncertain = !promises_more && received < self.page_size;
        if received == 0 {
            self.empty_pages += usize::from(self.page_count == 1);
            if !promises_more {
                return self.finish();
            }
            let is_stuck = matches!(self.pushdown.style, PagingStyle::Offset(_) | PagingStyle::AfterId(_));
            if is_stuck || self.empty_pages >= MAX_EMPTY_PAGES {
                return self.stop("the upstream returned an empty page before the end".into());
            }
        }
        let has_way = self.names.page.is_some() || matches!(self.pushdown.style, PagingStyle::Link(_));
        if !has_way {
            self.finish();
            if promises_more || received == self.page_size {
                self.end = Some(ListEnd::Stuck("the tool has no argument for another page".into()));
            }
            return;
        }
        match self.next_request(facts, last_id, received == 0) {
            Ok(Some(next)) => self.next = next,
            Ok(None) => return self.finish(),
            Err(reason) => {
                self.end = Some(ListEnd::Stuck(reason.to_owned()));
                return;
            }
        }
        let limits = (self.max_items, self.pushdown.max_fetch_bytes);
        if self.item_count >= self.pushdown.max_fetch.max(limits.0) {
            self.stop(format!("maxFetch is {}", self.pushdown.max_fetch));
        } else if self.item_count >= limits.0 {
            self.stop("the next call goes on".into());
        } else if self.items.len() >= limits.1 {
            self.stop(format!("maxFetchBytes is {}", limits.1));
        }
    }

    fn next_request(
        &mut self,
        facts: &PageFacts,
        last_id: Option<String>,
        is_empty: bool,
    ) -> Result<Option<PageRequest>, &'static str> {
        let missing =
            || if facts.has_more == Some(true) { Err("the upstream gives no next page") } else { Ok(None) };
        Ok(Some(match &self.pushdown.style {
            PagingStyle::Offset(_) => PageRequest::Number(self.received_count as u64),
            PagingStyle::Page(..) => match self.next {
                PageRequest::Number(page) => PageRequest::Number(page + 1),
                _ => return Err("the number of the page is unknown"),
            },
            PagingStyle::AfterId(_) => match last_id {
                Some(id) => PageRequest::Value(id),
                None => return Err("the items have no id"),
            },
            PagingStyle::Cursor(_) => match &facts.next {
                NextPage::Value(json) => {
                    let value = self.cursor_in(json).unwrap_or_else(|| json.clone());
                    self.unrepeated(json, is_empty, PageRequest::Value(value))?
                }
                _ => return missing(),
            },
            PagingStyle::Link(argument) => match &facts.next {
                NextPage::Value(json) if argument.is_some() => {
                    self.unrepeated(json, is_empty, PageRequest::Value(json.clone()))?
                }
                NextPage::Value(json) => {
                    let arguments = arguments_of_url(&unescape(json), &self.names);
                    if arguments.is_empty() {
                        return Err("the link to the next page has no paging arguments");
                    }
                    self.unrepeated(json, is_empty, PageRequest::Arguments(arguments))?
                }
                _ => return missing(),
            },
        }))
    }

    /// Returns the cursor in the URL of the next page, if that is what an upstream with cursors gives.
    fn cursor_in(&self, json: &str) -> Option<String> {
        let url = Some(unescape(json)).filter(|url| url.contains('?'))?;
        let arguments = arguments_of_url(&url, &self.names).into_iter();
        arguments
            .into_iter()
            .find(|(name, _)| Some(name.as_str()) == self.names.page.as_deref())
            .map(|found| found.1)
    }

    /// Fails if the request was already made. After an empty page it may be made again.
    fn unrepeated(
        &mut self,
        json: &str,
        is_empty: bool,
        request: PageRequest,
    ) -> Result<PageRequest, &'static str> {
        let is_new = self.requested.insert(hash_of(json));
        if is_new || is_empty { Ok(request) } else { Err("the upstream repeats a cursor") }
    }

    /// Ends the list where the upstream says that it ends.
    fn finish(&mut self) {
        let missing = self.total.filter(|total| self.received_count < *total);
        self.end = Some(match missing {
            Some(total) => {
                ListEnd::Stuck(format!("the upstream ended after {} of {total} items", self.received_count))
            }
            None => ListEnd::Complete,
        });
    }

    /// Ends the list where the upstream repeats a page. Many do so after the last page, but promise no more then.
    pub(super) fn end_at_repetition(&mut self, facts: &PageFacts) {
        let promises_more = facts.has_more == Some(true) || matches!(facts.next, NextPage::Value(_));
        let is_all = self.total.is_none_or(|total| self.skipped + self.item_count >= total);
        // Without ids, two pages with equal items are no proof.
        let is_same = self.seen_ids.is_some() || self.total.is_some();
        self.end = Some(if self.productive_pages > 1 && is_all && is_same && !promises_more {
            ListEnd::Complete
        } else {
            ListEnd::Stuck(UpstreamList::SAME_PAGE.to_owned())
        });
    }
}
