//! Reasons that a caller is denied, and the challenge of the response.

use http::{HeaderValue, StatusCode};
use thiserror::Error;

use crate::jwt::JwtError;

/// Reason that a caller is denied. It contains nothing of the credential.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Denial {
    /// There is no bearer token.
    #[error("a bearer token is required; send Authorization: Bearer TOKEN")]
    NoCredential,
    /// There is more than one `Authorization` header.
    #[error("the header field Authorization is repeated")]
    SeveralCredentials,
    /// The token is not known.
    #[error("the token is not valid")]
    UnknownToken,
    /// The JSON Web Token is not valid.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// The keys of the issuer are not available.
    #[error("tokens cannot be verified at the moment; retry later")]
    KeysUnavailable,
}

impl Denial {
    /// Returns the status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Jwt(JwtError::MissingScope) => StatusCode::FORBIDDEN,
            Self::KeysUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNAUTHORIZED,
        }
    }

    /// Returns the value of `WWW-Authenticate`, with the URL of the metadata and the scopes that a token needs.
    pub fn challenge(&self, metadata_url: Option<&str>, scopes: &[String]) -> Option<HeaderValue> {
        let mut parameters = Vec::new();
        match self {
            Self::KeysUnavailable => return None,
            Self::NoCredential => {}
            Self::Jwt(JwtError::MissingScope) => parameters.push("error=\"insufficient_scope\"".to_owned()),
            Self::SeveralCredentials | Self::UnknownToken | Self::Jwt(_) => {
                parameters.push(format!("error=\"invalid_token\", error_description=\"{self}\""));
            }
        }
        if !scopes.is_empty() {
            parameters.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        parameters.extend(metadata_url.map(|url| format!("resource_metadata=\"{url}\"")));
        if parameters.is_empty() {
            parameters.push("realm=\"portion\"".to_owned());
        }
        HeaderValue::from_str(&format!("Bearer {}", parameters.join(", "))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Denial;
    use crate::JwtError;

    #[test]
    fn challenges_follow_the_standards() {
        let check = |denial: Denial, scopes: &[&str], expect: Option<&str>| {
            let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            let value = denial.challenge(Some("http://localhost/.well-known/x"), &scopes);
            assert_eq!(value.as_ref().and_then(|value| value.to_str().ok()), expect, "{denial:?}");
        };
        let url = "resource_metadata=\"http://localhost/.well-known/x\"";
        check(Denial::NoCredential, &[], Some(&format!("Bearer {url}")));
        check(Denial::NoCredential, &["a", "b"], Some(&format!("Bearer scope=\"a b\", {url}")));
        let invalid = "error=\"invalid_token\", error_description=\"the token has expired\"";
        check(JwtError::Expired.into(), &[], Some(&format!("Bearer {invalid}, {url}")));
        let scope = "error=\"insufficient_scope\", scope=\"a\"";
        check(JwtError::MissingScope.into(), &["a"], Some(&format!("Bearer {scope}, {url}")));
        check(Denial::KeysUnavailable, &[], None);
        assert_eq!(Denial::NoCredential.challenge(None, &[]).expect("a value"), "Bearer realm=\"portion\"");
    }
}
