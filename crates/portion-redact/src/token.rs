//! Redacts secrets that are recognizable by themselves: private keys between their markers, tokens with known prefixes,
//! passwords in URLs.

use memchr::memmem;

use super::{REDACTED, RedactedNames, TextEdit};

/// Prefixes of tokens, and the minimum characters after them.
const TOKEN_PREFIXES: &[(&str, usize)] = &[
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("ghu_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AIza", 30),
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("npm_", 36),
    ("hf_", 30),
    ("Bearer ", 8),
    ("bearer ", 8),
];
const PRIVATE_KEYS: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
/// Start of a JSON object in base64: the header and the claims of a JSON Web Token.
const JWT_START: &str = "eyJ";
/// Minimum bytes of the header and of the claims of a JSON Web Token.
const MIN_JWT_PART_BYTES: usize = 12;
const AUTHORITY_START: &str = "://";
/// Maximum bytes of user and password in a URL.
const MAX_USERINFO_BYTES: usize = 256;

/// Adds the edits for the secrets in a text.
pub(super) fn collect_edits(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    PRIVATE_KEYS.iter().for_each(|mark| redact_private_keys(text, mark, edits, names));
    redact_tokens(text, edits, names);
    redact_web_tokens(text, edits, names);
    redact_url_passwords(text, edits, names);
}

/// Returns true if a text may contain such a secret.
pub(super) fn may_contain(text: &str) -> bool {
    let contains = |mark: &str| memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    TOKEN_PREFIXES.iter().any(|(beginning, _)| contains(beginning))
        || contains(JWT_START)
        || PRIVATE_KEYS.iter().any(|mark| contains(mark))
}

/// Redacts `-----BEGIN … PRIVATE KEY-----` up to its end.
fn redact_private_keys(text: &str, mark: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    let mut from = 0;
    while let Some(at) = memmem::find(&text.as_bytes()[from..], mark.as_bytes()) {
        let head = from + at;
        let near = text.ceil_char_boundary(head.saturating_sub(32)).min(head);
        let line = text[near..head].rfind("-----").map_or(head, |begin| near + begin);
        let start = head + mark.len();
        let begins = text[line..head].starts_with("-----BEGIN");
        from = start;
        if begins {
            let end =
                memmem::find(&text.as_bytes()[start..], b"-----END").map_or(text.len(), |at| start + at);
            names.add("private key".into());
            edits.push(TextEdit { start, end, replacement: REDACTED.into() });
            from = end;
        }
    }
}

/// Redacts tokens with known prefixes: `AKIA…`, `Bearer …`.
fn redact_tokens(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    for (beginning, least) in TOKEN_PREFIXES {
        let mut done = 0;
        for at in memmem::find_iter(text.as_bytes(), beginning) {
            let inner = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if inner || at < done {
                continue;
            }
            let start = at + beginning.len();
            let is_token = |c: char| c.is_ascii_alphanumeric() || "._~+/=-".contains(c);
            let end = text[start..].find(|c| !is_token(c)).map_or(text.len(), |len| start + len);
            done = end;
            if end - start >= *least {
                names.add(beginning.trim_end_matches([' ', '_', '-']).to_owned());
                let start = if beginning.ends_with(' ') { start } else { at };
                edits.push(TextEdit { start, end, replacement: REDACTED.into() });
            }
        }
    }
}

/// Redacts JSON Web Tokens: `eyJ….eyJ….…`.
fn redact_web_tokens(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    let mut done = 0;
    for start in memmem::find_iter(text.as_bytes(), JWT_START) {
        if start < done || text[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        let is_token = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let end = text[start..].find(|c| !is_token(c)).map_or(text.len(), |len| start + len);
        done = end;
        let token = text[start..end].trim_end_matches('.');
        let mut parts = token.split('.');
        let is_long = |part: Option<&str>| part.is_some_and(|part| part.len() >= MIN_JWT_PART_BYTES);
        if is_long(parts.next()) && is_long(parts.next()) {
            names.add("JSON Web Token".to_owned());
            edits.push(TextEdit { start, end: start + token.len(), replacement: REDACTED.into() });
        }
    }
}

/// Redacts the password in `https://user:password@host`.
fn redact_url_passwords(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    for at in memmem::find_iter(text.as_bytes(), AUTHORITY_START) {
        let start = at + AUTHORITY_START.len();
        let near = &text[start..text.floor_char_boundary(start + MAX_USERINFO_BYTES)];
        let authority =
            &near[..near.find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c)).unwrap_or(near.len())];
        let Some((userinfo, _)) = authority.rsplit_once('@') else { continue };
        let Some((user, password)) = userinfo.split_once(':') else { continue };
        if !matches!(password, "" | REDACTED) {
            names.add("password in a URL".to_owned());
            let start = start + user.len() + 1;
            edits.push(TextEdit { start, end: start + password.len(), replacement: REDACTED.into() });
        }
    }
}
