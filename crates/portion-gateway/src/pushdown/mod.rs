//! Fetches lists that an upstream pages by itself, and serves them as one list.
//!
//! The pure part knows no protocol and does no IO: `list_page` reads one page of an upstream, `carrier` finds it in a
//! result, `paged_list` joins the pages, and `next_page` decides what to request next. The other part runs fetches in the
//! background: `fetch` is one list that grows, `fetches` are those of a gateway, `rate_limit` is their common budget of
//! requests, and `sharing` decides which of several instances with one store fetches a list. What calls the upstream is a
//! [`PageSource`](crate::paged_call::PageSource), which the protocol provides.
//!
//! The first reply is made from the first page. Its snapshot is replaced under the same id as the list grows; items are
//! only appended, so every position in issued cursors stays valid.

mod carrier;
mod fetch;
mod fetches;
#[cfg(test)]
mod laws;
mod list_page;
mod need;
mod next_page;
mod paged_list;
mod rate_limit;
mod sharing;
mod stated;
#[cfg(test)]
mod tests;

pub(crate) use carrier::error_text;
pub(crate) use fetch::Fetch;
pub(crate) use fetches::{Deposit, Fetches};
pub(crate) use need::{Need, sized_as_opened};
pub(crate) use sharing::{Turn, is_growing, note_pending};
