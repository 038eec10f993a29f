//! Finds the places of a text where a secret may be, before anything is read: words of names, and beginnings of tokens.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::token_beginning::{token_beginnings, twilio_keys};

/// Parts of words, in lower case, at least one of which each name of a secret has.
const NAME_PARTS: &str = "pass pw secret token key cred auth cookie code pin otp ssn cvv cvc bearer jwt psk mnemonic phrase conn card \
    kennwort contrase wachtwoord wifi wlan wireless instruction combination combo lock";
/// Spellings that may hide such a part, and the beginnings of secrets without a name.
const OTHERS: [&str; 18] = [
    "wi-fi",
    "wi fi",
    "wi_fi",
    "pick-up",
    "://",
    "sig=",
    ":5432:",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{2060}",
    "\u{feff}",
    "\u{ad}",
    "%6",
    "%7",
    "\\u00",
    "private key",
    "eyj",
];
/// The last ones of these that begin a secret.
const TOKEN_MARKS: usize = 2;

fn automaton() -> Option<&'static AhoCorasick> {
    static AUTOMATON: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let build = || {
        let tokens = token_beginnings().map(|(beginning, _)| beginning);
        let patterns = NAME_PARTS.split(' ').chain(OTHERS).chain(tokens);
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns)
            .ok()
    };
    AUTOMATON.get_or_init(build).as_ref()
}

/// Returns true if a text may hold a secret.
pub(super) fn may_hold(text: &str) -> bool {
    automaton().is_none_or(|automaton| automaton.is_match(text)) || twilio_keys(text).next().is_some()
}

/// A place at which a secret may begin, or the name of one.
#[derive(Clone, Copy)]
pub(super) struct Place {
    offset: u32,
    pub is_token: bool,
}

/// Returns the places of a text, in order.
pub(super) fn places(text: &str) -> Vec<Place> {
    let first_token = NAME_PARTS.split(' ').count() + OTHERS.len() - TOKEN_MARKS;
    let place = |found: aho_corasick::Match| Place {
        offset: found.start() as u32,
        is_token: found.pattern().as_usize() >= first_token,
    };
    let mut places: Vec<_> = automaton()
        .map_or_else(Vec::new, |automaton| automaton.find_overlapping_iter(text).map(place).collect());
    places.extend(twilio_keys(text).map(|offset| Place { offset: offset as u32, is_token: true }));
    places.sort_unstable_by_key(|place| place.offset);
    places
}

/// Returns the places in a range.
pub(super) fn places_in(places: &[Place], start: u32, end: u32) -> &[Place] {
    let first = places.partition_point(|place| place.offset < start);
    let len = places[first..].partition_point(|place| place.offset < end);
    &places[first..first + len]
}
