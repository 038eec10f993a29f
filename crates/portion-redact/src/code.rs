//! Tells values from source code, from labels for people, and from names of programs. In a program a secret is in quotes; what
//! has none is an expression.

use std::cell::OnceCell;
use std::sync::LazyLock;

use regex::Regex;

use super::pattern::regex;

/// First words of lines of programs.
const STATEMENT_WORDS: &str = "pub fn let impl use mod struct enum trait def class import const var func function public private \
    protected package static return namespace typedef interface extern async type declare elif except raise assert yield \
    #include #define #\\[cfg #\\[derive";
/// Statements. `Server=db;Password=x;` is a list of settings.
static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
    let words = STATEMENT_WORDS.replace(' ', "|");
    regex(&format!(
        r"^(?:export )?(?:{words})(?:[(!]| +[^ =:])|^export \{{|^>>> |^from .* import |^[^;]*[(=][^;]*;$"
    ))
});
/// Lines that end or begin as those of programs do, and comments.
static CODE_LINE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:[{},()]|\):|=>)$|^#\["));
static COMMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:export )?(?://|\* |/\*|\*/|# )"));
/// Lines of files of settings.
static SETTING: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:(?:export )?[A-Z_][A-Z\d_]*|\w+(?:[.\-]\w+)+)=|^[#;]"));
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
    is_settings: OnceCell<bool>,
}

impl<'t> TextFacts<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            is_source_code: OnceCell::new(),
            is_catalogue: OnceCell::new(),
            is_settings: OnceCell::new(),
        }
    }

    pub(super) fn is_source_code(&self) -> bool {
        *self.is_source_code.get_or_init(|| is_source_code(self.text))
    }

    /// Returns true for a file of settings, whose values are no expressions: `NAME=…`, `spring.name=…`, or sections.
    pub(super) fn is_settings(&self) -> bool {
        let first = self.text.trim_start().lines().next().unwrap_or_default().trim_end();
        let has_sections = first.starts_with('[') && first.ends_with(']');
        let is_setting = |line: &str| SETTING.is_match(line) || has_sections && line.contains(['=', ']']);
        let is_file = || self.text.lines().all(|line| line.trim().is_empty() || is_setting(line));
        *self.is_settings.get_or_init(is_file)
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
    let written = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_LINES);
    for line in written.filter(|line| !COMMENT.is_match(line)) {
        let is_statement = STATEMENT.is_match(line);
        is_certain |= is_statement;
        lines += 1;
        alike += usize::from(is_statement || CODE_LINE.is_match(line));
    }
    is_certain && alike * 100 >= lines * MIN_CODE_PERCENT
}

/// Returns true if a value looks like a label for people, in any language: words that begin with a capital, without digits.
pub(super) fn is_label(value: &str) -> bool {
    let is_text = |c: char| c.is_alphabetic() || c.is_whitespace() || "'’-.,:!?…()/&".contains(c);
    value.starts_with(char::is_uppercase)
        && value.chars().all(is_text)
        && value.chars().any(char::is_lowercase)
        && value.split_whitespace().all(|word| {
            !word.chars().skip(1).any(char::is_uppercase) || !word.chars().any(char::is_lowercase)
        })
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
