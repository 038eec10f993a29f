//! Limits of one chunk: tokens, lines and bytes.

use memchr::memchr_iter;
use portion_json::scan::escaped_len;
use portion_tokens::TokenCounter;

/// The limits of one chunk.
#[derive(Clone, Copy)]
pub struct ChunkLimits<'a> {
    /// Counter for the tokens.
    pub counter: &'a dyn TokenCounter,
    /// Maximum tokens.
    pub max_tokens: usize,
    /// Maximum lines; a last line without a line feed counts.
    pub max_lines: usize,
    /// Maximum bytes as the content of a JSON string.
    pub max_bytes: usize,
}

impl ChunkLimits<'_> {
    /// Returns true if the piece is within all limits.
    pub(super) fn allow(&self, piece: &str) -> bool {
        self.line_limited_len(piece) == piece.len()
            && self.byte_limited_len(piece) == piece.len()
            && self.counter.count_within(piece, self.max_tokens).is_some()
    }

    /// Returns the end of the longest chunk that begins at `from`: at least one character later, at most
    /// `to`.
    ///
    /// The work is proportional to the token limit.
    pub(super) fn max_end(&self, text: &str, from: usize, to: usize) -> usize {
        // Escaping never shortens a text, so text beyond the limits of bytes and lines need not be counted.
        let last = text.floor_char_boundary(from.saturating_add(self.max_bytes)).min(to);
        let last = from + self.line_limited_len(&text[from..last]);
        let costed = self.counter.prefix_within(&text[from..last], self.max_tokens);
        let costed = text.floor_char_boundary((from + costed).min(last)).max(from);
        let edge = from + self.byte_limited_len(&text[from..costed]);
        if edge > from { edge } else { text.ceil_char_boundary(from + 1).min(to) }
    }

    /// Returns the byte length of the longest prefix within the limit of lines.
    fn line_limited_len(&self, piece: &str) -> usize {
        let Some(last) = self.max_lines.checked_sub(1) else { return 0 };
        memchr_iter(b'\n', piece.as_bytes()).nth(last).map_or(piece.len(), |feed| feed + 1)
    }

    /// Returns the byte length of the longest prefix within the limit of bytes.
    fn byte_limited_len(&self, piece: &str) -> usize {
        if escaped_len(piece) <= self.max_bytes {
            return piece.len();
        }
        let mut escaped = 0;
        let exceeds = |(_, c): &(usize, char)| {
            escaped += escaped_len(c.encode_utf8(&mut [0; 4]));
            escaped > self.max_bytes
        };
        piece.char_indices().find(exceeds).map_or(piece.len(), |(at, _)| at)
    }
}
