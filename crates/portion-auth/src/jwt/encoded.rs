//! A JSON Web Token in its compact form (RFC 7515, 7.1).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::key_set::Algorithm;

/// The parts of a token, decoded, but not verified.
#[derive(Debug)]
pub(crate) struct EncodedToken<'a> {
    /// Header and claims as signed.
    signed: &'a [u8],
    claims: Vec<u8>,
    signature: Vec<u8>,
    algorithm: Algorithm,
    key_id: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
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
            algorithm: Algorithm::from_name(&header.alg)?,
            key_id: header.kid,
        })
    }

    /// Returns the id of the key that has signed it.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Returns its algorithm.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the bytes that are signed.
    pub(super) fn signed(&self) -> &[u8] {
        self.signed
    }

    /// Returns the signature.
    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Returns the claims as JSON.
    pub(super) fn claims(&self) -> &[u8] {
        &self.claims
    }
}
