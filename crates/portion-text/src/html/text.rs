//! The text of HTML.

use std::borrow::Cow;

use quick_xml::escape::resolve_html5_entity;

/// Longest number in a character reference, in bytes.
const MAX_NUMBER_BYTES: usize = 8;
/// Longest name of a character reference, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// Returns the text outside of tags, with references decoded and each run of white space as one space.
pub fn plain_text(html: &str) -> String {
    let mut plain = String::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        plain.push_str(&rest[..at]);
        let found = &rest[at..];
        rest = if let Some(comment) = found.strip_prefix("<!--") {
            plain.push(' ');
            comment.find("-->").map_or("", |end| &comment[end + 3..])
        } else if let Some(inside) = found.strip_prefix('<') {
            if inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
                plain.push(' ');
                inside.find('>').map_or("", |end| &inside[end + 1..])
            } else {
                plain.push('<');
                inside
            }
        } else if let Some((decoded, len)) = reference(&found[1..]) {
            plain.push_str(&decoded);
            &found[1 + len..]
        } else {
            plain.push('&');
            &found[1..]
        };
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text of a reference after its `&`, and the length of the reference.
fn reference(text: &str) -> Option<(Cow<'static, str>, usize)> {
    let Some(number) = text.strip_prefix('#') else {
        let len = text.bytes().take(MAX_NAME_BYTES).position(|byte| byte == b';')?;
        return Some((resolve_html5_entity(&text[..len])?.into(), len + 1));
    };
    let len = number.bytes().take(MAX_NUMBER_BYTES).position(|byte| byte == b';')?;
    let digits = &number[..len];
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some((char::from_u32(code).filter(|c| *c != '\0')?.to_string().into(), len + 2))
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn text_is_outside_of_tags() {
        for (html, text) in [
            ("a<b>b</b>&lt;c&gt; <d", "a b <c>"),
            ("it&#39;s &#x2014; &amp;lt; &nbsp; &unknown; &", "it's — &lt; &unknown; &"),
            ("&#;&#0;&#xé;&#99999999;", "&#;&#0;&#xé;&#99999999;"),
            ("p < 0.05 <b>and</b> <0.4<!-- a > b -->", "p < 0.05 and <0.4"),
            ("Caf&eacute; &copy; 2024", "Café © 2024"),
            ("", ""),
        ] {
            assert_eq!(plain_text(html), text, "{html}");
        }
    }
}
