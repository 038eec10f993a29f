//! Settings of the authentication of callers.

use http::Uri;
use portion_policy::access::{ANY, AccessPolicy, JwtPolicy, TokenHash, can_match_host, can_match_origin};
use portion_policy::upstream::{UpstreamTarget, UpstreamTargetError, without_secrets};

use super::Config;
use super::cascade::TypedValues as _;
use crate::read::ConfigReader;
use crate::settings::Problem;
use crate::value::Value;

/// Keys that `auth: jwt` needs.
const JWT_KEYS: [&str; 3] = ["jwtIssuer", "jwtAudience", "jwksUrl"];
/// Keys that only have an effect with a value of `auth`. A forgotten `auth` would leave the listener open.
const KEYS_BY_METHOD: [(&str, &str); 5] = [
    ("tokenHashes", "bearer"),
    ("jwtIssuer", "jwt"),
    ("jwtAudience", "jwt"),
    ("jwksUrl", "jwt"),
    ("jwtScopes", "jwt"),
];

/// A key with hosts or origins that are allowed.
struct AllowList {
    key: &'static str,
    /// Returns true if an entry can match a request.
    can_match: fn(&str) -> bool,
    /// Remedy for an entry that cannot.
    fix: &'static str,
    /// Risk of the entry `*`.
    risk: &'static str,
    /// Remedy for that risk.
    risk_fix: &'static str,
}

const ALLOW_LISTS: [AllowList; 2] = [
    AllowList {
        key: "allowHosts",
        can_match: can_match_host,
        fix: "write NAME, NAME:PORT, or an address with an IPv6 address in brackets; * alone is every host",
        risk: "every name is accepted as Host, and DNS rebinding is not prevented",
        risk_fix: "list the names",
    },
    AllowList {
        key: "allowOrigins",
        can_match: can_match_origin,
        fix: "write an origin as browsers send it, such as https://app.example.com, without path, default port and *; \
              * alone is every origin",
        risk: "every web page can send requests, and read responses of portion serve",
        risk_fix: "list the origins",
    },
];

impl Config {
    /// Returns who may call the listener of clients.
    ///
    /// # Errors
    /// Returns the problem if a required key is missing or invalid.
    pub fn access(&self) -> Result<AccessPolicy, String> {
        Ok(match self.choice("auth") {
            Some("bearer") => AccessPolicy::Bearer(self.token_hashes("tokenHashes")),
            Some("jwt") => {
                let (Some(issuer), Some(audience)) = (self.text("jwtIssuer"), self.text("jwtAudience"))
                else {
                    return Err("auth jwt needs jwtIssuer and jwtAudience".into());
                };
                AccessPolicy::Jwt(JwtPolicy {
                    issuer: issuer.to_owned(),
                    audience: audience.to_owned(),
                    jwks_url: parse_jwks_url(self.revealed("jwksUrl").unwrap_or_default())?,
                    scopes: self.names("jwtScopes").unwrap_or_default(),
                })
            }
            Some("passthrough") => AccessPolicy::Passthrough,
            _ => AccessPolicy::Anyone,
        })
    }

    /// Returns the tokens for the admin address.
    pub fn admin_tokens(&self) -> Vec<TokenHash> {
        self.token_hashes("adminTokenHashes")
    }

    /// Returns the URL under which clients reach the listener.
    pub fn public_url(&self) -> Option<Uri> {
        self.revealed("publicUrl")?.parse().ok()
    }

    /// Checks that the keys of authentication fit together.
    pub(super) fn check_access(&self, reader: &mut ConfigReader) {
        reader.problems.extend(self.missing_access_keys());
        reader.problems.extend(self.unused_access_keys());
        self.check_allow_lists(reader);
        reader.problems.extend(self.invalid_access_url("jwksUrl", |url| parse_jwks_url(url).map(drop)));
        reader.problems.extend(self.invalid_access_url("publicUrl", |url| {
            let parsed: Option<Uri> = url.parse().ok();
            let is_base = |url: &Uri| {
                matches!(url.scheme_str(), Some("http" | "https"))
                    && url.path() == "/"
                    && url.query().is_none()
            };
            let problem = "publicUrl is not a URL of a host, such as https://mcp.example.com";
            parsed.filter(is_base).map(drop).ok_or(problem.to_owned())
        }));
    }

    fn missing_access_keys(&self) -> Option<Problem> {
        let auth = self.top.get("auth")?;
        let (missing, fix): (Vec<&str>, _) = match self.choice("auth") {
            Some("bearer") if self.token_hashes("tokenHashes").is_empty() => {
                (vec!["tokenHashes"], "make a token and its entry by: portion token NAME")
            }
            Some("jwt") => (
                JWT_KEYS.into_iter().filter(|key| self.value(key).is_none()).collect(),
                "write them as the issuer publishes them, often at /.well-known/openid-configuration",
            ),
            _ => return None,
        };
        let message = format!("auth {} needs {}", self.choice("auth")?, missing.join(", "));
        (!missing.is_empty()).then(|| Problem::new(auth.origin.clone(), message, fix))
    }

    /// Finds entries of [`ALLOW_LISTS`] that match no request, and warns of those that match all.
    fn check_allow_lists(&self, reader: &mut ConfigReader) {
        for AllowList { key, can_match, fix, risk, risk_fix } in ALLOW_LISTS {
            let Some(set) = self.top.get(key) else { continue };
            for entry in self.names(key).unwrap_or_default() {
                if entry == ANY {
                    let message = format!("{key} has `{ANY}`: {risk}");
                    reader.warnings.push(Problem::new(set.origin.clone(), message, risk_fix));
                } else if !can_match(&entry) {
                    let shown = without_secrets(&entry);
                    let message = format!("{key} has `{}`, which matches no request", shown.escape_debug());
                    reader.report(set.origin.clone(), message, fix);
                }
            }
        }
    }

    fn unused_access_keys(&self) -> Option<Problem> {
        let method = self.choice("auth").unwrap_or("none");
        let is_unused = |(key, needs): &&(&str, &str)| {
            *needs != method && self.value(key).is_some_and(|value| !matches!(value, Value::Choice(_)))
        };
        let (key, needs) = KEYS_BY_METHOD.iter().find(is_unused)?;
        let set = self.top.get(key)?;
        let message = format!("{key} has no effect with auth {method}");
        Some(Problem::new(set.origin.clone(), message, format!("set auth to {needs}, or remove {key}")))
    }

    /// Finds an invalid URL. A URL with references that were not followed cannot be checked.
    fn invalid_access_url(&self, key: &str, check: impl Fn(&str) -> Result<(), String>) -> Option<Problem> {
        let url = self.revealed(key).filter(|url| !url.contains('$'))?;
        let problem = check(url).err()?;
        let set = self.top.get(key)?;
        Some(Problem::new(set.origin.clone(), problem, "write the whole URL"))
    }

    fn token_hashes(&self, key: &str) -> Vec<TokenHash> {
        // The entries were checked when they were read.
        self.names(key).unwrap_or_default().iter().filter_map(|entry| entry.parse().ok()).collect()
    }
}

/// Parses the URL of keys. Over plain HTTP another machine could replace the keys.
fn parse_jwks_url(url: &str) -> Result<Uri, String> {
    let parsed = UpstreamTarget::new(url).map_err(|error| match error {
        UpstreamTargetError::CredentialsInUrl => "jwksUrl contains a user or password; remove it".to_owned(),
        error => format!("jwksUrl: {error}"),
    })?;
    let parsed = parsed.url();
    let host = parsed.host().unwrap_or_default();
    let is_local = host == "localhost"
        || host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    match parsed.scheme_str() {
        Some("https") => Ok(parsed.clone()),
        Some("http") if is_local => Ok(parsed.clone()),
        _ => Err("jwksUrl is neither https:// nor http:// on this machine".to_owned()),
    }
}
