//! Finds the places of a text where a secret may be, before anything is read: words of names, and beginnings of tokens.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::pattern::regex;

/// Parts of words, in lower case, at least one of which each name of a secret has.
const NAME_PARTS: &str = "pass pw secret token key cred auth cookie code pin otp ssn cvv cvc bearer jwt psk mnemonic phrase conn card \
    kennwort contrase wachtwoord wifi wlan wireless instruction combination combo lock";
/// Spellings that may hide such a part, and the beginnings of secrets in URLs and lines, between bars.
const SPELLINGS: &str = "identified |secureString|\"sensitive\"|\"kty\"|signature=|wi-fi|wi fi|wi_fi|pick-up|cc number|cc_number|cc-number|ccnumber|://|:oracle:thin:|sig=|:5432:|curl |@tcp(|@unix(|\u{200b}|\u{200c}|\u{200d}|\u{2060}|\u{feff}|\u{ad}|%6|%7|\\u00";
/// Beginnings of tokens, or words before them, and the minimum characters of the rest, between bars.
const TOKENS: &str = "AKIA:16|ASIA:16|ghp_:30|gho_:30|ghs_:30|ghu_:30|ghr_:30|github_pat_:30|glpat-:20|xoxb-:20|xoxp-:20|xoxa-:20|xoxs-:20|\
    AIza:30|GOCSPX-:20|ya29.:20|sk-ant-:20|sk-proj-:20|sk-:40|sk_live_:16|rk_live_:16|sk_test_:16|whsec_:20|npm_:36|pypi-AgE:16|\
    hf_:30|ATATT3x:20|xapp-1-:20|glsa_:30|lin_api_:30|ntn_:30|PMAK-:30|NRAK-:20|sbp_:30|figd_:30|dp.pt.:30|pul-:40|rubygems_:40|\
    gsk_:40|xai-:40|nvapi-:40|xkeysib-:40|sq0csp-:30|webhook.office.com/:30|hvs.:20|shpat_:30|dop_v1_:40|dckr_pat_:20|SG.:40|AGE-SECRET-KEY-1:40|hooks.slack.com/services/:20|\
    discord.com/api/webhooks/:40|dapi:32|glrt-:20|glptt-:20|gldt-:20|sq0atp-:22|pat-na1-:32|pat-eu1-:32|ATBB:32|sntrys_:40|sntryu_:40|\
    tskey-:20|hvb.:40|pscale_tkn_:30|AKCp:60|EAAC:60|xsmtpsib-:40|key-:32|r8_:36|pplx-:40|sqp_:40|squ_:40|CCIPAT_:40|ops_eyJ:40|pcsk_:40|lsv2_pt_:30|lsv2_sk_:30|tvly-:20|phx_:30|nfp_:36|fm2_:30|glc_eyJ:40|shpss_:32|shpca_:32|shppa_:32|CFPAT-:40|secret_:40|rnd_:28|\
    pscale_pw_:30|dt0c01.:60|sb_secret_:20|rdme_:60|fo1_:40|bkua_:40|tgp_v1_:40|vcp_:40|dt0s01.:60|\
    hooks.zapier.com/hooks/catch/:8|$apr1$:20|$1$:22|$5$:40|$6$:80|$2a$:50|$2b$:50|$2y$:50|$argon2:30|Bearer :8|bearer :8|eyJ:22|PRIVATE KEY:5|Static key V:5|Private-Lines:5";
/// Parts of tokens without a beginning of their own that is long enough: of Twilio, Terraform, Telegram, Discord, Airtable,
/// crates.io, `NuGet`, Google, Square, Dropbox, 1Password and Cloudflare.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"SK[[:xdigit:]]{32}|\w{14}\.atlasv1\.[\w-]{60}|:AA[\w-]{33}|\.[\w-]{6}\.[\w-]{27}|pat\w{14}\.[[:xdigit:]]{64}|(?:cio|oy2|1//0|EAAA|sl\.)[\w-]{16}|A3-[A-Z\d]{6}-|v1\.0-[[:xdigit:]]{24}-",
    )
});

/// Yields the beginnings of tokens, and the minimum characters of the rest.
pub(super) fn token_beginnings() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOKENS.split('|').filter_map(|entry| entry.rsplit_once(':'))
}

/// Searches for all parts, spellings and tokens, in this order.
struct Search {
    automaton: AhoCorasick,
    first_token: usize,
}

static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let words: Vec<_> = NAME_PARTS.split(' ').chain(SPELLINGS.split('|')).collect();
    let patterns = words.iter().copied().chain(token_beginnings().map(|(beginning, _)| beginning));
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(patterns)
        .unwrap_or_else(|_| unreachable!());
    Search { automaton, first_token: words.len() }
});

/// Returns true if a text may hold a secret.
pub(super) fn may_hold(text: &str) -> bool {
    SEARCH.automaton.is_match(text) || SHAPES.is_match(text)
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
    let named = SEARCH.automaton.find_overlapping_iter(text).map(|found| {
        let is_token = found.pattern().as_usize() >= SEARCH.first_token;
        place(found.start(), is_token || text[found.start()..].starts_with('@'))
    });
    let keys = SHAPES.find_iter(text).map(|found| place(found.start(), true));
    let mut places: Vec<_> = named.chain(keys).collect();
    places.sort_unstable_by_key(|place| place.offset);
    places
}

/// Returns the places in a range.
pub(super) fn places_in(places: &[Place], start: u32, end: u32) -> &[Place] {
    let places = &places[places.partition_point(|place| place.offset < start)..];
    &places[..places.iter().position(|place| place.offset >= end).unwrap_or(places.len())]
}
