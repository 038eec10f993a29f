//! Matches names against patterns in which `*` stands for any characters.
//!
//! ```
//! use portion_text::glob::matches;
//!
//! assert!(matches("list_*", "list_bookings"));
//! assert!(!matches("list_*", "get_booking"));
//! ```

/// Returns true if `name` matches: it contains the parts between the `*` in order, the first at its start
/// and the last at its end.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_names() {
        let check = |pattern: &str, name: &str, expect: bool| {
            assert_eq!(matches(pattern, name), expect, "{pattern} {name}");
        };
        check("list", "list", true);
        check("list", "lists", false);
        check("list_*", "list_items", true);
        check("*", "", true);
        check("*_all", "get_all", true);
        check("*_all", "get_all_", false);
        check("a*b*c", "a_b_b_c", true);
        check("a*b*c", "acb", false);
        check("ab*b", "ab", false);
        check("é*", "été", true);
    }
}
