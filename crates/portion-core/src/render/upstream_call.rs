//! The call that requests the upstream's next page, by the arguments of this call and the information in the payload.

use super::follow_up_call::FollowUpCall;
use crate::paging::{ArgumentValue, PagingArgument, PagingRole, requested_count};
use crate::payload::NextPage;
use crate::snapshot::UpstreamPage;

/// Longest URL of a next page that is shown.
const MAX_LINK_BYTES: usize = 200;

/// The paging arguments of a call, and the number of items of its result.
#[derive(Clone, Copy)]
pub(super) struct UpstreamPaging<'a> {
    arguments: &'a [PagingArgument],
    item_count: u64,
    read_call: FollowUpCall<'a>,
}

/// The start of a page in the upstream's list.
#[derive(Clone, Copy)]
struct PageStart {
    /// Items before the page, or fewer where the first number of the upstream is unknown.
    items_before: u64,
    /// Value of the argument for the next page.
    next: u64,
}

impl<'a> UpstreamPaging<'a> {
    pub(super) fn new(arguments: &'a [PagingArgument], item_count: u64, read_call: FollowUpCall<'a>) -> Self {
        Self { arguments, item_count, read_call }
    }

    /// Returns the call for the upstream's next page, or `None` if this is the last one.
    pub(super) fn next_call(&self, page: &UpstreamPage) -> Option<String> {
        if page.has_more == Some(false) {
            return None;
        }
        let token =
            page.next_member.as_ref().map(|(_, value)| value.as_str()).filter(|value| !value.ends_with('…'));
        let link = token.filter(|value| value.contains("://") || value.starts_with(['/', '?']));
        let token = token.filter(|_| link.is_none());
        let number = token.and_then(|value| value.parse::<u64>().ok());
        // A token that has the name of an argument is its next value, as Airtable's `offset`.
        let name = page.next_member.as_ref().and_then(|(path, _)| path.rsplit('.').next());
        let mut named = self.arguments.iter().filter(|_| number.is_none());
        let namesake = named.find(|argument| name == Some(argument.name.as_str()));
        if let (Some(argument), Some(value)) = (namesake.or_else(|| self.find(PagingRole::Cursor)), token) {
            return Some(repeated_with(argument, value));
        }
        if let Some(call) = link.and_then(|link| argument_of_link(link, self.arguments)) {
            return Some(call);
        }
        let total = page.total.filter(|_| page.has_more.is_none());
        let by_page = self.find(PagingRole::Page);
        let by_offset = self.find(PagingRole::Offset);
        let by_page =
            by_page.filter(|page| page.is_given() || !by_offset.is_some_and(PagingArgument::is_given));
        if let Some(argument) = by_page {
            if let Some(next) = page.next_page.or(number) {
                return Some(repeated_with(argument, &next.to_string()));
            }
            if let Some(start) = self.page_start(argument) {
                return self.call_from(argument, start, total);
            }
        }
        if let Some(argument) = by_offset {
            if let Some(next) = page.next_offset {
                return Some(repeated_with(argument, &next.to_string()));
            }
            if let Some(start) = self.offset_start(argument) {
                return self.call_from(argument, start, total);
            }
        }
        if let Some(argument) = self.find(PagingRole::LastId).filter(|_| page.has_more == Some(true)) {
            return Some(repeated_with(argument, "id of the last item"));
        }
        Some(match (&page.next_member, another_of(self.arguments), self.read_call) {
            (_, Some(call), _) => call,
            (Some((name, value)), None, _) => format!("{name}: {value}"),
            // Parameters that the gateway does not know as the API's own are its controls.
            (None, None, FollowUpCall::Http(_)) if self.arguments.is_empty() => {
                "the API has more; the operator must name its paging parameters with --api-parameter"
                    .to_owned()
            }
            (None, None, _) => "the upstream has more; change the arguments".to_owned(),
        })
    }

    /// Returns the call for a next page that may exist: this page has as many items as the call asks for.
    pub(super) fn call_after_full_page(&self) -> Option<String> {
        if requested_count(self.arguments)? != self.item_count {
            return None;
        }
        let offset = self
            .find(PagingRole::Offset)
            .filter(|_| !self.find(PagingRole::Page).is_some_and(PagingArgument::is_given));
        let call = if let Some(argument) = offset {
            self.call_from(argument, self.offset_start(argument)?, None)
        } else {
            let argument = self.find(PagingRole::Page)?;
            self.call_from(argument, self.page_start(argument)?, None)
        };
        call.map(|call| format!("{call}, if there are more"))
    }

    fn find(&self, role: PagingRole) -> Option<&'a PagingArgument> {
        self.arguments.iter().find(|argument| argument.role() == Some(role))
    }

    /// Returns the start of this page by an argument for its number. Pages are counted from 1 where nothing says otherwise.
    fn page_start(&self, argument: &PagingArgument) -> Option<PageStart> {
        let number = if argument.value == ArgumentValue::Absent {
            argument.default.unwrap_or(1)
        } else {
            argument.number()?
        };
        let size = requested_count(self.arguments).unwrap_or(self.item_count);
        let items_before = number.saturating_sub(1).saturating_mul(size);
        Some(PageStart { items_before, next: number.checked_add(1)? })
    }

    /// Returns the start of this page by an argument for its offset.
    fn offset_start(&self, argument: &PagingArgument) -> Option<PageStart> {
        let offset = if argument.value == ArgumentValue::Absent {
            argument.default.unwrap_or(0)
        } else {
            argument.number()?
        };
        let first = argument.default.filter(|first| *first <= 1).unwrap_or(0);
        let step = if self.item_count == 0 { requested_count(self.arguments)? } else { self.item_count };
        Some(PageStart { items_before: offset.saturating_sub(first), next: offset.checked_add(step)? })
    }

    /// Returns the call for the page after the one that starts there, or `None` if that page ends at the total.
    fn call_from(&self, argument: &PagingArgument, start: PageStart, total: Option<u64>) -> Option<String> {
        let end = start.items_before.saturating_add(self.item_count);
        if total.is_some_and(|total| end >= total) {
            return None;
        }
        // An upstream that counts pages from 0 would skip one.
        let is_assumed = argument.role() == Some(PagingRole::Page)
            && argument.value == ArgumentValue::Absent
            && argument.default.is_none();
        let assumed = if is_assumed { ", if its pages count from 1" } else { "" };
        Some(format!("{}{assumed}", repeated_with(argument, &start.next.to_string())))
    }
}

/// Returns the call for the next page that the transport names.
pub(super) fn named_call(next: &NextPage, arguments: &[PagingArgument]) -> String {
    match next {
        NextPage::Call(call) => call.to_string(),
        NextPage::Link(link) => linked_call(link, arguments),
    }
}

fn linked_call(link: &str, arguments: &[PagingArgument]) -> String {
    let shown = || match link.len() {
        ..=MAX_LINK_BYTES => link.to_owned(),
        _ => "the upstream has more; its URL is too long to show".to_owned(),
    };
    argument_of_link(link, arguments).or_else(|| another_of(arguments)).unwrap_or_else(shown)
}

/// Returns the call with another value of the arguments that select a page, or of a larger one if there are none.
fn another_of(arguments: &[PagingArgument]) -> Option<String> {
    let is_limit = |argument: &&PagingArgument| argument.role() == Some(PagingRole::Limit);
    let (limits, others): (Vec<_>, Vec<_>) = arguments.iter().partition(is_limit);
    let (change, arguments) = if others.is_empty() { ("a larger", limits) } else { ("another", others) };
    let names: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("repeat the call with {change} {}", names.join(", ")))
}

/// Returns the call with the argument that selects the page in the query of a URL, if the tool has that argument.
fn argument_of_link(link: &str, arguments: &[PagingArgument]) -> Option<String> {
    let query = link.split('#').next().and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    // An encoded value is another text than the argument.
    parameters.filter(|(_, value)| !value.contains(['%', '+'])).find_map(|(name, value)| {
        let argument = arguments.iter().find(|argument| argument.name == name)?;
        argument.role().filter(|role| *role != PagingRole::Limit)?;
        Some(repeated_with(argument, value))
    })
}

fn repeated_with(argument: &PagingArgument, value: &str) -> String {
    let replaced =
        if matches!(argument.value, ArgumentValue::Translated(_)) { " in place of page" } else { "" };
    format!("repeat the call with {}={value}{replaced}", argument.name)
}
