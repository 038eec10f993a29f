//! Authentication of the callers of a listener.
//!
//! ```
//! use portion_policy::access::TokenHash;
//!
//! let entry: TokenHash =
//!     "ci=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".parse()?;
//! assert_eq!(&*entry.name, "ci");
//! # Ok::<(), portion_policy::access::TokenHashError>(())
//! ```

use std::fmt;
use std::str::FromStr;

use http::Uri;
use thiserror::Error;

/// Prefix of a hash, before its hexadecimal digits.
const HASH_PREFIX: &str = "sha256:";
/// Longest name of a token.
const MAX_NAME_BYTES: usize = 64;

/// Callers that a listener accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessPolicy {
    /// Everyone who reaches the listener.
    #[default]
    Anyone,
    /// Callers with one of these tokens.
    Bearer(Vec<TokenHash>),
    /// Callers with a JSON Web Token.
    Jwt(JwtPolicy),
    /// Everyone; the only upstream checks the credential of each request.
    Passthrough,
}

/// A token: its name, and its SHA-256 hash in place of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHash {
    /// Name, which identifies the caller.
    pub name: Box<str>,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
}

/// Requirements for JSON Web Tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtPolicy {
    /// Value of `iss`.
    pub issuer: String,
    /// Value of `aud`, or one of its values.
    pub audience: String,
    /// URL of the issuer's keys, a JSON Web Key Set.
    pub jwks_url: Uri,
    /// Scopes that a token must have.
    pub scopes: Vec<String>,
}

/// Error in an entry for a token. It does not show the entry, which may be the token itself.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TokenHashError {
    /// There is no name.
    #[error("has an entry without a name; write NAME=sha256:HEX, as `portion token NAME` prints it")]
    NoName,
    /// The name has other characters.
    #[error(
        "has a name of other characters than letters, digits, `_`, `-`, `.` and `@`, or more than 64 characters"
    )]
    InvalidName,
    /// The rest is not a hash.
    #[error(
        "has an entry that is not NAME=sha256:HEX; `portion token NAME` makes a token and prints its entry"
    )]
    InvalidHash,
}

impl AccessPolicy {
    /// Returns true if a listener checks the credentials of its callers, or the upstream does.
    pub fn is_checked(&self) -> bool {
        !matches!(self, Self::Anyone)
    }
}

impl FromStr for TokenHash {
    type Err = TokenHashError;

    fn from_str(entry: &str) -> Result<Self, TokenHashError> {
        let (name, hash) = entry.trim().split_once('=').ok_or(TokenHashError::NoName)?;
        if name.is_empty() {
            return Err(TokenHashError::NoName);
        }
        let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte);
        if name.len() > MAX_NAME_BYTES || !name.bytes().all(is_name_byte) {
            return Err(TokenHashError::InvalidName);
        }
        let digits = hash.strip_prefix(HASH_PREFIX).ok_or(TokenHashError::InvalidHash)?;
        let hash = parse_hex(digits).ok_or(TokenHashError::InvalidHash)?;
        Ok(Self { name: name.into(), hash })
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={HASH_PREFIX}", self.name)?;
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn parse_hex(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{TokenHash, TokenHashError};

    #[test]
    fn entries_are_names_with_hashes() {
        let check = |entry: &str, expect: Result<&str, TokenHashError>| {
            let parsed = entry.parse::<TokenHash>();
            assert_eq!(parsed.as_ref().map(|entry| &*entry.name), expect.as_ref().copied(), "{entry}");
            if let Ok(parsed) = parsed {
                assert_eq!(parsed.to_string(), entry.trim().to_ascii_lowercase());
            }
        };
        let hash = "sha256:".to_owned() + &"0a".repeat(32);
        check(&format!("ci={hash}"), Ok("ci"));
        check(
            &format!(" ada@example.org={} ", hash.to_uppercase().replace("SHA", "sha")),
            Ok("ada@example.org"),
        );
        check(&hash, Err(TokenHashError::NoName));
        check(&format!("={hash}"), Err(TokenHashError::NoName));
        check("ptn_secret", Err(TokenHashError::NoName));
        check(&format!("a b={hash}"), Err(TokenHashError::InvalidName));
        check(&format!("{}={hash}", "a".repeat(65)), Err(TokenHashError::InvalidName));
        check("ci=ptn_secret", Err(TokenHashError::InvalidHash));
        check(&format!("ci={hash}0"), Err(TokenHashError::InvalidHash));
        check(&format!("ci=sha256:{}", "é".repeat(32)), Err(TokenHashError::InvalidHash));
    }
}
