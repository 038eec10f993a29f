//! Paging that nobody configured. A caller names a page or an offset, and the first page of the upstream has not all items.

use std::sync::Arc;

use portion_core::paging::PagingRole;
use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::view::Request;
use portion_json::scan::unescape;
use portion_policy::pushdown::{ArgumentName, PagingStyle, Pushdown};

use super::{FirstPage, PageRequest, PageSource, PagedCall, PagingNames, arguments_of_url};
use crate::pushdown::{FoundPage, NextPage};

impl PagedCall {
    /// Returns the call of which `page` is the first page, if the list may go on, and true if the page proves that `argument`
    /// selects its pages. Without a proof, the [second page](Self::second_arguments) has to be another one.
    pub fn of_first_page(
        page: &Payload,
        argument: &str,
        (tool, arguments): (&str, String),
        source: Arc<dyn PageSource>,
    ) -> Option<(Self, bool)> {
        let mut pushdown = by_argument(argument)?;
        let found = FoundPage::find_primary(page, &pushdown)?.page;
        let (size, facts) = (found.items.len(), found.facts.with_link(page.next_link()));
        let has_all = || facts.total.is_some_and(|total| total <= size);
        if size == 0 || !facts.goes_on().unwrap_or_else(|| !has_all()) {
            return None;
        }
        let names = PagingNames { limit: None, page: Some(argument.into()) };
        let next = match &facts.next {
            NextPage::Value(json) => Some(number_in(json, &names)?),
            _ => None,
        };
        if let PagingStyle::Page(_, start) = &mut pushdown.style {
            let first = next.map_or(facts.position.unwrap_or(1), |next| next.saturating_sub(1));
            *start = first.min(1);
        }
        // What is needed is fetched, and nothing ahead.
        pushdown.max_fetch = size;
        let is_proven = (next.is_some() || facts.position.is_some())
            && (facts.goes_on().is_some() || facts.total.is_some());
        let (tool, pushdown) = (tool.to_owned(), Arc::new(pushdown));
        let call = Self { tool, arguments, pushdown, names, source, first: FirstPage::Plain { size } };
        Some((call, is_proven))
    }

    /// Returns the arguments of the page after a first one without paging arguments.
    pub fn second_arguments(&self) -> String {
        let second = match (&self.pushdown.style, &self.first) {
            (PagingStyle::Page(_, start), _) => start + 1,
            (_, FirstPage::Plain { size }) => *size as u64,
            _ => 0,
        };
        self.names.apply(&self.arguments, &PageRequest::Number(second), 0)
    }

    /// Returns true if a request wants items that the first page does not have.
    pub fn lacks_items(&self, request: &Request, policy: &Policy) -> bool {
        let size =
            request.limit.map_or_else(|| self.page_size(policy).unwrap_or_default(), |limit| limit) as usize;
        let pages = request.page_count.unwrap_or(1) as usize;
        let end = request.first_item(size).unwrap_or_default().saturating_add(size.saturating_mul(pages));
        matches!(self.first, FirstPage::Plain { size } if end > size)
    }

    /// Returns the size of the pages of requests that name none: the usual one, or that of the upstream if it is smaller.
    pub fn page_size(&self, policy: &Policy) -> Option<u32> {
        let FirstPage::Plain { size } = self.first else { return None };
        u32::try_from(size.min(policy.default_page_size)).ok()
    }

    /// Returns true if a result is another page than the first one.
    pub fn is_another_page(&self, first: &Payload, second: &Payload) -> bool {
        let items = |page: &Payload| {
            let found = FoundPage::find_primary(page, &self.pushdown).filter(|_| !page.is_error)?;
            (!found.page.items.is_empty()).then(|| found.page.list.slice(&found.text).to_owned())
        };
        items(second).is_some_and(|second| items(first) != Some(second))
    }
}

/// Returns the paging by an argument that has the number of a page or an offset. Its name tells which of them.
pub(crate) fn by_argument(name: &str) -> Option<Pushdown> {
    let named = ArgumentName::Named(name.into());
    let style = match PagingRole::of(name)? {
        PagingRole::Page => PagingStyle::Page(named, 1),
        PagingRole::Offset => PagingStyle::Offset(named),
        _ => return None,
    };
    Some(Pushdown { style, ..Pushdown::default() })
}

/// Returns the number by which a member leads to the next page: its value, or that of the argument in its URL.
fn number_in(json: &str, names: &PagingNames) -> Option<u64> {
    let text = unescape(json);
    text.parse().ok().or_else(|| {
        let arguments = arguments_of_url(&text, names);
        arguments.iter().find(|(name, _)| names.page.as_deref() == Some(name))?.1.parse().ok()
    })
}
