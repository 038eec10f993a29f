//! Beginnings of tokens that are recognizable by themselves.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use memchr::memmem;

/// Prefixes of tokens, and the minimum characters after them.
const TOKEN_PREFIXES: &str = "AKIA:16 ASIA:16 ghp_:30 gho_:30 ghs_:30 ghu_:30 ghr_:30 github_pat_:30 glpat-:20 xoxb-:20 xoxp-:20 xoxa-:20 xoxs-:20 \
    AIza:30 GOCSPX-:20 ya29.:20 sk-ant-:20 sk-proj-:20 sk-:40 sk_live_:16 rk_live_:16 sk_test_:16 whsec_:20 npm_:36 \
    pypi-AgE:16 hf_:30 hvs.:20 shpat_:30 dop_v1_:40 dckr_pat_:20 SG.:40 AGE-SECRET-KEY-1:40 \
    hooks.slack.com/services/:20 discord.com/api/webhooks/:40";
/// Words before a token.
const TOKEN_WORDS: [&str; 2] = ["Bearer ", "bearer "];
const MIN_WORD_TOKEN_BYTES: usize = 8;
/// Beginning of the key of an API of Twilio, before 32 hexadecimal digits.
pub(super) const TWILIO_KEY: &str = "SK";
pub(super) const TWILIO_DIGITS: usize = 32;

/// Yields what stands before tokens, and the minimum characters of a token.
pub(super) fn token_beginnings() -> impl Iterator<Item = (&'static str, usize)> {
    let prefix = |entry: &'static str| {
        let (prefix, least) = entry.rsplit_once(':')?;
        Some((prefix, least.parse().ok()?))
    };
    TOKEN_PREFIXES.split(' ').filter_map(prefix).chain(TOKEN_WORDS.map(|word| (word, MIN_WORD_TOKEN_BYTES)))
}

/// Yields the offsets of keys of Twilio, the prefix of which is too short to be searched alone.
pub(super) fn twilio_keys(text: &str) -> impl Iterator<Item = usize> {
    memmem::find_iter(text.as_bytes(), TWILIO_KEY.as_bytes()).filter(|at| {
        let digits = text.as_bytes().get(at + TWILIO_KEY.len()..at + TWILIO_KEY.len() + TWILIO_DIGITS);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Yields each place of a text where a token may begin: its offset, the beginning, and the minimum characters after it.
pub(super) fn beginnings_in(text: &str) -> impl Iterator<Item = (usize, &'static str, usize)> {
    type Beginning = (&'static str, usize);
    static SEARCH: OnceLock<Option<(AhoCorasick, Vec<Beginning>)>> = OnceLock::new();
    let search = SEARCH.get_or_init(|| {
        let automaton = AhoCorasick::new(token_beginnings().map(|(beginning, _)| beginning)).ok()?;
        Some((automaton, token_beginnings().collect()))
    });
    let found = search.iter().flat_map(move |(automaton, beginnings)| {
        automaton.find_overlapping_iter(text).map(|found| {
            let (beginning, least) = beginnings[found.pattern().as_usize()];
            (found.start(), beginning, least)
        })
    });
    found.chain(twilio_keys(text).map(|at| (at, TWILIO_KEY, TWILIO_DIGITS)))
}
