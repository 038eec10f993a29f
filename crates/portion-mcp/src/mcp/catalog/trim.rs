//! Trims a tool's listing: first sentences of descriptions, one line in all, and schemas without annotations.
//!
//! The set of valid arguments stays the same: names, `required`, types, bounds, `enum`, `default` and unknown
//! keywords keep their bytes. `additionalProperties: false` stays too: it validates, and strict clients
//! insist on it.

use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;
use portion_text::chunk::sentence_starts;

use super::schema::{DEFINITION_KEYWORDS, SchemaTree, Subschema};
use crate::mcp::walk::{self, Member, Sequence, Splice};

/// Suffixes that generators append to a tool's name for the title of its schema.
const GENERATED_SUFFIXES: [&str; 7] =
    ["arguments", "args", "input", "params", "schema", "output", "dictoutput"];
/// Drafts that a schema may omit from `$schema` if they agree on its meaning.
const KNOWN_DRAFTS: [&str; 3] = ["draft-07", "2019-09", "2020-12"];

/// Returns the trimmed listing of a tool.
pub(super) fn trim_tool(listed: &str) -> String {
    let whole = walk::document_span(listed);
    let name = walk::string_member(listed, whole, "name").unwrap_or_default();
    let mut splice = Splice::new(listed);
    for Member { key, value } in walk::members(listed, whole) {
        match unescape(key.slice(listed)).as_str() {
            "description" => trim_description(&mut splice, listed, value),
            "inputSchema" | "outputSchema" => trim_schema(&mut splice, listed, value, &name),
            _ => {}
        }
    }
    splice.apply()
}

/// Trims a schema of the named tool.
pub(super) fn trim_schema(splice: &mut Splice<'_>, text: &str, root: Span, tool: &str) {
    let schemas = SchemaTree::parse(text, root, tool);
    let can_lose = schemas.can_remove_members();
    let of_every_draft = schemas.is_draft_independent();
    let unused = schemas.unused_definitions();
    for schema in &schemas.subschemas {
        let mut removed = vec![false; schema.members.len()];
        for (i, Member { key, value }) in schema.members.iter().copied().enumerate() {
            let keyword = unescape(key.slice(text));
            removed[i] = can_lose
                && match keyword.as_str() {
                    "$comment" | "examples" => true,
                    "title" => is_redundant_text(text, schema, value),
                    "description" => !schema.is_root && is_redundant_text(text, schema, value),
                    "$schema" => schema.is_root && of_every_draft && is_known_draft(text, value),
                    holder if DEFINITION_KEYWORDS.contains(&holder) && schema.is_root => {
                        let all = walk::members(text, value);
                        let is_gone = |member: &Member| unused.contains(&member.key.start);
                        splice.retain_members(value, &all, |member| !is_gone(member));
                        all.iter().all(is_gone) && walk::kind(text, value) == JsonKind::Object
                    }
                    _ => false,
                };
            if keyword == "description" && !removed[i] {
                trim_description(splice, text, value);
            }
        }
        splice.edit_sequence(&Sequence::of_members(schema.span, &schema.members), |i| !removed[i], &[]);
    }
}

/// Shortens a description to its summary.
fn trim_description(splice: &mut Splice<'_>, text: &str, description: Span) {
    if walk::kind(text, description) != JsonKind::String {
        return;
    }
    let decoded = unescape(description.slice(text));
    let summary = summary_line(&decoded);
    if summary.len() < decoded.trim_end().len() {
        splice.replace(description, quote(summary));
    }
}

fn is_redundant_text(text: &str, schema: &Subschema, value: Span) -> bool {
    let Some(name) = schema.name.as_deref().filter(|_| walk::kind(text, value) == JsonKind::String) else {
        return false;
    };
    let decoded = unescape(value.slice(text));
    repeats_name(&decoded, name)
        || (schema.is_root
            && GENERATED_SUFFIXES.iter().any(|end| repeats_name(&decoded, &format!("{name}{end}"))))
}

fn is_known_draft(text: &str, value: Span) -> bool {
    let decoded = unescape(value.slice(text));
    KNOWN_DRAFTS.iter().any(|draft| decoded.contains(draft))
}

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
    use super::trim_tool;

    /// Checks `schema` and `expect` both as input and as output schema.
    fn check(schema: &str, expect: &str) {
        for place in ["inputSchema", "outputSchema"] {
            let listed = |schema: &str| format!(r#"{{"name":"get_x","{place}":{schema}, "v":1.0}}"#);
            assert_eq!(trim_tool(&listed(schema)), listed(expect), "{schema}");
        }
    }

    fn check_stays(schema: &str) {
        check(schema, schema);
    }

    #[test]
    fn descriptions_are_cut() {
        check(
            r#"{"type":"object","description":"All there is. Or more.","properties":{"a":{"description":"Some \u0061pples.\nOr \"B\"."},"b":{"items":{"description":"One. Two is the end. Three."}}}}"#,
            r#"{"type":"object","description":"All there is.","properties":{"a":{"description":"Some apples."},"b":{"items":{"description":"One. Two is the end."}}}}"#,
        );
        check_stays(
            r#"{"properties":{"description":{"type":"string"},"a":{"default":{"description":"A. Bee. Cee and so on."}}}}"#,
        );
        check_stays(
            r#"{"description":["no text"],"properties":{"a":{"description":"\u00e9 l'\u00e9t\u00e9"}}}"#,
        );
        let was =
            r#"{"name":"x","description":"Does x for you. Then y.","annotations":{"title":"X. Y and Z. W"}}"#;
        let now = r#"{"name":"x","description":"Does x for you.","annotations":{"title":"X. Y and Z. W"}}"#;
        assert_eq!(trim_tool(was), now);
    }

    #[test]
    fn annotations_are_removed() {
        check(
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","title":"GetXArguments","type":"object","properties":{"repo_path":{"title":"Repo Path","type":"string","description":"The repo path."},"n":{"examples":[1],"$comment":"c","type":"integer","default":1.0}},"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"repo_path":{"type":"string"},"n":{"type":"integer","default":1.0}},"additionalProperties":false}"#,
        );
        check_stays(
            r#"{"title":"Things to get","properties":{"title":{"title":"Of the book"},"examples":{"x-order":1},"$comment":{}}}"#,
        );
        check(r#"{"title":"get_x","$comment":""}"#, "{}");
    }

    #[test]
    fn the_draft_stays_where_it_changes_the_meaning() {
        const DRAFT: &str = r#""$schema":"http://json-schema.org/draft-07/schema#""#;
        for rest in [
            r#""properties":{"a":{"items":[{}]}}"#,
            r#""properties":{"a":{"prefixItems":[{}]}}"#,
            r##""properties":{"a":{"$ref":"#/properties/b","type":"string"}}"##,
            r#""dependencies":{"a":["b"]}"#,
            r#""unevaluatedProperties":false"#,
        ] {
            check_stays(&format!("{{{DRAFT},{rest}}}"));
        }
        check_stays(r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}"#);
        check(
            &format!(
                r##"{{{DRAFT},"properties":{{"a":{{"$ref":"#/properties/b","description":"As b"}}}}}}"##
            ),
            r##"{"properties":{"a":{"$ref":"#/properties/b","description":"As b"}}}"##,
        );
    }

    #[test]
    fn unused_definitions_are_removed() {
        check(
            r##"{"$defs":{"A":{"$ref":"#/$defs/B/properties/c"},"B":{"title":"B"},"C":{"$ref":"#/$defs/D"},"D":{}},"properties":{"a":{"$ref":"#/$defs/A"}}}"##,
            r##"{"$defs":{"A":{"$ref":"#/$defs/B/properties/c"},"B":{}},"properties":{"a":{"$ref":"#/$defs/A"}}}"##,
        );
        check(
            r##"{"definitions":{"A":{"$ref":"#/definitions/A"}},"type":"object"}"##,
            r#"{"type":"object"}"#,
        );
        check(
            r##"{"$defs":{"a/b~c":{},"d":{}},"items":{"$ref":"#/$defs/a~1b~0c"}}"##,
            r##"{"$defs":{"a/b~c":{}},"items":{"$ref":"#/$defs/a~1b~0c"}}"##,
        );
        check_stays(r#"{"properties":{"$defs":{"type":"string"}}}"#);
    }

    #[test]
    fn unresolved_references_keep_all_members() {
        for reference in ["other.json", "#anchor", "#/items/0", "#/$defs/A%20B", "#/properties/a/examples/0"]
        {
            check_stays(&format!(
                r#"{{"$comment":"c","$defs":{{"A":{{}}}},"properties":{{"a":{{"title":"A","$ref":"{reference}"}}}}}}"#
            ));
        }
        check_stays(r##"{"title":"get_x","x-more":{"$ref":"#/$defs/A"},"$defs":{"A":{}}}"##);
        check_stays(r#"{"title":"get_x","$id":"x","$defs":{"A":{"$anchor":"a"}}}"#);
    }

    #[test]
    fn deeply_nested_schemas_are_handled() {
        let deep = |depth: usize| {
            let inner = r#"{"$comment":"c","description":"First of all. Then more."}"#;
            "{\"items\":".repeat(depth) + inner + &"}".repeat(depth)
        };
        check(&deep(60), &deep(60).replace(r#""$comment":"c","#, "").replace(" Then more.", ""));
        check_stays(&deep(100_000));
    }
}

#[cfg(test)]
mod summary_line_tests {
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
