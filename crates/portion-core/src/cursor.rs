//! Signs and verifies cursors: positions in snapshots that a client sends back to read on.
//!
//! A token is a body and a tag. The body is the snapshot's id (6 bytes), followed by the view and the position
//! unless it points to the start of the whole result. The tag is HMAC-SHA256 truncated to 48 bits, over the body
//! and the scope that the token was issued to, so a token sent by another client fails like a forged one. The body
//! is masked with a key stream that depends on the tag, so that a token has no readable content and no runs. Both
//! are written as lower-case letters: 21 for a whole result, at most 45. In URLs, a token is filled to 24 and 48.
//!
//! The tag is compared in constant time before anything is looked up. The store handles expiry: a token carries
//! neither a time nor a budget.
//!
//! ```
//! use portion_core::cursor::{CursorTarget, Keyring, Position, Scope};
//!
//! let (keyring, ada) = (Keyring::new(&[7; 32]), Scope::from_principal("ada"));
//! let target = CursorTarget { snapshot: [1; 6], view: [0; 5], position: Position::default() };
//! let token = keyring.sign(&target, &ada);
//! assert_eq!(token.as_str().len(), 21);
//! assert_eq!(keyring.verify(token.as_str(), &ada), Ok(target));
//! assert!(keyring.verify(token.as_str(), &Scope::from_principal("bob")).is_err());
//! ```

mod body;

use std::borrow::Cow;
use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use memchr::memmem;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

/// Bytes of a tag.
const TAG_BYTES: usize = 6;
/// Most letters of a token.
const MAX_LETTERS: usize = body::encoded_len(body::MAX_BODY_BYTES + TAG_BYTES);
/// Most characters of a token, with its filling.
pub const MAX_CURSOR_CHARS: usize = MAX_LETTERS.next_multiple_of(4);
/// Character after the letters of a token that has to have a multiple of four.
const FILLING: char = '-';
/// First byte of the text that a tag authenticates, and of the text from which a mask is derived.
const TAG_LABEL: u8 = 2;
const MASK_LABEL: u8 = 3;

/// Id of a snapshot; random, provided by the caller.
pub type SnapshotId = [u8; 6];
/// Id of a view of a snapshot: a hash of the view's canonical form; zero for the whole result, as it was received.
pub type ViewId = [u8; 5];

/// A position in a view: the start of the next portion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Index of the payload's part.
    pub part: u16,
    /// Number of portions that were read to reach this one; 15 bits, saturating.
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
    /// Returns the characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the same cursor, filled with `-` to a multiple of four characters: valid base64url, as programs expect of cursors
    /// in URLs. Verification ignores the filling.
    #[must_use]
    pub fn as_base64url(mut self) -> Self {
        let length = self.0.len().next_multiple_of(4);
        self.0.extend(std::iter::repeat_n(FILLING, length - self.0.len()));
        self
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
        self.0.ct_eq(&other.0).into()
    }

    /// Restores a scope from its hash; `None` for bytes of another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Restores a scope from the hexadecimal digits of its hash.
    pub fn from_hex(digits: &str) -> Option<Self> {
        // A sign is no digit, but a part of numbers.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
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
        let mut bytes = body::encode(pointer);
        let tag = keyed(&self.mac, TAG_LABEL, &bytes, scope).finalize().into_bytes();
        let tag = &tag[..TAG_BYTES];
        apply_mask(&self.mac, tag, scope, &mut bytes);
        bytes.extend_from_slice(tag);
        CursorToken(body::write_letters(&bytes))
    }

    /// Returns the target of a token, if it was signed with one of the keys for this scope.
    ///
    /// # Errors
    /// [`InvalidCursor`] for every other token.
    pub fn verify(&self, token: &str, scope: &Scope) -> Result<CursorTarget, InvalidCursor> {
        let bytes = body::read_letters(token.trim().trim_end_matches(FILLING)).ok_or(InvalidCursor)?;
        let (masked, tag) = bytes.split_last_chunk::<TAG_BYTES>().ok_or(InvalidCursor)?;
        let mut keys = std::iter::once(&self.mac).chain(&self.earlier);
        keys.find_map(|key| {
            let mut body = masked.to_vec();
            apply_mask(key, tag, scope, &mut body);
            let is_signed = keyed(key, TAG_LABEL, &body, scope).verify_truncated_left(tag).is_ok();
            if is_signed { body::decode(&body) } else { None }
        })
        .ok_or(InvalidCursor)
    }
}

/// Creates the keyed hash of a secret.
fn mac(secret: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block[..32].copy_from_slice(secret);
    Hmac::new(&block.into())
}

/// Returns the hash of some bytes for a scope. The label separates its uses.
fn keyed(key: &Hmac<Sha256>, label: u8, bytes: &[u8], scope: &Scope) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(&[label]);
    mac.update(bytes);
    mac.update(&scope.0);
    mac
}

/// Masks a body, or removes the mask.
fn apply_mask(key: &Hmac<Sha256>, tag: &[u8], scope: &Scope, body: &mut [u8]) {
    let stream = keyed(key, MASK_LABEL, tag, scope).finalize().into_bytes();
    body.iter_mut().zip(stream).for_each(|(byte, mask)| *byte ^= mask);
}

/// Most expensive characters, one token each.
const MOST_EXPENSIVE: &str = "0qjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjz";

/// Returns the text with each of these cursors replaced by the most expensive text of its length.
///
/// The length in bytes and on the wire does not change.
pub fn charged<'t>(text: &'t str, cursors: &[CursorToken]) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    for cursor in cursors {
        let found: Vec<usize> = memmem::find_iter(text.as_bytes(), cursor.as_str()).collect();
        for at in found {
            text.to_mut().replace_range(at..at + cursor.as_str().len(), most_expensive(cursor));
        }
    }
    text
}

/// Returns a text that is charged like the cursor to `target`, for a draft of a reply that nobody receives.
pub(crate) fn stand_in(target: &CursorTarget) -> CursorToken {
    let len = body::encoded_len(body::encode(target).len() + TAG_BYTES);
    CursorToken(MOST_EXPENSIVE[..len.min(MOST_EXPENSIVE.len())].to_owned())
}

/// Returns the most expensive text of a cursor's length.
fn most_expensive(cursor: &CursorToken) -> &'static str {
    MOST_EXPENSIVE.get(..cursor.as_str().len()).unwrap_or(MOST_EXPENSIVE)
}

#[cfg(test)]
mod tests {
    use portion_tokens::{BYTE_COUNTER, TokenCounter, Tokenizer};

    use super::{
        CursorTarget, CursorToken, Keyring, PartOffset, Position, Scope, ViewId, charged, most_expensive,
        stand_in,
    };

    /// Text around cursors in notices, envelopes, structured content, faults and URIs.
    const AROUND: [(&str, &str); 8] = [
        ("{\"nextCursor\":\"", "\",\"totalCount\":500}"),
        ("{\"meta\":{\"cursor\":\"", "\"}}"),
        ("{\"arguments\":{\"cursor\":\"", "\",\"section\":\"lines\"}}"),
        ("{\"notShown\":{\"items\":3,\"cursor\":\"", "\"},\"nextCursor\":\"x\"}"),
        ("[{\"nextCursor\": \"", "\" }]"),
        ("{\"nextUri\":\"portion://read/", "\"}"),
        ("[image/png; resources/read portion://read/", "?path=/content/0/data reads it]"),
        ("cursor=", ""),
    ];

    fn counters() -> Vec<&'static dyn TokenCounter> {
        Tokenizer::ALL.iter().map(|tokenizer| tokenizer.counter()).chain([BYTE_COUNTER]).collect()
    }

    /// Returns the next number of the generator `SplitMix64`.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn cursor_to(state: &mut u64, view: ViewId, position: Position) -> CursorToken {
        let secret = std::array::from_fn(|_| random(state) as u8);
        let snapshot = std::array::from_fn(|_| random(state) as u8);
        Keyring::new(&secret)
            .sign(&CursorTarget { snapshot, view, position }, &Scope::from_principal("caller"))
    }

    fn cursor(state: &mut u64, position: Position) -> CursorToken {
        let view: ViewId = std::array::from_fn(|_| random(state) as u8);
        let is_whole = view[0].is_multiple_of(2);
        cursor_to(state, if is_whole { ViewId::default() } else { view }, position)
    }

    fn positions(state: &mut u64) -> [Position; 4] {
        let at = random(state);
        let (part, ordinal, offset) = (at as u16, (at >> 16) as u16, (at >> 32) as u32);
        let some = Position { part: part % 9, ordinal: ordinal % 30, offset: PartOffset::Item(offset % 900) };
        [
            Position::default(),
            some,
            Position { offset: PartOffset::Byte(offset % 5_000_000), ..some },
            Position { part, ordinal, offset: PartOffset::Byte(offset) },
        ]
    }

    #[test]
    fn no_cursor_costs_more_than_its_charge() {
        let mut state = 7;
        for _ in 0..300 {
            for position in positions(&mut state) {
                let cursor = cursor(&mut state, position);
                for ((before, after), counter) in
                    AROUND.iter().flat_map(|a| counters().into_iter().map(move |c| (a, c)))
                {
                    let text = format!("{before}{cursor}{after}");
                    let (cost, charge) =
                        (counter.count(&text), counter.count(&charged(&text, std::slice::from_ref(&cursor))));
                    assert!(cost <= charge, "{}: {cost} of {charge}: {text}", counter.name());
                }
            }
        }
    }

    #[test]
    fn cursors_to_one_position_are_charged_alike() {
        let mut state = 9;
        let check = |tokenizer: Tokenizer, state: &mut u64, expect| {
            let cursor = cursor_to(state, ViewId::default(), Position::default());
            assert_eq!(
                tokenizer.counter().count(&charged(cursor.as_str(), std::slice::from_ref(&cursor))),
                expect,
                "{tokenizer}"
            );
        };
        for _ in 0..10 {
            check(Tokenizer::O200k, &mut state, 21);
            check(Tokenizer::Cl100k, &mut state, 21);
            check(Tokenizer::Claude, &mut state, 21);
            check(Tokenizer::Auto, &mut state, 24);
        }
    }

    #[test]
    fn a_stand_in_is_charged_like_its_cursor() {
        let mut state = 5;
        for position in positions(&mut state) {
            for view in [ViewId::default(), [1; 5]] {
                let target = CursorTarget { snapshot: [7; 6], view, position };
                let cursor = Keyring::new(&[1; 32]).sign(&target, &Scope::from_principal("caller"));
                assert_eq!(stand_in(&target).as_str(), most_expensive(&cursor), "{target:?}");
                assert_eq!(stand_in(&target).as_str().len(), cursor.as_str().len(), "{target:?}");
            }
        }
    }

    #[test]
    fn cursors_are_replaced_wherever_they_stand() {
        let mut state = 3;
        let next = Position { offset: PartOffset::Item(50), ..Position::default() };
        let (here, next) = (cursor(&mut state, Position::default()), cursor(&mut state, next));
        let other = "a".repeat(here.as_str().len());
        let text = format!("{here} {next} {here}, not {other}");
        let (first, second) = (most_expensive(&here), most_expensive(&next));
        assert_eq!((first.len(), second.len()), (here.as_str().len(), next.as_str().len()));
        assert_eq!(charged(&text, &[here, next]), format!("{first} {second} {first}, not {other}"));
        assert_eq!(charged(&text, &[]), text);
    }
}
