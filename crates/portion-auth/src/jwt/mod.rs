//! Verification of JSON Web Tokens (RFC 7519) against the keys of one issuer.
//!
//! A token is verified in this order: form, signature, claims. So an error says nothing about the claims of a token that
//! the issuer has not signed. The algorithm is that of the key; `none` and symmetric algorithms do not exist here.

mod encoded;
mod key_set;

use portion_policy::access::JwtPolicy;
use serde::Deserialize;
use thiserror::Error;

use crate::Identity;

pub(crate) use encoded::EncodedToken;
pub(crate) use key_set::KeySet;

/// Difference of clocks that is tolerated, in seconds.
const LEEWAY_SECONDS: f64 = 30.0;

/// Reason that a JSON Web Token is not valid.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum JwtError {
    /// It is not a JSON Web Token, or its algorithm is not supported.
    #[error("the token is not a JSON Web Token signed with RS256, ES256 or EdDSA")]
    Malformed,
    /// The issuer has no such key.
    #[error("the token is signed with an unknown key")]
    UnknownKey,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    WrongSignature,
    /// A claim is missing, or has another type.
    #[error("the token lacks one of the claims iss, sub, aud and exp, or has an invalid one")]
    InvalidClaims,
    /// It is from another issuer.
    #[error("the token is from another issuer")]
    WrongIssuer,
    /// It is for another audience.
    #[error("the token is for another audience")]
    WrongAudience,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It is valid, but lacks a scope.
    #[error("the token lacks a required scope")]
    MissingScope,
}

/// Verifies tokens by a policy.
pub(crate) struct JwtVerifier {
    policy: JwtPolicy,
}

/// Claims that are verified. A repeated claim is an error.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: OneOrMany,
    exp: f64,
    nbf: Option<f64>,
    scope: Option<OneOrMany>,
    scp: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl JwtVerifier {
    pub(crate) fn new(policy: JwtPolicy) -> Self {
        Self { policy }
    }

    /// Verifies a token at `now`, in seconds since 1970, and returns its subject.
    ///
    /// # Errors
    /// Returns [`JwtError`] if the token is not valid, or lacks a scope.
    pub(crate) fn verify(
        &self,
        token: &EncodedToken<'_>,
        keys: &KeySet,
        now: f64,
    ) -> Result<Identity, JwtError> {
        keys.verify(token)?;
        let claims: Claims = serde_json::from_slice(token.claims()).map_err(|_| JwtError::InvalidClaims)?;
        if claims.sub.is_empty() {
            return Err(JwtError::InvalidClaims);
        }
        if claims.iss != self.policy.issuer {
            return Err(JwtError::WrongIssuer);
        }
        if !claims.aud.values().any(|audience| *audience == self.policy.audience) {
            return Err(JwtError::WrongAudience);
        }
        if now - LEEWAY_SECONDS >= claims.exp {
            return Err(JwtError::Expired);
        }
        if claims.nbf.is_some_and(|from| now + LEEWAY_SECONDS < from) {
            return Err(JwtError::NotYetValid);
        }
        let granted: Vec<&str> =
            [&claims.scope, &claims.scp].into_iter().flatten().flat_map(OneOrMany::words).collect();
        if !self.policy.scopes.iter().all(|scope| granted.contains(&scope.as_str())) {
            return Err(JwtError::MissingScope);
        }
        Ok(Identity::Subject { issuer: claims.iss.into(), subject: claims.sub.into() })
    }
}

impl OneOrMany {
    fn values(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::One(value) => std::slice::from_ref(value).iter(),
            Self::Many(values) => values.iter(),
        }
    }

    /// Returns the words of all values: `scope` is one text, `scp` usually a list.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.values().flat_map(|value| value.split_ascii_whitespace())
    }
}

#[cfg(test)]
pub(crate) mod tests;
