//! Tests each chunking rule on one small text. `¦` marks the end of a chunk.

use portion_text::chunk::{ChunkLimits, chunker_for};
use portion_tokens::TokenCounter;

use super::{Chars, chunks};

/// Checks that chunks of at most `limit` characters and `lines` lines end at the marks.
fn check_lines(kind: &str, limit: usize, lines: usize, expect: &str) {
    let text = expect.replace('¦', "");
    assert_eq!(chunker_for(&text).name(), kind, "{text}");
    let limits = ChunkLimits { counter: &Chars(1), max_tokens: limit, max_lines: lines, max_bytes: 65_536 };
    assert_eq!(chunks(&text, &limits).join("¦"), expect);
}

pub(super) fn check(kind: &str, limit: usize, expect: &str) {
    check_lines(kind, limit, 200, expect);
}

#[test]
fn an_entry_keeps_its_stack_trace() {
    check(
        "log",
        200,
        "2024-05-01 10:00:00,123 INFO [main] started\n\
         2024-05-01 10:00:01,000 INFO [main] listening on 8080 and waiting\n\
         ¦2024-05-01 10:00:02,000 ERROR [main] failed\n\
         java.lang.IllegalStateException: no\n\
         \tat a.B.c(B.java:1)\n\
         Caused by: java.io.IOException: gone\n\
         \tat d.E.f(E.java:2)\n\
         \t... 3 more\n\
         ¦2024-05-01 10:00:03,000 INFO [main] stopped\n",
    );
}

#[test]
fn an_entry_keeps_its_dump() {
    check(
        "log",
        120,
        "[2024-05-01 10:00:00] local.INFO: one thing after the other\n\
         [2024-05-01 10:00:00] local.INFO: two\n\
         ¦[2024-05-01 10:00:01] local.ERROR: bad reply\n\
         {\n\
         \"code\": 7,\n\
         INFO: \"not an entry\"\n\
         }\n\
         [stacktrace]\n\
         #0 {main}\n\
         \"}\n\
         ¦[2024-05-01 10:00:02] local.INFO: three\n",
    );
}

#[test]
fn an_entry_too_large_is_split_at_a_line() {
    check(
        "log",
        60,
        "10:00:00 begin\n\
         10:00:01 dump follows\n    0000 11112222\n    ¦0001 11112222\n    0002 11112222\n    0003 11112222\n\
         ¦10:00:02 end\n"
            .replace("    ¦", "¦    ")
            .as_str(),
    );
}

#[test]
fn an_unstamped_traceback_stays_with_its_line() {
    check(
        "lines",
        120,
        "Compiling one\nCompiling two\nCompiling three\nCompiling four\n\
         ¦run failed\n\
         Traceback (most recent call last):\n\
         \x20 File \"a.py\", line 3, in <module>\n    main()\n\
         ValueError: bad\n\
         ¦Finished with errors\n",
    );
}

#[test]
fn a_line_limit_holds() {
    check_lines("lines", 1000, 2, "a\nb\n¦c\nd\n¦e\n");
    check_lines("lines", 1000, 2, "a\n\n¦\n\n¦\nb\n");
}

#[test]
fn prose_is_cut_between_paragraphs() {
    check(
        "prose",
        90,
        "The first paragraph says little. It is short.\n\n\
         ¦The second paragraph is longer, and it does not fit any more.\n\n\
         ¦The third paragraph ends all this.\n",
    );
}

#[test]
fn a_paragraph_too_large_is_cut_between_sentences() {
    check(
        "prose",
        60,
        "Dr. Smith met J. Doe at 3.14 p.m. today. ¦\"Is it true?\" he asked them all in the hall. \
         ¦They said nothing... But U.S. law, i.e. the old one, held. ¦So be it.",
    );
    check("prose", 24, "OK , this is one . ¦Can you hear me now ? ¦Grad A: Yes , I can .");
}

#[test]
fn sentences_end_in_every_script() {
    check(
        "prose",
        24,
        "今天天气很好，我们去公园散步吧。¦他说：“好的，我们走！”然后出门了。¦明天会下雨吗？不会。",
    );
    check("prose", 30, "هل هذا صحيح يا صديقي العزيز؟ ¦نعم هذا صحيح جدا جدا. ¦شكرا لك كثيرا.");
    check("prose", 34, "यह पहला वाक्य है और छोटा है। ¦यह दूसरा वाक्य है जो लंबा है। बस।");
}

#[test]
fn wrapped_lines_do_not_end_sentences() {
    check(
        "prose",
        110,
        "A paragraph that goes on over the end of\nthe line, as they do in mail. It has two\nsentences.\n\
         ¦Another one begins without a blank line\nbefore it, which is seen by the short line.\n",
    );
}

#[test]
fn a_sentence_continues_across_a_page_break() {
    check(
        "prose",
        252,
        "1. Terms\n\n   This is the text of the first page, which is not so long.\n\n\
         ¦   This sentence goes on over the end of the page to\n\n\n\
         Fielding, et al.            Standards Track                    [Page 7]\n\x0c\n\
         RFC 2616                        HTTP/1.1                       June 1999\n\n\n   \
         the next one, where it ends.\n\n\
         ¦   Then there is more.\n",
    );
}

#[test]
fn prose_is_cut_between_sections() {
    check(
        "prose",
        120,
        "1. Purpose\n\n   The purpose is to show where a section of a memo ends and the next one begins.\n\n\
         ¦1.1 Terms\n\n   A term is a word.\n\n   Another paragraph stands in the same section, and fits.\n\n\
         ¦2. End\n\n   This is the end of the memo.\n",
    );
}

#[test]
fn crlf_ends_a_line() {
    check("prose", 40, "The first one is here.\r\n\r\n¦The second one is there.\r\n");
    check_lines("lines", 1000, 1, "a\r\n¦b\r\n");
}

#[test]
fn words_are_cut_between_then_graphemes() {
    check("prose", 20, "one two three four ¦five six seven ¦eight nine");
    check("lines", 10, "aaaaaaaaaa¦aaaaaaaaaa¦aaa");
    // A family of seven code points and a flag of two stay whole.
    check("lines", 10, "aaaaaa¦👨‍👩‍👧‍👦bbb¦bbb");
    check("lines", 4, "aaa¦🇩🇪aa");
}

#[test]
fn a_chunk_ends_before_a_section_if_it_is_full_enough() {
    check(
        "markdown",
        92,
        "# One\n\nSome text here, about this and that, and something more for good measure.\n\n\
         ¦# Two\n\nShort.\n\n## Deep\n\nAlso short.\n\n¦# Three\n\nThe text under the third heading is a bit longer than that.\n",
    );
}

#[test]
fn a_heading_stays_with_its_text() {
    check(
        "markdown",
        75,
        "# One\n\nSome text here, quite a bit.\n\n¦Title\n=====\n\nThis paragraph does not fit in what is left of it.\n\n¦# Three\n\nEnd.\n",
    );
}

#[test]
fn a_fence_stays_whole() {
    check(
        "markdown",
        80,
        "# How\n\nDo this first.\n\nThen run, in this order:\n\n¦```sh\n# not a heading\n\ncargo build --release\n\ncargo test\n```\n\n¦And all is well that ends so well.\n",
    );
}

#[test]
fn a_fence_too_large_is_split_inside() {
    check(
        "markdown",
        70,
        "# How\n\n```python\ndef first():\n    return 1\n\n¦def second():\n    return 2\n\ndef third():\n    return 3\n\n\
         ¦def fourth():\n    return 4\n```\n\nThe text goes on.\n\n¦And it goes on still, and on, and on.\n",
    );
}

#[test]
fn list_items_keep_what_is_nested() {
    check(
        "markdown",
        80,
        "# List\n\n- one\n  - one and a half\n- two\n  - two and a half\n\n    with text\n\
         ¦- three\n  - three and a half\n  - another one\n  - and a third\n- four\n\n¦The end of the list, it is.\n",
    );
}

#[test]
fn a_table_keeps_its_head_and_its_rows() {
    check(
        "markdown",
        75,
        "# T\n\n| name | size |\n| --- | --- |\n| a long name | 1 |\n| b long name | 2 |\n\
         ¦| c long name | 3 |\n| d long name | 4 |\n| e long name | 5 |\n",
    );
}

#[test]
fn front_matter_and_comments_stay_whole() {
    check(
        "markdown",
        70,
        "---\ntitle: A page\n\ndraft: true\n---\n\n# A page\n\nSome text.\n\n\
         ¦<!-- a comment\n\n# not a heading\n\nin many lines -->\n\nThe text.\n\n¦# More\n\nText that says some more about it all.\n",
    );
}

#[test]
fn functions_stay_whole() {
    check(
        "code",
        80,
        "import os\n\ndef first(a):\n    b = a\n\n    return b\n\n\
         ¦@cached\ndef second(a):\n    if a:\n        return 1\n\n    return 2\n\n¦class C:\n    x = 1\n",
    );
    check(
        "code",
        60,
        "int f(void)\n{\n    g();\n}\n\n¦int g(void)\n{\n    return f() + 1;\n}\nint h(void)\n{\n¦    return 2;\n}\n"
            .replace("int h(void)\n{\n¦", "¦int h(void)\n{\n")
            .as_str(),
    );
}

#[test]
fn methods_of_a_large_class_stay_whole() {
    check(
        "code",
        80,
        "class A {\n  int one() {\n    return 1;\n  }\n\n  int two() {\n    return 2;\n  }\n\n\
         ¦  int three() {\n    int x = 3;\n    return x;\n  }\n}\n",
    );
}

#[test]
fn indented_lines_stay_with_their_key() {
    check("config", 40, "one:\n  a: 1\n  b: 2\ntwo:\n  a: 1\n¦three:\n  a: 1\n  b: 2\n  c: 3\n");
}

/// Fails if asked to count more than this many lines at once, because counting is the main cost.
struct FewLines(usize);

impl TokenCounter for FewLines {
    fn name(&self) -> &'static str {
        "few lines"
    }

    fn count(&self, text: &str) -> usize {
        assert!(text.lines().count() <= self.0, "{} lines are counted", text.lines().count());
        0
    }

    fn prefix_within(&self, text: &str, _: usize) -> usize {
        self.count(text);
        text.len()
    }
}

#[test]
fn text_beyond_the_line_limit_is_not_counted() {
    let text = "\n".repeat(5_000);
    let limits = ChunkLimits { counter: &FewLines(20), max_tokens: 1, max_lines: 20, max_bytes: 65_536 };
    assert!(chunks(&text, &limits).iter().all(|chunk| chunk.len() == 20));
}
