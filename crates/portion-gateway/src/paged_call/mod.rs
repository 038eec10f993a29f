//! Calls of tools that page their results, and the interface through which the gateway calls them again.

mod arguments;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::view::Request;
use portion_policy::pushdown::{PagingStyle, Pushdown};
use thiserror::Error;

use crate::rules::EndpointRule;

pub use arguments::PagingNames;
pub(crate) use arguments::{PageRequest, arguments_of_url};

/// Future of a page.
pub type PageFuture<'a> = Pin<Box<dyn Future<Output = Result<Payload, PageError>> + Send + 'a>>;

/// Calls tools of an upstream again, for further pages.
pub trait PageSource: fmt::Debug + Send + Sync {
    /// Calls a tool with arguments, a JSON object.
    fn fetch_page<'a>(&'a self, tool: &'a str, arguments: &'a str) -> PageFuture<'a>;
}

/// Reason why a page was not fetched.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PageError {
    /// The upstream did not respond, or responded with an error.
    #[error("{0}")]
    Failed(String),
    /// The upstream accepts no more requests for this time.
    #[error("{reason}{}", advice_to_wait(*delay))]
    Limited {
        /// Reason, such as its status.
        reason: String,
        /// Time until it accepts requests again; zero if it does not say.
        delay: Duration,
    },
    /// The connection or the session has ended.
    #[error("the session with the server has ended")]
    Closed,
}

fn advice_to_wait(delay: Duration) -> String {
    if delay.is_zero() { String::new() } else { format!("; try again after {} s", delay.as_secs().max(1)) }
}

/// A call of a tool that pages its results.
#[derive(Clone, Debug)]
pub struct PagedCall {
    /// Name of the tool.
    pub tool: String,
    /// Arguments without those for paging, a JSON object.
    pub arguments: String,
    /// Paging of the tool.
    pub pushdown: Arc<Pushdown>,
    /// Arguments for paging that the tool has.
    pub names: PagingNames,
    /// Calls the tool again.
    pub source: Arc<dyn PageSource>,
    /// Number of items before the first fetched one: see [`PagedCall::start_for`].
    pub start: usize,
}

/// Pages that are fetched rather than skipped, so that most calls for another page share one snapshot.
const MIN_SKIPPED_PAGES: usize = 10;

/// Returns arguments, a JSON object, with one argument set to a JSON value.
pub fn with_argument(arguments: &str, name: &str, json: String) -> String {
    arguments::set_members(arguments, &[(name, json)])
}

impl PagedCall {
    /// Returns the number of items to skip for a request: those before the first requested item, if it is far from the
    /// start and the tool can begin at any item.
    pub fn start_for(request: &Request, pushdown: &Pushdown, names: &PagingNames, policy: &Policy) -> usize {
        let can_begin_anywhere = matches!(pushdown.style, PagingStyle::Offset(_)) && names.page.is_some();
        let needs_all = request.selects_from_whole() || policy.render_options.default_sort.is_some();
        if !can_begin_anywhere || needs_all || request.cursor.is_some() {
            return 0;
        }
        let size = request.limit.map_or(policy.default_page_size, |limit| limit as usize);
        let first = request.first_item(size).unwrap_or_default();
        let is_far = first >= pushdown.page_size.saturating_mul(MIN_SKIPPED_PAGES).min(pushdown.max_fetch);
        if is_far { first } else { 0 }
    }

    /// Returns the arguments of the first page.
    pub fn first_arguments(&self) -> String {
        let first = match PageRequest::first(&self.pushdown) {
            PageRequest::Number(number) => PageRequest::Number(number + self.start as u64),
            first => first,
        };
        self.names.apply(&self.arguments, &first, self.pushdown.page_size)
    }

    /// Warns once that a result of the tool does not have the list.
    pub fn warn_without_list(&self, rule: &EndpointRule) {
        if rule.is_first_pushdown_warning() {
            let (tool, place) = (&self.tool, self.pushdown.items.as_deref());
            if let Some(place) = place {
                tracing::warn!(tool, "pushdown found no list at {place}");
            } else {
                tracing::warn!(tool, "pushdown found no list; name its place with `items`");
            }
        }
    }
}
