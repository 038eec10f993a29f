//! Calls of tools that page their results, and the interface through which the gateway calls them again.

mod arguments;
mod first_page;

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
pub use first_page::{FirstPage, OwnPage};

/// Future of a page.
pub type PageFuture<'a> = Pin<Box<dyn Future<Output = Result<Payload, PageError>> + Send + 'a>>;

/// Calls tools of an upstream again, for further pages.
pub trait PageSource: Send + Sync {
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
#[derive(Clone)]
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
    /// The page that is requested first.
    pub first: FirstPage,
    /// The call with the caller's own arguments, for a page before which the list ends.
    pub own: Option<Arc<PagedCall>>,
}

/// Returns arguments, a JSON object, with one argument set to a JSON value.
pub fn with_argument(arguments: &str, name: &str, json: String) -> String {
    arguments::set_members(arguments, &[(name, json)])
}

impl PagedCall {
    /// Returns the calls to make for a request: the next one is made if the result of the one before it
    /// [is worse](Self::is_worse) than its own could be. The last one has the caller's own arguments.
    /// `own`: these, a JSON object; `value_of`: the value of one of them as text. With `keeps_size`, the size of a page that they
    /// have is not enlarged, if they select what is requested.
    pub fn attempts(
        self,
        own: String,
        value_of: impl Fn(&str) -> Option<String>,
        request: &Request,
        (policy, rule): (&Policy, &EndpointRule),
        keeps_size: bool,
    ) -> Vec<Arc<Self>> {
        let by_own = self.clone().by_own_offset(&value_of);
        let own = OwnPage::new(own, value_of, request, &by_own, policy.default_page_size);
        let size = request.limit.map_or(policy.default_page_size, |limit| limit as usize);
        let end =
            request.first_item(size).unwrap_or_default() + request.limit.map_or(0, |limit| limit as usize);
        // Where no argument selects a page, the items before it come with it.
        let needed = if self.names.page.is_some() { own.size.unwrap_or_default() } else { end };
        // The tool alone knows what its cursors select, and what an argument does that the paging does not use. Pages that cannot
        // be enlarged are not walked to reach an offset that the tool takes.
        let takes_offset =
            self.names.limit.is_none() && matches!(self.pushdown.style, PagingStyle::Offset(_));
        let is_of_tool =
            request.cursor.is_some() || own.selects_page() && (self.names.page.is_none() || takes_offset);
        let keeps_own = rule.keeps_own_page();
        let is_selected = own.selects_page() || !request.is_continuation();
        let has_size = keeps_size && own.size.is_some() && is_selected;
        let is_reached = needed <= own.size.unwrap_or(needed);
        let by_own = Arc::new(Self { first: FirstPage::Own(own.clone()), ..by_own });
        let mut attempts = Vec::new();
        if !(is_of_tool || has_size || keeps_own && is_reached) {
            let size = if keeps_own { needed } else { self.pushdown.page_size.max(needed) };
            let start = self.start_for(request, policy);
            let first = FirstPage::Chosen { start, size };
            let own = by_own.is_own_page().then(|| Arc::clone(&by_own));
            attempts.push(Arc::new(Self { first, own, ..self.clone() }));
        }
        attempts.push(by_own);
        attempts
    }

    /// Returns the call with paging by offset, if the caller selects the page by an offset of the tool and by nothing else.
    fn by_own_offset(self, value_of: impl Fn(&str) -> Option<String>) -> Self {
        let is_given = |name: &str| value_of(name).is_some();
        let has_other =
            self.names.page.as_deref().is_some_and(is_given) || is_given("page") || is_given("cursor");
        if has_other || value_of("offset").is_none_or(|offset| offset.parse::<usize>().is_err()) {
            return self;
        }
        let offset: Arc<str> = "offset".into();
        let pushdown = self.pushdown.by_offset(&offset);
        Self { pushdown, names: PagingNames { page: Some(offset), ..self.names }, ..self }
    }

    /// Returns the number of items to skip for a request: those before the first requested item, if it is far from the
    /// start and the tool can begin at any item.
    fn start_for(&self, request: &Request, policy: &Policy) -> usize {
        let can_begin_anywhere =
            matches!(self.pushdown.style, PagingStyle::Offset(_)) && self.names.page.is_some();
        let needs_all = request.selects_from_whole() || policy.render_options.default_sort.is_some();
        if !can_begin_anywhere || needs_all || request.cursor.is_some() {
            return 0;
        }
        let size = request.limit.map_or(policy.default_page_size, |limit| limit as usize);
        let first = request.first_item(size).unwrap_or_default();
        let is_far = self.pushdown.is_far(first, self.pushdown.page_size);
        if is_far || first >= self.pushdown.max_fetch { first } else { 0 }
    }

    /// Returns the number of items that the first page skips, if the gateway chose it.
    pub(crate) fn start(&self) -> usize {
        match self.first {
            FirstPage::Chosen { start, .. } => start,
            FirstPage::Own(_) | FirstPage::Plain { .. } => 0,
        }
    }

    /// Returns the arguments of the first page.
    pub fn first_arguments(&self) -> String {
        let (start, size) = match &self.first {
            FirstPage::Chosen { start, size } => (*start as u64, *size),
            FirstPage::Own(own) => return own.arguments.clone(),
            FirstPage::Plain { .. } => return self.arguments.clone(),
        };
        let first = match PageRequest::first(&self.pushdown) {
            PageRequest::Number(number) => PageRequest::Number(number + start),
            first => first,
        };
        self.names.apply(&self.arguments, &first, size)
    }

    /// Returns true if the upstream numbers its pages.
    pub(crate) fn numbers_pages(&self) -> bool {
        matches!(self.pushdown.style, PagingStyle::Page(..))
    }

    /// Returns true if the first page is the one that the caller's own arguments select.
    pub fn is_own(&self) -> bool {
        !matches!(self.first, FirstPage::Chosen { .. })
    }

    /// Returns true if the caller's own arguments select a page, and are sent as they are.
    pub(crate) fn is_own_page(&self) -> bool {
        matches!(&self.first, FirstPage::Own(own) if own.selects_page())
    }

    /// Returns true if a result may be worse than that of the caller's own arguments: an error, or a result without a list.
    pub fn is_worse(&self, result: &Payload) -> bool {
        !self.is_own() && (result.is_error || !self.finds_list(result))
    }

    /// Returns the request for a result that is not one page of a longer list: what the upstream has applied is not
    /// applied again. `has_list`: the paging finds a list in it; `has_pages`: it has pages by number.
    pub(crate) fn request_of_own(&self, request: Request, has_list: bool, has_pages: bool) -> Request {
        let FirstPage::Own(own) = &self.first else { return request };
        let limit = request.limit.filter(|_| has_list || self.names.limit.is_none());
        let keeps_page = has_pages && !own.selects_page();
        let request = if keeps_page { request } else { request.without_paging() };
        Request { limit, cursor: None, ..request }
    }

    /// Returns the request for a result that begins a list after `skipped` items. `received`: its items.
    pub(crate) fn request_in_list(&self, request: Request, skipped: usize, received: usize) -> Request {
        match &self.first {
            FirstPage::Own(own) => own.request(request, skipped, received),
            FirstPage::Chosen { .. } | FirstPage::Plain { .. } => request,
        }
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
