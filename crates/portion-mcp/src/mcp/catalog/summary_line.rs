//! Shortens a description to its first sentence.

use portion_text::chunk::sentence_starts;

/// Smallest sentence, in bytes; a shorter one (`Deprecated.`) is joined with the next.
const MIN_SENTENCE_BYTES: usize = 12;
/// Largest length of a one-line description, in characters.
const MAX_LINE_CHARS: usize = 120;
/// Largest length of a label line (`Args:`), in characters.
const MAX_LABEL_CHARS: usize = 24;

/// Returns the first sentence as a slice of the text, with the list that it introduces: `One of:` alone has
/// no meaning.
pub(super) fn summary_line(text: &str) -> &str {
    let text = without_headings(text);
    let end = paragraph_end(text);
    let sentence = first_sentence(&text[..end]);
    if sentence.ends_with([':', '：']) { text[..announced_list_end(text, end)].trim_end() } else { sentence }
}

/// Returns the first sentence in one line, cut at a word boundary if it is long.
pub(super) fn one_line_summary(text: &str) -> String {
    let text = without_headings(text);
    let words: Vec<&str> = first_sentence(&text[..paragraph_end(text)]).split_whitespace().collect();
    let line = words.join(" ");
    let line = line.trim_end_matches([':', '：', ' ']);
    let Some((limit, _)) = line.char_indices().nth(MAX_LINE_CHARS) else { return line.to_owned() };
    let word = line[..limit].rfind(' ').filter(|end| *end * 2 > limit);
    format!("{}…", &line[..word.unwrap_or(limit)])
}

/// Returns true if a text only repeats a name: `Repo path` or `The repo path.` for `repo_path`.
pub(super) fn repeats_name(text: &str, name: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let article = |text: &str| {
        let (first, rest) = text.trim().split_once(' ')?;
        ["the", "a", "an"].iter().any(|word| first.eq_ignore_ascii_case(word)).then(|| letters(rest))
    };
    let name = letters(name);
    !name.is_empty() && (letters(text) == name || article(text).is_some_and(|rest| rest == name))
}

/// Returns the text without leading headings.
fn without_headings(text: &str) -> &str {
    let mut body = text.trim();
    while let Some((heading, rest)) = body.split_once('\n').filter(|_| body.starts_with('#')) {
        debug_assert!(!heading.is_empty(), "a heading has its mark");
        body = rest.trim_start();
    }
    body
}

fn first_sentence(paragraph: &str) -> &str {
    let sentences = sentence_starts(paragraph).into_iter().map(|next| paragraph[..next].trim_end());
    sentences
        .into_iter()
        .find(|sentence| sentence.len() >= MIN_SENTENCE_BYTES)
        .unwrap_or(paragraph.trim_end())
}

/// Returns the end of the first paragraph: before an empty line, a list item or a label.
fn paragraph_end(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > 0 && (line.trim().is_empty() || is_item(line) || is_label(line)) {
            return text[..at].trim_end().len();
        }
        at += line.len();
    }
    text.trim_end().len()
}

/// Returns the end of the list that starts at or after `from`; `from` if there is none.
fn announced_list_end(text: &str, from: usize) -> usize {
    let mut end = from;
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() {
            continue;
        }
        if !is_item(line) && !line.starts_with([' ', '\t']) {
            break;
        }
        end = at;
    }
    end
}

/// Returns true if a line starts a new block: a list item, a heading, a table, a code block.
fn is_item(line: &str) -> bool {
    const MARKS: [&str; 9] = ["- ", "* ", "+ ", "• ", "– ", "#", "|", "```", "@param"];
    let line = line.trim_start();
    let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = after.len() < line.len() && (after.starts_with(". ") || after.starts_with(") "));
    numbered || line.starts_with(":param") || MARKS.iter().any(|mark| line.starts_with(mark))
}

/// Returns true if a line is a label for the following lines: `Args:`.
fn is_label(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(':') && line.chars().count() <= MAX_LABEL_CHARS && line.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::{one_line_summary, repeats_name, summary_line};

    fn check(text: &str, expect: &str) {
        assert_eq!(summary_line(text), expect, "{text:?}");
        assert!(text.contains(summary_line(text)));
        assert_eq!(summary_line(summary_line(text)), summary_line(text), "{text:?}");
    }

    #[test]
    fn finds_the_end_of_a_sentence() {
        check("", "");
        check("Lists files", "Lists files");
        check(" Lists the files. Then more.", "Lists the files.");
        check("Reads e.g. a.txt, cf. RFC 2119. More.", "Reads e.g. a.txt, cf. RFC 2119.");
        check("Gets https://a.example/x.html?y=1. It works.", "Gets https://a.example/x.html?y=1.");
        check("Uses v1.2 of the API (see U.S. Code). Really!", "Uses v1.2 of the API (see U.S. Code).");
        check("Calls Dr. No and waits… Then ends.", "Calls Dr. No and waits…");
        check("Is it there? Tells so.", "Is it there?");
        check("列出所有文件。然后退出。", "列出所有文件。");
        check("ファイルを読む！次へ", "ファイルを読む！");
        check("Deprecated. Use list_files instead. Or not.", "Deprecated. Use list_files instead.");
    }

    #[test]
    fn a_sentence_ends_with_its_paragraph() {
        check("Adds two numbers\n\nArgs:\n  a: the first", "Adds two numbers");
        check("Adds two numbers\nArgs:\n  a: the first", "Adds two numbers");
        check("Adds two\n    numbers and more.\n    Returns: it", "Adds two\n    numbers and more.");
        check("Adds two numbers\n:param a: the first", "Adds two numbers");
        check("Adds two numbers\n1. one\n2. two", "Adds two numbers");
        check("# Files\n\n## Listing\nLists all files. And more.", "Lists all files.");
        check("# Files", "# Files");
    }

    #[test]
    fn a_list_belongs_to_the_sentence_that_introduces_it() {
        check("The order, one of:\n- asc\n- desc\n\nMore.", "The order, one of:\n- asc\n- desc");
        check(
            "One of these:\n\n* a. First\n  of all\n* b\nMore.",
            "One of these:\n\n* a. First\n  of all\n* b",
        );
        check("Announces nothing:\n\nMore.", "Announces nothing:");
        check("以下のいずれか:\n- a", "以下のいずれか:\n- a");
    }

    #[test]
    fn one_line_is_short() {
        let check = |text: &str, expect: &str| assert_eq!(one_line_summary(text), expect);
        check("Adds two\n    numbers. More.", "Adds two numbers.");
        check("One of these:\n- a", "One of these");
        check("", "");
        check(&"word ".repeat(40), &format!("{}word…", "word ".repeat(23)));
        check(&"字".repeat(200), &format!("{}…", "字".repeat(120)));
    }

    #[test]
    fn recognizes_text_that_only_repeats_a_name() {
        for (text, name) in [
            ("Repo Path", "repo_path"),
            ("The repo path.", "repoPath"),
            ("an ID", "id"),
            ("GitStatus", "git_status"),
        ] {
            assert!(repeats_name(text, name), "{text}");
        }
        for (text, name) in [("Path of the repo", "path"), ("", "x"), ("!", "?"), ("The path", "thepaths")] {
            assert!(!repeats_name(text, name), "{text}");
        }
    }
}
