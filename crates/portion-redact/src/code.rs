//! Tells values from source code, from labels for people, and from names of programs. In a program a secret is in quotes; what
//! has none is an expression.

use std::cell::OnceCell;

use super::pattern::is_in;

/// First words of lines of programs.
const STATEMENT_WORDS: &str = "pub fn let impl use mod struct enum trait def class import const var func function public private \
    protected package static return namespace typedef interface extern async type declare elif except raise assert #include #define \
    #[cfg #[derive";
/// Ends of lines of programs.
const LINE_ENDS: [&str; 7] = ["{", "}", ",", "):", "(", ")", "=>"];
/// Maximum lines that are read to tell whether a text is source code, and the share of those that must look so, in percent.
const MAX_LINES: usize = 2_000;
const MIN_CODE_PERCENT: usize = 10;

/// Minimum texts of a catalogue of labels, and their shares in percent: labels, and labels of several words.
const MIN_LABELS: usize = 4;
const MIN_LABEL_PERCENT: usize = 80;
const MIN_WORDS_PERCENT: usize = 20;

/// Facts about a text, determined when they are needed.
pub(super) struct TextFacts<'t> {
    text: &'t str,
    is_source_code: OnceCell<bool>,
    is_catalogue: OnceCell<bool>,
}

impl<'t> TextFacts<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, is_source_code: OnceCell::new(), is_catalogue: OnceCell::new() }
    }

    pub(super) fn is_source_code(&self) -> bool {
        *self.is_source_code.get_or_init(|| is_source_code(self.text))
    }

    /// Returns true for a label in a catalogue: lines of names and labels.
    pub(super) fn is_label_of_catalogue(&self, value: &str) -> bool {
        let texts = || self.text.lines().take(MAX_LINES).filter_map(text_of_line);
        is_label(value) && *self.is_catalogue.get_or_init(|| are_labels(texts()))
    }
}

/// Returns the text of a line after a name: `password=Passwort`, `<string name="password">Passwort</string>`.
fn text_of_line(line: &str) -> Option<&str> {
    let (_, text) = match line.split_once("</") {
        Some((element, _)) => element.split_once('>')?,
        None => line.split_once(['=', ':'])?,
    };
    let text = text.trim().trim_matches(['"', '\'', ';', ',']);
    (!text.is_empty()).then_some(text)
}

/// Returns true if a text is source code: many lines end or begin as those of programs do.
pub(super) fn is_source_code(text: &str) -> bool {
    let (mut lines, mut alike, mut is_certain) = (0, 0, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_LINES) {
        let (whole, line) = (line, line.strip_prefix("export ").unwrap_or(line));
        let first = line.split([' ', '(', '!', ':']).next().unwrap_or_default();
        let is_comment = ["//", "* ", "/*", "*/", "# "].iter().any(|mark| line.starts_with(mark));
        let is_setting = line[first.len()..].trim_start().starts_with(['=', ':']);
        let begins_statement = first.len() < line.len() && !is_setting && is_in(STATEMENT_WORDS, first);
        // `Server=db;Password=x;` is a list of settings.
        let is_statement = begins_statement
            || whole.len() > line.len() && line.starts_with('{')
            || first == "from" && line.contains(" import ")
            || line.ends_with(';') && line.matches(';').count() == 1 && line.contains(['(', '=']);
        let is_alike =
            is_statement || LINE_ENDS.iter().any(|end| line.ends_with(end)) || line.starts_with("#[");
        is_certain |= is_statement && !is_comment;
        lines += usize::from(!is_comment);
        alike += usize::from(is_alike && !is_comment);
    }
    is_certain && alike * 100 >= lines * MIN_CODE_PERCENT
}

/// Returns true if a value looks like a label for people, in any language: words that begin with a capital, without digits.
pub(super) fn is_label(value: &str) -> bool {
    let is_text = |c: char| c.is_alphabetic() || c.is_whitespace() || "'’-.,:!?…()/&".contains(c);
    value.starts_with(char::is_uppercase)
        && value.chars().all(is_text)
        && value.chars().any(char::is_lowercase)
        && value.split_whitespace().all(|word| !word.chars().skip(1).any(char::is_uppercase))
}

/// Returns true if most texts are labels for people, some of them of several words: the texts of a program in one language.
pub(super) fn are_labels<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let (mut count, mut labels, mut several) = (0, 0, 0);
    for text in texts {
        let is_label = is_label(text);
        count += 1;
        labels += usize::from(is_label);
        several += usize::from(is_label && text.contains(' '));
    }
    count >= MIN_LABELS
        && labels * 100 >= count * MIN_LABEL_PERCENT
        && several * 100 >= count * MIN_WORDS_PERCENT
}

/// Returns true for a name of a program: letters, digits and underscores.
pub(super) fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}
