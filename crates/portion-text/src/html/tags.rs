//! Reads the tags of HTML, one after the other. Comments and the content of scripts and styles have none.

use std::ops::Range;

/// Longest tag, in bytes.
const MAX_TAG_BYTES: usize = 64 << 10;
/// Elements whose content is no HTML.
const RAW_ELEMENTS: [&str; 2] = ["script", "style"];

/// A tag: `<name …>` or `</name>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HtmlTag<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_closing: bool,
    /// The tag with its attributes, without `<` and `>`.
    pub(crate) content: &'a str,
    /// Offset of `<`.
    pub(crate) start: usize,
    /// Offset after `>`.
    pub(crate) end: usize,
}

impl HtmlTag<'_> {
    /// Returns true if the tag has this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Yields the tags of a range of a text.
#[derive(Clone, Debug)]
pub(crate) struct HtmlTags<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl<'a> HtmlTags<'a> {
    pub(crate) fn new(text: &'a str, range: Range<usize>) -> Self {
        Self { text, at: range.start, end: range.end.min(text.len()) }
    }

    /// Returns the offset of the closing tag of a raw element.
    fn raw_end(&self, name: &str, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..self.end).unwrap_or_default();
        let is_end = |at: &usize| {
            let after = rest.get(at + 2..at + 2 + name.len());
            after.is_some_and(|after| after.eq_ignore_ascii_case(name.as_bytes()))
        };
        memchr::memmem::find_iter(rest, "</").find(is_end).map_or(self.end, |at| from + at)
    }
}

impl<'a> Iterator for HtmlTags<'a> {
    type Item = HtmlTag<'a>;

    fn next(&mut self) -> Option<HtmlTag<'a>> {
        loop {
            let bytes = self.text.as_bytes().get(..self.end)?;
            let start = self.at + memchr::memchr(b'<', bytes.get(self.at..)?)?;
            self.at = start + 1;
            if bytes[start..].starts_with(b"<!--") {
                let comment = memchr::memmem::find(&bytes[start + 4..], b"-->");
                self.at = comment.map_or(self.end, |len| start + 4 + len + 3);
                continue;
            }
            let is_closing = bytes.get(start + 1) == Some(&b'/');
            let name_start = start + 1 + usize::from(is_closing);
            let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':');
            let name_len = bytes.get(name_start..)?.iter().take_while(is_name).count();
            if !bytes.get(name_start).is_some_and(u8::is_ascii_alphabetic) {
                continue;
            }
            let after_name = name_start + name_len;
            let len = match tag_len(&bytes[after_name..]) {
                Ok(len) => len,
                // What was read is no tag, and is not read again.
                Err(len) => {
                    self.at = after_name + len;
                    continue;
                }
            };
            let end = after_name + len;
            let name = &self.text[name_start..name_start + name_len];
            self.at = end;
            if !is_closing && RAW_ELEMENTS.iter().any(|raw| name.eq_ignore_ascii_case(raw)) {
                self.at = self.raw_end(name, end);
            }
            let content = &self.text[start + 1..end - 1];
            return Some(HtmlTag { name, is_closing, content, start, end });
        }
    }
}

/// Returns the number of bytes up to the end of a tag, `>` included. A `>` in a quoted value does not end it, and a `<` outside of
/// one says that it is no tag.
///
/// Returns the number of bytes that were read if it is no tag.
fn tag_len(bytes: &[u8]) -> Result<usize, usize> {
    let mut quote = None;
    for (at, byte) in bytes.iter().take(MAX_TAG_BYTES).enumerate() {
        match (quote, byte) {
            (Some(open), _) => quote = Some(open).filter(|open| open != byte),
            (None, b'"' | b'\'') if bytes[..at].trim_ascii_end().ends_with(b"=") => quote = Some(*byte),
            (None, b'<') => return Err(at),
            (None, b'>') => return Ok(at + 1),
            _ => {}
        }
    }
    Err(bytes.len().min(MAX_TAG_BYTES))
}

#[cfg(test)]
mod tests {
    use super::HtmlTags;

    fn check(html: &str, expect: &[&str]) {
        let found: Vec<&str> =
            HtmlTags::new(html, 0..html.len()).map(|tag| &html[tag.start..tag.end]).collect();
        assert_eq!(found, expect, "{html}");
    }

    #[test]
    fn tags_are_found_outside_of_comments_and_scripts() {
        check("<p title=\"a > b\">x</P>", &["<p title=\"a > b\">", "</P>"]);
        check("<!-- <p> --><script>'<p>'</script><b>é", &["<script>", "</script>", "<b>"]);
        check("<style><p>", &["<style>"]);
        check("a < b <é <1> < p> <p <b>", &["<b>"]);
        for html in ["", "<", "<p", "</", "<!--", "<p a='"] {
            check(html, &[]);
        }
        check(&format!("<a{}", "=\"<a='x'\"".repeat(20_000)), &[]);
    }
}
