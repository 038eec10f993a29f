//! Chunks of HTML and XML, standalone and within markdown: cut between elements.

use portion_text::chunk::{ChunkLimits, chunker_for};
use proptest::prelude::*;

use super::rules::check;
use super::{Chars, chunks};

#[test]
fn elements_stay_whole() {
    check(
        "markup",
        120,
        "<!DOCTYPE html>\n<html>\n<body>\n<h1>Tea</h1>\n<p>A short one about how to make it.</p>\n\
         ¦<h2>Leaves</h2>\n<p title=\"a > b\">Green <b>or</b> black.</p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n\
         ¦<h2>Water</h2>\n<p>It must boil.</p>\n</body>\n</html>\n",
    );
}

#[test]
fn records_of_xml_stay_whole() {
    check(
        "markup",
        100,
        "<?xml version=\"1.0\"?>\n<shops>\n  <!-- the first -->\n  <shop id=\"1\">\n    <name>Ann's</name>\n  </shop>\n\
         ¦  <shop id=\"2\">\n    <name>Bo's</name>\n  </shop>\n¦  <!-- the last -->\n  <shop id=\"3\"\n        open=\"no\">\n    <name>Cy's</name>\n  </shop>\n</shops>\n",
    );
}

#[test]
fn markup_in_one_line_is_cut_between_its_tags() {
    check("markup", 40, "<ul><li>one one one</li><li>two two</li>¦<li>three three</li><li>four</li></ul>");
    check("markup", 48, "<html><p>First it was so. ¦Then it was <i>not</i> so. ¦And now it is.</p></html>");
}

#[test]
fn scripts_are_lines() {
    check(
        "markup",
        70,
        "<html>\n<script>\nif (a < b) {\n  go(\"</p>\");\n}\nlet c = '<div>';\n¦let d = 2;\nlet e = 3;\n</script>\n<p>End of it.</p>\n</html>\n",
    );
}

#[test]
fn blocks_of_html_in_markdown_stay_whole() {
    check(
        "markdown",
        110,
        "# Guide\n\nRead [this](a.md) first, for it is of use.\n\n\
         ¦<table>\n  <tr><td>one</td></tr>\n  <tr><td>two</td></tr>\n</table>\n\n<pre>\na\n\n# no heading\n</pre>\n\n\
         ¦<details>\n<summary>More</summary>\n\nWhat is folded away is still part of the text.\n\n</details>\n\n\
         ¦The text goes on after it, and ends here at last.\n",
    );
}

proptest! {
    /// Elements that fit are not cut, so no chunk ends inside a tag.
    #[test]
    fn no_chunk_ends_inside_a_tag(words in prop::collection::vec("[a-z]{1,12}", 4..80)) {
        let item = |word: &String| format!("<li class=\"a b\"><a href='/{word}?q=1 2'>{word} {word}</a><br/></li>");
        let text = format!("<html><body><ul>{}</ul></body></html>", words.iter().map(item).collect::<String>());
        let limits = ChunkLimits { counter: &Chars(1), max_tokens: 120, max_lines: 200, max_bytes: 65_536 };
        prop_assert_eq!(chunker_for(&text).name(), "markup");
        prop_assert!(chunks(&text, &limits).iter().all(|chunk| chunk.starts_with('<') && chunk.ends_with('>')));
    }
}
