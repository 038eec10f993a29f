//! Opaque bearer tokens, of which only hashes are stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portion_policy::access::TokenHash;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Prefix of generated tokens, by which secret scanners can find them.
const TOKEN_PREFIX: &str = "ptn_";

/// Returns a random token of 256 bits. Its hash needs no salt.
///
/// # Errors
/// Returns an error if the system has no randomness.
pub fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// Returns the entry of a token in the configuration.
pub fn token_entry(name: &str, token: &str) -> TokenHash {
    TokenHash { name: name.into(), hash: hash_of(token) }
}

/// Returns the name of a token. The time does not depend on which entry matches, or how much of it.
pub(crate) fn name_of<'a>(entries: &'a [TokenHash], token: &str) -> Option<&'a str> {
    let hash = hash_of(token);
    let mut name = None;
    for entry in entries {
        if bool::from(entry.hash.ct_eq(&hash)) {
            name = Some(&*entry.name);
        }
    }
    name
}

fn hash_of(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::{name_of, new_token, token_entry};

    #[test]
    fn a_token_has_one_name() {
        let tokens: Vec<String> = (0..50).map(|_| new_token().expect("randomness")).collect();
        let entries: Vec<_> =
            tokens.iter().enumerate().map(|(i, token)| token_entry(&i.to_string(), token)).collect();
        for (i, token) in tokens.iter().enumerate() {
            assert_eq!(name_of(&entries, token), Some(i.to_string().as_str()));
            for other in
                [&token[1..], &token[..token.len() - 1], &token.to_lowercase(), &format!("{token} "), ""]
            {
                assert_eq!(name_of(&entries, other), None, "{other}");
            }
        }
    }
}
