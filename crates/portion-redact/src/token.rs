//! Redacts secrets that are recognizable by themselves: private keys between their markers, tokens with known prefixes,
//! passwords in URLs, lines of password files.

use std::collections::HashMap;

use memchr::memmem;

use super::name::SecretKind;
use super::text_value::line_before;
use super::token_beginning::{TWILIO_KEY, beginnings_in};
use super::value::{Form, is_secret_value};
use super::{REDACTED, RedactedNames, TextEdit, prefilter};

const PRIVATE_KEYS: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
/// Start of a JSON object in base64: the header and the claims of a JSON Web Token.
const JWT_START: &str = "eyJ";
/// Minimum bytes of the header and of the claims of a JSON Web Token.
const MIN_JWT_PART_BYTES: usize = 12;
const AUTHORITY_START: &str = "://";
/// Maximum bytes of user and password in a URL, and minimum bytes of a token there without a password.
const MAX_USERINFO_BYTES: usize = 256;
const MIN_USER_TOKEN_BYTES: usize = 16;
/// Maximum bytes of a line of a password file.
const MAX_LINE_BYTES: usize = 512;
/// Number of fields of a line of a password file of `PostgreSQL`: host, port, database, user, password.
const PGPASS_FIELDS: usize = 5;

/// Adds the edits for the secrets in a text.
pub(super) fn collect_edits(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    PRIVATE_KEYS.iter().for_each(|mark| redact_private_keys(text, mark, edits, names));
    redact_tokens(text, edits, names);
    redact_web_tokens(text, edits, names);
    redact_url_passwords(text, edits, names);
    redact_password_files(text, edits, names);
}

/// Returns true if a name of a member may contain such a secret.
pub(super) fn may_contain(text: &str) -> bool {
    text.len() >= MIN_USER_TOKEN_BYTES && prefilter::may_hold(text)
}

/// Returns true if the first line of a text has as many fields as one of a password file.
pub(super) fn may_be_password_file(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    line.len() <= MAX_LINE_BYTES && line.matches(':').count() == PGPASS_FIELDS - 1
}

fn hide(name: &str, (start, end): (usize, usize), edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    names.add(name.to_owned());
    edits.push(TextEdit { start, end, replacement: REDACTED.into() });
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
            if text[start..end].contains(|c: char| c.is_ascii_alphanumeric()) {
                hide("private key", (start, end), edits, names);
            }
            from = end;
        }
    }
}

/// Redacts tokens with known prefixes: `AKIA…`, `Bearer …`.
fn redact_tokens(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    // End of the last run of characters that was read after each beginning.
    let mut done: HashMap<&str, usize> = HashMap::new();
    for (at, beginning, least) in beginnings_in(text) {
        let inner = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if inner || done.get(beginning).is_some_and(|done| at < *done) {
            continue;
        }
        let start = at + beginning.len();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "._~+/=-".contains(c);
        let end = text[start..].find(|c| !is_token(c)).map_or(text.len(), |len| start + len);
        done.insert(beginning, end);
        let token = text[start..end].trim_end_matches('.');
        // "Bearer authentication" is no token.
        let has_shape = match beginning {
            "Bearer " | "bearer " => token.len() > 24 || token.contains(|c: char| c.is_ascii_digit()),
            TWILIO_KEY => token.len() == least && token.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "sk-" | "npm_" | "hf_" | "hvs." => token.contains(|c: char| c.is_ascii_digit()),
            _ => true,
        };
        if token.len() >= least && has_shape {
            let start = if beginning.ends_with([' ', '/']) { start } else { at };
            let name = beginning.trim_end_matches([' ', '_', '-', '/', '.']);
            hide(name, (start, end), edits, names);
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
            hide("JSON Web Token", (start, start + token.len()), edits, names);
        }
    }
}

/// Redacts the password in `https://user:password@host`, and a token in place of a user.
fn redact_url_passwords(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    for at in memmem::find_iter(text.as_bytes(), AUTHORITY_START) {
        let start = at + AUTHORITY_START.len();
        let near = &text[start..text.floor_char_boundary(start + MAX_USERINFO_BYTES)];
        let near =
            &near[..near.find(|c: char| c.is_whitespace() || "\"'<>`".contains(c)).unwrap_or(near.len())];
        let authority = &near[..near.find(['/', '?', '#']).unwrap_or(near.len())];
        // A password may contain a slash: then what seems to be a port is no number.
        let is_cut = authority.split_once(':').is_some_and(|(host, port)| {
            !host.is_empty()
                && !host.starts_with('[')
                && (port.len() < 2 || !port.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let part = if !authority.contains('@') && is_cut { near } else { authority };
        let Some((userinfo, _)) = part.rsplit_once('@') else { continue };
        if let Some((user, password)) = userinfo.split_once(':') {
            if is_secret_value(SecretKind::Instructions, "", password, Form::Data) {
                let start = start + user.len() + 1;
                hide("password in a URL", (start, start + password.len()), edits, names);
            }
        } else {
            let has = |is: fn(&u8) -> bool| userinfo.as_bytes().iter().any(is);
            let is_long = userinfo.len() >= MIN_USER_TOKEN_BYTES;
            if is_long && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && !userinfo.contains('.') {
                hide("token in a URL", (start, start + userinfo.len()), edits, names);
            }
        }
    }
}

/// Redacts the passwords in lines `host:port:database:user:password`.
fn redact_password_files(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    for at in memchr::memchr_iter(b':', text.as_bytes()) {
        let host = line_before(text, at);
        let rest = &text[at + 1..text.floor_char_boundary(at + MAX_LINE_BYTES).max(at + 1)];
        let port = rest.split(':').next().unwrap_or_default();
        let is_port =
            port == "*" || (2..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        if !is_port || host.is_empty() || host.contains([':', ' ', '/', '\t', '"']) {
            continue;
        }
        let line = rest.lines().next().unwrap_or_default();
        let mut fields = line.splitn(PGPASS_FIELDS - 1, ':');
        let is_name = |field: Option<&str>| {
            field.is_some_and(|field| !field.is_empty() && !field.contains([' ', '/', '"']))
        };
        let (_, database, user) = (fields.next(), fields.next(), fields.next());
        if let Some(password) = fields.next().filter(|_| is_name(database) && is_name(user))
            && is_secret_value(SecretKind::Password, "", password, Form::Data)
            && !password.contains([' ', ':'])
        {
            let end = at + 1 + line.len();
            hide("password", (end - password.len(), end), edits, names);
        }
    }
}
