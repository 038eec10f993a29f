//! Limits above which clients truncate, reject or store a reply.

/// Limits of a client for one reply: anything above is truncated, rejected or stored elsewhere before a
/// model sees it. `None` means that no limit is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientLimits {
    /// Tokens of a reply.
    pub max_tokens: Option<usize>,
    /// Bytes of a reply on the wire. A limit in characters is valid here too, because a character has at
    /// least one byte.
    pub max_bytes: Option<usize>,
    /// Bytes of an image or audio block.
    pub max_media_bytes: Option<usize>,
}

impl ClientLimits {
    /// No known limits.
    pub const UNKNOWN: Self = Self { max_tokens: None, max_bytes: None, max_media_bytes: None };

    /// Returns a limit less 10 %: two counters never agree, and a client may add words of its own.
    pub const fn with_headroom(limit: usize) -> usize {
        limit - limit.div_ceil(10)
    }

    /// Returns the lower limits of both.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        let less = |one: Option<usize>, other: Option<usize>| one.into_iter().chain(other).min();
        Self {
            max_tokens: less(self.max_tokens, other.max_tokens),
            max_bytes: less(self.max_bytes, other.max_bytes),
            max_media_bytes: less(self.max_media_bytes, other.max_media_bytes),
        }
    }
}
