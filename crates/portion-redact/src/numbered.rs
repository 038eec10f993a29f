//! Redacts a text whose lines are numbered, as tools print files: what is hidden in the file is hidden below the numbers.

use super::Redacted;

/// Minimum lines of a numbered text.
const MIN_LINES: usize = 2;
/// What may stand between the number of a line and the line.
const MARKS: [char; 2] = ['\t', '→'];

/// Redacts the lines of a numbered text without their numbers. Returns `None` for other texts, and if lines are hidden as a whole.
pub(super) fn redact(text: &str, redact: impl FnOnce(&str) -> Redacted) -> Option<Redacted> {
    let mut lines = text.lines();
    let (first, _) = split_number(lines.next()?)?;
    let numbers = lines.clone().zip(first + 1..);
    if !numbers.clone().all(|(line, number)| split_number(line).is_some_and(|(own, _)| own == number)) {
        return None;
    }
    let contents: Vec<&str> = text.lines().filter_map(|line| Some(split_number(line)?.1)).collect();
    let Some((shown, names)) = redact(&contents.join("\n")).filter(|_| contents.len() >= MIN_LINES) else {
        return (contents.len() >= MIN_LINES).then_some(None);
    };
    let mut numbered = String::with_capacity(text.len());
    let mut shown = shown.split('\n');
    for (line, content) in text.split_inclusive('\n').zip(contents) {
        let number_len = content.as_ptr().addr() - line.as_ptr().addr();
        numbered.push_str(&line[..number_len]);
        numbered.push_str(shown.next()?);
        numbered.push_str(&line[number_len + content.len()..]);
    }
    shown.next().is_none().then_some(Some((numbered, names)))
}

/// Splits a line into its number and its content.
fn split_number(line: &str) -> Option<(u64, &str)> {
    let (number, content) = line.split_once(MARKS)?;
    Some((number.trim_start().parse().ok().filter(|_| !number.contains('+'))?, content))
}
