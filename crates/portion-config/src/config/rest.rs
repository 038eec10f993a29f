//! The REST APIs in a configuration.

use std::time::Duration;

use portion_policy::endpoint::{EndpointKind, EndpointTarget};
use portion_policy::tool_description::ToolDescription;

use super::Config;
use super::cascade::TypedValues as _;
use crate::read::{ConfigReader, UpstreamLayer};
use crate::settings::{Problem, Settings};
use crate::value::Value;

/// Default of `callTimeout`.
const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_mins(1);
/// Keys that need `openapi` or `tools`.
pub(super) const REST_KEYS: [&str; 6] =
    ["include", "exclude", "queryParameters", "basicAuth", "oauth", "callTimeout"];

/// A REST API whose operations become tools. References are followed.
#[derive(Clone, PartialEq, Eq)]
pub struct RestConfig {
    /// Path of the `OpenAPI` document, if there is one.
    pub document: Option<String>,
    /// Tools that are described in the configuration.
    pub tools: Vec<ToolDescription>,
    /// Problems with references of a profile. They matter only if the API is used.
    pub unresolved: Vec<Problem>,
    /// Base URL; `None`: that of the document.
    pub url: Option<String>,
    /// Headers of each request, `Name: value`.
    pub headers: Vec<String>,
    /// Query parameters of each request.
    pub query: Vec<(String, String)>,
    /// User and password.
    pub basic: Option<(String, String)>,
    /// Client credentials.
    pub oauth: Option<OAuthConfig>,
    /// Patterns of operations to use.
    pub include: Vec<String>,
    /// Patterns of operations to leave out.
    pub exclude: Vec<String>,
    /// Longest duration of a call.
    pub timeout: Duration,
}

/// OAuth 2.0 client credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuthConfig {
    /// URL of the token endpoint.
    pub url: String,
    /// Id of the client.
    pub client_id: String,
    /// Secret of the client.
    pub client_secret: String,
    /// Scope.
    pub scope: Option<String>,
}

impl ConfigReader {
    /// Builds the REST API of an upstream with `openapi` or `tools`.
    pub(super) fn resolve_rest(&mut self, name: &str, served: &UpstreamLayer) -> RestConfig {
        let settings = &served.settings;
        self.reject_unused_keys(
            name,
            settings,
            &["env", "transport", "login"],
            "command, or url without openapi",
        );
        let basic = self.members(name, settings, "basicAuth", ["user", "password"], []);
        let oauth = self.members(name, settings, "oauth", ["url", "clientId", "clientSecret"], ["scope"]);
        RestConfig {
            document: settings.text("openapi").map(str::to_owned),
            tools: match settings.value("tools") {
                Some(Value::Tools(tools)) => tools.tools.clone(),
                _ => Vec::new(),
            },
            unresolved: Vec::new(),
            url: settings.revealed("url").map(str::to_owned),
            headers: settings.headers(),
            query: settings.secrets("queryParameters"),
            basic: basic.map(|([user, password], [])| (user, password)),
            oauth: oauth.map(|(needed, [scope])| {
                let [url, client_id, client_secret] = needed;
                OAuthConfig { url, client_id, client_secret, scope }
            }),
            include: settings.names("include").unwrap_or_default(),
            exclude: settings.names("exclude").unwrap_or_default(),
            timeout: settings.duration("callTimeout").unwrap_or(DEFAULT_CALL_TIMEOUT),
        }
    }

    /// Returns the members of a map that has certain keys; reports others, and those that are missing.
    pub(super) fn members<const N: usize, const M: usize>(
        &mut self,
        upstream: &str,
        settings: &Settings,
        key: &str,
        needed: [&str; N],
        optional: [&str; M],
    ) -> Option<([String; N], [Option<String>; M])> {
        let origin = settings.get(key)?.origin.clone();
        let given = settings.secrets(key);
        let value =
            |name: &str| given.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        let known = [needed.as_slice(), optional.as_slice()].concat();
        let fix = format!("write {}", known.join(", "));
        for (name, _) in given.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            let message =
                format!("{key} of the upstream {upstream} has `{}`, which is not known", name.escape_debug());
            self.report(origin.clone(), message, fix.clone());
        }
        for name in needed.iter().filter(|name| value(name).is_none()) {
            let message = format!("{key} of the upstream {upstream} has no {name}");
            self.report(origin.clone(), message, fix.clone());
        }
        let needed = needed.map(|name| value(name).unwrap_or_default());
        Some((needed, optional.map(value)))
    }
}

impl Config {
    /// Returns true if the tool of a REST API is configured as one that only reads.
    pub fn is_read_tool(&self, upstream: Option<&str>, name: &str) -> bool {
        let target = EndpointTarget { upstream, kind: EndpointKind::Tool, name };
        self.cascade(Some(target)).boolean("read") == Some(true)
    }

    /// Returns true if the style of the tool list is configured.
    pub fn has_listing_style(&self, upstream: Option<&str>) -> bool {
        self.base_cascade(upstream).choice("catalog").is_some()
    }
}
