//! Reads HTML: tags, headings and text.
//!
//! ```
//! use portion_text::html::{headings, plain_text};
//!
//! let page = "<h1>Tea</h1><p>Hot.</p><h2>Green &amp; black</h2><p>Both.</p>";
//! let found = headings(page);
//! assert_eq!((found[1].level, found[1].title.as_ref()), (2, "Green & black"));
//! assert_eq!(plain_text(&page[found[1].start..found[1].end]), "Green & black Both.");
//! ```

use std::borrow::Cow;
use std::ops::Range;

use quick_xml::escape::resolve_html5_entity;

use crate::chunk::outline::{Heading, end_sections};

/// Largest number of columns and of rows that a cell may span (HTML, 4.9.11).
const MAX_COLUMNS: usize = 1_000;
const MAX_ROWS: usize = 65_534;

/// The number of columns and rows that a cell spans, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSpan {
    /// Number of columns.
    pub columns: usize,
    /// Number of rows. A cell that spans the rest of its row group has the largest number.
    pub rows: usize,
}

impl CellSpan {
    /// Reads the attributes of the tag of a cell.
    ///
    /// ```
    /// use portion_text::html::CellSpan;
    ///
    /// assert_eq!(CellSpan::of_tag("td rowspan=2"), CellSpan { columns: 1, rows: 2 });
    /// ```
    pub fn of_tag(tag: &str) -> Self {
        // Zero spans to the end of the row group.
        let rows = number_attribute(tag, "rowspan").map_or(1, |rows| if rows == 0 { MAX_ROWS } else { rows });
        let columns = number_attribute(tag, "colspan").unwrap_or(1).clamp(1, MAX_COLUMNS);
        Self { columns, rows: rows.min(MAX_ROWS) }
    }
}

/// Returns the number in an attribute of a tag; `usize::MAX` if it is too large.
fn number_attribute(tag: &str, name: &str) -> Option<usize> {
    let lower = tag.to_ascii_lowercase();
    let value = |(at, _): (usize, &str)| {
        let is_start =
            lower[..at].ends_with(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'' | '/'));
        lower[at + name.len()..].trim_start().strip_prefix('=').filter(|_| is_start)
    };
    let value = lower.match_indices(name).find_map(value)?.trim_start().trim_start_matches(['"', '\'']);
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    (digits > 0).then(|| value[..digits].parse().unwrap_or(usize::MAX))
}

/// Longest heading that is read, in bytes.
const MAX_HEADING_BYTES: usize = 1_000;

/// Returns the headings `<h1>` to `<h6>` that have text, in order.
///
/// One pass over the text.
pub fn headings(text: &str) -> Vec<Heading<'static>> {
    let mut found: Vec<Heading> = read(text).collect();
    end_sections(&mut found);
    found
}

/// Returns true if there is a heading that has text.
pub fn has_headings(text: &str) -> bool {
    read(text).next().is_some()
}

/// Yields the headings, whose sections end with the text.
fn read(text: &str) -> impl Iterator<Item = Heading<'static>> {
    let mut tags = HtmlTags::new(text, 0..text.len());
    std::iter::from_fn(move || {
        // The last start tag of a heading.
        let mut open = None;
        for tag in tags.by_ref() {
            let Some(level) = heading_level(tag.name) else { continue };
            if !tag.is_closing {
                open = Some((level, tag.start, tag.end));
            } else if let Some((level, start, from)) = open.take().filter(|(own, ..)| *own == level)
                && tag.start - from <= MAX_HEADING_BYTES
            {
                let title = plain_text(&text[from..tag.start]);
                if !title.is_empty() {
                    return Some(Heading { level, title: title.into(), start, end: text.len() });
                }
            }
        }
        None
    })
}

fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h' | b'H', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    }
}

/// Longest tag, in bytes.
const MAX_TAG_BYTES: usize = 64 << 10;
/// Elements whose content is no HTML.
const RAW_ELEMENTS: [&str; 2] = ["script", "style"];

/// A tag: `<name …>` or `</name>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlTag<'a> {
    /// Its name.
    pub name: &'a str,
    /// True for `</name>`.
    pub is_closing: bool,
    /// The tag with its attributes, without `<` and `>`.
    pub content: &'a str,
    /// Offset of `<`.
    pub start: usize,
    /// Offset after `>`.
    pub end: usize,
}

impl HtmlTag<'_> {
    /// Returns true if the tag has this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Yields the tags of a range of a text, of HTML or of XML.
#[derive(Clone, Debug)]
pub struct HtmlTags<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl<'a> HtmlTags<'a> {
    /// Creates a reader of the tags in a range.
    pub fn new(text: &'a str, range: Range<usize>) -> Self {
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
            let is_name =
                |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'_' | b'.');
            let name_len = bytes.get(name_start..)?.iter().take_while(is_name).count();
            if !bytes.get(name_start).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
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
/// Returns the number of bytes that were read if it is no tag, up to a quote that is not closed.
fn tag_len(bytes: &[u8]) -> Result<usize, usize> {
    let mut quote: Option<(usize, u8)> = None;
    for (at, byte) in bytes.iter().take(MAX_TAG_BYTES).enumerate() {
        match (quote, byte) {
            (Some(_), _) => quote = quote.filter(|(_, open)| open != byte),
            (None, b'"' | b'\'') if bytes[..at].trim_ascii_end().ends_with(b"=") => quote = Some((at, *byte)),
            (None, b'<') => return Err(at),
            (None, b'>') => return Ok(at + 1),
            _ => {}
        }
    }
    Err(quote.map_or(bytes.len().min(MAX_TAG_BYTES), |(at, _)| at))
}

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
    use super::{
        CellSpan, HtmlTags, MAX_COLUMNS, MAX_ROWS, has_headings, headings, number_attribute, plain_text,
    };

    #[test]
    fn an_attribute_is_found_by_its_whole_name() {
        assert_eq!(number_attribute("td class=\"rowspan-3\" ROWSPAN = '2'", "rowspan"), Some(2));
        assert_eq!(number_attribute("td aria-rowspan=2", "rowspan"), None);
    }

    #[test]
    fn spans_have_limits() {
        let check = |tag: &str, columns: usize, rows: usize| {
            assert_eq!(CellSpan::of_tag(tag), CellSpan { columns, rows }, "{tag}");
        };
        check("td", 1, 1);
        check("td colspan=0 rowspan=0", 1, MAX_ROWS);
        check("td colspan=x rowspan=''", 1, 1);
        check("td colspan=99999999999999999999 rowspan=99999999999999999999", MAX_COLUMNS, MAX_ROWS);
    }

    fn check(html: &str, expect: &[(u8, &str)]) {
        let found = headings(html);
        let found: Vec<(u8, &str)> =
            found.iter().map(|heading| (heading.level, heading.title.as_ref())).collect();
        assert_eq!(found, expect, "{html}");
        assert_eq!(has_headings(html), !expect.is_empty(), "{html}");
    }

    #[test]
    fn headings_have_their_level_and_text() {
        check(
            "<h1>One</h1><p>text</p><H2 class='x>'>A <em>B</em>&amp; C\n</H2>",
            &[(1, "One"), (2, "A B & C")],
        );
        check("<h3 >é</h3\n><header>no</header><h7>no</h7><hr><h2></h2>", &[(3, "é")]);
    }

    #[test]
    fn scripts_and_comments_have_no_headings() {
        check("<!-- <h1>no</h1> --><script>'<h1>no</h1>'</script><h1>yes</h1>", &[(1, "yes")]);
        check("<script><h1>no</h1>", &[]);
        check("<!-- <h1>no</h1>", &[]);
    }

    #[test]
    fn broken_markup_has_the_headings_that_end() {
        check("<h1", &[]);
        check("<h1>", &[]);
        check("<h1 </h1>", &[]);
        check("<h", &[]);
        check("<é<h2>x</h2>", &[(2, "x")]);
        check("<h1>x</h2><h2>y</h2>", &[(2, "y")]);
    }

    #[test]
    fn sections_end_at_the_next_heading_of_their_level() {
        let html = "<h1>A</h1>a<h2>B</h2>b<h2>C</h2>c<h1>D</h1>d";
        let found: Vec<&str> =
            headings(html).iter().map(|heading| &html[heading.start..heading.end]).collect();
        assert_eq!(found, ["<h1>A</h1>a<h2>B</h2>b<h2>C</h2>c", "<h2>B</h2>b", "<h2>C</h2>c", "<h1>D</h1>d"]);
    }

    fn check_tags(html: &str, expect: &[&str]) {
        let found: Vec<&str> =
            HtmlTags::new(html, 0..html.len()).map(|tag| &html[tag.start..tag.end]).collect();
        assert_eq!(found, expect, "{html}");
    }

    #[test]
    fn tags_are_found_outside_of_comments_and_scripts() {
        check_tags("<p title=\"a > b\">x</P>", &["<p title=\"a > b\">", "</P>"]);
        check_tags("<!-- <p> --><script>'<p>'</script><b>é", &["<script>", "</script>", "<b>"]);
        check_tags("<style><p>", &["<style>"]);
        check_tags("a < b <é <1> < p> <p <b>", &["<b>"]);
        for html in ["", "<", "<p", "</", "<!--", "<p a='"] {
            check_tags(html, &[]);
        }
        check_tags(&format!("<a{}", "=\"<a='x'\"".repeat(20_000)), &[]);
    }

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
