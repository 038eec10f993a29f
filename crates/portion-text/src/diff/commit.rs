//! Headers of commits in logs with patches: `git log -p`, `git show`, `git format-patch`.

use portion_json::span::Span;

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
        let marked = marked.or_else(mail).filter(|(rest, least)| hash_len(rest) >= *least);
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
