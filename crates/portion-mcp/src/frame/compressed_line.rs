//! Compresses a very long line until it is known if the line stays within the limit.
//!
//! A line of 1 GiB exceeds a limit of 256 MiB, but that is known only after 256 MiB. Compressed JSON and text take a
//! fifth of their size or less. Base64 of random bytes takes three quarters, and no encoding of it takes less: what exceeds
//! [`MEMORY_BYTES`] goes to a file, if there is one.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use portion_gateway::store::spill::FileOpener;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::overflow_file::{OverflowFile, StoredPiece};

/// Bytes decompressed at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes allocated at once for compressed bytes.
const SEGMENT_BYTES: usize = 1024 * 1024;
/// Maximum compressed bytes in memory, if there is a file for more.
const MEMORY_BYTES: usize = 32 * SEGMENT_BYTES;

/// Compressed bytes.
pub(super) struct CompressedLine {
    encoder: DeflateEncoder<Segments>,
    bytes: usize,
}

/// A queue of bytes. Reading frees what was read, and writing never moves what was written.
#[derive(Default)]
struct Segments {
    queue: VecDeque<Segment>,
    /// Bytes of the first segment that have been read.
    read: usize,
    overflow: Overflow,
}

enum Segment {
    Memory(Vec<u8>),
    Stored(StoredPiece),
}

/// The file for complete segments that the memory has no room for.
#[derive(Default)]
enum Overflow {
    /// There is none, or it cannot be written. All further segments stay in memory.
    #[default]
    Unavailable,
    Unopened(FileOpener),
    Open(Box<OverflowFile>),
}

impl CompressedLine {
    /// Creates an empty line. `overflow` opens the file for what exceeds the memory.
    pub(super) fn new(overflow: Option<FileOpener>) -> Self {
        let overflow = overflow.map_or(Overflow::Unavailable, Overflow::Unopened);
        let segments = Segments { overflow, ..Segments::default() };
        Self { encoder: DeflateEncoder::new(segments, Compression::fast()), bytes: 0 }
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
    /// Returns errors of the decoder, which reads only the output of the encoder, and of the file.
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
        let is_full = |last: &Segment| last.memory().is_none_or(|bytes| bytes.len() == SEGMENT_BYTES);
        if self.queue.back().is_none_or(is_full) {
            self.move_last_to_file();
            self.queue.push_back(Segment::Memory(Vec::with_capacity(SEGMENT_BYTES)));
        }
        let Some(Segment::Memory(last)) = self.queue.back_mut() else { return Ok(0) };
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
        let first = match self.queue.front_mut() {
            None => return Ok(0),
            Some(Segment::Memory(first)) => first,
            Some(stored) => self.overflow.load(stored)?,
        };
        let read = (&first[self.read..]).read(buffer)?;
        self.read += read;
        if self.read == first.len() {
            self.queue.pop_front();
            self.read = 0;
        }
        Ok(read)
    }
}

impl Segments {
    /// Moves the last segment to the file if the memory has no room for more.
    fn move_last_to_file(&mut self) {
        if self.queue.len() >= MEMORY_BYTES / SEGMENT_BYTES
            && let Some(Segment::Memory(last)) = self.queue.back()
            && let Some(stored) = self.overflow.store(last)
        {
            self.queue.pop_back();
            self.queue.push_back(Segment::Stored(stored));
        }
    }
}

impl Segment {
    fn memory(&self) -> Option<&Vec<u8>> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Stored(_) => None,
        }
    }
}

impl Overflow {
    /// Writes a segment to the file. Returns `None` if that is impossible; then the segment stays in memory.
    fn store(&mut self, segment: &[u8]) -> Option<StoredPiece> {
        if let Self::Unopened(opener) = self {
            let opened = OverflowFile::open(opener);
            *self = opened.map_or(Self::Unavailable, |file| Self::Open(Box::new(file)));
        }
        let Self::Open(file) = self else { return None };
        let stored = file.write(segment);
        stored.ok()
    }

    /// Reads a segment from the file to memory.
    fn load<'s>(&mut self, segment: &'s mut Segment) -> io::Result<&'s mut Vec<u8>> {
        if let (Self::Open(file), Segment::Stored(stored)) = (self, &*segment) {
            *segment = Segment::Memory(file.read(*stored)?);
        }
        match segment {
            Segment::Memory(bytes) => Ok(bytes),
            Segment::Stored(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use portion_gateway::store::spill::unlinked_in;
    use proptest::prelude::*;

    use super::{CompressedLine, MEMORY_BYTES, Overflow, SEGMENT_BYTES, Segments};

    #[test]
    fn segments_are_read_as_they_were_written_and_freed() {
        let bytes: Vec<u8> = (0..3 * SEGMENT_BYTES + 5).map(|n| (n % 251) as u8).collect();
        let mut segments = Segments::default();
        bytes.chunks(77_777).for_each(|piece| segments.write_all(piece).expect("memory takes everything"));
        assert_eq!(segments.queue.len(), 4);
        let mut back = vec![0; 2 * SEGMENT_BYTES];
        segments.read_exact(&mut back).expect("as much was written");
        assert_eq!(segments.queue.len(), 2);
        segments.read_to_end(&mut back).expect("memory can be read");
        assert!(back == bytes && segments.queue.is_empty());
    }

    #[test]
    fn what_the_memory_has_no_room_for_is_read_from_the_file() {
        let bytes: Vec<u8> = (0..MEMORY_BYTES + 3 * SEGMENT_BYTES + 5).map(|n| (n % 251) as u8).collect();
        for (directories, in_memory) in
            [(vec![std::env::temp_dir()], MEMORY_BYTES / SEGMENT_BYTES), (vec![], 36)]
        {
            let overflow = Overflow::Unopened(unlinked_in(directories));
            let mut segments = Segments { overflow, ..Segments::default() };
            bytes.chunks(77_777).for_each(|piece| segments.write_all(piece).expect("there is room"));
            assert_eq!(segments.queue.iter().filter_map(super::Segment::memory).count(), in_memory);
            let mut back = Vec::new();
            segments.read_to_end(&mut back).expect("as it was written");
            assert!(back == bytes && segments.queue.is_empty());
        }
    }

    proptest! {
        #[test]
        fn decompresses_what_was_pushed(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..9)) {
            let mut line = CompressedLine::new(None);
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
