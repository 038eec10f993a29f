//! Redacts secrets that are recognizable by themselves: private keys between their markers, tokens with known prefixes,
//! passwords in URLs, lines of password files.

use memchr::memmem;

use super::Findings;
use super::name::SecretKind;
use super::prefilter::{self, TWILIO_KEY, tokens_in};
use super::value::{Form, is_secret_value};

/// Start of a JSON object in base64: the header and the claims of a JSON Web Token.
const JWT_START: &str = "eyJ";
/// Minimum bytes of the header and of the claims of a JSON Web Token, without that.
const MIN_JWT_PART_BYTES: usize = 9;
/// Minimum bytes of a part of a private key among quotes.
const MIN_KEY_BYTES: usize = 24;
const PRIVATE_KEY: &str = "PRIVATE KEY";
const AUTHORITY_START: &str = "://";
const ORACLE_START: &str = ":oracle:thin:";
/// Maximum bytes of a token whose shape is read, and of user and password in a URL; minimum bytes of a token in place of a user.
const MAX_TOKEN_BYTES: usize = 512;
const MAX_USERINFO_BYTES: usize = 256;
const MIN_USER_TOKEN_BYTES: usize = 16;
/// Maximum bytes of a line of a password file.
const MAX_LINE_BYTES: usize = 512;
/// Number of fields of a line of a password file of `PostgreSQL`: host, port, database, user, password.
const PGPASS_FIELDS: usize = 5;

/// Hides the secrets in a text.
pub(super) fn redact(text: &str, found: &mut Findings) {
    redact_tokens(text, found);
    redact_url_passwords(text, found);
    redact_oracle_passwords(text, found);
    redact_data_sources(text, found);
    redact_password_files(text, found);
}

/// Returns true if a name of a member may contain such a secret.
pub(super) fn may_contain(text: &str) -> bool {
    text.len() >= MIN_USER_TOKEN_BYTES && prefilter::may_hold(text)
}

/// Returns true if a line has as many fields as one of a password file.
pub(super) fn may_be_of_password_file(line: &str) -> bool {
    line.len() <= MAX_LINE_BYTES && line.bytes().filter(|byte| *byte == b':').count() == PGPASS_FIELDS - 1
}

/// Hides private keys, and tokens with known prefixes: `AKIA…`, `Bearer …`, `eyJ….eyJ….…`.
fn redact_tokens(text: &str, found: &mut Findings) {
    // End of the last run of characters of tokens, and of the last token.
    let (mut run_end, mut done) = (0, 0);
    for (at, beginning, min) in tokens_in(text) {
        let start = at + beginning.len();
        if at < done {
            continue;
        }
        if beginning == PRIVATE_KEY {
            done = redact_private_key(text, at, found).unwrap_or(done);
            continue;
        }
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        if start >= run_end {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "._~+/=-".contains(c);
            run_end = text[start..].find(|c| !is_token(c)).map_or(text.len(), |len| start + len);
        }
        let token = text[start..run_end].trim_end_matches('.');
        let near = &token[..token.len().min(MAX_TOKEN_BYTES)];
        let has_digit = near.contains(|c: char| c.is_ascii_digit());
        let has_shape = match beginning {
            // "Bearer authentication" is no token.
            "Bearer " | "bearer " => token.len() > 24 || has_digit || is_mixed(token),
            JWT_START => near.split('.').take(2).filter(|part| part.len() >= MIN_JWT_PART_BYTES).count() == 2,
            TWILIO_KEY => token.len() == min && token.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "sk-" | "npm_" | "hf_" | "hvs." => has_digit,
            _ => true,
        };
        if token.len() >= min && has_shape {
            let is_web_token = beginning == JWT_START;
            let len = token.find(['~', '+', '/', '=']).filter(|_| is_web_token).unwrap_or(token.len());
            done = start + len;
            let start = if beginning.ends_with([' ', '/']) { start } else { at };
            let name = beginning.trim_end_matches([' ', '_', '-', '/', '.']);
            found.hide(if is_web_token { "JSON Web Token" } else { name }, start..done);
        }
    }
}

/// Hides `-----BEGIN … PRIVATE KEY-----` up to its end, which is returned. `at`: the last words of the first line.
fn redact_private_key(text: &str, at: usize, found: &mut Findings) -> Option<usize> {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(32)).min(at)..at];
    let rest = &text[at + PRIVATE_KEY.len()..];
    let inside = rest.strip_prefix(" BLOCK").unwrap_or(rest).strip_prefix("-----")?;
    near[near.rfind("-----")?..].strip_prefix("-----BEGIN")?;
    let len = memmem::find(inside.as_bytes(), b"-----END").unwrap_or(inside.len());
    let start = text.len() - inside.len();
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    let has_key = || inside[..len].split(|c| !is_key(c)).any(|run| run.len() >= MIN_KEY_BYTES);
    // Between the marks in source code is source code.
    if inside[..len].contains(is_key) && (!inside[..len].contains(['"', '\'']) || has_key()) {
        found.hide("private key", start..start + len);
    }
    Some(start + len)
}

/// Hides the password in `https://user:password@host`, and a token in place of a user.
fn redact_url_passwords(text: &str, found: &mut Findings) {
    for at in memmem::find_iter(text.as_bytes(), AUTHORITY_START) {
        let start = at + AUTHORITY_START.len();
        let near = &text[start..text.floor_char_boundary(start + MAX_USERINFO_BYTES)];
        let near = near.split(|c: char| c.is_whitespace() || "\"'<>`".contains(c)).next().unwrap_or_default();
        let authority = near.split(['/', '?', '#']).next().unwrap_or_default();
        // A password may contain a slash: then what seems to be a port is no number.
        let is_cut = authority.split_once(':').is_some_and(|(host, port)| {
            !host.is_empty()
                && !host.starts_with('[')
                && (port.len() < 2 || !port.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let part = if !authority.contains('@') && is_cut { near } else { authority };
        let Some((userinfo, _)) = part.rsplit_once('@') else { continue };
        let end = start + userinfo.len();
        if let Some((_, password)) = userinfo.split_once(':') {
            if is_secret_value(SecretKind::Instructions, "", password, Form::Data) {
                found.hide("password in a URL", end - password.len()..end);
            }
        } else {
            let has = |is: fn(&u8) -> bool| userinfo.as_bytes().iter().any(is);
            let is_long = userinfo.len() >= MIN_USER_TOKEN_BYTES;
            if is_long && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && !userinfo.contains('.') {
                found.hide("token in a URL", start..end);
            }
        }
    }
}

/// Hides the password in `jdbc:oracle:thin:user/password@host`.
fn redact_oracle_passwords(text: &str, found: &mut Findings) {
    for at in memmem::find_iter(text.as_bytes(), ORACLE_START) {
        let start = at + ORACLE_START.len();
        let near = &text[start..text.floor_char_boundary(start + MAX_USERINFO_BYTES)];
        let near = near.split(|c: char| c.is_whitespace() || "\"'<>`".contains(c)).next().unwrap_or_default();
        let password = near.rsplit_once('@').and_then(|(login, _)| login.split_once('/'));
        if let Some((user, password)) = password.filter(|(_, password)| !password.is_empty()) {
            let start = start + user.len() + 1;
            found.hide("password in a URL", start..start + password.len());
        }
    }
}

/// Hides the password in the data source of a program in Go: `ann:hunter2@tcp(db:3306)/app`.
fn redact_data_sources(text: &str, found: &mut Findings) {
    for at in ["@tcp(", "@unix("].into_iter().flat_map(|mark| memmem::find_iter(text.as_bytes(), mark)) {
        let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_USERINFO_BYTES)).min(at)..at];
        let login =
            near.rsplit(|c: char| c.is_whitespace() || "\"'`<>".contains(c)).next().unwrap_or_default();
        let password = login.split_once(':').map_or("", |(_, password)| password);
        if is_secret_value(SecretKind::Instructions, "", password, Form::Data) {
            found.hide("password in a URL", at - password.len()..at);
        }
    }
}

/// Hides the passwords in lines `host:port:database:user:password`.
fn redact_password_files(text: &str, found: &mut Findings) {
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end();
        let end = start + line.len();
        start += whole.len();
        let mut fields = line.split(':').filter(|_| may_be_of_password_file(line));
        let mut next = || fields.next().unwrap_or_default();
        let (host, port, database, user, password) = (next(), next(), next(), next(), next());
        let is_name = |field: &str| !field.is_empty() && !field.contains([' ', '/', '"', '\t']);
        let is_port =
            port == "*" || (2..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        if is_port
            && [host, database, user].into_iter().all(is_name)
            && !password.contains(' ')
            && is_secret_value(SecretKind::Password, "", password, Form::Data)
        {
            found.hide("password", end - password.len()..end);
        }
    }
}

/// Returns true for letters that no word has in this order: `nqhwfwHJCwKcEAGdktAa`.
fn is_mixed(token: &str) -> bool {
    token.len() >= 16 && token.chars().skip(1).filter(char::is_ascii_uppercase).count() > 3
}
