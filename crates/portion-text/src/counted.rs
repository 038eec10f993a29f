//! Numbers with their nouns.

/// Returns a number with its noun, whose plural is regular.
///
/// ```
/// use portion_text::counted::counted;
///
/// assert_eq!(counted(1, "tool"), "1 tool");
/// assert_eq!(counted(2, "tool"), "2 tools");
/// assert_eq!(counted(0, "entry"), "0 entries");
/// ```
pub fn counted(count: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("1 {noun}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}
