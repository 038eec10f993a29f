//! Paths in the headers of a diff.

/// Returns a path without the prefix that git adds, without a time stamp, and without quotes.
pub(super) fn file_path(written: &str) -> String {
    let path = match written.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => written.split('\t').next().unwrap_or_default().trim().to_owned(),
    };
    without_prefix(&path).to_owned()
}

fn without_prefix(path: &str) -> &str {
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path)
}

/// Returns the path of two that are separated, `a/x b/x`: the second, or the first if the second is `/dev/null`.
///
/// Paths may contain the separator. Both are alike unless the file was renamed, so that they split in the middle.
pub(super) fn later_path(paths: &str, separator: &str) -> String {
    let middle = paths.len().saturating_sub(separator.len()) / 2;
    let halves = paths.get(..middle).zip(paths.get(middle..).and_then(|rest| rest.strip_prefix(separator)));
    let alike = halves.filter(|(old, new)| file_path(old) == file_path(new));
    let prefixed = || {
        paths
            .rsplit_once(&format!("{separator}b/"))
            .map(|(old, _)| (old, &paths[old.len() + separator.len()..]))
    };
    let quoted = || {
        paths.strip_suffix('"').and_then(|rest| rest.rfind(" \"")).map(|at| (&paths[..at], &paths[at + 1..]))
    };
    match alike.or_else(quoted).or_else(prefixed).or_else(|| paths.rsplit_once(separator)) {
        Some((old, "/dev/null")) => file_path(old),
        Some((_, new)) => file_path(new),
        None => file_path(paths),
    }
}

/// Decodes a path in quotes up to the closing quote: `caf\303\251"` is `café`.
pub(super) fn unquoted(quoted: &str) -> String {
    let mut path = Vec::new();
    let mut bytes = quoted.bytes().peekable();
    while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
        if byte != b'\\' {
            path.push(byte);
            continue;
        }
        match bytes.next() {
            Some(first @ b'0'..=b'7') => {
                let mut code = u32::from(first - b'0');
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        code = code * 8 + u32::from(digit - b'0');
                    }
                }
                path.push(code as u8);
            }
            Some(b'n') => path.push(b'\n'),
            Some(b't') => path.push(b'\t'),
            Some(b'r') => path.push(b'\r'),
            Some(other) => path.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{file_path, later_path};

    #[test]
    fn paths_have_no_prefix_and_no_quotes() {
        for (written, path) in [
            ("a/x.rs", "x.rs"),
            ("b/my file.txt\t2025-01-01", "my file.txt"),
            ("\"b/caf\\303\\251 \\\"1\\\".txt\"", "café \"1\".txt"),
            ("/dev/null", "/dev/null"),
            ("\"", ""),
        ] {
            assert_eq!(file_path(written), path, "{written}");
        }
    }

    #[test]
    fn the_later_path_is_the_second() {
        for (paths, separator, path) in [
            ("a/x y b/x y", " ", "x y"),
            ("a/old b/new name", " ", "new name"),
            ("\"a/\\303\\251\" \"b/\\303\\251\"", " ", "é"),
            ("a/this and that.png and b/this and that.png", " and ", "this and that.png"),
            ("/dev/null and b/x.png", " and ", "x.png"),
            ("a/x.png and /dev/null", " and ", "x.png"),
            ("x x", " ", "x"),
            ("é", " ", "é"),
            ("", " ", ""),
        ] {
            assert_eq!(later_path(paths, separator), path, "{paths}");
        }
    }
}
