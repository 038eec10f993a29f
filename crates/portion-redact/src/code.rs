//! Tells values from source code, from labels for people, and from names of programs. In a program a secret is in quotes; what
//! has none is an expression.

use std::cell::OnceCell;

use super::name::{is_in, normalized_words, secret_kind};

/// Objects of programs whose members hold values.
const PROGRAM_OBJECTS: &str = "self this cls super req request res response ctx context config cfg conf settings process os env args \
    argv opts options params props state app user data event body session client input var local module secrets vars steps needs \
    github values form";
/// First words of expressions.
const CODE_WORDS: &str =
    "await new not return if else lambda func function fn yield typeof async throw raise in void";

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

/// Returns true for a part of source code.
pub(super) fn is_code(name: &str, value: &str, separator: &str, after: &str) -> bool {
    let is_path_char = |c: char| c.is_alphanumeric() || "_.:$@".contains(c);
    let content = value.trim_start_matches(['&', '*', '!', '(', '-']);
    let content = content.strip_prefix("mut ").unwrap_or(content);
    let len = content.find(|c: char| !is_path_char(c)).unwrap_or(content.len());
    let head = content[..len].trim_end_matches([':', '.']).trim_start_matches(['$', '@']);
    let rest = if len < content.len() { &content[len..] } else { after };
    let is_statement = after.starts_with(';') && separator.contains('=') && separator.contains(' ');
    let is_name_of_resource = value.contains('/')
        && value.split('/').all(|step| {
            step.len() > 1 && step.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '_')
        });
    if is_name_of_resource
        || is_statement && value.len() < 3 && value.bytes().all(|byte| byte.is_ascii_digit())
    {
        return true;
    }
    if head.is_empty() {
        return value.starts_with(['=', '(', '{']) && separator != ":";
    }
    let has_digit = head.bytes().any(|byte| byte.is_ascii_digit());
    let mut segments = head.split(['.', ':']).filter(|segment| !segment.is_empty());
    let is_of_names = segments.clone().all(is_identifier);
    let first = segments.clone().next().unwrap_or_default();
    let is_path = segments.nth(1).is_some() && is_of_names;
    let ends = rest.trim_start_matches([' ', '\t']).is_empty()
        || rest.trim_start().starts_with([';', ',', ')', '}', '|', '&', '?', '+', '\n', '\r']);
    if is_of_names
        && (head.len() > 1 && rest.starts_with(['(', '['])
            || rest.starts_with('<')
                && !has_digit
                && first.starts_with(char::is_uppercase)
                && !rest.starts_with("</")
                && !rest.starts_with("<br"))
    {
        return true;
    }
    if is_path
        && (!has_digit || is_in(PROGRAM_OBJECTS, &first.to_lowercase()))
        && (ends || rest.starts_with(' '))
    {
        return true;
    }
    if is_in(CODE_WORDS, first) && rest.starts_with(' ') {
        return true;
    }
    if !is_identifier(head)
        || has_digit
        || content[len..].starts_with(|c: char| !c.is_whitespace() && !",;)".contains(c))
    {
        return false;
    }
    let rest = rest.trim_start_matches([' ', '\t']);
    let is_named_after = head == name || normalized_words(head).len() > 1 && secret_kind(head).is_some();
    let is_type = separator.starts_with(':')
        && head.starts_with(char::is_uppercase)
        && head.contains(char::is_lowercase)
        && (rest.starts_with([',', ')', '=', '{', '|', '?']) || rest.starts_with(';'));
    is_named_after || is_type || is_statement || separator.contains(":=")
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
