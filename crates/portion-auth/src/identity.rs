//! Verified identities of callers.

/// Verified identity of a caller. It stays the same when a token is refreshed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Holder of a configured token.
    Token {
        /// Name of the token.
        name: Box<str>,
    },
    /// Subject of a JSON Web Token.
    Subject {
        /// `iss`.
        issuer: Box<str>,
        /// `sub`.
        subject: Box<str>,
    },
}

impl Identity {
    /// Returns the parts that distinguish the identity from all others.
    pub fn parts(&self) -> Vec<&str> {
        match self {
            Self::Token { name } => vec!["token", name],
            Self::Subject { issuer, subject } => vec!["subject", issuer, subject],
        }
    }
}
