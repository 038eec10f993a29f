//! Headers of commits in logs with patches: `git log -p`, `git show`, `git format-patch`.

use portion_json::span::Span;

/// Finds the commits between the files of a diff.
#[derive(Debug, Default)]
pub(super) struct CommitReader {
    /// The hash of the commit whose files follow.
    hash: Option<Span>,
    /// True if the text marks commits by a word before the hash.
    has_marks: bool,
    /// True from the header of a commit to its first file.
    in_header: bool,
    /// Number of the lines of headers and messages.
    pub(super) line_count: usize,
}

/// Shortest hash, in digits, and the lengths of whole ones.
const MIN_HASH_DIGITS: usize = 7;
const WHOLE_HASH_DIGITS: [usize; 2] = [40, 64];

impl CommitReader {
    /// Reads a line outside of files.
    pub(super) fn read(&mut self, line: &str, start: usize) {
        let marked = line.strip_prefix("commit ").map(|rest| (rest, MIN_HASH_DIGITS));
        let mail = || line.strip_prefix("From ").map(|rest| (rest, WHOLE_HASH_DIGITS[0]));
        let marked = marked.or_else(mail).filter(|(rest, least)| hash_len(rest) >= *least);
        if let Some((rest, _)) = marked {
            self.has_marks = true;
            self.begin(start + line.len() - rest.len(), hash_len(rest));
        } else if !self.has_marks
            && hash_len(line) >= MIN_HASH_DIGITS
            && line.as_bytes().get(hash_len(line)) == Some(&b' ')
        {
            self.begin(start, hash_len(line));
        }
        self.line_count += usize::from(self.in_header);
    }

    fn begin(&mut self, start: usize, len: usize) {
        self.hash = Some(Span::new(start, start + len));
        self.in_header = true;
    }

    /// Returns the commit of a file that begins.
    pub(super) fn begin_file(&mut self) -> Option<Span> {
        self.in_header = false;
        self.hash
    }
}

/// Returns the number of hexadecimal digits at the start of a text, 0 if more letters follow or there are too many.
fn hash_len(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let ends = text.as_bytes().get(digits).is_none_or(|next| !next.is_ascii_alphanumeric());
    if ends && digits <= WHOLE_HASH_DIGITS[1] { digits } else { 0 }
}
