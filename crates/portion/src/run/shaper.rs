//! Shapes results outside of a connection, as a server behind Portion would have them shaped, and answers follow-ups.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use portion_config::Config;
use portion_core::cursor::{CursorToken, Scope};
use portion_core::payload::{Block, Content, Payload};
use portion_gateway::call::{Call, Caller, Fault, Reply};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::{GatewayParts, random_secret};
use portion_gateway::rules::{EndpointRules, ToolLimits};
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_mcp::mcp::parse_read_arguments;
use portion_policy::client::ClientProfile;
use portion_policy::endpoint::{Endpoint, EndpointKind, EndpointTarget};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::setup::limits_from_environment;

/// Time to live of results, unless one is configured: that of a long session.
const TTL: Duration = Duration::from_hours(12);

/// One session with a client. Its results are kept in memory.
pub(crate) struct Shaper {
    gateway: Gateway,
    runtime: Runtime,
    scope: Scope,
    session: Arc<ClientSession>,
    client: Option<&'static ClientProfile>,
}

/// A tool and the server that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolName<'a> {
    pub(crate) server: Option<&'a str>,
    pub(crate) name: &'a str,
}

/// A reply in place of a result.
#[derive(Debug)]
pub(crate) struct Shaped {
    /// What a model reads: the content, and the notice if it stands apart from that.
    pub(crate) texts: Vec<String>,
    /// The full notice, a JSON object.
    pub(crate) notice: Value,
    /// Cursor of the result, from where this reply began.
    pub(crate) cursor: Option<String>,
    /// Cursor of what follows.
    pub(crate) next_cursor: Option<String>,
    /// Cost of the reply, as its budget counts it.
    pub(crate) tokens: usize,
    /// Cursors that cost less than they are charged.
    pub(crate) charged_cursors: Vec<CursorToken>,
}

impl Shaper {
    /// Creates a session of a client with this name, under a configuration.
    ///
    /// # Errors
    /// If the system has no randomness or no runtime.
    pub(crate) fn new(config: &Arc<Config>, client: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let rules = EndpointRules::new(Arc::clone(config) as _, limits_from_environment());
        let client = rules.resolve_client(client);
        let ttl = config.snapshot_ttl().unwrap_or(TTL);
        let store = MemoryStore::new(StoreLimits { memory_bytes: config.snapshot_memory(), ttl });
        let scope = Scope::from_principal("local");
        Ok(Self {
            gateway: Gateway::new(GatewayParts::new(rules, Arc::new(store), random_secret()?)),
            runtime: Builder::new_current_thread().build()?,
            scope,
            session: ClientSession::with_id(scope, ""),
            client,
        })
    }

    /// Returns the reply in place of a tool's result, which consists of these texts; `None` if it passes unchanged.
    /// `arguments`: controls and queries, as those of `portion_read` and `portion_query`, a JSON object.
    ///
    /// # Errors
    /// Invalid arguments, or a result that is refused.
    pub(crate) fn shape(
        &self,
        tool: Option<ToolName<'_>>,
        texts: &[String],
        is_error: bool,
        arguments: &str,
    ) -> Result<Option<Shaped>, Fault> {
        let caller = self.caller(tool);
        let request = parse_read_arguments(arguments, &caller.effective_policy.policy)?;
        let block = |(at, text): (usize, &String)| {
            Block::new(format!("/content/{at}/text"), Content::Text(text.clone()))
        };
        let blocks = texts.iter().enumerate().map(block).collect();
        let payload = Payload { blocks, is_error, ..Payload::default() };
        let endpoint = tool.map(|tool| Endpoint {
            name: tool.name.to_owned(),
            kind: EndpointKind::Tool,
            read_only: false,
            idempotent: false,
        });
        let call = Call { caller, endpoint, payload, request, reuse: None };
        Shaped::from_reply(self.runtime.block_on(self.gateway.answer(call)))
    }

    /// Returns what a call of `portion_read` or `portion_query` with these arguments, a JSON object, returns at a cursor.
    ///
    /// # Errors
    /// Invalid arguments, or a cursor that leads nowhere.
    pub(crate) fn follow_up(&self, cursor: &str, arguments: &str) -> Result<Option<Shaped>, Fault> {
        let reply = self.runtime.block_on(async {
            let opened = self.gateway.open_cursor(self.caller(None), None, Some(cursor.to_owned())).await;
            match parse_read_arguments(arguments, &opened.caller().effective_policy.policy) {
                Ok(request) => opened.answer(request).await,
                Err(fault) => opened.refuse(fault),
            }
        });
        Shaped::from_reply(reply)
    }

    /// Returns the tokens up to which results of a tool have to pass whole so that this one does; `None` if no setting of that
    /// kind allows it.
    pub(crate) fn whole_threshold(&self, tool: ToolName<'_>, texts: &[String]) -> Option<usize> {
        let EffectivePolicy { policy, counter, .. } = &*self.caller(Some(tool)).effective_policy;
        let bytes: usize = texts.iter().map(String::len).sum();
        let tokens: usize = texts.iter().map(|text| counter.count(text)).sum();
        // Escapes and the frame of the result count too.
        (tokens <= policy.hard_cap && bytes + bytes / 4 <= policy.hard_byte_limit)
            .then_some(tokens + tokens / 50 + 50)
    }

    fn caller(&self, tool: Option<ToolName<'_>>) -> Caller {
        let rules = self.gateway.rules();
        let rule = tool.map_or_else(
            || Arc::clone(rules.default_rule()),
            |ToolName { server, name }| {
                rules.rule_for(EndpointTarget { upstream: server, ..EndpointTarget::from_name(name) })
            },
        );
        let effective_policy = rule.policy_for(self.client, ToolLimits::default());
        let upstream = tool.and_then(|tool| tool.server).map(Into::into);
        let caller = Caller::new(self.scope, Arc::clone(&self.session), rule);
        Caller { client: self.client, effective_policy, upstream, owns_scope: true, ..caller }
    }
}

impl Shaped {
    fn from_reply(reply: Reply) -> Result<Option<Self>, Fault> {
        let portion = match reply {
            Reply::Untouched => return Ok(None),
            Reply::Fault(fault) => return Err(fault),
            Reply::Portion(portion) => portion,
        };
        let pieces = portion.pieces().iter().map(|piece| piece.body.as_str());
        Ok(Some(Self {
            texts: pieces.chain(portion.separate_notice()).map(str::to_owned).collect(),
            notice: serde_json::from_str(portion.notice()).unwrap_or_default(),
            cursor: portion.start_cursor().map(ToString::to_string),
            next_cursor: portion.next_cursor().map(ToString::to_string),
            tokens: portion.tokens(),
            charged_cursors: portion.charged_cursors().to_vec(),
        }))
    }
}
