//! Lists the headings of HTML and their sections.

use super::{HtmlTags, plain_text};
use crate::chunk::outline::{Heading, end_sections};

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

#[cfg(test)]
mod tests {
    use super::{has_headings, headings};

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
}
