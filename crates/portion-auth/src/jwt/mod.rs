//! Verification of JSON Web Tokens (RFC 7519) against the keys of one issuer.
//!
//! A token is verified in this order: form, signature, claims. So an error says nothing about the claims of a token that
//! the issuer has not signed. The algorithm is that of the key; `none` and symmetric algorithms do not exist here.

mod key_set;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portion_policy::access::JwtPolicy;
use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use crate::Identity;
use key_set::Algorithm;
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

/// Verifies a token by a policy at `now`, in seconds since 1970, and returns its subject.
///
/// # Errors
/// Returns [`JwtError`] if the token is not valid, or lacks a scope.
pub(crate) fn verify(
    policy: &JwtPolicy,
    token: &EncodedToken<'_>,
    keys: &KeySet,
    now: f64,
) -> Result<Identity, JwtError> {
    keys.verify(token)?;
    let claims: Claims = serde_json::from_slice(&token.claims).map_err(|_| JwtError::InvalidClaims)?;
    if claims.sub.is_empty() {
        return Err(JwtError::InvalidClaims);
    }
    if claims.iss != policy.issuer {
        return Err(JwtError::WrongIssuer);
    }
    if !claims.aud.values().any(|audience| *audience == policy.audience) {
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
    if !policy.scopes.iter().all(|scope| granted.contains(&scope.as_str())) {
        return Err(JwtError::MissingScope);
    }
    Ok(Identity::Subject { issuer: claims.iss.into(), subject: claims.sub.into() })
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

/// The parts of a token, decoded, but not verified.
#[derive(Debug)]
pub(crate) struct EncodedToken<'a> {
    /// Header and claims as signed.
    signed: &'a [u8],
    claims: Vec<u8>,
    signature: Vec<u8>,
    algorithm: Algorithm,
    /// Id of the key that has signed it.
    pub(crate) key_id: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: Algorithm,
    kid: Option<String>,
    /// Extensions that the recipient must understand; none is known here.
    crit: Option<IgnoredAny>,
}

impl<'a> EncodedToken<'a> {
    /// Takes a token apart; `None` if it is malformed, or its algorithm is not supported.
    pub(crate) fn parse(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.').filter(|(_, claims)| !claims.contains('.'))?;
        let header: Header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
        if header.crit.is_some() {
            return None;
        }
        Some(Self {
            signed: signed.as_bytes(),
            claims: URL_SAFE_NO_PAD.decode(claims).ok()?,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
            algorithm: header.alg,
            key_id: header.kid,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
