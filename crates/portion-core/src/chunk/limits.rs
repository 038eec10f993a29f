//! What one chunk may hold.

use crate::tokens::TokenCounter;

/// The limits of one chunk.
#[derive(Clone, Copy)]
pub struct ChunkLimits<'a> {
    /// What counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// The most tokens.
    pub max_tokens: usize,
    /// The most lines, the last one without a line feed included.
    pub max_lines: usize,
    /// The most bytes the chunk may take as the content of a JSON string.
    pub max_bytes: usize,
}

impl ChunkLimits<'_> {
    /// Whether the piece is within all limits.
    pub(super) fn allow(&self, piece: &str) -> bool {
        self.size_limited_len(piece) == piece.len()
            && self.counter.count_within(piece, self.max_tokens).is_some()
    }

    /// Where the longest chunk ends that begins at `from`: at least one character on, at most at `to`.
    ///
    /// The work is in proportion to the limit of tokens.
    pub(super) fn max_end(&self, text: &str, from: usize, to: usize) -> usize {
        // No text is shorter escaped: what is beyond the limit of bytes need not be counted.
        let last = text.floor_char_boundary(from.saturating_add(self.max_bytes)).min(to);
        // Nor what is beyond the limit of lines.
        let last = from + self.size_limited_len(&text[from..last]);
        let costed = self.counter.prefix_within(&text[from..last], self.max_tokens);
        let edge = text.floor_char_boundary((from + costed).min(last)).max(from);
        if edge > from { edge } else { text.ceil_char_boundary(from + 1).min(to) }
    }

    /// Byte length of the longest prefix within the limits of lines and bytes.
    fn size_limited_len(&self, piece: &str) -> usize {
        let (mut feeds, mut escaped) = (0, 0);
        for (at, c) in piece.char_indices() {
            escaped += escaped_len(c);
            if escaped > self.max_bytes || feeds >= self.max_lines {
                return at;
            }
            feeds += usize::from(c == '\n');
        }
        piece.len()
    }
}

/// Bytes of a character in a JSON string that escapes no more than it must.
fn escaped_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}
