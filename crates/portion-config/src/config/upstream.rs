//! The servers in a configuration.

use std::sync::Arc;

use portion_policy::upstream::{Transport, UpstreamTarget, UpstreamTargetError};

use super::PatternRule;
use super::cascade::{self, TypedValues as _};
use super::rest::{REST_KEYS, RestConfig};
use crate::read::{ConfigReader, PatternSettings, UpstreamLayer};
use crate::reference::{CREDENTIALS_FIX, SecretResolver};
use crate::settings::{Origin, Problem, Settings};
use crate::value::Value;

/// A server in a configuration.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Name that identifies it, and under which it is served.
    pub name: Arc<str>,
    /// Connection to it.
    pub server: ServerConfig,
    /// Settings for all of its endpoints.
    pub settings: Settings,
    /// Its rules and those for all servers, from the least to the most specific.
    pub(crate) rules: Vec<PatternRule>,
    /// Its own rules, as written.
    pub(crate) declared_rules: Vec<(String, Settings)>,
}

/// The connection to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerConfig {
    /// A running server.
    Url {
        /// URL, with references followed.
        url: String,
        /// Headers of each request, `Name: value`, with references followed.
        headers: Vec<String>,
        /// Transport.
        transport: Transport,
        /// Choices for logins.
        login: Box<LoginConfig>,
    },
    /// A server that Portion starts.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// Environment variables in addition to Portion's own, with references followed.
        environment: Vec<(String, String)>,
    },
    /// A REST API whose operations become tools.
    Rest(Box<RestConfig>),
}

/// Hides the values, which may be secret.
impl std::fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Url { .. } => "Url",
            Self::Command { .. } => "Command",
            Self::Rest(_) => "Rest",
        })
    }
}

impl Upstream {
    /// Yields its own patterns of endpoints with their settings, in order.
    pub fn endpoints(&self) -> impl Iterator<Item = (&str, &Settings)> {
        self.declared_rules.iter().map(|(pattern, settings)| (pattern.as_str(), settings))
    }
}

impl ConfigReader {
    /// Builds the servers, following references if a resolver is given.
    pub(super) fn resolve_upstreams(
        &mut self,
        named: Vec<(String, UpstreamLayer)>,
        any: &PatternSettings,
        resolver: Option<&dyn SecretResolver>,
    ) -> Vec<Upstream> {
        let mut upstreams = Vec::new();
        for (name, mut served) in named {
            let known = self.problems.len();
            if let Some(resolver) = resolver {
                self.expand_references(&mut served.settings, resolver);
            }
            // A profile names variables that are needed only if its API is used.
            let found = self.problems.split_off(known);
            let (unresolved, found): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|problem| matches!(problem.origin, Origin::Profile(_)));
            self.problems.extend(found);
            let Some(mut server) = self.resolve_server(&name, &served) else { continue };
            if let ServerConfig::Rest(rest) = &mut server {
                rest.unresolved = unresolved;
            }
            let rules = cascade::rules_by_specificity(any, Some(&served.rules));
            let UpstreamLayer { settings, rules: PatternSettings(own), .. } = served;
            upstreams.push(Upstream { name: name.into(), server, settings, rules, declared_rules: own });
        }
        upstreams
    }

    /// Follows the references in settings.
    pub(super) fn expand_references(&mut self, settings: &mut Settings, resolver: &dyn SecretResolver) {
        for set in settings.values_mut() {
            let secrets: Vec<_> = match &mut set.value {
                Value::Reference(secret) => vec![(set.key.name, secret)],
                Value::Command(words) => words.iter_mut().map(|word| ("command", word)).collect(),
                Value::Secrets(secrets) => {
                    secrets.iter_mut().map(|(name, secret)| (name.as_str(), secret)).collect()
                }
                _ => Vec::new(),
            };
            for (name, secret) in secrets {
                if let Err(error) = secret.expand(resolver) {
                    let message = format!("{} {}", set.key.name, error.problem(name));
                    self.problems.push(Problem::new(set.origin.clone(), message, error.fix()));
                }
            }
        }
    }

    fn resolve_server(&mut self, name: &str, served: &UpstreamLayer) -> Option<ServerConfig> {
        let UpstreamLayer { origin, settings, .. } = served;
        let value = |key: &str| settings.value(key);
        let is_rest = value("openapi").is_some() || value("tools").is_some();
        if is_rest && value("command").is_none() {
            let rest = self.resolve_rest(name, served);
            if rest.document.is_none() && rest.url.is_none() {
                let message = format!("the upstream {name} has tools and no url");
                self.report(origin.clone(), message, "set url to the base URL of the API");
            }
            self.check_target(name, rest.url.as_deref(), &rest.headers, settings);
            return Some(ServerConfig::Rest(Box::new(rest)));
        }
        self.reject_unused_keys(name, settings, &REST_KEYS, "openapi or tools");
        match (value("url"), value("command")) {
            (url, Some(_)) if is_rest || url.is_some() => {
                let keys = ["openapi", "tools", "url"];
                let key = keys.into_iter().find(|key| value(key).is_some()).unwrap_or_default();
                let message = format!("the upstream {name} has both {key} and command");
                self.report(origin.clone(), message, "remove one of the two");
                None
            }
            (None, None) => {
                // If one of them was invalid, that has been reported already.
                if self.problems.is_empty() {
                    let message = format!("the upstream {name} has neither url nor command");
                    self.report(origin.clone(), message, "set url, the command that starts it, or openapi");
                }
                None
            }
            (Some(Value::Reference(url)), None) => {
                self.reject_unused_keys(name, settings, &["env"], "command");
                let login = Box::new(self.resolve_login(name, settings));
                let (url, headers) = (url.reveal().to_owned(), settings.headers());
                self.check_target(name, Some(&url), &headers, settings);
                Some(ServerConfig::Url {
                    url,
                    headers,
                    transport: match value("transport") {
                        Some(Value::Choice("http")) => Transport::Http,
                        Some(Value::Choice("sse")) => Transport::Sse,
                        _ => Transport::Auto,
                    },
                    login,
                })
            }
            (_, Some(Value::Command(words))) => {
                self.reject_unused_keys(name, settings, &["headers", "transport", "login"], "url");
                let argv = words.iter().map(|word| word.reveal().to_owned()).collect();
                Some(ServerConfig::Command { argv, environment: settings.secrets("env") })
            }
            _ => None,
        }
    }

    /// Reports keys that have no effect without another key.
    pub(super) fn reject_unused_keys(&mut self, name: &str, settings: &Settings, keys: &[&str], other: &str) {
        for set in keys.iter().filter_map(|key| settings.get(key)) {
            let message = format!("{} of the upstream {name} has no effect without {other}", set.key.name);
            self.report(set.origin.clone(), message, "remove it");
        }
    }

    /// Checks the URL and headers. Those with references that were not followed cannot be checked.
    fn check_target(&mut self, name: &str, url: Option<&str>, headers: &[String], settings: &Settings) {
        let at = |key: &str| settings.get(key).map_or(Origin::Default, |set| set.origin.clone());
        let url = url.unwrap_or("http://localhost/");
        if url.contains('$') {
            return;
        }
        let target = match UpstreamTarget::new(url) {
            Ok(target) => target,
            Err(UpstreamTargetError::CredentialsInUrl) => {
                let message = format!("url of the upstream {name} contains a user or password");
                return self.report(at("url"), message, CREDENTIALS_FIX);
            }
            Err(_) => {
                let message = format!("url of the upstream {name} is not a URL");
                let fix = "write the whole URL, such as http://127.0.0.1:3000/mcp";
                return self.report(at("url"), message, fix);
            }
        };
        for line in headers {
            if target.clone().with_header(line).is_err() {
                let header = line.split(':').next().unwrap_or_default().escape_debug().to_string();
                let message =
                    format!("headers of the upstream {name} have `{header}`, which is not valid in HTTP");
                self.report(at("headers"), message, "write a valid header name and value");
            }
        }
    }

    /// Builds the choices for logins of an upstream with `url`.
    pub(super) fn resolve_login(&mut self, name: &str, settings: &Settings) -> LoginConfig {
        let known = ["clientId", "clientSecret", "clientMetadataUrl", "scope", "callbackPort"];
        let Some(([], [client_id, client_secret, client_metadata_url, scope, port])) =
            self.members(name, settings, "login", [], known)
        else {
            return LoginConfig::default();
        };
        let mut report = |problem: &str, fix: &str| {
            if let Some(set) = settings.get("login") {
                self.report(set.origin.clone(), format!("login of the upstream {name} {problem}"), fix);
            }
        };
        if client_secret.is_some() && client_id.is_none() {
            report("has a clientSecret and no clientId", "add clientId");
        }
        if client_metadata_url.is_some() && client_id.is_some() {
            report("has both clientId and clientMetadataUrl", "remove one of the two");
        }
        let port = port.map_or(Ok(0), |text| text.parse());
        if port.is_err() {
            report("has a callbackPort that is not a port", "write a number from 1 to 65535");
        }
        let callback_port = port.unwrap_or_default();
        LoginConfig { client_id, client_secret, client_metadata_url, scope, callback_port }
    }
}

/// Choices for logins at a server. References are followed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct LoginConfig {
    /// Id of a client that is registered at the authorization server.
    pub client_id: Option<String>,
    /// Secret of that client.
    pub client_secret: Option<String>,
    /// URL of a client id metadata document.
    pub client_metadata_url: Option<String>,
    /// Scopes to request, separated by spaces.
    pub scope: Option<String>,
    /// Port of the redirect; 0 is any free one.
    pub callback_port: u16,
}
