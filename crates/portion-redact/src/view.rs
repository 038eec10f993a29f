//! Writes unusual settings as `name: value`, in a copy of a text with the same offsets.
//!
//! Readers of the copy need to know one spelling: colours of terminals, no-break spaces, full-width colons, line breaks of old
//! systems, marks around values, comments and settings of certain files become spaces, colons and line breaks.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::pattern::regex;

/// Tags of marks around words.
const INLINE_TAGS: &str = "b|i|u|em|strong|code|kbd|samp|tt|pre|span|mark|font|br|p|small|div|label";

/// A pattern, and the characters that are written over its groups, each with spaces over the rest of its group.
type Spelling = (Regex, &'static str);

static SPELLINGS: LazyLock<Vec<Spelling>> = LazyLock::new(|| {
    let marks = format!(r#"(?i)[^"][:=：][ \t\u{{a0}}]*((?:</?(?:{INLINE_TAGS})(?:\s[^<>]*)?/?>\s*)+)"#);
    // The same indentation before both items.
    let item = |indent: usize| {
        format!(r#"^ {{{indent}}}- ["']?--[\w\-]{{2,62}}["']?([ \t\r]*\n {{{indent}}}- )["']?[^\s"'\-]"#)
    };
    let items = format!("(?m)(?:{})", (0..12).map(item).collect::<Vec<_>>().join("|"));
    [
        (r"(\x1b\[[^@-~]{0,20}[@-~])", " "),
        (r"(\r)\r*[^\r\n]", "\n"),
        (r"([\u{a0}\u{202f}\u{2007}\u{3000}]|&nbsp;|&NBSP;|&#160;|&#[xX][aA]0;|<!\[CDATA\[|\]\]>)", " "),
        (r"(：|&colon;|&#58;|&#[xX]3[aA];)", ":"),
        (r"(＝|&equals;|&#61;|&#[xX]3[dD];| <- )", "="),
        // `Password: <code>…`
        (&marks, " "),
        // `password /* here */: x`
        (r"(/\*[\pL ,.()]*(?:\d[\pL ,.()]*){0,3}\*/)", " "),
        (r"(-- [\pL ,.()]*(?:\d[\pL ,.()]*){0,3})\n", " "),
        // Tags and anchors of YAML: `password: !!str &pw hunter2`. One without a value is the value.
        (
            r"[:\-]((?:[ \t]+(?:&[\w./\-]+|!<\S*>|![\pL!_:./\-]+)){1,2})(?:[ \t]+[^\s#]|[ \t\r]*\n[ \t]*- )",
            " ",
        ),
        // `? password` and `: hunter2` on the next line.
        (r"(?m)^ *(\?) [^\n]*(\n)\s*: ", "  "),
        // `ENV API_TOKEN hunter2`, and a directive: its name, that of a setting in several words, and a value with a digit.
        (
            r#"(?m)^(?:(?:ENV|setx|setenv|set -g?x) \w+( )|[ \t]*(?:[A-Za-z_]+[ (](?:[a-z]+ ){0,2})?\$?[A-Za-z]+[_\-A-Z][\w\-]*( )["']?[^\s"'\d=:：＝|]{0,40}\d[^\s"'=:|,;)]*=*["']?\)?;?[ \t]*$)"#,
            "=",
        ),
        // `Authorization "Basic …"`, `ConvertTo-SecureString "…"`, `:password "…"`, `setPassword("…")`
        (
            r#"\sAuthorization( )["']|ConvertTo-SecureString( )["']|[{( ]:[a-z\-]+( )"|[^A-Za-z\d]set_?[A-Z]\w*(\()["']"#,
            "=",
        ),
        (r#"(?m)^#define \w+( )""#, "="),
        // `machine example.com login ann password hunter2`
        (r"\slogin\s+\S+\s+password( )", "="),
        // `--password hunter2`, not a flag in a sentence, and the item below one in YAML.
        (
            r#"(?m)(?:^|[\s"'`(\[])--[\w\-]{2,62}["']?([ \t])[ \t]*(?:"[^"\n]+"|'[^'\n]+'|[^\s"'`<|\[(=\-][^\s=]*[^A-Za-z\s=][^\s=]*=*(?:\s|$)|[A-Za-z]{2,}(?:\s*$|\s+-|[^\w\s=.,:]))"#,
            "=",
        ),
        (&items, "="),
        // `define('DB_PASSWORD', 'hunter2')`, a function that sets, not the constructor of a type.
        (r#"(?:^|[^A-Za-z\d])(?:[a-z]|Set)[A-Za-z\d]*\s*\(\s*(?:"[\w.\-]*"|'[\w.\-]*')(,)\s*["']"#, ":"),
        // `name="password"`, an empty line and the value, in the body of a form.
        (r#"form-data; name=(")[^"]*("\r?\n\r?\n)"#, " ="),
    ]
    .map(|(pattern, signs)| (regex(pattern), signs))
    .into()
});
/// A tag with attributes on several lines.
static TAG: LazyLock<Regex> = LazyLock::new(|| regex(r"<[A-Za-z][^<>]*=[^<>]*>"));

/// Returns a text in which all settings are written as usual, with the same offsets.
pub(super) fn plain_view(text: &str) -> Cow<'_, str> {
    let mut bytes: Option<Vec<u8>> = None;
    let mut put = |start: usize, end: usize, sign: u8| {
        let bytes = bytes.get_or_insert_with(|| text.as_bytes().to_vec());
        bytes[start..end].fill(b' ');
        bytes[start] = sign;
    };
    for (pattern, signs) in SPELLINGS.iter() {
        let mut at = 0;
        // What follows the last group may begin another setting.
        while let Some(found) = pattern.captures_at(text, at) {
            for (group, sign) in found.iter().skip(1).flatten().zip(signs.bytes()) {
                put(group.start(), group.end(), sign);
                at = group.end();
            }
        }
    }
    for tag in TAG.find_iter(text) {
        tag.as_str()
            .match_indices('\n')
            .for_each(|(at, _)| put(tag.start() + at, tag.start() + at + 1, b' '));
    }
    match bytes.map(String::from_utf8) {
        Some(Ok(text)) => Cow::Owned(text),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_view;

    #[test]
    fn tags_and_anchors_are_left_out() {
        for (text, expect) in [
            (":  !!str a", ":        a"),
            (": &p a", ":    a"),
            (":\t&p  !!str a", ":           a"),
            (": !<tag:yaml.org,2002:str> a", ":                          a"),
            (": !vault |", ":        |"),
            (": &p\n- a", ":   \n- a"),
            (": &p &q &r", ":       &r"),
            // A tag or an anchor alone is a value, and other signs are parts of one.
            (": &p", ": &p"),
            (": a", ": a"),
            (": ! a", ": ! a"),
            (": & a", ": & a"),
            (":!!str a", ":!!str a"),
            (": !Xk29 a", ": !Xk29 a"),
            (": &a, b", ": &a, b"),
            (": &'a str", ": &'a str"),
        ] {
            assert_eq!(plain_view(text), expect, "{text}");
        }
    }
}
