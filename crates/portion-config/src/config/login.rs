//! The login at a server over HTTP.

use crate::read::ConfigReader;
use crate::settings::Settings;

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

impl ConfigReader {
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
