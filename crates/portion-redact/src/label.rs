//! Tells labels for people and identifiers of programs from other words.

/// Minimum texts of a catalogue of labels, and their shares in percent: labels, and labels of several words.
const MIN_LABELS: usize = 4;
const MIN_LABEL_PERCENT: usize = 80;
const MIN_WORDS_PERCENT: usize = 20;

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
