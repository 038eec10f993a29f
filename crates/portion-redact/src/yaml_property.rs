//! Tags and anchors before values of YAML: `!!str &pw hunter2`.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::{is_in, regex};

/// An anchor (`&pw`), and a tag: `!!str`, `!vault`, `!<tag:yaml.org,2002:str>`. A password that begins with an exclamation mark
/// hardly continues with letters only.
const PROPERTY: &str = r"(?:&[\w./\-]+|!<\S*>|![\pL!_:./\-]+)";
/// Words of source code that follow an ampersand: `token: &mut Token`.
const CODE_WORDS: &str = "&dyn &impl &mut &raw";

/// Returns the offset after the tag and the anchor of a value: `!!str &pw hunter2`. `from`: the offset after the separator.
/// Returns `None` if there is neither.
pub(super) fn after_properties(text: &str, from: usize) -> Option<usize> {
    static PROPERTIES: LazyLock<Regex> =
        LazyLock::new(|| regex(&format!(r"^((?:[ \t]+{PROPERTY}){{1,2}})(?:\s|$)")));
    let found = PROPERTIES.captures(&text[from..])?.get(1)?;
    let is_code = found.as_str().split_whitespace().any(|property| is_in(CODE_WORDS, property));
    (!is_code).then_some(from + found.end())
}

/// Returns the length of the tag or the anchor at the start of a text.
pub(super) fn property_len(content: &str) -> Option<usize> {
    static FIRST: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"^({PROPERTY})(?:\s|$)")));
    FIRST.captures(content)?.get(1).map(|found| found.end())
}

/// Returns true for the name of an anchor.
pub(super) fn is_anchor_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::after_properties;

    #[test]
    fn tags_and_anchors_are_skipped() {
        for (text, rest) in [
            (" !!str a", Some(" a")),
            (" &p a", Some(" a")),
            ("\t&p  !!str a", Some(" a")),
            (" !<tag:yaml.org,2002:str> a", Some(" a")),
            (" !vault |", Some(" |")),
            (" &p", Some("")),
            (" &p\n- a", Some("\n- a")),
            (" &p &q &r", Some(" &r")),
            (" a", None),
            (" ! a", None),
            (" & a", None),
            ("!!str a", None),
            (" !Xk29 a", None),
            (" &mut A", None),
            (" &a, b", None),
            (" &nbsp; a", None),
            (" &'a str", None),
            ("", None),
        ] {
            assert_eq!(after_properties(text, 0).map(|at| &text[at..]), rest, "{text}");
        }
    }
}
