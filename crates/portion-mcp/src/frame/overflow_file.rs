//! A temporary file for the part of a long line that would take too much memory.
//!
//! What is written is encrypted: the line has not been redacted yet, and may contain secrets.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use portion_gateway::store::spill::FileOpener;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;

/// A file of encrypted pieces, under a key that only this process knows.
pub(super) struct OverflowFile {
    file: File,
    key: LessSafeKey,
    /// Number of the next piece. No number is used twice.
    next_piece: u64,
    end: u64,
}

/// The position of a piece in the file.
#[derive(Clone, Copy)]
pub(super) struct StoredPiece {
    number: u64,
    offset: u64,
    /// Length with the tag of the encryption.
    bytes: usize,
}

impl OverflowFile {
    /// Opens an empty file.
    ///
    /// # Errors
    /// If no file can be opened, or the system has no randomness.
    pub(super) fn open(opener: &FileOpener) -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(invalid)?;
        Ok(Self { file: opener()?, key: LessSafeKey::new(key), next_piece: 0, end: 0 })
    }

    /// Writes a piece.
    ///
    /// # Errors
    /// If the file cannot be written. Earlier pieces stay readable.
    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<StoredPiece> {
        let number = self.next_piece;
        self.next_piece += 1;
        let mut sealed = Vec::with_capacity(piece.len() + CHACHA20_POLY1305.tag_len());
        sealed.extend_from_slice(piece);
        self.key.seal_in_place_append_tag(nonce(number), Aad::empty(), &mut sealed).map_err(invalid)?;
        let stored = StoredPiece { number, offset: self.end, bytes: sealed.len() };
        self.file.seek(SeekFrom::Start(stored.offset))?;
        self.file.write_all(&sealed)?;
        self.end += sealed.len() as u64;
        Ok(stored)
    }

    /// Reads a piece.
    ///
    /// # Errors
    /// If the file cannot be read, or was changed.
    pub(super) fn read(&mut self, stored: StoredPiece) -> io::Result<Vec<u8>> {
        let mut sealed = vec![0; stored.bytes];
        self.file.seek(SeekFrom::Start(stored.offset))?;
        self.file.read_exact(&mut sealed)?;
        let opened = self.key.open_in_place(nonce(stored.number), Aad::empty(), &mut sealed);
        let bytes = opened.map_err(invalid)?.len();
        sealed.truncate(bytes);
        Ok(sealed)
    }
}

/// `ring` does not say why a call failed: a piece was changed.
fn invalid(_: Unspecified) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a temporary file was changed")
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};

    use portion_gateway::store::spill::unlinked_in;

    use super::{OverflowFile, StoredPiece};

    #[test]
    fn pieces_are_encrypted_and_read_in_any_order() {
        let mut file = OverflowFile::open(&unlinked_in(vec![std::env::temp_dir()])).expect("a file");
        let pieces: Vec<_> = (0..3).map(|n| format!("password-{n} ").repeat(100)).collect();
        let stored: Vec<_> =
            pieces.iter().map(|piece| file.write(piece.as_bytes()).expect("is written")).collect();
        for n in [2, 0, 1, 1] {
            assert!(file.read(stored[n]).expect("is read") == pieces[n].as_bytes());
        }
        let mut raw = Vec::new();
        file.file.rewind().expect("a file");
        file.file.read_to_end(&mut raw).expect("a file");
        assert!(raw.len() > 3000 && !String::from_utf8_lossy(&raw).contains("pass"));
        file.file.rewind().expect("a file");
        file.file.write_all(b"x").expect("a file");
        assert!(file.read(stored[0]).is_err(), "a changed piece");
        assert!(file.read(stored[1]).is_ok());
    }

    #[test]
    fn equal_pieces_are_encrypted_differently() {
        let mut file = OverflowFile::open(&unlinked_in(vec![std::env::temp_dir()])).expect("a file");
        let stored: Vec<_> = (0..300).map(|_| file.write(b"password").expect("is written")).collect();
        let mut raw = Vec::new();
        file.file.rewind().expect("a file");
        file.file.read_to_end(&mut raw).expect("a file");
        let mut pieces: Vec<_> = raw.chunks(stored[0].bytes).collect();
        assert_eq!((pieces.len(), raw.len()), (300, 300 * stored[0].bytes));
        pieces.sort_unstable();
        pieces.dedup();
        assert_eq!(pieces.len(), 300);
        // A piece is only valid at its place.
        let moved = StoredPiece { number: stored[1].number, ..stored[0] };
        assert!(file.read(moved).is_err());
    }
}
