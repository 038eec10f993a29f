//! Texts whose lines are numbered, as tools print files: what is hidden in the file is hidden beside the numbers.

/// Minimum lines of a numbered text.
const MIN_LINES: usize = 2;
/// Marks between the number of a line and the line.
const MARKS: [char; 2] = ['\t', '→'];

/// The lines of a text, each split into its number with the mark behind it and its content.
pub(super) struct NumberedLines<'t> {
    numbers: Vec<&'t str>,
    contents: Vec<&'t str>,
    /// Line break at the end of the text, if there is one.
    end: &'t str,
}

impl<'t> NumberedLines<'t> {
    /// Splits a text. Returns `None` if its lines are not numbered one after the other.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let mut next: Option<u64> = None;
        let mut found = Self { numbers: Vec::new(), contents: Vec::new(), end: "" };
        for line in text.lines() {
            let (written, content) = line.split_once(MARKS)?;
            let number: u64 = written.trim_start().parse().ok().filter(|_| !written.contains('+'))?;
            if next.is_some_and(|next| next != number) {
                return None;
            }
            next = Some(number.checked_add(1)?);
            found.numbers.push(&line[..line.len() - content.len()]);
            found.contents.push(content);
        }
        found.end = if text.ends_with('\n') { "\n" } else { "" };
        (found.contents.len() >= MIN_LINES).then_some(found)
    }

    /// Returns the text without its numbers.
    pub(super) fn content(&self) -> String {
        self.contents.join("\n")
    }

    /// Returns a text of which parts are hidden with the numbers of its lines. Lines that are hidden together lose their numbers but
    /// the first.
    pub(super) fn number(&self, shown: &str) -> String {
        let shown: Vec<&str> = shown.split('\n').collect();
        let removed = self.contents.len().saturating_sub(shown.len());
        let pairs = self.contents.iter().rev().zip(shown.iter().rev());
        let kept_after = shown.len() - pairs.take_while(|(content, shown)| content == shown).count();
        let number_of = |at: usize| if at < kept_after { at } else { at + removed };
        let line = |(at, line): (usize, &&str)| {
            format!("{}{line}", self.numbers.get(number_of(at)).copied().unwrap_or_default())
        };
        let lines: Vec<String> = shown.iter().enumerate().map(line).collect();
        lines.join("\n") + self.end
    }
}
