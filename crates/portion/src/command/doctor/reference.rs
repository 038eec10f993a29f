//! References of clients in their files: `${NAME}`, `${NAME:-default}`, `${env:NAME}` and `${workspaceFolder}`.

use std::fmt::Write as _;
use std::path::{MAIN_SEPARATOR, Path};

use portion_core::redact::{REDACTED, RedactionRules};
use portion_text::display::is_printable;
use serde_json::json;

use super::finding::{escaped_word, shell_word};

/// Bytes of the shortest secret that is searched in texts: shorter ones are parts of other words.
const MIN_BYTES: usize = 4;

/// Bytes of the shortest word of a secret, such as a token after `Bearer`, that is searched by itself.
const MIN_WORD_BYTES: usize = 8;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable {
        name: String,
        default: Option<String>,
    },
    /// A value that only the client knows, such as `input:key`.
    Unknown(String),
}

/// Replaces references, as clients do. `project` is the folder that the client has open. A variable that only the entry
/// itself sets (`own`) stays a reference, which its program replaces.
///
/// # Errors
/// Returns the reference that cannot be replaced.
pub(super) fn resolve(text: &str, project: &Path, own: &[(String, String)]) -> Result<String, String> {
    let kept = |name: &str| own.iter().any(|(own, _)| own == name).then(|| format!("${{{name}}}"));
    pieces(text, project)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => Ok(text),
            Piece::Variable { name, default } => std::env::var(&name)
                .ok()
                .or(default)
                .or_else(|| kept(&name))
                .ok_or_else(|| format!("the variable {name} is not set here")),
            Piece::Unknown(name) => Err(format!("only its client knows ${{{name}}}")),
        })
        .collect()
}

/// Returns a text as a word of a shell, which replaces the variables itself: their values are not shown.
pub(super) fn to_shell(text: &str, project: &Path) -> String {
    let pieces = pieces(text, project);
    if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
        return shell_word(&texts(&pieces));
    }
    let mut word = String::from('"');
    for piece in pieces {
        match piece {
            Piece::Text(text) => word.push_str(&in_double_quotes(&text)),
            Piece::Variable { name, default: Some(default) } => {
                let _ = write!(word, "${{{name}:-{}}}", in_double_quotes(&default));
            }
            Piece::Variable { name, default: None } | Piece::Unknown(name) => {
                let _ = write!(word, "${{{name}}}");
            }
        }
    }
    word.push('"');
    word
}

/// A word of a command line, as it is shown.
struct ShownWord {
    text: String,
    /// Parts of it that are not shown.
    secrets: Vec<String>,
}

/// Returns true for a variable whose value must not be shown.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    is_named_secret(name, value) || looks_random(value)
}

/// Returns true if a value is a secret by its name. A reference reveals nothing.
fn is_named_secret(name: &str, value: &str) -> bool {
    let member = json!({ name: value }).to_string();
    !value.contains("${") && RedactionRules::default_secrets().redact_json(&member).is_some()
}

/// Returns true for one long word of letters and digits, such as a key.
fn looks_random(value: &str) -> bool {
    let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
    value.len() >= 12
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '='))
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
}

/// Returns the words of a command line with references to variables in the place of secrets: `--api-key ${API_KEY}`.
pub(crate) fn without_secrets(words: &[String]) -> Vec<String> {
    shown_words(words).into_iter().map(|word| word.text).collect()
}

/// Returns the secrets among the words and the variables of a command, and their words.
pub(super) fn secret_values(words: &[String], env: &[(String, String)]) -> Vec<String> {
    let variables = env.iter().filter(|(name, value)| is_secret(name, value)).map(|(_, value)| value.clone());
    let mut secrets: Vec<String> =
        shown_words(words).into_iter().flat_map(|word| word.secrets).chain(variables).collect();
    let parts = secrets.iter().flat_map(|secret| secret.split_whitespace());
    let parts: Vec<String> = parts.filter(|part| part.len() >= MIN_WORD_BYTES).map(str::to_owned).collect();
    secrets.extend(parts);
    secrets.retain(|secret| secret.len() >= MIN_BYTES);
    // A secret may be a part of another one.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// Returns a text without these secrets.
pub(super) fn hide(secrets: &[String], text: &str) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
}

fn texts(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Variable { .. } | Piece::Unknown(_) => String::new(),
    };
    pieces.iter().map(text).collect()
}

fn in_double_quotes(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for char in text.chars() {
        if !is_printable(char) {
            // Double quotes have no escapes for these.
            let _ = write!(quoted, "\"{}\"", escaped_word(char.encode_utf8(&mut [0; 4])));
            continue;
        }
        if matches!(char, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted
}

fn pieces(text: &str, project: &Path) -> Vec<Piece> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(piece(name, project));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces
}

fn piece(reference: &str, project: &Path) -> Piece {
    let shown = |path: &Path| Piece::Text(path.display().to_string());
    match reference {
        "workspaceFolder" => return shown(project),
        "workspaceFolderBasename" => return shown(Path::new(project.file_name().unwrap_or_default())),
        "userHome" => {
            if let Some(home) = std::env::home_dir() {
                return shown(&home);
            }
        }
        "pathSeparator" | "/" => return Piece::Text(MAIN_SEPARATOR.to_string()),
        _ => {}
    }
    let (name, default) =
        reference.split_once(":-").map_or((reference, None), |(name, text)| (name, Some(text.to_owned())));
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_name {
        Piece::Variable { name: name.to_owned(), default }
    } else {
        Piece::Unknown(reference.to_owned())
    }
}

fn shown_words(words: &[String]) -> Vec<ShownWord> {
    let rules = RedactionRules::default_secrets();
    let is_hidden = |option: &str, value: &str| is_named_secret(option.trim_start_matches('-'), value);
    let mut option = None;
    let mut shown = Vec::with_capacity(words.len());
    for word in words {
        let (text, secrets) = match (word.split_once('='), option.take()) {
            (Some((name, value)), _) if word.starts_with('-') && is_hidden(name, value) => {
                (format!("{name}={}", reference_for(name)), vec![value.to_owned()])
            }
            (_, Some(name)) if is_hidden(name, word) => (reference_for(name), vec![word.clone()]),
            _ => {
                // Some files have a whole command in one text.
                let is_program = shown.last().is_none_or(|before: &ShownWord| before.text == "--");
                let (line, mut secrets) = if is_program && word.contains(' ') {
                    shown_line(word)
                } else {
                    (word.clone(), Vec::new())
                };
                let redacted = rules.redact_text(&line).map(|(text, _)| text);
                secrets.extend(redacted.iter().flat_map(|text| replaced_parts(&line, text)));
                (redacted.unwrap_or(line), secrets)
            }
        };
        shown.push(ShownWord { text, secrets });
        option = (word.starts_with("--") && word.len() > 2 && !word.contains('=')).then_some(word.as_str());
    }
    shown
}

/// Returns a command line in one text without the values of its options, and these.
fn shown_line(line: &str) -> (String, Vec<String>) {
    let shown = shown_words(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let text = shown.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    (text, shown.into_iter().flat_map(|word| word.secrets).collect())
}

/// Returns the parts of a word in whose places its redacted text has marks.
fn replaced_parts(word: &str, redacted: &str) -> Vec<String> {
    let mut between = redacted.split(REDACTED);
    let Some(mut rest) = between.next().and_then(|start| word.strip_prefix(start)) else {
        return vec![word.to_owned()];
    };
    let mut parts = Vec::new();
    for text in between {
        let at = if text.is_empty() { None } else { rest.find(text) };
        let end = at.unwrap_or(rest.len());
        parts.push(rest[..end].to_owned());
        rest = at.map_or("", |at| &rest[at + text.len()..]);
    }
    parts
}

/// Returns a reference to a variable with the name of an option.
fn reference_for(option: &str) -> String {
    format!("${{{}}}", option.trim_start_matches('-').replace(['-', '.'], "_").to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{hide, is_secret, replaced_parts, resolve, secret_values, to_shell, without_secrets};

    const PROJECT: &str = "/home/me/my notes";

    #[test]
    fn references_of_clients_are_resolved() {
        let check = |text: &str, expect: Result<&str, &str>| {
            let expect = expect.map(str::to_owned).map_err(str::to_owned);
            let own = [("NO_SUCH_VARIABLE_BUT_OWN".to_owned(), "x".to_owned())];
            assert_eq!(resolve(text, Path::new(PROJECT), &own), expect, "{text}");
        };
        let home = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
        check("a$b", Ok("a$b"));
        check("${CARGO_PKG_NAME}/${env:CARGO_PKG_NAME}", Ok(&format!("{home}/{home}")));
        check("${NO_SUCH_VARIABLE:-x}y", Ok("xy"));
        check("${NO_SUCH_VARIABLE}", Err("the variable NO_SUCH_VARIABLE is not set here"));
        check("A: ${NO_SUCH_VARIABLE_BUT_OWN}", Ok("A: ${NO_SUCH_VARIABLE_BUT_OWN}"));
        check("${input:key}", Err("only its client knows ${input:key}"));
        check("${open", Ok("${open"));
        check("${workspaceFolder}/x", Ok("/home/me/my notes/x"));
        check("${workspaceFolderBasename}", Ok("my notes"));
    }

    #[test]
    fn a_shell_replaces_the_variables() {
        let check =
            |text: &str, expect: &str| assert_eq!(to_shell(text, Path::new(PROJECT)), expect, "{text}");
        check("plain", "plain");
        check("a $b", "'a $b'");
        check("${workspaceFolder}/x", "'/home/me/my notes/x'");
        check("--key=${env:KEY} $1", "\"--key=${KEY} \\$1\"");
        check("${KEY}\nx", "\"${KEY}\"$'\\n'\"x\"");
        check("${KEY:-a\"b}", "\"${KEY:-a\\\"b}\"");
    }

    #[test]
    fn secrets_of_a_command_line_are_not_shown() {
        let words = ["node", "srv.js", "--api-key", "sk-ant-api03-abc", "--token=ghp_123", "--mode", "fast"];
        let shown = without_secrets(&words.map(str::to_owned));
        assert_eq!(shown.join(" "), "node srv.js --api-key ${API_KEY} --token=${TOKEN} --mode fast");
        let more = ["--header", "Authorization: Bearer xyzabc123456", "postgres://u:hunter2@h/db"];
        let shown = without_secrets(&more.map(str::to_owned)).join(" ");
        assert!(!shown.contains("xyzabc") && !shown.contains("hunter2"), "{shown}");
        let spaced = ["--password", "Zq81xx7K", "--", "srv x --password hunter22 --token=a1b2c3d4e5"];
        let shown = without_secrets(&spaced.map(str::to_owned)).join(" ");
        assert_eq!(shown, "--password ${PASSWORD} -- srv x --password ${PASSWORD} --token=${TOKEN}");
        assert!(is_secret("TOK", "supersecretvalue123") && !is_secret("MODE", "production"));
        assert!(!is_secret("DIR", "/srv/data1/files"));
    }

    #[test]
    fn texts_of_a_server_have_no_secrets() {
        let words =
            ["--api-key", "sk-ant-abc", "Authorization: Bearer xyzabc123456", "postgres://u:hunter2@h/db"];
        let env = [("TOKEN", "s3cret"), ("MODE", "fast"), ("PASSWORD", "a")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = secret_values(&words.map(str::to_owned), &env);
        let text = hide(&secrets, "node: s3cret sk-ant-abc, fast; xyzabc123456 hunter2");
        assert_eq!(text, "node: [redacted] [redacted], fast; [redacted] [redacted]");
    }

    #[test]
    fn replaced_parts_are_between_the_others() {
        let check = |word: &str, redacted: &str, expect: &[&str]| {
            assert_eq!(replaced_parts(word, redacted), expect, "{word}");
        };
        check("a=b c=d", "a=[redacted] c=[redacted]", &["b", "d"]);
        check("u:p@h", "u:[redacted]@h", &["p"]);
        check("p", "[redacted]", &["p"]);
        check("a b", "x [redacted]", &["a b"]);
    }
}
