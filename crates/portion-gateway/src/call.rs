//! What passes the neck: a call with what its upstream said, and the reply to it.
//!
//! A raw payload goes in, and only a [`Portion`], a [`Fault`] or the word that nothing need change comes out.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::Scope;
use portion_core::event::TraceContext;
use portion_core::payload::Payload;
use portion_core::policy::{Policy, RenderOptions, Techniques};
use portion_core::render::Portion;
use portion_core::view::Request;
use sha2::{Digest as _, Sha256};

use crate::client::ClientProfile;
use crate::effective_policy::EffectivePolicy;
use crate::query_limiter::CancelFlag;
use crate::rules::{EndpointRule, ShapingMode, ToolLimits};
use crate::session::ClientSession;

pub use crate::fault::Fault;
use crate::mcp::{QUERY_TOOL, READ_TOOL};
pub use crate::snapshot_query::SnapshotQuery;

/// Bytes of an endpoint's name that are told to logs and records.
const MAX_LOG_NAME_BYTES: usize = 256;

/// One content-bearing reply to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// Whom it is for.
    pub caller: Caller,
    /// What was called; `None` where one of our own tools was.
    pub endpoint: Option<Endpoint>,
    /// What is to be made.
    pub intent: Intent,
}

/// Whom a reply is for, and how it is served.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who may read on.
    pub scope: Scope,
    /// The conversation that it asks in.
    pub session: Arc<ClientSession>,
    /// What it calls itself, where that is known.
    pub client: Option<&'static ClientProfile>,
    /// What was decided for the endpoint that it calls.
    pub rule: Arc<EndpointRule>,
    /// What a reply obeys: those of the rule for the client, unless something narrower is known.
    pub effective_policy: Arc<EffectivePolicy>,
    /// Whether replies to it are shaped.
    pub shaping_mode: ShapingMode,
    /// What the called tool states about its results.
    pub tool_limits: ToolLimits,
    /// The name of the server, where there are several.
    pub upstream: Option<Arc<str>>,
    /// The name under which this caller knows the tool that reads on.
    pub read_tool: Arc<str>,
    /// The name under which this caller knows the tool that answers questions, where there is one.
    pub query_tool: Option<Arc<str>>,
    /// Where the reply is to be the contents of a resource: what begins the URIs that read on, a cursor following.
    pub read_uri: Option<&'static str>,
    /// When it asked.
    pub received_at: Instant,
    /// The names of what it gave with its request.
    pub argument_names: Vec<String>,
    /// Where its request belongs in a trace, where it said so.
    pub trace: Option<TraceContext>,
    /// Ends its question, where it asks one, before it is answered.
    pub cancel_flag: CancelFlag,
}

/// What a call is about.
#[derive(Clone, Debug)]
pub enum Intent {
    /// A payload just in from the upstream.
    Fresh {
        /// What the upstream said.
        payload: Payload,
        /// What the caller asked of us.
        request: Request,
        /// Set where a later call may be answered from this payload.
        reuse: Option<ReuseKey>,
    },
    /// A request with a cursor. It never goes upstream.
    FollowUp {
        /// What the caller asked of us, cursor included.
        request: Request,
    },
    /// A question about what a cursor points to. It never goes upstream.
    Query {
        /// How the answer is wanted; its cursor, path and section say what is asked about.
        request: Request,
        /// The question.
        query: SnapshotQuery,
    },
}

/// What is sent back.
#[derive(Clone, Debug)]
pub enum Reply {
    /// What the upstream said, byte for byte.
    Untouched,
    /// A rendering that fits the budget.
    Portion(Portion),
    /// An error, with the way on.
    Fault(Fault),
}

/// One named thing that can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A tool's or prompt's name, a resource's URI.
    pub name: String,
    /// What it is.
    pub kind: EndpointKind,
    /// It says of itself that it changes nothing.
    pub read_only: bool,
    /// It says of itself that a second equal call changes nothing more.
    pub idempotent: bool,
}

/// What an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// Called; may act.
    Tool,
    /// Read.
    Resource,
    /// Got.
    Prompt,
}

/// Equal for calls that ask an endpoint for the same, our own controls aside.
///
/// It says nothing of the caller: a store keeps one index of them for each scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReuseKey([u8; 16]);

impl Caller {
    /// Whoever asks in a session of a principal, under a rule, and knows our tools by the names that they have.
    pub fn new(scope: Scope, session: Arc<ClientSession>, rule: Arc<EndpointRule>) -> Self {
        let (terms, treatment) = (Arc::clone(rule.policy_for_client(None)), rule.shaping_mode(&session));
        Self {
            scope,
            session,
            client: None,
            rule,
            effective_policy: terms,
            shaping_mode: treatment,
            tool_limits: ToolLimits::default(),
            upstream: None,
            read_tool: READ_TOOL.into(),
            query_tool: Some(QUERY_TOOL.into()),
            read_uri: None,
            received_at: Instant::now(),
            argument_names: Vec::new(),
            trace: None,
            cancel_flag: CancelFlag::default(),
        }
    }

    /// The same under another rule.
    #[must_use]
    pub(crate) fn with_rule(self, rule: &Arc<EndpointRule>) -> Self {
        let (terms, treatment) =
            (rule.policy_for(self.client, self.tool_limits), rule.shaping_mode(&self.session));
        Self { rule: Arc::clone(rule), effective_policy: terms, shaping_mode: treatment, ..self }
    }

    /// The same with no more room than its session has left.
    #[must_use]
    pub(crate) fn within_session_budget(self) -> Self {
        let Some((left, _)) = self.session_tokens_left() else { return self };
        let policy = self.effective_policy.policy.narrowed_to(left);
        if policy == self.effective_policy.policy {
            return self;
        }
        let terms = Arc::new(self.effective_policy.with_policy(policy));
        Self { effective_policy: terms, ..self }
    }

    /// The same for a payload of so many bytes: what is too large to be relayed as it comes is shaped, whatever technique is
    /// off.
    #[must_use]
    pub(crate) fn with_unshaped_byte_limit(self, bytes: usize) -> Self {
        let (policy, written) = (&self.effective_policy.policy, self.rule.config());
        let Techniques { query, .. } = policy.render_options.techniques;
        let all = Techniques { query, ..Techniques::ALL };
        if policy.render_options.techniques == all
            || written.unshaped_byte_limit.is_none_or(|limit| bytes <= limit)
        {
            return self;
        }
        let manner = RenderOptions { techniques: all, ..policy.render_options.clone() };
        let terms =
            Arc::new(self.effective_policy.with_policy(Policy { render_options: manner, ..policy.clone() }));
        Self { effective_policy: terms, ..self }
    }

    /// The same where the byte limit decides, for the counter is badly wrong.
    #[must_use]
    pub(crate) fn with_byte_cap(self) -> Self {
        let terms =
            Arc::new(EffectivePolicy { is_capped: true, ..EffectivePolicy::clone(&self.effective_policy) });
        Self { effective_policy: terms, ..self }
    }

    /// Tokens that the session may still be served, and that it may be in all, where that is bounded.
    pub(crate) fn session_tokens_left(&self) -> Option<(usize, usize)> {
        let budget = self.rule.config().session_budget?;
        Some((budget.saturating_sub(self.session.served_tokens()), budget))
    }
}

impl Endpoint {
    /// The name of one as it is told to logs and records, of none nothing: whoever calls decides how long it is.
    pub(crate) fn log_name(endpoint: Option<&Self>) -> Cow<'_, str> {
        let name = endpoint.map_or("", |endpoint| &endpoint.name);
        if name.len() <= MAX_LOG_NAME_BYTES {
            return Cow::Borrowed(name);
        }
        let kept = name.floor_char_boundary(MAX_LOG_NAME_BYTES - '…'.len_utf8());
        Cow::Owned(format!("{}…", &name[..kept]))
    }

    /// Whether it may be asked the same once more without acting once more.
    pub fn is_repeatable(&self) -> bool {
        self.kind != EndpointKind::Tool || self.read_only || self.idempotent
    }
}

impl ReuseKey {
    /// The key of a call. `arguments` are canonical: keys sorted, minified, without our controls.
    pub fn new(endpoint: &Endpoint, arguments: &str) -> Self {
        let Endpoint { name, kind, .. } = endpoint;
        let kind = match kind {
            EndpointKind::Tool => 0,
            EndpointKind::Resource => 1,
            EndpointKind::Prompt => 2,
        };
        let mut hash = Sha256::new();
        hash.update([kind]);
        // The length keeps a name from running into the arguments.
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name);
        hash.update(arguments);
        let digest = hash.finalize();
        Self(std::array::from_fn(|i| digest[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointKind, ReuseKey};

    #[test]
    fn names_are_told_within_bounds() {
        let told = |name: &str| {
            let endpoint =
                Endpoint { name: name.into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
            Endpoint::log_name(Some(&endpoint)).into_owned()
        };
        let fits = "x".repeat(256);
        assert_eq!((told("list"), told(&fits)), ("list".to_owned(), fits));
        for name in ["x".repeat(257), "é".repeat(1 << 19), "日".repeat(100)] {
            let told = told(&name);
            let kept = told.strip_suffix('…').expect("it is marked");
            assert!((251..=256).contains(&told.len()) && name.starts_with(kept), "{} {told}", told.len());
        }
    }

    #[test]
    fn keys_tell_calls_apart() {
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
