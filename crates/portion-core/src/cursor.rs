//! Signs and verifies cursors: positions in snapshots that a client sends back to read on.
//!
//! A token is 36 bytes, written as 48 characters of URL-safe base64: version 1 byte, snapshot 8, view 6,
//! position 8, tag 13. The tag is HMAC-SHA256 truncated to 104 bits, over all preceding bytes and the
//! scope that the token was issued to, so a token sent by another client fails like a forged one. The tag
//! is compared in constant time before anything is looked up. The store handles expiry: a token carries
//! neither a time nor a budget.

mod charge;

use std::fmt;
use std::hint::black_box;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

pub use charge::charged;

const VERSION: u8 = 1;
const BODY_BYTES: usize = 23;
const TAG_BYTES: usize = 13;

/// Id of a snapshot; random, provided by the caller.
pub type SnapshotId = [u8; 8];
/// Id of a view of a snapshot: a hash of the view's canonical form.
pub type ViewId = [u8; 6];

/// A position in a view: the start of the next portion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Index of the payload's part.
    pub part: u16,
    /// Number of portions before this one on the way here; 15 bits, saturating.
    pub ordinal: u16,
    /// Offset within the part.
    pub offset: PartOffset,
}

/// An offset within a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOffset {
    /// Before the list item of this index.
    Item(u32),
    /// At this byte of the viewed text.
    Byte(u32),
}

impl Default for PartOffset {
    fn default() -> Self {
        Self::Item(0)
    }
}

impl PartOffset {
    /// Returns true if this is the start of the part.
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
        let part_offset =
            if flags & Self::BYTE_FLAG == 0 { PartOffset::Item(offset) } else { PartOffset::Byte(offset) };
        Self { part: u16::from_be_bytes([p0, p1]), ordinal: flags & !Self::BYTE_FLAG, offset: part_offset }
    }
}

/// The data that a token carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorTarget {
    /// Id of the snapshot.
    pub snapshot: SnapshotId,
    /// Id of the view of that snapshot.
    pub view: ViewId,
    /// Position in that view.
    pub position: Position,
}

/// A signed cursor, as the client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorToken(String);

impl CursorToken {
    /// Returns the 48 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Characters of a token that encode the position, and nothing else.
const POSITION_CHARACTERS: std::ops::Range<usize> = 20..30;
/// Most expensive characters before and after the position: neighbours of different classes, one token each.
const MOST_EXPENSIVE_AROUND: (&str, &str) = ("0A0A-0A-0A-0A-0A-0A0", "0A-0A-0A-0A-0A-0A0");

impl CursorToken {
    /// Returns the most expensive token to the same position, so that a charge does not depend on random bytes.
    pub(crate) fn most_expensive(&self) -> String {
        let (before, after) = MOST_EXPENSIVE_AROUND;
        let position = self.0.get(POSITION_CHARACTERS).unwrap_or_default();
        format!("{before}{position}{after}")
    }
}

impl fmt::Display for CursorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The owner of a cursor: a hash of the principal, so that no credential is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope([u8; 32]);

impl Scope {
    /// Returns the scope of a principal: the credentials that identify a caller to the upstream, or a
    /// fixed name.
    pub fn from_principal(principal: &str) -> Self {
        Self(Sha256::digest(principal.as_bytes()).into())
    }

    /// Returns the keyed hash of several parts. Each part is prefixed with its length, so different lists
    /// of parts never collide.
    pub fn from_parts<'a>(key: &[u8; 32], parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut mac = Keyring::new(key).mac;
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Self(mac.finalize().into_bytes().into())
    }

    /// Derives the scope of a named item within this scope. It can only be computed from this scope.
    #[must_use]
    pub fn derive(&self, name: &str) -> Self {
        Self::from_parts(&self.0, [name.as_bytes()])
    }

    /// Compares in constant time.
    pub fn constant_time_eq(&self, other: &Self) -> bool {
        let differ = |differ: u8, (a, b): (&u8, &u8)| black_box(differ | (a ^ b));
        self.0.iter().zip(&other.0).fold(0, differ) == 0
    }

    /// Restores a scope from its hash; `None` for bytes of another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Restores a scope from the hexadecimal digits of its hash.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let pairs = (0..32).map(|at| digits.get(2 * at..2 * at + 2));
        let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
        Self::from_bytes(&bytes?).filter(|_| digits.len() == 64)
    }

    /// Returns the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The error for a refused cursor. Forged, foreign and truncated cursors give the same error, so that
/// nothing is revealed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this cursor is incomplete or was not issued to you")]
pub struct InvalidCursor;

/// Signs cursors with one key, and verifies them with that key and earlier ones.
#[derive(Clone)]
pub struct Keyring {
    mac: Hmac<Sha256>,
    earlier: Vec<Hmac<Sha256>>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring")
    }
}

impl Keyring {
    /// Creates a keyring from a secret, which should be at least 32 random bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self { mac: mac(secret), earlier: Vec::new() }
    }

    /// Also verifies cursors that were signed with these secrets.
    #[must_use]
    pub fn with_earlier(self, secrets: &[[u8; 32]]) -> Self {
        Self { earlier: secrets.iter().map(mac).collect(), ..self }
    }

    /// Returns the token of a target, for one scope.
    pub fn sign(&self, pointer: &CursorTarget, scope: &Scope) -> CursorToken {
        let mut bytes = [0; BODY_BYTES + TAG_BYTES];
        bytes[0] = VERSION;
        bytes[1..9].copy_from_slice(&pointer.snapshot);
        bytes[9..15].copy_from_slice(&pointer.view);
        bytes[15..BODY_BYTES].copy_from_slice(&pointer.position.to_bytes());
        let tag = tagged(&self.mac, &bytes[..BODY_BYTES], scope).finalize().into_bytes();
        bytes[BODY_BYTES..].copy_from_slice(&tag[..TAG_BYTES]);
        CursorToken(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Returns the target of a token, if it was signed with one of the keys for this scope.
    ///
    /// # Errors
    /// [`InvalidCursor`] for every other token.
    pub fn verify(&self, token: &str, scope: &Scope) -> Result<CursorTarget, InvalidCursor> {
        let mut bytes = [0; BODY_BYTES + TAG_BYTES];
        let written = URL_SAFE_NO_PAD.decode_slice(token.trim(), &mut bytes).map_err(|_| InvalidCursor)?;
        if written != bytes.len() {
            return Err(InvalidCursor);
        }
        let (body, tag) = bytes.split_at(BODY_BYTES);
        let mut keys = std::iter::once(&self.mac).chain(&self.earlier);
        let is_signed = |key: &Hmac<Sha256>| tagged(key, body, scope).verify_truncated_left(tag).is_ok();
        if !keys.any(is_signed) {
            return Err(InvalidCursor);
        }
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
}

/// Creates the keyed hash of a secret.
fn mac(secret: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block[..32].copy_from_slice(secret);
    Hmac::new(&block.into())
}

/// Returns the hash of a token's body for a scope.
fn tagged(key: &Hmac<Sha256>, body: &[u8], scope: &Scope) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(body);
    mac.update(&scope.0);
    mac
}
