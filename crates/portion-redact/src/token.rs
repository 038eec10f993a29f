//! Redacts secrets that are recognizable by themselves: private keys between their markers, tokens with known beginnings,
//! passwords in URLs and logins, lines of password files.

use std::sync::LazyLock;

use regex::Regex;

use super::Findings;
use super::name::SecretKind;
use super::pattern::regex;
use super::prefilter::{self, token_beginnings};
use super::value::{Form, is_random, is_secret_value};

/// Minimum bytes of a text that may hold a token.
const MIN_BYTES: usize = 16;
/// Minimum bytes of a part of a private key among quotes.
const MIN_KEY_BYTES: usize = 24;
/// A private key, from its first line on.
static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"-----BEGIN (?:[A-Z\d ]{0,24}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d)-----((?:[^-]|-[^-]|--[^-]|---[^-]|----[^-]|-----[^E])*)",
    )
});
/// The lines of a private key of `PuTTY`.
static PUTTY_KEY: LazyLock<Regex> =
    LazyLock::new(|| regex(r"Private-Lines: \d+\s+([A-Za-z\d+/=\s]+)\nPrivate"));
/// A token with a known beginning. In a JSON Web Token, each of the first two parts is JSON in base64.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let known = token_beginnings().filter(|(beginning, _)| {
        !["eyJ", "PRIVATE KEY", "Private-Lines", "Static key V"].contains(beginning)
    });
    let known: Vec<_> = known
        .map(|(beginning, min)| {
            // The hash of a password has more signs, and an address any.
            let signs = match beginning.as_bytes() {
                [b'$', ..] => r"\w./=$,+-",
                [.., b'/'] => r#"^\s"'<>`)"#,
                b"Bearer " | b"bearer " => "A-Za-z0-9._~+/=&%#!$@*^:-",
                _ => "A-Za-z0-9._~+/=-",
            };
            format!("{}[{signs}]{{{min},}}", regex::escape(beginning))
        })
        .collect();
    let shapes = r"(?:bot)?\d{8,10}:AA[\w-]{33}|[MNO][\w-]{22,26}\.[\w-]{6}\.[\w-]{27,38}|pat\w{14}\.[[:xdigit:]]{64}|\w{14}\.atlasv1\.[\w-]{60,}|(?:cio[A-Za-z\d]{32}|oy2[a-z\d]{43}|A3-[A-Z\d]{6}(?:-[A-Z\d]{5,11}){4,5})(?-u:\b)|(?:1//0|EAAA)[\w-]{40,}|sl\.[\w-]{130,}|v1\.0-[[:xdigit:]]{24}-[[:xdigit:]]{146}";
    regex(&format!(
        r"eyJ[\w-]{{6,}}\.[\w-]{{9,}}[\w.-]*|SK[[:xdigit:]]{{32}}(?-u:\b)|{shapes}|{}",
        known.join("|")
    ))
});
/// Name of a token in place of a user: `https://TOKEN@host`.
const URL_TOKEN: &str = "token in a URL";
/// Logins with their secrets in a group, and the names of these.
static LOGINS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let (sign, url) = (r#"[^\s"'<>`/?#@]"#, "password in a URL");
    [
        // `https://ann:hunter2@host`
        (r#"://[^\s"'<>`/?#:@]*:([^\s"'<>`/?#]+)@"#, url),
        (r#"://([^\s"'<>`/?#:@.]{16,})@"#, URL_TOKEN),
        // With a slash in the password. What seems to be a port is no number then.
        (&format!(r#"://[^\s"'<>`/?#:@\[]+:((?:\d?|{sign}*[^\s"'<>`/?#@\d]{sign}*)[/?#][^\s"'<>`]*)@"#), url),
        (r#":oracle:thin:[^\s"'<>`/@]*/([^\s"'<>`]+)@"#, url),
        // `ann:hunter2@tcp(db:3306)/app`
        (r#"(?:^|[\s"'<>`])[^\s"'<>`:]*:([^\s"'<>`]+)@(?:tcp|unix)\("#, url),
        // `host:port:database:user:password`
        (r#"(?m)^[^\s:/"]+:(?:\*|\d{2,5}):[^\s:/"]+:[^\s:/"]+:([^\s:]+)\s*$"#, url),
        (
            r#"curl(?:[^\n\\]|\\\r?\n|\\.)*?\s(?:-u[ =]?|--(?:proxy-)?user[ =])\s*["']?[^\s"':]*:([^\s"']+)"#,
            url,
        ),
        // `openssl rsa -passin pass:hunter2`, and the QR code of a Wi-Fi.
        (r#"\s-pass(?:in|out)?[ =]pass:([^\s"']+)"#, url),
        (r"WIFI:[^\n]*?;P:([^;\s]+);", url),
        // The password of a user of a database, with or without a plugin. In a statement about users it may have no quotes.
        (
            r#"(?i)password '((?:[^'\n]|'')+)|identified (?:by|(?:with|via)\s+\S+\s+(?:by|as|using))\s+(?:(?:values|password)\s+)?(?:'((?:[^'\n]|'')+)|"((?:[^"\n]|"")+))"#,
            "password",
        ),
        (
            r#"(?i)(?:create|alter|grant)\s[^;]*?identified (?:by|(?:with|via)\s+\S+\s+(?:by|as|using))\s+([^\s;'"]+)(?:;|\s*$|\s+[^\s'"])"#,
            "password",
        ),
    ]
    .map(|(pattern, name)| (regex(pattern), name))
    .into()
});

/// Hides the secrets in a text.
pub(super) fn redact(text: &str, found: &mut Findings) {
    let keys = [&PRIVATE_KEY, &PUTTY_KEY].into_iter().flat_map(|key| key.captures_iter(text));
    for key in keys.filter_map(|found| found.get(1)) {
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
        let has_key = || key.as_str().split(|c| !is_key(c)).any(|run| run.len() >= MIN_KEY_BYTES);
        // Between the marks in source code is source code.
        if key.as_str().contains(is_key) && (!key.as_str().contains(['"', '\'']) || has_key()) {
            found.hide("private key", key.range());
        }
    }
    for token in TOKEN.find_iter(text) {
        redact_token(text, token.range().start, token.as_str(), found);
    }
    for (pattern, name) in LOGINS.iter() {
        for secret in pattern.captures_iter(text).filter_map(|login| login.iter().skip(1).flatten().next()) {
            let has = |is: fn(&u8) -> bool| secret.as_str().as_bytes().iter().any(is);
            let is_secret = match *name {
                URL_TOKEN => has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic),
                _ => is_secret_value(SecretKind::Instructions, "", secret.as_str(), Form::Data),
            };
            if is_secret {
                found.hide(name, secret.range());
            }
        }
    }
}

/// Hides a token that begins at an offset.
fn redact_token(text: &str, at: usize, token: &str, found: &mut Findings) {
    let token = token.trim_end_matches('.');
    if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return;
    }
    let beginnings = token_beginnings().map(|(beginning, _)| beginning);
    let beginning =
        beginnings.filter(|beginning| token.starts_with(beginning)).max_by_key(|known| known.len());
    let beginning = beginning.unwrap_or(&token[..2]);
    let has_digit = token.contains(|c: char| c.is_ascii_digit());
    let has_shape = match beginning {
        // "Bearer authentication" is no token.
        "Bearer " | "bearer " => token.len() > 31 || has_digit || is_random(&token[7..]),
        "key-" => token.len() == 36 && token[4..].bytes().all(|byte| byte.is_ascii_hexdigit()),
        "hf_" => has_digit || is_random(&token[3..]),
        // Names of services in a path of source code are no token.
        "sk-" | "npm_" | "hvs." | "dapi" | "ci" | "oy" | "EA" => has_digit,
        _ if beginning.starts_with(['M', 'N', 'O']) => token.rsplit('.').next().is_some_and(is_random),
        _ => true,
    };
    if has_shape {
        let start = if beginning.ends_with([' ', '/']) { at + beginning.len() } else { at };
        let name = beginning.trim_end_matches([' ', '_', '-', '/', '.']);
        found.hide(if name == "eyJ" { "JSON Web Token" } else { name }, start..at + token.len());
    }
}

/// Returns true if a name of a member may contain such a secret.
pub(super) fn may_contain(text: &str) -> bool {
    text.len() >= MIN_BYTES && prefilter::may_hold(text)
}

/// Returns true if a line has as many fields as one of a password file.
pub(super) fn may_be_of_password_file(line: &str) -> bool {
    line.bytes().filter(|byte| *byte == b':').count() == 4
}
