//! Tools, resources and prompts, their configuration, as written by an operator, and options for the listing of
//! an upstream's tools.
//!
//! ```
//! use portion_policy::endpoint::{Endpoint, EndpointKind};
//!
//! let order = Endpoint { name: "order".into(), kind: EndpointKind::Tool, read_only: false, idempotent: false };
//! assert!(!order.is_repeatable());
//! ```
//!
//! A [`PolicySource`] is one immutable version; `EndpointRules` of the gateway derive the
//! policy of each reply from it. The gateway does not know where sources come from (files, variables,
//! options).
//!
//! ```
//! use portion_policy::endpoint::EndpointKind;
//! use portion_policy::endpoint::{EndpointConfig, EndpointTarget, PolicySource};
//!
//! let target = EndpointTarget::from_name("file:///notes.md");
//! assert_eq!(target.kind, EndpointKind::Resource);
//! // An `EndpointConfig` is a source with the same configuration for every endpoint.
//! let source = EndpointConfig { dry_run: true, ..EndpointConfig::default() };
//! assert!(source.endpoint_config(Some(target)).dry_run);
//! ```
//!
//! ```
//! use portion_policy::endpoint::{AdvertisePolicy, ListingStyle};
//!
//! assert_eq!("lazy".parse::<ListingStyle>(), Ok(ListingStyle::Lazy));
//! assert_eq!(AdvertisePolicy::default(), AdvertisePolicy::Lists);
//! ```

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use portion_core::policy::LimitOverrides;
use portion_core::redact::{REDACTED, RedactionRules};
use portion_tokens::{Factor, Tokenizer};

use crate::client::Preset;
use crate::pushdown::Pushdown;

pub use portion_core::event::EndpointKind;

/// Largest endpoint name in logs and records, in bytes.
const MAX_LOG_NAME_BYTES: usize = 256;

/// Characters between the parameters of a URI.
const PARAMETER_SEPARATORS: [char; 3] = ['?', '&', '#'];

/// Ends of the names of parameters that sign a URI, besides the names of secrets.
const SIGNATURE_ENDS: [&str; 4] = ["sig", "signature", "key", "auth"];

/// Default name of the reading tool.
pub const READ_TOOL: &str = "portion_read";

/// Default name of the query tool.
pub const QUERY_TOOL: &str = "portion_query";

/// Default name of the argument by which a tool's first call asks a query.
const QUERY_ARGUMENT: &str = "query";

/// Default name of the tool that describes other tools.
const DESCRIBE_TOOL: &str = "portion_describe";

/// A tool, resource or prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the tool or prompt, or URI of the resource.
    pub name: String,
    /// Kind of the endpoint.
    pub kind: EndpointKind,
    /// Marked as changing nothing.
    pub read_only: bool,
    /// Marked as changing nothing more when an equal call is repeated.
    pub idempotent: bool,
}

impl Endpoint {
    /// Returns a tool. `reads`: true if its calls change nothing.
    pub fn tool(name: impl Into<String>, reads: bool) -> Self {
        Self { name: name.into(), kind: EndpointKind::Tool, read_only: reads, idempotent: reads }
    }

    /// Returns the endpoint's name for logs and records, without credentials, and shortened because its length is up to the
    /// caller; empty for `None`.
    pub fn log_name(endpoint: Option<&Self>) -> Cow<'_, str> {
        let name = without_credentials(endpoint.map_or("", |endpoint| &endpoint.name));
        if name.len() <= MAX_LOG_NAME_BYTES {
            return name;
        }
        let end = name.floor_char_boundary(MAX_LOG_NAME_BYTES - '…'.len_utf8());
        Cow::Owned(format!("{}…", &name[..end]))
    }

    /// Returns true if an equal call can be repeated without further side effects.
    pub fn is_repeatable(&self) -> bool {
        self.kind != EndpointKind::Tool || self.read_only || self.idempotent
    }
}

/// One version of the configuration.
pub trait PolicySource: Send + Sync {
    /// Returns the version number, which increases with each version.
    fn version(&self) -> u64;

    /// Returns the configuration of an endpoint, or the general one for `None`.
    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig;

    /// Returns true if a rule is written for a path of its own, and not for the general path by which others like it are known:
    /// `GET /reports/2026` and `GET /reports/{id}`.
    fn has_rule_of_path(&self, _own: EndpointTarget<'_>, _general: &str) -> bool {
        false
    }
}

/// An endpoint that a rule may be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndpointTarget<'a> {
    /// Name of the server, if there are several.
    pub upstream: Option<&'a str>,
    /// Kind of the endpoint.
    pub kind: EndpointKind,
    /// Name of the tool or prompt, or URI of the resource.
    pub name: &'a str,
}

impl<'a> EndpointTarget<'a> {
    /// Returns the tool of that name, or the resource if it is a URI.
    pub fn from_name(name: &'a str) -> Self {
        let kind = if name.contains("://") { EndpointKind::Resource } else { EndpointKind::Tool };
        Self { upstream: None, kind, name }
    }
}

/// Configuration of an endpoint. Its limits are valid together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointConfig {
    /// Limits of replies.
    pub limits: LimitOverrides,
    /// Token counter. Only the general configuration's value is used.
    pub tokenizer: Tokenizer,
    /// Factor for token counts. Only the general configuration's value is used.
    pub tokenizer_factor: Factor,
    /// Client whose limits apply. Only the general configuration's value is used.
    pub preset: Preset,
    /// Redaction rules for payloads.
    pub redact: Option<Arc<RedactionRules>>,
    /// True if controls are accepted on calls of the endpoint itself; `None` if its schema decides.
    pub controls: Option<bool>,
    /// True if an equal call may be answered from a snapshot, whatever it selects; `None` if the endpoint's
    /// read-only annotation decides.
    pub reuse: Option<bool>,
    /// True if the endpoint only reads, whatever its annotations are.
    pub read: bool,
    /// Paging of the endpoint's own results, if the gateway fetches its pages.
    pub pushdown: Option<Arc<Pushdown>>,
    /// True if a reply that would not fit is refused instead of shaped.
    pub refuses_oversized: bool,
    /// Sessions that are shaped at all.
    pub rollout: Rollout,
    /// Experiment on the endpoint.
    pub experiment: Experiment,
    /// Largest reply, in bytes, that may be relayed unshaped; `None`: no limit.
    pub unshaped_byte_limit: Option<usize>,
    /// True if programs may request unshaped replies, up to `unshaped_byte_limit`.
    pub allow_whole: bool,
    /// Token budget of a session.
    pub session_budget: Option<usize>,
    /// Longest time that the server may take without progress; `None`: no limit.
    pub request_timeout: Option<Duration>,
    /// True if nothing is shaped, and only the simulated shaping is recorded.
    pub dry_run: bool,
    /// Share of replies that are recounted exactly, in percent; `None`: 1.
    pub accuracy_sample: Option<f64>,
}

/// Share of sessions whose replies are shaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// Share in percent.
    pub percent: f64,
    /// Salt of the session hash: different salts select different sessions.
    pub salt: Arc<str>,
}

/// An experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Experiment {
    /// No experiment.
    #[default]
    None,
    /// Replies are relayed unshaped; the simulated shaping is recorded.
    Shadow,
    /// This share of sessions is shaped, the rest is not.
    Split(Rollout),
}

impl PolicySource for EndpointConfig {
    /// Returns the same configuration for every endpoint.
    fn endpoint_config(&self, _: Option<EndpointTarget<'_>>) -> EndpointConfig {
        self.clone()
    }

    fn version(&self) -> u64 {
        0
    }
}

impl Default for Rollout {
    /// All sessions.
    fn default() -> Self {
        Self { percent: 100.0, salt: Arc::from("") }
    }
}

/// Options for the listing of an upstream's tools.
#[derive(Clone, Debug)]
pub struct ListingOptions {
    /// Amount of detail per tool.
    pub style: ListingStyle,
    /// Requested name of the reading tool.
    pub read_tool: String,
    /// Requested name of the query tool; `None` if it is not listed.
    pub query_tool: Option<String>,
    /// Name of the argument of the upstream's tools for a query; `None` if they have none.
    pub query_argument: Option<String>,
    /// Requested name of the tool that describes others. Used by [`ListingStyle::Lazy`] only.
    pub describe_tool: String,
    /// Tools that get controls.
    pub advertise: AdvertisePolicy,
    /// Patterns of rules for tools of this server. One that matches no tool is logged.
    pub rule_patterns: Vec<String>,
}

/// Selects the upstream tools that are listed with controls among their arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdvertisePolicy {
    /// Tools that return lists.
    #[default]
    Lists,
    /// All tools whose schemas can be extended.
    All,
    /// No tools.
    None,
    /// Tools whose names match one of these patterns; `*` matches any characters.
    Named(Vec<String>),
}

/// Amount of detail per listed tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListingStyle {
    /// Everything that the upstream lists.
    #[default]
    Full,
    /// The first sentence of each description, and schemas without annotations.
    Trim,
    /// Name and one line. The rest is available through the describe tool.
    Lazy,
}

/// Error for an unknown style name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown style `{name}`: use {}", ListingStyle::ALL.map(ListingStyle::name).join(", "))]
pub struct UnknownListingStyle {
    /// The given name.
    pub name: String,
}

impl Default for ListingOptions {
    fn default() -> Self {
        Self {
            style: ListingStyle::default(),
            read_tool: READ_TOOL.into(),
            query_tool: Some(QUERY_TOOL.into()),
            query_argument: Some(QUERY_ARGUMENT.into()),
            describe_tool: DESCRIBE_TOOL.into(),
            advertise: AdvertisePolicy::default(),
            rule_patterns: Vec::new(),
        }
    }
}

impl ListingStyle {
    /// All styles, the default first.
    pub const ALL: [Self; 3] = [Self::Full, Self::Trim, Self::Lazy];

    fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Trim => "trim",
            Self::Lazy => "lazy",
        }
    }
}

impl fmt::Display for ListingStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ListingStyle {
    type Err = UnknownListingStyle;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|style| style.name() == name);
        named.ok_or_else(|| UnknownListingStyle { name: name.to_owned() })
    }
}

/// Returns a name without the credentials of a URI: user information, and parameters with the name of a secret.
fn without_credentials(name: &str) -> Cow<'_, str> {
    if !name.contains([':', '=']) {
        return Cow::Borrowed(name);
    }
    let (mut shown, mut rest) = (String::with_capacity(name.len()), name);
    while let Some((before, after)) = rest.split_once("://") {
        let authority = &after[..after.find(['/', '?', '#']).unwrap_or(after.len())];
        let host = authority.rfind('@').map_or(0, |end| end + 1);
        shown.extend([before, "://"]);
        rest = &after[host..];
    }
    shown.push_str(rest);
    let mut signed = String::with_capacity(shown.len());
    for part in shown.split_inclusive(PARAMETER_SEPARATORS) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if value.is_empty() || !SIGNATURE_ENDS.iter().any(|end| name.to_ascii_lowercase().ends_with(end)) {
            signed.push_str(part);
            continue;
        }
        let separator = value.find(PARAMETER_SEPARATORS).map_or("", |at| &value[at..]);
        signed.extend([name, "=", REDACTED, separator]);
    }
    let redacted = RedactionRules::default_secrets().redact(&signed);
    Cow::Owned(redacted.map_or(signed, |(redacted, _)| redacted))
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointKind, ListingStyle};

    fn logged(name: &str) -> String {
        let endpoint =
            Endpoint { name: name.into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
        Endpoint::log_name(Some(&endpoint)).into_owned()
    }

    #[test]
    fn logged_names_have_no_credentials() {
        for (name, expect) in [
            ("list_items", "list_items"),
            ("file:///srv/a@2x.png", "file:///srv/a@2x.png"),
            ("notes://2024/list?page=2&sort=name", "notes://2024/list?page=2&sort=name"),
            ("/api/v1/bookings/{id}", "/api/v1/bookings/{id}"),
            ("postgres://u:SECRET@h:5432/db", "postgres://h:5432/db"),
            ("https://SECRET@h/x", "https://h/x"),
            ("jdbc:mysql://u:S@CRET@h/x", "jdbc:mysql://h/x"),
            ("fetch://page?url=https://u:SECRET@h/x", "fetch://page?url=https://h/x"),
        ] {
            assert_eq!(logged(name), expect);
        }
        for parameter in
            ["access_token", "api_key", "apikey", "token", "password", "sig", "key", "client_secret"]
        {
            for name in [
                format!("https://h/x?{parameter}=SECRET&page=2"),
                format!("https://h/x?page=2&{parameter}=SECRET"),
                format!("app://x?page=2#{parameter}=SECRET"),
            ] {
                let logged = logged(&name);
                assert!(!logged.contains("SECRET") && logged.contains("page=2"), "{name}: {logged}");
            }
        }
    }

    #[test]
    fn logged_names_are_limited() {
        let fits = "x".repeat(256);
        assert_eq!((logged("list"), logged(&fits)), ("list".to_owned(), fits));
        for name in ["x".repeat(257), "é".repeat(1 << 19), "日".repeat(100)] {
            let logged = logged(&name);
            let prefix = logged.strip_suffix('…').expect("it is marked");
            assert!(
                (251..=256).contains(&logged.len()) && name.starts_with(prefix),
                "{} {logged}",
                logged.len()
            );
        }
    }

    #[test]
    fn names_are_parsed_as_displayed() {
        for style in ListingStyle::ALL {
            assert_eq!(style.to_string().parse(), Ok(style));
        }
        let error = "short".parse::<ListingStyle>().expect_err("no style");
        assert_eq!(error.to_string(), "unknown style `short`: use full, trim, lazy");
    }
}
