//! Reads what stands above the hunks of a diff: paths, commits, and patches of binary files.

use portion_json::span::Span;

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

/// Returns true for a line of a binary patch of git: its kind and size, its data, or the blank line at its end.
pub(super) fn is_patch_line(line: &str) -> bool {
    let is_size = |size: &str| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    let kind = line.strip_prefix("literal ").or_else(|| line.strip_prefix("delta "));
    let is_data = line.len() > 5
        && line.len() % 5 == 1
        && line.len() <= 66
        && line.starts_with(|c: char| c.is_ascii_alphabetic())
        && line.bytes().all(|byte| byte.is_ascii_graphic());
    line.is_empty() || kind.is_some_and(is_size) || is_data
}

/// Finds the commits between the files of a diff.
#[derive(Debug, Default)]
pub(super) struct CommitReader {
    /// The hash of the commit whose files follow.
    hash: Option<Span>,
    /// True if the text marks commits by a word before the hash.
    has_marks: bool,
    /// A hash at the start of the line above, and the end of that line.
    unmarked: Option<(Span, usize)>,
    /// True from the header of a commit to its first file.
    in_header: bool,
    /// True if the header is that of a mail, whose message is not indented.
    is_mail: bool,
    /// Number of the lines of headers and messages.
    pub(super) line_count: usize,
}

/// Shortest hash, in digits, and the lengths of whole ones.
const MIN_HASH_DIGITS: usize = 7;
const WHOLE_HASH_DIGITS: [usize; 2] = [40, 64];

impl CommitReader {
    /// Reads a line outside of files, which ends at an offset.
    pub(super) fn read(&mut self, line: &str, start: usize, end: usize) {
        let is_alone = |rest: &&str| {
            let after = &rest[hash_len(rest)..];
            after.is_empty() || after.starts_with(" (")
        };
        let marked = line.strip_prefix("commit ").filter(is_alone).map(|rest| (rest, MIN_HASH_DIGITS));
        let mail = || line.strip_prefix("From ").map(|rest| (rest, WHOLE_HASH_DIGITS[0]));
        let marked = marked.or_else(mail).filter(|(rest, min)| hash_len(rest) >= *min);
        if let Some((rest, _)) = marked {
            self.has_marks = true;
            self.is_mail = line.starts_with("From ");
            let start = start + line.len() - rest.len();
            (self.hash, self.in_header) = (Some(Span::new(start, start + hash_len(rest))), true);
            self.line_count += 1;
        } else if self.in_header {
            self.line_count += usize::from(self.is_mail || is_header_or_message(line));
        } else {
            let len = hash_len(line);
            let is_hash = len >= MIN_HASH_DIGITS && line.as_bytes().get(len) == Some(&b' ');
            self.unmarked = (is_hash && !self.has_marks).then(|| (Span::new(start, start + len), end));
        }
    }

    /// Returns the commit of a file that begins at an offset. A hash without a mark is one only directly above a file, because
    /// lines of other texts begin with digits, too.
    pub(super) fn begin_file(&mut self, start: usize) -> Option<Span> {
        self.in_header = false;
        if let Some((hash, _)) = self.unmarked.take().filter(|(_, end)| *end == start) {
            self.hash = Some(hash);
            self.line_count += 1;
        }
        self.hash
    }
}

/// Returns true for a line of a header of `git log`, or of a message, which is indented.
fn is_header_or_message(line: &str) -> bool {
    let name = line.split_once(": ").map_or("", |(name, _)| name);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    line.is_empty() || line.starts_with("    ") || is_name
}

/// Returns the number of hexadecimal digits at the start of a text, 0 if more letters follow or there are too many.
fn hash_len(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let ends = text.as_bytes().get(digits).is_none_or(|next| !next.is_ascii_alphanumeric());
    if ends && digits <= WHOLE_HASH_DIGITS[1] { digits } else { 0 }
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
