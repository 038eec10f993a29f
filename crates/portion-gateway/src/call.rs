//! Calls to [`Gateway::answer`](crate::gateway::Gateway::answer), and their replies.
//!
//! A raw payload goes in. A [`Portion`], a [`Fault`] or [`Reply::Untouched`] comes out.

use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::Scope;
use portion_core::event::TraceContext;
use portion_core::paging::UnshownRange;
use portion_core::payload::Payload;
use portion_core::policy::{Policy, RenderOptions, RowStyle, Techniques};
use portion_core::redact::RedactionRules;
use portion_core::render::{FollowUpCall, Portion};
use portion_core::view::Request;
use portion_policy::client::{ClientProfile, ShownForm};
use portion_policy::endpoint::{Endpoint, EndpointKind, QUERY_TOOL, READ_TOOL};
use sha2::{Digest as _, Sha256};

use crate::effective_policy::EffectivePolicy;
use crate::paged_call::{PageSource, PagedCall};
use crate::query_limiter::CancelFlag;
use crate::rules::{EndpointRule, ShapingMode, ToolLimits};
use crate::session::ClientSession;

pub use crate::fault::Fault;
pub use crate::snapshot_query::SnapshotQuery;

/// Largest size of arguments that an error repeats.
const MAX_REPEATABLE_BYTES: usize = 1000;

/// A call with the payload that the upstream returned.
#[derive(Clone)]
pub struct Call {
    /// Caller of the reply.
    pub caller: Caller,
    /// Called endpoint.
    pub endpoint: Option<Endpoint>,
    /// Content of the upstream's response.
    pub payload: Payload,
    /// Controls of the caller.
    pub request: Request,
    /// Set if a later call may be answered from this payload.
    pub reuse: Option<ReuseKey>,
}

impl Call {
    /// Returns a call without controls, whose payload answers no later call.
    pub fn new(caller: Caller, endpoint: Endpoint, payload: Payload) -> Self {
        Self { caller, endpoint: Some(endpoint), payload, request: Request::default(), reuse: None }
    }
}

/// Recipient of a reply, with the policy that applies to it.
#[derive(Clone)]
pub struct Caller {
    /// Scope of its cursors.
    pub scope: Scope,
    /// True if the scope belongs to this caller alone. If not, callers that cannot be distinguished share it, and a
    /// cursor is a bearer secret.
    pub owns_scope: bool,
    /// Session of the caller.
    pub session: Arc<ClientSession>,
    /// Profile of the client, if it is known.
    pub client: Option<&'static ClientProfile>,
    /// Rule of the called endpoint.
    pub rule: Arc<EndpointRule>,
    /// Policy of the reply: that of the rule for the client, unless something narrower is known.
    pub effective_policy: Arc<EffectivePolicy>,
    /// Shaping of its replies.
    pub shaping_mode: ShapingMode,
    /// Limits that the called tool states for its results.
    pub tool_limits: ToolLimits,
    /// Name of the server, if there are several.
    pub upstream: Option<Arc<str>>,
    /// Request for follow-ups, as replies name it.
    pub read_call: ReadCall,
    /// Listed name of the query tool, or over HTTP of the parameter of a query, if there is one.
    pub query_tool: Option<Arc<str>>,
    /// Prefix of read URIs, followed by a cursor, if the reply is the contents of a resource.
    pub read_uri: Option<&'static str>,
    /// Time when the request arrived.
    pub received_at: Instant,
    /// Arguments of the request, canonical and without controls, if an error may repeat them.
    pub repeatable_arguments: Option<Arc<str>>,
    /// Names of the request's arguments.
    pub argument_names: Vec<String>,
    /// Trace context of the request, if it has one.
    pub trace: Option<TraceContext>,
    /// Cancels its query.
    pub cancel_flag: CancelFlag,
    /// Items that the page before the requested one did not show, where that page is a result of its own.
    pub unshown: Option<UnshownRange>,
    /// Call of a tool that pages its results, if the gateway fetches its pages.
    pub paged_call: Option<Arc<PagedCall>>,
    /// Calls tools again for further pages of earlier results.
    pub page_source: Option<Arc<dyn PageSource>>,
}

/// Request of a caller for a follow-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadCall {
    /// With the tool of this listed name.
    Tool(Arc<str>),
    /// With a GET request for this path, possibly after an origin.
    Http(Arc<str>),
}

/// Reply to a call.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each call, and taken apart at once")]
pub enum Reply {
    /// The upstream's response, byte for byte.
    Untouched,
    /// A rendering that fits the budget.
    Portion(Portion),
    /// An error, with advice for the next step.
    Fault(Fault),
}

impl ReadCall {
    /// Returns the request as the core describes it.
    pub fn to_follow_up(&self) -> FollowUpCall<'_> {
        match self {
            Self::Tool(name) => FollowUpCall::Tool(name),
            Self::Http(path) => FollowUpCall::Http(path),
        }
    }
}

impl Caller {
    /// Creates a caller in a session of a principal, under a rule, with the default names of built-in tools.
    pub fn new(scope: Scope, session: Arc<ClientSession>, rule: Arc<EndpointRule>) -> Self {
        let (effective_policy, shaping_mode) =
            (Arc::clone(rule.policy_for_client(None)), rule.shaping_mode(&session));
        Self {
            scope,
            owns_scope: false,
            session,
            client: None,
            rule,
            effective_policy,
            shaping_mode,
            tool_limits: ToolLimits::default(),
            upstream: None,
            read_call: ReadCall::Tool(READ_TOOL.into()),
            query_tool: Some(QUERY_TOOL.into()),
            read_uri: None,
            received_at: Instant::now(),
            repeatable_arguments: None,
            argument_names: Vec::new(),
            trace: None,
            cancel_flag: CancelFlag::default(),
            unshown: None,
            paged_call: None,
            page_source: None,
        }
    }

    /// Names requests to an address over HTTP, a path or a URL, as follow-ups. Bodies keep their lists there, unless the rule
    /// says otherwise.
    #[must_use]
    pub fn over_http(self, address: &str) -> Self {
        Self { read_call: ReadCall::Http(address.into()), query_tool: None, ..self }.with_lists_over_http()
    }

    fn with_lists_over_http(self) -> Self {
        let policy = &self.effective_policy.policy;
        if policy.rows != RowStyle::Auto || !matches!(self.read_call, ReadCall::Http(_)) {
            return self;
        }
        let policy = Policy { rows: RowStyle::Objects, ..policy.clone() };
        self.with_policy(policy)
    }

    /// Sets the arguments of the request, canonical and without controls. Errors repeat them if they are short and contain
    /// nothing that looks secret.
    #[must_use]
    pub fn with_arguments(self, arguments: &str) -> Self {
        let hides = |rules: &RedactionRules| rules.redact(arguments).is_some();
        let is_repeatable = arguments.len() <= MAX_REPEATABLE_BYTES
            && !hides(&RedactionRules::default_secrets())
            && !self.rule.config().redact.as_deref().is_some_and(hides);
        Self { repeatable_arguments: is_repeatable.then(|| arguments.into()), ..self }
    }

    /// Returns true if results of the tool go without `structuredContent`: no schema demands it, and the client shows its
    /// model the same twice, or no image beside it.
    pub fn leaves_out_structured(&self, has_media: bool) -> bool {
        let shows = self.client.is_some_and(|client| match client.shown_form {
            ShownForm::Text => false,
            ShownForm::Structured => has_media,
            ShownForm::Both => true,
        });
        shows && self.tool_limits.has_optional_structured && self.shaping_mode.pass_through.is_none()
    }

    /// Applies another rule.
    #[must_use]
    pub(crate) fn with_rule(self, rule: &Arc<EndpointRule>) -> Self {
        let (effective_policy, shaping_mode) =
            (rule.policy_for(self.client, self.tool_limits), rule.shaping_mode(&self.session));
        Self { rule: Arc::clone(rule), effective_policy, shaping_mode, ..self }.with_lists_over_http()
    }

    /// Narrows the policy to the remaining budget of the session.
    #[must_use]
    pub(crate) fn within_session_budget(self) -> Self {
        let Some((remaining, _)) = self.session_tokens_left() else { return self };
        let policy = self.effective_policy.policy.narrowed_to(remaining);
        if policy == self.effective_policy.policy {
            return self;
        }
        self.with_policy(policy)
    }

    /// Narrows the page size to that of the upstream, where its pages are numbered and nothing is configured, so that the next
    /// page by number goes on.
    #[must_use]
    pub(crate) fn within_upstream_page(self) -> Self {
        let policy = &self.effective_policy.policy;
        let size = self
            .paged_call
            .as_ref()
            .filter(|call| call.numbers_pages())
            .and_then(|call| call.page_size(policy));
        let Some(size) = size.map(|size| size as usize).filter(|size| *size < policy.default_page_size)
        else {
            return self;
        };
        // A page that holds fewer items would hide those before the next one by number.
        let render_options = RenderOptions { has_fixed_page_size: true, ..policy.render_options.clone() };
        let policy = Policy { default_page_size: size, render_options, ..policy.clone() };
        self.with_policy(policy)
    }

    fn with_policy(self, policy: Policy) -> Self {
        let effective_policy = Arc::new(self.effective_policy.with_policy(policy));
        Self { effective_policy, ..self }
    }

    /// Sets the number of items up to which a list may pass whole.
    #[must_use]
    pub(crate) fn with_page_size(self, default_page_size: usize) -> Self {
        let policy = Policy { default_page_size, ..self.effective_policy.policy.clone() };
        self.with_policy(policy)
    }

    /// Enables all techniques for a payload that is too large to be relayed unshaped.
    #[must_use]
    pub(crate) fn with_unshaped_byte_limit(self, bytes: usize) -> Self {
        let (policy, config) = (&self.effective_policy.policy, self.rule.config());
        let Techniques { query, .. } = policy.render_options.techniques;
        let all = Techniques { query, ..Techniques::ALL };
        if policy.render_options.techniques == all
            || config.unshaped_byte_limit.is_none_or(|limit| bytes <= limit)
        {
            return self;
        }
        let render_options = RenderOptions { techniques: all, ..policy.render_options.clone() };
        let effective_policy =
            Arc::new(self.effective_policy.with_policy(Policy { render_options, ..policy.clone() }));
        Self { effective_policy, ..self }
    }

    /// Replaces the limits of a reply by that of programs, which is in bytes alone.
    #[must_use]
    pub(crate) fn with_limit_of_programs(self) -> Self {
        let hard_byte_limit = self.rule.largest_reply_bytes(self.client);
        // No token has less than a byte.
        let policy = self.effective_policy.policy.clone();
        let hard_cap = hard_byte_limit.max(policy.token_budget_threshold);
        let policy = Policy { hard_cap, hard_byte_limit, ..policy };
        self.with_policy(policy)
    }

    /// Applies the byte limit, because the counter is badly wrong.
    #[must_use]
    pub(crate) fn with_byte_cap(self) -> Self {
        let effective_policy =
            Arc::new(EffectivePolicy { is_capped: true, ..EffectivePolicy::clone(&self.effective_policy) });
        Self { effective_policy, ..self }
    }

    /// Returns the remaining tokens and the budget of the session, if it has a budget.
    pub(crate) fn session_tokens_left(&self) -> Option<(usize, usize)> {
        let budget = self.rule.config().session_budget?;
        Some((budget.saturating_sub(self.session.served_tokens()), budget))
    }
}

/// Equal for calls to the same endpoint with the same arguments, apart from controls.
///
/// Independent of the caller: a store keeps one index of reuse keys per scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReuseKey([u8; 16]);

impl ReuseKey {
    /// Returns the bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Creates the key of a call. `arguments` are canonical: keys sorted, minified, without controls.
    pub fn new(endpoint: &Endpoint, arguments: &str) -> Self {
        let Endpoint { name, kind, .. } = endpoint;
        let kind = match kind {
            EndpointKind::Tool => 0,
            EndpointKind::Resource => 1,
            EndpointKind::Prompt => 2,
        };
        let mut hash = Sha256::new();
        hash.update([kind]);
        // The length separates the name from the arguments.
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name);
        hash.update(arguments);
        let digest = hash.finalize();
        Self(std::array::from_fn(|i| digest[i]))
    }
}

#[cfg(test)]
mod tests {
    use portion_policy::endpoint::{Endpoint, EndpointKind};

    use super::ReuseKey;

    #[test]
    fn keys_differ_between_calls() {
        let key = |kind, name: &str, arguments: &str| {
            let endpoint = Endpoint { name: name.into(), kind, read_only: true, idempotent: true };
            ReuseKey::new(&endpoint, arguments)
        };
        let one = key(EndpointKind::Tool, "list", "{\"a\":1}");
        assert_eq!(one, key(EndpointKind::Tool, "list", "{\"a\":1}"));
        assert_ne!(one, key(EndpointKind::Resource, "list", "{\"a\":1}"));
        assert_ne!(one, key(EndpointKind::Tool, "list{", "\"a\":1}"));
        assert_ne!(one, key(EndpointKind::Tool, "list", "{\"a\":2}"));
    }
}
