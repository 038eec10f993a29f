//! Text for people: what a terminal shows, the columns that it takes there, numbers with nouns, and values of messages.

use std::borrow::Cow;
use std::fmt::Write as _;

use portion_json::scan::quote;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Mark of an omission, one column wide.
const ELLIPSIS: char = '…';

/// Returns bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns the columns of a line.
///
/// ```
/// use portion_text::display::display_width;
///
/// assert_eq!(display_width("list"), 4);
/// assert_eq!(display_width("客房"), 4);
/// ```
pub fn display_width(line: &str) -> usize {
    line.width()
}

/// Returns a line in at most `width` columns. What is cut off is replaced by `…`.
///
/// ```
/// use portion_text::display::truncate;
///
/// assert_eq!(truncate("list_bookings", 8), "list_bo…");
/// assert_eq!(truncate("客房列表", 6), "客房…");
/// ```
pub fn truncate(line: &str, width: usize) -> String {
    if display_width(line) <= width {
        return line.to_owned();
    }
    let mut shown = prefix(line, width.saturating_sub(1)).to_owned();
    shown.push(ELLIPSIS);
    shown
}

/// Returns the end of a line in at most `width` columns, after `…`.
pub fn truncate_start(line: &str, width: usize) -> String {
    let mut free = width.saturating_sub(1);
    let characters = line.graphemes(true).rev().take_while(|character| take(&mut free, character));
    let length: usize = characters.map(str::len).sum();
    format!("{ELLIPSIS}{}", &line[line.len() - length..])
}

/// Breaks a line after `width` columns, and nowhere inside a character. The first part has at least one character.
pub fn split_at_width(line: &str, width: usize) -> (&str, &str) {
    let first = line.graphemes(true).next().map_or(0, str::len);
    line.split_at(prefix(line, width).len().max(first))
}

/// Returns the characters at the beginning of a line that fit.
fn prefix(line: &str, width: usize) -> &str {
    let mut free = width;
    let characters = line.graphemes(true).take_while(|character| take(&mut free, character));
    let length: usize = characters.map(str::len).sum();
    &line[..length]
}

/// Takes the columns of a character from those that are free; returns false if they are too few.
fn take(free: &mut usize, character: &str) -> bool {
    let rest = free.checked_sub(display_width(character));
    *free = rest.unwrap_or_default();
    rest.is_some()
}

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
/// use portion_text::display::printable_lines;
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
/// use portion_text::display::printable_name;
///
/// assert_eq!(printable_name("git\nok"), "git\u{fffd}ok");
/// ```
pub fn printable_name(name: &str) -> String {
    name.chars().map(|c| if is_printable(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Returns a number with its noun, whose plural is regular.
///
/// ```
/// use portion_text::display::counted;
///
/// assert_eq!(counted(1, "tool"), "1 tool");
/// assert_eq!(counted(2, "tool"), "2 tools");
/// assert_eq!(counted(0, "entry"), "0 entries");
/// assert_eq!(counted(3, "array"), "3 arrays");
/// ```
pub fn counted(count: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("1 {noun}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

/// Largest number of characters of a name or value that a message repeats.
pub const MAX_REPEATED_CHARS: usize = 200;

/// Returns the beginning of a name or value that is too long for a message.
///
/// ```
/// use portion_text::display::shortened;
///
/// assert_eq!(shortened("2025-11-25"), "2025-11-25");
/// assert_eq!(shortened(&"é".repeat(201)), "é".repeat(200) + "…");
/// ```
pub fn shortened(given: &str) -> Cow<'_, str> {
    match given.char_indices().nth(MAX_REPEATED_CHARS) {
        Some((end, _)) => format!("{}…", &given[..end]).into(),
        None => given.into(),
    }
}

/// Words that YAML reads as other values than texts.
const YAML_WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Returns a text as a YAML scalar: plain if nothing else can be meant, else as a JSON string, with escapes for all that is
/// not printable.
///
/// ```
/// use portion_text::display::yaml_scalar;
///
/// assert_eq!(yaml_scalar("price.total"), "price.total");
/// assert_eq!(yaml_scalar("GET /bookings"), "\"GET /bookings\"");
/// ```
pub fn yaml_scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !YAML_WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::new();
    for c in quote(text).chars() {
        if is_printable(c) {
            quoted.push(c);
        } else {
            let _ = write!(quoted, "\\u{:04x}", u32::from(c));
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::{
        display_width, is_printable, printable_lines, printable_name, split_at_width, truncate,
        truncate_start, yaml_scalar,
    };

    #[test]
    fn columns_are_counted() {
        let check = |line: &str, expect: usize| assert_eq!(display_width(line), expect, "{line}");
        check("", 0);
        check("é", 1);
        check("e\u{301}", 1);
        check("你好", 4);
        check("한국", 4);
        check("🏨", 2);
        check("…–\u{fffd}", 3);
    }

    #[test]
    fn lines_are_cut_between_characters() {
        let check = |line: &str, width: usize, start: &str, end: &str| {
            assert_eq!((truncate(line, width).as_str(), truncate_start(line, width).as_str()), (start, end));
        };
        check("abcdef", 4, "abc…", "…def");
        check("你好吗", 5, "你好…", "…好吗");
        check("你好吗", 4, "你…", "…吗");
        check("ae\u{301}io", 3, "ae\u{301}…", "…io");
        check("abc", 1, "…", "…");
        assert_eq!(truncate("你好", 4), "你好");
    }

    #[test]
    fn a_part_is_never_empty() {
        assert_eq!(split_at_width("你好吗", 5), ("你好", "吗"));
        assert_eq!(split_at_width("你好", 1), ("你", "好"));
        assert_eq!(split_at_width("ab", 0), ("a", "b"));
        assert_eq!(split_at_width("", 3), ("", ""));
    }

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

    #[test]
    fn what_could_mean_something_else_is_quoted() {
        let check = |text: &str, expect: &str| assert_eq!(yaml_scalar(text), expect);
        for plain in ["list_bookings", "_a", "/result", "a-b.c/D9", "nothing"] {
            check(plain, plain);
        }
        for word in
            ["null", "True", "no", "Off", "Y", "", "9x", "-a", ".inf", "~", "*", "a b", "a: b", "a#", "é"]
        {
            check(word, &format!("\"{word}\""));
        }
    }

    #[test]
    fn what_is_not_printable_is_escaped() {
        let check = |text: &str, expect: &str| assert_eq!(yaml_scalar(text), expect);
        check("say \"x\"\\", r#""say \"x\"\\""#);
        check("a\nb\t\0\u{1b}", r#""a\nb\t\u0000\u001b""#);
        check("a\u{7f}\u{85}\u{9b}\u{2028}\u{202e}b", r#""a\u007f\u0085\u009b\u2028\u202eb""#);
    }
}
