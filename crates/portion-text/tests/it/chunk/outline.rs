//! Headings and their sections.

use portion_text::chunk::outline::headings;

/// Checks headings, each as `level title: text of the section's last line`.
fn check(text: &str, expect: &[&str]) {
    let shown: Vec<_> = headings(text)
        .iter()
        .map(|h| {
            format!(
                "{} {}: {}",
                h.level,
                h.title,
                text[h.start..h.end].trim_end().lines().last().unwrap_or("")
            )
        })
        .collect();
    assert_eq!(shown, expect);
}

#[test]
fn sections_end_at_the_next_of_their_level() {
    check(
        "intro\n# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\n",
        &["1 A: d", "2 B: c", "3 C: c", "2 D: d", "1 E: # E"],
    );
}

#[test]
fn heading_marks_are_not_part_of_a_title() {
    check("## Two ##\r\ntext\r\n# C#\r\n#no\n####### no\n#\n", &["2 Two: text", "1 C#: ####### no", "1 : #"]);
}

#[test]
fn underlined_paragraphs_are_headings() {
    check("One\n===\n\ntext\n\nTwo\n---\nmore\n", &["1 One: more", "2 Two: more"]);
    check("two lines\nof text\n---\n\n- item\n---\n\n---\n", &[]);
}

#[test]
fn fences_comments_and_front_matter_have_no_headings() {
    check(
        "---\n# no: 1\ntitle: x\n---\n# A\n~~~~\n# no\n~~~\n# no\n~~~~\n<!--\n# no\n-->\n> ```\n> # no\n> ```\n# B\n    # no\n",
        &["1 A: > ```", "1 B:     # no"],
    );
}

#[test]
fn a_hundred_thousand_headings_are_read_in_one_pass() {
    let text = "###### x\n".repeat(100_000);
    assert_eq!(headings(&text).len(), 100_000);
}
