//! Finds the name of a text that begins with the path of a file: `# src/main.rs`, `==> log/app.log <==`, `README.md:`.

/// Longest name, in bytes.
const MAX_BYTES: usize = 200;
/// Longest extension of a file, in characters.
const MAX_EXTENSION: usize = 8;

/// Returns the path that is all of the first line, without the signs around it.
pub(super) fn path_in_first_line(text: &str) -> Option<&str> {
    let line = text.lines().next()?.trim();
    let line = line.strip_prefix("File:").or_else(|| line.strip_prefix("file:")).unwrap_or(line);
    let name = line.trim_matches(|c: char| c.is_whitespace() || "#=-*`<>:".contains(c));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let has_extension = (1..=MAX_EXTENSION).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_path = name.len() <= MAX_BYTES
        && !name.contains(|c: char| c.is_whitespace() || "{}[]()\"',;|".contains(c))
        && (has_extension || name.trim_matches('/').contains('/'));
    is_path.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::path_in_first_line;

    #[test]
    fn paths_are_names() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(path_in_first_line(text), expect, "{text}");
        check("# src/main.rs\nfn main() {}\n", Some("src/main.rs"));
        check("==> log/app.log <==\nx", Some("log/app.log"));
        check("README.md:\n# Title", Some("README.md"));
        check("File: `a/b`\n", Some("a/b"));
        check("# Title of a document\n", None);
        check("Version 1.2\n", None);
        check("1.25\n", None);
        check("{\"a\":\"b/c\"}", None);
        check("", None);
    }
}
