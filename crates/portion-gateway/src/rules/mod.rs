//! Derives the policy of each endpoint and client from a [`PolicySource`].
//!
//! [`EndpointRules`] are one immutable version; a gateway uses new rules for new requests. Configured limits
//! take precedence. Otherwise facts about the client can lower a limit, and nothing raises one. A rule is
//! computed at the first call of its endpoint and cached; later calls only look it up.
//!
//! ```
//! use std::sync::Arc;
//!
//! use portion_core::policy::ClientLimits;
//! use portion_policy::endpoint::{EndpointConfig, EndpointTarget};
//! use portion_gateway::rules::EndpointRules;
//!
//! let rules = EndpointRules::new(Arc::new(EndpointConfig::default()), ClientLimits::UNKNOWN);
//! let rule = rules.rule_for(EndpointTarget::from_name("list_bookings"));
//! let policy = &rule.policy_for_client(None).policy;
//! assert_eq!(policy.validate(), Ok(()));
//! ```

mod shaping_mode;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::RwLock;
use portion_core::policy::{ClientLimits, LimitOverrides, Policy, StructuredMode};
use portion_policy::client::{CLIENTS, ClientProfile, MAX_TOOL_LIMIT, Preset, ResultLimit, ShownForm};
use portion_policy::endpoint::{EndpointConfig, EndpointKind, EndpointTarget, PolicySource};
use portion_tokens::{Factor, Tokenizer};

use crate::effective_policy::EffectivePolicy;
pub use shaping_mode::{PassThrough, ShapingMode};

/// Calls of a tool that get the callers' own size of a page after a larger one failed.
const OWN_PAGE_CALLS: u32 = 50;
/// Largest reply to a program that asks for everything, in bytes, if the operator sets no limit: some clients refuse
/// larger ones.
const MAX_PROGRAM_BYTES: usize = 1 << 20;
/// Largest number of cached endpoint names, because resource names are unlimited.
const MAX_CACHED_NAMES: usize = 4096;

/// Rules of all endpoints in one version of the configuration.
pub struct EndpointRules {
    policy_source: Arc<dyn PolicySource>,
    /// Limits from the environment, for any client.
    environment_room: ClientLimits,
    /// Rule of endpoints without a configuration of their own.
    default_rule: Arc<EndpointRule>,
    /// Rules by endpoint name; several endpoints may have the same name.
    cache: RwLock<HashMap<Box<str>, Vec<CachedRule>>>,
}

/// Rule of one endpoint: its policies by client.
#[derive(Debug)]
pub struct EndpointRule {
    config: EndpointConfig,
    version: u64,
    /// Preset that identifies clients, the same for all endpoints.
    preset: Preset,
    environment_room: ClientLimits,
    /// Policies of the [`CLIENTS`], in their order.
    policy_by_client: Vec<Arc<EffectivePolicy>>,
    default_policy: Arc<EffectivePolicy>,
    /// True once a pushdown without effect was logged.
    has_pushdown_warning: AtomicBool,
    /// Calls that will be sent with the caller's own size of a page.
    own_page_calls: AtomicU32,
}

/// Token counting and client preset, the same for all endpoints.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CountingConfig {
    tokenizer: Tokenizer,
    factor: Factor,
    preset: Preset,
}

/// A cached rule with the endpoint that it belongs to, except its name.
struct CachedRule {
    upstream: Option<Box<str>>,
    kind: EndpointKind,
    rule: Arc<EndpointRule>,
}

/// Limits that a listed tool states for its results. They apply to every reply to a call of that tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolLimits {
    /// Largest result in characters.
    pub max_result_chars: Option<usize>,
    /// True if the tool is listed with its own `outputSchema`: `structuredContent` is then never changed.
    pub keeps_structured: bool,
    /// True if the tool is listed without an `outputSchema`: no client demands `structuredContent`.
    pub has_optional_structured: bool,
}

impl EndpointRules {
    /// Creates the rules for a policy source, within the limits of the environment.
    pub fn new(policy_source: Arc<dyn PolicySource>, client_limits: ClientLimits) -> Self {
        let general = policy_source.endpoint_config(None);
        let counting = CountingConfig::from_config(&general);
        let general = EndpointRule::new(general, policy_source.version(), counting, client_limits);
        Self {
            policy_source,
            environment_room: client_limits,
            default_rule: Arc::new(general),
            cache: RwLock::default(),
        }
    }

    /// Creates rules with the same policy for everybody.
    pub fn fixed(effective_policy: EffectivePolicy) -> Self {
        let limits = LimitOverrides::from(&effective_policy.policy);
        let config =
            EndpointConfig { limits, redact: effective_policy.redact.clone(), ..EndpointConfig::default() };
        let mut rules = Self::new(Arc::new(config), ClientLimits::UNKNOWN);
        let effective_policy = Arc::new(effective_policy);
        if let Some(rule) = Arc::get_mut(&mut rules.default_rule) {
            rule.preset = Preset::None;
            rule.policy_by_client.fill(Arc::clone(&effective_policy));
            rule.default_policy = effective_policy;
        }
        rules
    }

    /// Returns the version of the configuration.
    pub fn version(&self) -> u64 {
        self.default_rule.version
    }

    /// Returns the profile that applies to a client with this name, if any.
    pub fn resolve_client(&self, name: Option<&str>) -> Option<&'static ClientProfile> {
        match self.default_rule.preset {
            Preset::Named(named) => Some(named),
            Preset::None | Preset::Auto => name.and_then(ClientProfile::find_by_name),
            Preset::Code => None,
        }
    }

    /// Returns true if both count tokens in the same way.
    pub(crate) fn has_same_counting(&self, other: &Self) -> bool {
        CountingConfig::from_config(&self.default_rule.config)
            == CountingConfig::from_config(&other.default_rule.config)
    }

    /// Returns the rule of endpoints without a configuration of their own.
    pub fn default_rule(&self) -> &Arc<EndpointRule> {
        &self.default_rule
    }

    /// Returns the rule of an endpoint.
    pub fn rule_for(&self, target: EndpointTarget<'_>) -> Arc<EndpointRule> {
        let find = |rules: &HashMap<Box<str>, Vec<CachedRule>>| {
            let found = rules.get(target.name)?.iter().find(|ruled| ruled.matches(target))?;
            Some(Arc::clone(&found.rule))
        };
        if let Some(rule) = find(&self.cache.read()) {
            return rule;
        }
        let rule = self.compute_rule(target);
        let mut rules = self.cache.write();
        if rules.len() >= MAX_CACHED_NAMES {
            rules.clear();
        }
        let (upstream, kind) = (target.upstream.map(Into::into), target.kind);
        rules.entry(target.name.into()).or_default().push(CachedRule {
            upstream,
            kind,
            rule: Arc::clone(&rule),
        });
        rule
    }

    /// Returns true if a rule is written for a path of its own, and not for the general one.
    pub fn has_rule_of_path(&self, own: EndpointTarget<'_>, general: &str) -> bool {
        self.policy_source.has_rule_of_path(own, general)
    }

    fn compute_rule(&self, target: EndpointTarget<'_>) -> Arc<EndpointRule> {
        let config = self.policy_source.endpoint_config(Some(target));
        if config == self.default_rule.config {
            return Arc::clone(&self.default_rule);
        }
        Arc::new(EndpointRule::new(
            config,
            self.version(),
            CountingConfig::from_config(&self.default_rule.config),
            self.environment_room,
        ))
    }
}

impl CountingConfig {
    fn from_config(general: &EndpointConfig) -> Self {
        let EndpointConfig { tokenizer, tokenizer_factor: factor, preset, .. } = *general;
        Self { tokenizer, factor, preset }
    }
}

impl EndpointRule {
    fn new(
        config: EndpointConfig,
        version: u64,
        counting: CountingConfig,
        client_limits: ClientLimits,
    ) -> Self {
        let CountingConfig { tokenizer, factor, preset } = counting;
        let policy_of = |client: Option<&'static ClientProfile>| {
            let family = match tokenizer {
                Tokenizer::Auto => client.and_then(|client| client.tokenizer).unwrap_or_default(),
                named => named,
            };
            let policy = client_policy(&config, client, preset_room(client, preset).intersect(client_limits));
            Arc::new(EffectivePolicy {
                redact: config.redact.clone(),
                error_byte_limit: bounding_client(client, preset)
                    .and_then(ClientProfile::error_room)
                    .unwrap_or(usize::MAX),
                ..EffectivePolicy::with_tokenizer(policy, family, factor)
            })
        };
        let known = CLIENTS.iter().map(|client| policy_of(Some(client))).collect();
        let unknown = policy_of(None);
        Self {
            config,
            version,
            preset,
            environment_room: client_limits,
            policy_by_client: known,
            default_policy: unknown,
            has_pushdown_warning: AtomicBool::new(false),
            own_page_calls: AtomicU32::new(0),
        }
    }

    /// Returns true if a caller gets unshaped results, on request or as a program.
    pub fn allows_whole(&self, is_requested: bool) -> bool {
        self.config.allow_whole && (is_requested || self.preset == Preset::Code)
    }

    /// Returns the configuration of the rule.
    pub fn config(&self) -> &EndpointConfig {
        &self.config
    }

    /// Returns the bytes of the largest reply, to a program that asks for everything. A client that applies the limits of
    /// listed tools files away what exceeds the largest one.
    pub fn largest_reply_bytes(&self, client: Option<&ClientProfile>) -> usize {
        let own = self.default_policy.policy.hard_byte_limit;
        let listed = client.filter(|client| client.honours_tool_limits);
        let listed = listed.map_or(usize::MAX, |_| ClientLimits::with_headroom(MAX_TOOL_LIMIT));
        self.config.unshaped_byte_limit.unwrap_or(MAX_PROGRAM_BYTES.max(own)).min(listed)
    }

    /// Returns true for the first call: a pushdown without effect is logged once per version of the configuration.
    pub fn is_first_pushdown_warning(&self) -> bool {
        !self.has_pushdown_warning.swap(true, Ordering::Relaxed)
    }

    /// Counts a call. Returns true if it is sent with the caller's own size of a page, because a larger page failed before.
    pub fn keeps_own_page(&self) -> bool {
        let counted = |left: u32| left.checked_sub(1);
        self.own_page_calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted).is_ok()
    }

    /// Remembers that a call with the caller's own arguments succeeded where one for a larger page did not, for some calls:
    /// the failure may have been a passing one.
    pub fn keep_own_page(&self, tool: &str) {
        if self.own_page_calls.swap(OWN_PAGE_CALLS, Ordering::Relaxed) == 0 {
            tracing::info!(
                tool,
                calls = OWN_PAGE_CALLS,
                "larger pages than callers ask for fail: the next calls of this tool get the callers' own arguments"
            );
        }
    }

    /// Returns the version of the configuration.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the policy of a client; the default one for `None`.
    pub fn policy_for_client(&self, client: Option<&'static ClientProfile>) -> &Arc<EffectivePolicy> {
        let place = client.and_then(|client| CLIENTS.iter().position(|known| std::ptr::eq(known, client)));
        place.and_then(|place| self.policy_by_client.get(place)).unwrap_or(&self.default_policy)
    }

    /// Returns the policy of a client for results of a tool with these limits.
    pub fn policy_for(
        &self,
        client: Option<&'static ClientProfile>,
        tool: ToolLimits,
    ) -> Arc<EffectivePolicy> {
        let effective = match (client, tool.max_result_chars) {
            (Some(client), Some(characters)) => self.policy_for_tool(client, characters),
            _ => Arc::clone(self.policy_for_client(client)),
        };
        if !tool.keeps_structured {
            return effective;
        }
        let mut policy = effective.policy.clone();
        policy.render_options.structured = StructuredMode::AsReceived;
        Arc::new(effective.with_policy(policy))
    }

    /// Returns the policy of a client for a tool that states the largest result in characters.
    ///
    /// If the client applies that limit, it replaces the client's own limit in characters.
    pub fn policy_for_tool(&self, client: &'static ClientProfile, characters: usize) -> Arc<EffectivePolicy> {
        let effective_policy = self.policy_for_client(Some(client));
        if !client.honours_tool_limits {
            return Arc::clone(effective_policy);
        }
        let others = ClientLimits { max_bytes: None, ..preset_room(Some(client), self.preset) };
        let client_limits = others
            .intersect(ResultLimit::Characters(characters).reply_room())
            .intersect(self.environment_room);
        let policy = client_policy(&self.config, Some(client), client_limits);
        if policy == effective_policy.policy {
            Arc::clone(effective_policy)
        } else {
            Arc::new(effective_policy.with_policy(policy))
        }
    }
}

impl CachedRule {
    fn matches(&self, target: EndpointTarget<'_>) -> bool {
        self.kind == target.kind && self.upstream.as_deref() == target.upstream
    }
}

/// Returns the limits for a client.
fn client_policy(
    config: &EndpointConfig,
    client: Option<&ClientProfile>,
    client_limits: ClientLimits,
) -> Policy {
    let mut policy = config.limits.resolve(client_limits);
    policy.render_options.structured = match client.map(|client| client.shown_form) {
        None | Some(ShownForm::Text) => StructuredMode::Records,
        Some(ShownForm::Structured) => StructuredMode::AsText,
        Some(ShownForm::Both) => StructuredMode::InPlaceOfText,
    };
    // The client's limit is that of the form that it shows.
    policy.render_options.two_form_byte_limit = (policy.render_options.structured == StructuredMode::AsText)
        .then(|| config.limits.resolve(ClientLimits::UNKNOWN).hard_byte_limit);
    policy
}

/// Returns the limits of a client, if the preset applies them.
fn preset_room(client: Option<&ClientProfile>, preset: Preset) -> ClientLimits {
    bounding_client(client, preset).map_or(ClientLimits::UNKNOWN, ClientProfile::reply_room)
}

/// Returns the client whose limits the preset applies.
fn bounding_client(client: Option<&ClientProfile>, preset: Preset) -> Option<&ClientProfile> {
    match preset {
        Preset::None | Preset::Code => None,
        Preset::Auto => client,
        Preset::Named(named) => Some(client.unwrap_or(named)),
    }
}

#[cfg(test)]
mod tests;
