//! Text from elsewhere, such as names and errors of servers, for a terminal.

/// Returns false for characters that a terminal obeys in place of showing them: control characters, separators of lines,
/// and characters that change the direction of text, with which a text can be shown in another order than it has.
pub fn is_printable(character: char) -> bool {
    let changes_layout = matches!(
        character,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    !character.is_control() && !changes_layout
}

/// Replaces what is not printable, except line ends and tabs, by U+FFFD. Line ends become `\n`.
///
/// ```
/// use portion_text::printable::printable_lines;
///
/// assert_eq!(printable_lines("one\ttwo\r\nthree"), "one\ttwo\nthree");
/// assert_eq!(printable_lines("\u{1b}[2J \u{202e}evil"), "\u{fffd}[2J \u{fffd}evil");
/// ```
pub fn printable_lines(text: &str) -> String {
    let printed =
        |c: char| if is_printable(c) || matches!(c, '\n' | '\t') { c } else { char::REPLACEMENT_CHARACTER };
    text.replace("\r\n", "\n").chars().map(printed).collect()
}

/// Replaces what is not printable by U+FFFD, line ends and tabs included, so that a name stays on its line.
///
/// ```
/// use portion_text::printable::printable_name;
///
/// assert_eq!(printable_name("git\nok"), "git\u{fffd}ok");
/// ```
pub fn printable_name(name: &str) -> String {
    name.chars().map(|c| if is_printable(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_printable, printable_lines, printable_name};

    #[test]
    fn controls_and_marks_of_direction_are_replaced() {
        let marks = "\0\u{7}\r\u{1b}\u{7f}\u{85}\u{9b}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\
                     \u{2066}\u{2067}\u{2068}\u{2069}";
        assert_eq!(marks.chars().find(|mark| is_printable(*mark)), None);
        assert_eq!(printable_lines(marks), "\u{fffd}".repeat(marks.chars().count()));
    }

    #[test]
    fn other_text_stays() {
        let text = "é 你好 שלום مرحبا 👩\u{200d}🚀\u{200b}\u{feff}\n\tx";
        assert_eq!(printable_lines(text), text);
        assert_eq!(printable_name(text), text.replace(['\n', '\t'], "\u{fffd}"));
    }
}
