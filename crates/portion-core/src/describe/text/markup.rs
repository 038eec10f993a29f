//! Describes HTML by its headings.

use std::borrow::Cow;

use super::document;
use super::ending::closing_excerpt;
use super::text_description::{TextDescription, truncated_line};
use crate::snapshot::LineIndex;

/// Longest heading shown, in characters.
const MAX_HEADING_CHARS: usize = 80;
/// Bytes of a heading that are read.
const MAX_HEADING_BYTES: usize = 1_000;
/// Largest number of headings kept.
const MAX_HEADINGS: usize = 2_000;
/// Elements whose content is no text.
const RAW_ELEMENTS: [&str; 2] = ["script", "style"];
/// Character references in headings.
const REFERENCES: [(&str, &str); 6] =
    [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];

/// Describes the headings. Returns false if there are none.
pub(super) fn describe(text: &str, index: &LineIndex, description: &mut TextDescription) -> bool {
    let headings = headings(text);
    if headings.is_empty() {
        return false;
    }
    // In a document of one line, line numbers tell nothing.
    let has_lines = index.line_count() > 1;
    let outline: Vec<(u8, String)> = headings
        .into_iter()
        .map(|heading| {
            let title = truncated_line(&heading.title, MAX_HEADING_CHARS);
            let line = has_lines.then(|| format!("{}: ", index.line_at(text, heading.start) + 1));
            let signs = document::heading_signs(heading.level);
            (heading.level, format!("{}{signs} {title}", line.unwrap_or_default()))
        })
        .collect();
    description.add("headings", outline.len());
    let last = closing_excerpt(&plain_text(tail(text)), description);
    let kept = description.member_cost("last", &last);
    document::describe_outline(&outline, description.remaining().saturating_sub(kept), description);
    // The document may end with a script, which has no text.
    if last.as_str().is_some_and(|last| !last.is_empty()) {
        description.add("last", last);
    }
    true
}

/// A heading.
struct Heading {
    level: u8,
    title: String,
    /// Offset of its tag.
    start: usize,
}

/// Finds the headings `<h1>` to `<h6>` that have text.
fn headings(text: &str) -> Vec<Heading> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while found.len() < MAX_HEADINGS
        && let Some(start) = memchr::memchr(b'<', &bytes[at..]).map(|step| at + step)
    {
        let rest = &text[start + 1..];
        at = start + 1;
        if let Some(comment) = rest.strip_prefix("!--") {
            at += 3;
            at += comment.find("-->").unwrap_or(comment.len());
        } else if let Some(name) = RAW_ELEMENTS.iter().find(|name| is_tag(rest, name)) {
            at += closing_tag(rest, name).unwrap_or(rest.len());
        } else if let Some(level) = heading_level(rest) {
            let near = &rest[..rest.floor_char_boundary(MAX_HEADING_BYTES)];
            let name = &near[..2];
            if let Some((end, content)) = closing_tag(near, name).zip(near.find('>'))
                && content < end
            {
                let title = plain_text(&near[content + 1..end]);
                if !title.is_empty() {
                    found.push(Heading { level, title, start });
                }
                at += end;
            }
        }
    }
    found
}

/// Returns the level of a heading whose tag begins here, after `<`.
fn heading_level(tag: &str) -> Option<u8> {
    let level = tag.as_bytes().get(1).filter(|digit| (b'1'..=b'6').contains(digit))?;
    is_tag(tag, tag.get(..2).filter(|name| name.starts_with(['h', 'H']))?).then_some(level - b'0')
}

/// Returns true if a tag, after `<`, has this name.
fn is_tag(tag: &str, name: &str) -> bool {
    let is_name = tag.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    let after = tag.as_bytes().get(name.len());
    is_name && after.is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))
}

/// Returns the offset of the closing tag of an element.
fn closing_tag(text: &str, name: &str) -> Option<usize> {
    memchr::memmem::find_iter(text.as_bytes(), "</").find(|at| is_tag(&text[at + 2..], name))
}

/// Returns the text outside of tags, each run of white space as one space.
fn plain_text(markup: &str) -> String {
    let mut text = String::new();
    for (at, piece) in markup.split('<').enumerate() {
        match (at, piece.split_once('>')) {
            (0, _) => text.push_str(piece),
            (_, Some((_, after))) => {
                text.push(' ');
                text.push_str(after);
            }
            (_, None) => {}
        }
    }
    let text = REFERENCES.iter().fold(Cow::Borrowed(text.as_str()), |text, (name, character)| {
        if text.contains(name) { text.replace(name, character).into() } else { text }
    });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the end of a document, from a tag on.
fn tail(text: &str) -> &str {
    let start = text.floor_char_boundary(text.len().saturating_sub(4 * MAX_HEADING_BYTES));
    let end = &text[start..];
    end.find('<').map_or(end, |tag| &end[tag..])
}

#[cfg(test)]
mod tests {
    use super::{headings, plain_text};

    fn check(html: &str, expected: &[(u8, &str)]) {
        let found = headings(html);
        let found: Vec<(u8, &str)> =
            found.iter().map(|heading| (heading.level, heading.title.as_str())).collect();
        assert_eq!(found, expected, "{html}");
    }

    #[test]
    fn headings_have_their_level_and_text() {
        check(
            "<h1>One</h1><p>text</p><H2 class='x'>A <em>B</em>&amp; C\n</H2>",
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
    }

    #[test]
    fn text_is_outside_of_tags() {
        assert_eq!(plain_text("a<b>b</b>&lt;c&gt; <d"), "a b <c>");
    }
}
