//! Signed places in snapshots: what a caller holds to read on.
//!
//! A token is 36 bytes, 48 characters of URL-safe base64: version 1, snapshot 8, view 6,
//! position 8, tag 13. The tag is HMAC-SHA256 cut to 104 bits, over all before it and the scope it was issued
//! to, so a token shown by anyone else reads as forged. The tag is checked in constant time before
//! anything is looked up. Expiry is the store's: a token carries neither a time nor a budget.

use std::fmt;
use std::hint::black_box;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

const VERSION: u8 = 1;
const BODY_BYTES: usize = 23;
const TAG_BYTES: usize = 13;

/// Names a snapshot; random, given by the edge.
pub type SnapshotId = [u8; 8];
/// Names a view of a snapshot: a hash of its canonical form.
pub type ViewId = [u8; 6];

/// A place in a view: where the next portion begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Which part of the payload.
    pub part: u16,
    /// How many portions came before this one on the way here; 15 bits, saturating.
    pub ordinal: u16,
    /// Where in the part.
    pub offset: PartOffset,
}

/// Where in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOffset {
    /// Before the item of that index, of a list.
    Item(u32),
    /// At that byte of the text viewed.
    Byte(u32),
}

impl Default for PartOffset {
    fn default() -> Self {
        Self::Item(0)
    }
}

impl PartOffset {
    /// Whether nothing comes before it.
    pub fn is_start(self) -> bool {
        matches!(self, Self::Item(0) | Self::Byte(0))
    }
}

impl Position {
    const BYTE_FLAG: u16 = 1 << 15;

    fn to_bytes(self) -> [u8; 8] {
        let ordinal = self.ordinal.min(Self::BYTE_FLAG - 1);
        let (flags, offset) = match self.offset {
            PartOffset::Item(at) => (ordinal, at),
            PartOffset::Byte(at) => (ordinal | Self::BYTE_FLAG, at),
        };
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&self.part.to_be_bytes());
        bytes[2..4].copy_from_slice(&flags.to_be_bytes());
        bytes[4..].copy_from_slice(&offset.to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        let [p0, p1, f0, f1, offset @ ..] = bytes;
        let (flags, offset) = (u16::from_be_bytes([f0, f1]), u32::from_be_bytes(offset));
        let place =
            if flags & Self::BYTE_FLAG == 0 { PartOffset::Item(offset) } else { PartOffset::Byte(offset) };
        Self { part: u16::from_be_bytes([p0, p1]), ordinal: flags & !Self::BYTE_FLAG, offset: place }
    }
}

/// What a token points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorTarget {
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// The view of it.
    pub view: ViewId,
    /// The place in that view.
    pub position: Position,
}

/// A signed pointer, as the caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorToken(String);

impl CursorToken {
    /// The 48 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CursorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whom a cursor belongs to: a hash of the principal, so that no credential is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope([u8; 32]);

impl Scope {
    /// The scope of a principal: what an upstream is shown to tell callers apart, or a fixed name.
    pub fn from_principal(principal: &str) -> Self {
        Self(Sha256::digest(principal.as_bytes()).into())
    }

    /// The keyed hash of several parts, each after its length, so that no two lists of parts read the same.
    pub fn from_parts<'a>(key: &[u8; 32], parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut mac = Keyring::new(key).mac;
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Self(mac.finalize().into_bytes().into())
    }

    /// The scope of something that this scope names. Only who knows this scope can tell it.
    #[must_use]
    pub fn derive(&self, name: &str) -> Self {
        Self::from_parts(&self.0, [name.as_bytes()])
    }

    /// Compares in constant time.
    pub fn constant_time_eq(&self, other: &Self) -> bool {
        let differ = |differ: u8, (a, b): (&u8, &u8)| black_box(differ | (a ^ b));
        self.0.iter().zip(&other.0).fold(0, differ) == 0
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Why a cursor is refused. Forged, foreign and truncated read the same: nothing is given away.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this cursor was not issued to you, or not completely copied")]
pub struct InvalidCursor;

/// Signs and verifies cursors under one key.
#[derive(Clone)]
pub struct Keyring {
    mac: Hmac<Sha256>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring")
    }
}

impl Keyring {
    /// A keyring of a secret, which should be at least 32 random bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        let mut block = [0; 64];
        block[..32].copy_from_slice(secret);
        Self { mac: Hmac::new(&block.into()) }
    }

    /// The token of a pointer, for one scope.
    pub fn sign(&self, pointer: &CursorTarget, scope: &Scope) -> CursorToken {
        let mut bytes = [0; BODY_BYTES + TAG_BYTES];
        bytes[0] = VERSION;
        bytes[1..9].copy_from_slice(&pointer.snapshot);
        bytes[9..15].copy_from_slice(&pointer.view);
        bytes[15..BODY_BYTES].copy_from_slice(&pointer.position.to_bytes());
        let tag = self.tag(&bytes[..BODY_BYTES], scope).finalize().into_bytes();
        bytes[BODY_BYTES..].copy_from_slice(&tag[..TAG_BYTES]);
        CursorToken(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// What a token points to, if it was signed under this key for this scope.
    ///
    /// # Errors
    /// [`InvalidCursor`] for everything else, whatever it is.
    pub fn verify(&self, token: &str, scope: &Scope) -> Result<CursorTarget, InvalidCursor> {
        let mut bytes = [0; BODY_BYTES + TAG_BYTES];
        let written = URL_SAFE_NO_PAD.decode_slice(token.trim(), &mut bytes).map_err(|_| InvalidCursor)?;
        if written != bytes.len() {
            return Err(InvalidCursor);
        }
        let (body, tag) = bytes.split_at(BODY_BYTES);
        self.tag(body, scope).verify_truncated_left(tag).map_err(|_| InvalidCursor)?;
        let field = |from: usize| -> [u8; 8] { std::array::from_fn(|i| body[from + i]) };
        if body[0] != VERSION {
            return Err(InvalidCursor);
        }
        Ok(CursorTarget {
            snapshot: field(1),
            view: std::array::from_fn(|i| body[9 + i]),
            position: Position::from_bytes(field(15)),
        })
    }

    fn tag(&self, body: &[u8], scope: &Scope) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(body);
        mac.update(&scope.0);
        mac
    }
}
