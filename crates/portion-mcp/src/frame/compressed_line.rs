//! Compresses a very long line until it is known if the line stays within the limit.
//!
//! A line of 1 GiB exceeds a limit of 256 MiB, but that is known only after 256 MiB. Compressed JSON and text take a
//! fifth of their size or less. Base64 of random bytes takes three quarters, and no encoding of it takes less.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Bytes decompressed at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes allocated at once for compressed bytes.
const SEGMENT_BYTES: usize = 1024 * 1024;

/// Compressed bytes.
pub(super) struct CompressedLine {
    encoder: DeflateEncoder<Segments>,
    bytes: usize,
}

/// A queue of bytes. Reading frees what was read, and writing never moves what was written.
#[derive(Default)]
struct Segments {
    segments: VecDeque<Vec<u8>>,
    /// Bytes of the first segment that have been read.
    read: usize,
}

impl CompressedLine {
    /// Creates an empty line.
    pub(super) fn new() -> Self {
        Self { encoder: DeflateEncoder::new(Segments::default(), Compression::fast()), bytes: 0 }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Returns errors of the encoder; writing to memory does not fail.
    pub(super) fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        self.bytes += piece.len();
        self.encoder.write_all(piece)
    }

    /// Returns the number of bytes that were pushed.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Passes all bytes to `each`, in order and piece by piece.
    ///
    /// # Errors
    /// Returns errors of the decoder, which reads only the output of the encoder.
    pub(super) fn for_each_piece(self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut decoder = DeflateDecoder::new(self.encoder.finish()?);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match decoder.read(&mut piece)? {
                0 => return Ok(()),
                read => each(&piece[..read]),
            }
        }
    }
}

impl Write for Segments {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.segments.back().is_none_or(|last| last.len() == SEGMENT_BYTES) {
            self.segments.push_back(Vec::with_capacity(SEGMENT_BYTES));
        }
        let Some(last) = self.segments.back_mut() else { return Ok(0) };
        let written = bytes.len().min(SEGMENT_BYTES - last.len());
        last.extend_from_slice(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Segments {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = self.segments.front() else { return Ok(0) };
        let read = (&first[self.read..]).read(buffer)?;
        self.read += read;
        if self.read == first.len() {
            self.segments.pop_front();
            self.read = 0;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use proptest::prelude::*;

    use super::{CompressedLine, SEGMENT_BYTES, Segments};

    #[test]
    fn segments_are_read_as_they_were_written_and_freed() {
        let bytes: Vec<u8> = (0..3 * SEGMENT_BYTES + 5).map(|n| (n % 251) as u8).collect();
        let mut segments = Segments::default();
        bytes.chunks(77_777).for_each(|piece| segments.write_all(piece).expect("memory takes everything"));
        assert_eq!(segments.segments.len(), 4);
        let mut back = vec![0; 2 * SEGMENT_BYTES];
        segments.read_exact(&mut back).expect("as much was written");
        assert_eq!(segments.segments.len(), 2);
        segments.read_to_end(&mut back).expect("memory can be read");
        assert!(back == bytes && segments.segments.is_empty());
    }

    proptest! {
        #[test]
        fn decompresses_what_was_pushed(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..9)) {
            let mut line = CompressedLine::new();
            for piece in &pieces {
                line.push(piece).expect("memory takes everything");
            }
            let whole = pieces.concat();
            prop_assert_eq!(line.len(), whole.len());
            let mut back = Vec::new();
            line.for_each_piece(|piece| back.extend_from_slice(piece)).expect("as it was written");
            prop_assert_eq!(back, whole);
        }
    }
}
