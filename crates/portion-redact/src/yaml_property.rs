//! Tags and anchors before values of YAML: `!!str &pw hunter2`.

use super::pattern::is_in;

/// Maximum tags and anchors of a value.
const MAX_PROPERTIES: usize = 2;
/// Maximum bytes of a tag or an anchor.
const MAX_PROPERTY_BYTES: usize = 128;
/// Words of source code that follow an ampersand: `token: &mut Token`.
const CODE_WORDS: &str = "dyn impl mut raw";

/// Returns the offset after the tag and the anchor of a value: `!!str &pw hunter2`. `from`: the offset after the separator.
/// Returns `None` if there is neither.
pub(super) fn after_properties(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    for _ in 0..MAX_PROPERTIES {
        let rest = &text[at..];
        let content = rest.trim_start_matches([' ', '\t']);
        let Some(len) = property_len(content).filter(|_| content.len() < rest.len()) else { break };
        at = text.len() - content.len() + len;
    }
    (at > from).then_some(at)
}

/// Returns the length of the tag or the anchor at the start of a text.
pub(super) fn property_len(content: &str) -> Option<usize> {
    let near = &content[..content.floor_char_boundary(MAX_PROPERTY_BYTES)];
    let len = near.find(char::is_whitespace).unwrap_or(near.len());
    let is_whole = content[len..].chars().next().is_none_or(char::is_whitespace);
    (is_whole && is_property(&near[..len])).then_some(len)
}

/// Returns true for an anchor (`&pw`) and for a tag: `!!str`, `!vault`, `!<tag:yaml.org,2002:str>`. A password that begins with
/// an exclamation mark hardly continues with letters only.
fn is_property(word: &str) -> bool {
    if let Some(name) = word.strip_prefix('&') {
        return is_anchor_name(name);
    }
    let Some(tag) = word.strip_prefix('!') else { return false };
    let is_verbatim = tag.starts_with('<') && tag.ends_with('>');
    let is_short = !tag.is_empty() && tag.chars().all(|c| c.is_alphabetic() || "!-_:./".contains(c));
    is_verbatim || is_short
}

/// Returns true for the name of an anchor.
pub(super) fn is_anchor_name(name: &str) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    !name.is_empty() && !is_in(CODE_WORDS, name) && name.bytes().all(is_name_byte)
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

    #[test]
    fn long_words_are_no_anchors() {
        for (len, is_anchor) in [(127, true), (128, false)] {
            let text = format!(" &{} b", "a".repeat(len));
            assert_eq!(after_properties(&text, 0).is_some(), is_anchor, "{len}");
        }
    }
}
