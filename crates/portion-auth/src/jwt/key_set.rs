//! The public keys of an issuer: a JSON Web Key Set (RFC 7517).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::{EncodedToken, JwtError};

/// Keys of a set that are used.
const MAX_KEYS: usize = 100;

/// The keys for signatures of an issuer.
#[derive(Debug)]
pub(crate) struct KeySet(Vec<Key>);

/// A signature algorithm (RFC 7518, RFC 8037).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Algorithm {
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    key: PublicKey,
}

#[derive(Debug)]
enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key as written.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<Algorithm>,
    r#use: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a set. Keys of other kinds are skipped.
    ///
    /// # Errors
    /// Returns the problem if it has no key that can be used.
    pub(crate) fn parse(document: &[u8]) -> Result<Self, &'static str> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document =
            serde_json::from_slice(document).map_err(|_| "the document is not a JSON Web Key Set")?;
        let keys =
            document.keys.into_iter().filter_map(|key| Key::from_jwk(serde_json::from_value(key).ok()?));
        let keys: Vec<Key> = keys.take(MAX_KEYS).collect();
        if keys.is_empty() {
            return Err("the document has no key for RS256, ES256 or EdDSA");
        }
        Ok(Self(keys))
    }

    /// Returns true if a key has this id; without an id, and in a set without ids, every key may be meant.
    pub(crate) fn has(&self, id: Option<&str>) -> bool {
        id.is_none()
            || self.0.iter().any(|key| key.id.as_deref() == id)
            || self.0.iter().all(|key| key.id.is_none())
    }

    /// Verifies the signature of a token.
    ///
    /// # Errors
    /// Returns [`JwtError`] if no key has its id and algorithm, or the signature is wrong.
    pub(super) fn verify(&self, token: &EncodedToken<'_>) -> Result<(), JwtError> {
        let is_meant = |key: &&Key| {
            (token.key_id.is_none() || key.id.is_none() || key.id == token.key_id)
                && key.key.algorithm() == token.algorithm
        };
        let mut keys = self.0.iter().filter(is_meant).peekable();
        if keys.peek().is_none() {
            return Err(JwtError::UnknownKey);
        }
        if keys.any(|key| key.key.has_signed(token.signed, &token.signature)) {
            return Ok(());
        }
        Err(JwtError::WrongSignature)
    }
}

impl Key {
    /// Returns a key for signatures; `None` if it is of another kind.
    fn from_jwk(jwk: Jwk) -> Option<Self> {
        if jwk.r#use.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let decode = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let key = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => PublicKey::Rsa {
                modulus: without_zeros(decode(jwk.n)?),
                exponent: without_zeros(decode(jwk.e)?),
            },
            ("EC", Some("P-256")) => {
                let (x, y) = (decode(jwk.x)?, decode(jwk.y)?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                PublicKey::P256([&[4], x.as_slice(), &y].concat())
            }
            ("OKP", Some("Ed25519")) => PublicKey::Ed25519(decode(jwk.x)?),
            _ => return None,
        };
        jwk.alg.is_none_or(|algorithm| algorithm == key.algorithm()).then_some(Self { id: jwk.kid, key })
    }
}

impl PublicKey {
    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

/// Returns a number without leading zeros.
fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}
