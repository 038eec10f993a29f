//! Limits of one chunk: tokens, lines and bytes.

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
        self.size_limited_len(piece) == piece.len()
            && self.counter.count_within(piece, self.max_tokens).is_some()
    }

    /// Returns the end of the longest chunk that begins at `from`: at least one character later, at most
    /// `to`.
    ///
    /// The work is proportional to the token limit.
    pub(super) fn max_end(&self, text: &str, from: usize, to: usize) -> usize {
        // Escaping never shortens a text, so text beyond the byte limit need not be counted.
        let last = text.floor_char_boundary(from.saturating_add(self.max_bytes)).min(to);
        // Text beyond the line limit need not be counted either.
        let last = from + self.size_limited_len(&text[from..last]);
        let costed = self.counter.prefix_within(&text[from..last], self.max_tokens);
        let edge = text.floor_char_boundary((from + costed).min(last)).max(from);
        if edge > from { edge } else { text.ceil_char_boundary(from + 1).min(to) }
    }

    /// Returns the byte length of the longest prefix within the limits of lines and bytes.
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

/// Counts the bytes of a character in a JSON string with minimal escapes.
fn escaped_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}
