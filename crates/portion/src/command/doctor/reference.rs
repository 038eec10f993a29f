//! References of clients in their files: `${NAME}`, `${NAME:-default}`, `${env:NAME}` and `${workspaceFolder}`.

use std::fmt::Write as _;
use std::path::{MAIN_SEPARATOR, Path};

use portion_text::display::is_printable;

use super::finding::{escaped_word, shell_word};

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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{resolve, to_shell};

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
}
