//! Paging that nobody configured. The first page of the upstream has not all items, and a caller names a page or an offset, or the
//! page links to the next one by such an argument.

use std::sync::Arc;

use portion_core::paging::PagingRole;
use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::view::Request;
use portion_json::scan::unescape;
use portion_policy::pushdown::{ArgumentName, PagingStyle, Pushdown};

use super::carrier::FoundPage;
use super::list_page::NextPage;
use crate::paged_call::{FirstPage, PageRequest, PageSource, PagedCall, PagingNames, arguments_of_url};

impl PagedCall {
    /// Returns the call of which `page` is the first page, if the list may go on, and true if the page proves that the argument
    /// selects its pages. Without a proof, the [second page](Self::second_arguments) has to be another one. `argument`: the
    /// argument by which the caller selects pages; `None`: that of what leads to the next page. `leads_here` returns true for a
    /// URL of the same list.
    pub fn of_first_page(
        page: &Payload,
        argument: Option<&str>,
        (tool, arguments): (&str, String),
        source: Arc<dyn PageSource>,
        leads_here: impl Fn(&str) -> bool,
    ) -> Option<(Self, bool)> {
        let found = FoundPage::find_primary(page, &argument.and_then(by_argument).unwrap_or_default())?.page;
        let (size, facts) = (found.items.len(), found.facts.with_link(page.next_link()));
        // A text with digits is a number by the name of its member only: else it is a cursor.
        let is_digits = |json: &str| json.starts_with('"') && unescape(json).parse::<u64>().is_ok();
        let is_text = matches!(&facts.next, NextPage::Value(json) if is_digits(json));
        let argument = facts.next_argument.or(argument.filter(|_| !is_text));
        let has_all = || facts.total.is_some_and(|total| total <= size) || facts.page_count == Some(1);
        if size == 0 || !facts.goes_on().unwrap_or_else(|| !has_all()) {
            return None;
        }
        let (argument, next) = match &facts.next {
            NextPage::Value(json) => {
                let next = unescape(json);
                let found = next_of(&next, argument, &leads_here);
                let (argument, next) = found.or_else(|| next_of(&next, None, &leads_here))?;
                (argument, Some(next))
            }
            _ => (argument?.to_owned(), None),
        };
        let mut pushdown = by_argument(&argument)?;
        if let PagingStyle::Page(_, start) = &mut pushdown.style {
            let first = next.map_or(facts.position.unwrap_or(1), |next| next.saturating_sub(1));
            *start = first.min(1);
        }
        // What is needed is fetched, and nothing ahead.
        pushdown.max_fetch = size;
        let counts_pages = facts.page_count.is_some() && matches!(pushdown.style, PagingStyle::Page(..));
        let is_proven = counts_pages
            || (next.is_some() || facts.position.is_some())
                && (facts.goes_on().is_some() || facts.total.is_some());
        let call = Self {
            tool: tool.to_owned(),
            arguments,
            pushdown: Arc::new(pushdown),
            names: PagingNames { limit: None, page: Some(argument.into()) },
            source,
            first: FirstPage::Plain { size },
            own: None,
        };
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
        let size = request.limit.or(self.page_size(policy)).unwrap_or_default() as usize;
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
        items_of(second, &self.pushdown)
            .is_some_and(|second| items_of(first, &self.pushdown).as_ref() != Some(&second))
    }

    /// Returns true if the list of a result begins with the item with which the list of another begins.
    pub(crate) fn begins_like(&self, first: &Payload, other: &Payload) -> bool {
        let first_item = |page: &Payload| {
            let found = FoundPage::find_primary(page, &self.pushdown)?;
            found.page.items.first().map(|item| item.slice(&found.text).to_owned())
        };
        let item = first_item(first);
        item.is_some() && item == first_item(other)
    }

    /// Returns the items of the list of a result, as written; `None` if there are none.
    pub fn list_items(result: &Payload) -> Option<String> {
        items_of(result, &Pushdown::default())
    }

    /// Returns true if a result says that its list is one page of several.
    pub fn is_one_of_several(result: &Payload) -> bool {
        FoundPage::find_primary(result, &Pushdown::default()).is_some_and(|found| {
            let facts = found.page.facts.with_link(result.next_link());
            facts.goes_on().unwrap_or_else(|| facts.total.is_some_and(|total| total > found.page.items.len()))
        })
    }

    /// Returns the number of items of the list of a result, if it has one.
    pub fn item_count(result: &Payload) -> Option<usize> {
        FoundPage::find_primary(result, &Pushdown::default()).map(|found| found.page.items.len())
    }
}

fn items_of(page: &Payload, pushdown: &Pushdown) -> Option<String> {
    let found = FoundPage::find_primary(page, pushdown).filter(|_| !page.is_error)?;
    (!found.page.items.is_empty()).then(|| found.page.list.slice(&found.text).to_owned())
}

/// Returns the paging by an argument that has the number of a page or an offset. Its name tells which of them.
pub(super) fn by_argument(name: &str) -> Option<Pushdown> {
    let named = ArgumentName::Named(name.into());
    let style = match PagingRole::of(name)? {
        PagingRole::Page => PagingStyle::Page(named, 1),
        PagingRole::Offset => PagingStyle::Offset(named),
        _ => return None,
    };
    Some(Pushdown { style, ..Pushdown::default() })
}

/// Reads what leads to the next page: the number that an argument of the caller has there, or a URL of the same list, in which any
/// such argument is found if the caller names none. Returns the argument and its number.
fn next_of(next: &str, argument: Option<&str>, leads_here: impl Fn(&str) -> bool) -> Option<(String, u64)> {
    if let (Some(argument), Ok(number)) = (argument, next.parse()) {
        return Some((argument.to_owned(), number));
    }
    let names = PagingNames { limit: None, page: argument.map(Into::into) };
    let is_it =
        |name: &str| argument.map_or_else(|| by_argument(name).is_some(), |argument| argument == name);
    let (name, json) = arguments_of_url(next, &names).into_iter().find(|(name, _)| is_it(name))?;
    Some((name, json.parse().ok()?)).filter(|_| leads_here(next))
}

#[cfg(test)]
mod tests {
    use super::next_of;

    #[test]
    fn the_next_page_is_named_by_a_number_or_by_a_link_to_the_list() {
        let check = |next: &str, argument: Option<&str>, expect: Option<(&str, u64)>| {
            let found = next_of(next, argument, |url| url.starts_with("/rows"));
            let found = found.as_ref().map(|(name, number)| (name.as_str(), *number));
            assert_eq!(found, expect, "{next} {argument:?}");
        };
        check("2", Some("page"), Some(("page", 2)));
        check("2", None, None);
        check("/rows?state=CA&page=2", None, Some(("page", 2)));
        check("/rows?offset=90&limit=90", None, Some(("offset", 90)));
        check("/rows?page=2", Some("offset"), None);
        check("/other?page=2", None, None);
        check("/rows?page_token=abc", None, None);
        check("/rows?page=last", None, None);
    }
}
