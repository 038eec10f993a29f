//! The end of a long line, compressed while it is not known whether the line stays within the limit.
//!
//! A line of 1 GiB is over a limit of 256 MiB, but that is known only after 256 MiB. JSON and text need a fifth or less
//! of their size in this form. Data without structure, as base64 is, need three quarters.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// How much is decompressed at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Compressed bytes.
pub(super) struct CompressedTail {
    encoder: DeflateEncoder<Vec<u8>>,
    bytes: usize,
}

impl CompressedTail {
    /// Holds nothing yet.
    pub(super) fn new() -> Self {
        Self { encoder: DeflateEncoder::new(Vec::new(), Compression::fast()), bytes: 0 }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Whatever the encoder reports; a vector takes everything.
    pub(super) fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        self.bytes += piece.len();
        self.encoder.write_all(piece)
    }

    /// The number of bytes that were pushed.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Hands out all bytes in order, a piece at a time.
    ///
    /// # Errors
    /// Whatever the decoder reports; it reads what the encoder wrote.
    pub(super) fn for_each_piece(self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let compressed = self.encoder.finish()?;
        let mut decoder = DeflateDecoder::new(compressed.as_slice());
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match decoder.read(&mut piece)? {
                0 => return Ok(()),
                read => each(&piece[..read]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::CompressedTail;

    proptest! {
        #[test]
        fn decompresses_what_was_pushed(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..9)) {
            let mut tail = CompressedTail::new();
            for piece in &pieces {
                tail.push(piece).expect("a vector takes everything");
            }
            let whole = pieces.concat();
            prop_assert_eq!(tail.len(), whole.len());
            let mut back = Vec::new();
            tail.for_each_piece(|piece| back.extend_from_slice(piece)).expect("as it was written");
            prop_assert_eq!(back, whole);
        }
    }
}
