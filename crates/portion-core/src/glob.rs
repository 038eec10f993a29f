//! Names with `*` for any characters.

/// Whether a name is one of a pattern's: the parts between its `*` in order, the first and the last at the ends.
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
    fn patterns_name_what_they_say() {
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
