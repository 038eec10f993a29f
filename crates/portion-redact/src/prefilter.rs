//! Finds the places of a text where a secret may be, before anything is read: words of names, and beginnings of tokens.

use std::cmp::Reverse;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;

/// Parts of words, in lower case, at least one of which each name of a secret has.
const NAME_PARTS: &str = "pass pw secret token key cred auth cookie code pin otp ssn cvv cvc bearer jwt psk mnemonic phrase conn card \
    kennwort contrase wachtwoord wifi wlan wireless instruction combination combo lock";
/// Spellings that may hide such a part, and the beginnings of secrets in URLs and lines, between bars.
const SPELLINGS: &str = "identified |signature=|wi-fi|wi fi|wi_fi|pick-up|cc number|cc_number|cc-number|ccnumber|://|:oracle:thin:|sig=|:5432:|curl |@tcp(|@unix(|\u{200b}|\u{200c}|\u{200d}|\u{2060}|\u{feff}|\u{ad}|%6|%7|\\u00";
/// Beginnings of tokens, or words before them, and the minimum characters of the rest, between bars.
const TOKENS: &str = "AKIA:16|ASIA:16|ghp_:30|gho_:30|ghs_:30|ghu_:30|ghr_:30|github_pat_:30|glpat-:20|xoxb-:20|xoxp-:20|xoxa-:20|xoxs-:20|\
    AIza:30|GOCSPX-:20|ya29.:20|sk-ant-:20|sk-proj-:20|sk-:40|sk_live_:16|rk_live_:16|sk_test_:16|whsec_:20|npm_:36|pypi-AgE:16|\
    hf_:30|ATATT3x:20|xapp-1-:20|glsa_:30|lin_api_:30|ntn_:30|PMAK-:30|NRAK-:20|sbp_:30|figd_:30|dp.pt.:30|pul-:40|rubygems_:40|\
    gsk_:40|xai-:40|nvapi-:40|xkeysib-:40|sq0csp-:30|webhook.office.com/:30|hvs.:20|shpat_:30|dop_v1_:40|dckr_pat_:20|SG.:40|AGE-SECRET-KEY-1:40|hooks.slack.com/services/:20|\
    discord.com/api/webhooks/:40|Bearer :8|bearer :8|eyJ:22|PRIVATE KEY:5";
/// Beginning of the key of an API of Twilio, before 32 hexadecimal digits. It is too short to be searched alone.
pub(super) const TWILIO_KEY: &str = "SK";
const TWILIO_DIGITS: usize = 32;

/// Searches for all parts, spellings and tokens, in this order.
struct Search {
    automaton: AhoCorasick,
    first_token: usize,
    tokens: Vec<(&'static str, usize)>,
}

fn search() -> Option<&'static Search> {
    static SEARCH: OnceLock<Option<Search>> = OnceLock::new();
    let build = || {
        let token = |entry: &'static str| {
            entry.rsplit_once(':').and_then(|(start, min)| Some((start, min.parse().ok()?)))
        };
        let tokens: Vec<_> = TOKENS.split('|').filter_map(token).collect();
        let words: Vec<_> = NAME_PARTS.split(' ').chain(SPELLINGS.split('|')).collect();
        let patterns = words.iter().copied().chain(tokens.iter().map(|(beginning, _)| *beginning));
        let builder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns);
        Some(Search { automaton: builder.ok()?, first_token: words.len(), tokens })
    };
    SEARCH.get_or_init(build).as_ref()
}

/// Returns true if a text may hold a secret.
pub(super) fn may_hold(text: &str) -> bool {
    search().is_none_or(|search| search.automaton.is_match(text)) || twilio_keys(text).next().is_some()
}

/// A place at which a secret may begin, or the name of one.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub offset: u32,
    /// True for the beginning of a token, and for the end of a login.
    pub is_token: bool,
    /// True for the beginning of the authority of a URL.
    pub is_url: bool,
}

/// Returns the places of a text, in order.
pub(super) fn places(text: &str) -> Vec<Place> {
    let place = |offset: usize, is_token| Place {
        offset: offset as u32,
        is_token,
        is_url: text[offset..].starts_with("://"),
    };
    let all = search().into_iter().flat_map(|search| {
        let found = search.automaton.find_overlapping_iter(text);
        found.map(|found| {
            let is_token = found.pattern().as_usize() >= search.first_token;
            place(found.start(), is_token || text[found.start()..].starts_with('@'))
        })
    });
    let mut places: Vec<_> = all.chain(twilio_keys(text).map(|at| place(at, true))).collect();
    places.sort_unstable_by_key(|place| place.offset);
    places
}

/// Returns the places in a range.
pub(super) fn places_in(places: &[Place], start: u32, end: u32) -> &[Place] {
    let places = &places[places.partition_point(|place| place.offset < start)..];
    &places[..places.iter().position(|place| place.offset >= end).unwrap_or(places.len())]
}

/// Returns each place of a text where a token may begin, in order, the longest beginning first: its offset, the beginning, and
/// the minimum characters after it.
pub(super) fn tokens_in(text: &str) -> Vec<(usize, &'static str, usize)> {
    let found = search().into_iter().flat_map(|search| {
        search.automaton.find_overlapping_iter(text).filter_map(|found| {
            let (beginning, min) =
                *search.tokens.get(found.pattern().as_usize().checked_sub(search.first_token)?)?;
            text[found.start()..].starts_with(beginning).then_some((found.start(), beginning, min))
        })
    });
    let twilio = twilio_keys(text).map(|at| (at, TWILIO_KEY, TWILIO_DIGITS));
    let mut all: Vec<_> = found.chain(twilio).collect();
    all.sort_unstable_by_key(|(at, beginning, _)| (*at, Reverse(beginning.len())));
    all
}

/// Yields the offsets of keys of Twilio.
fn twilio_keys(text: &str) -> impl Iterator<Item = usize> {
    memmem::find_iter(text.as_bytes(), TWILIO_KEY.as_bytes()).filter(|at| {
        let digits = text.as_bytes().get(at + TWILIO_KEY.len()..at + TWILIO_KEY.len() + TWILIO_DIGITS);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}
