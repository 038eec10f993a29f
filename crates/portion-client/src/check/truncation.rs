//! Signs that a server has cut its result. What is cut there cannot be restored by anything behind it.

use std::fmt;

use serde_json::Value;

/// Characters at the end of a text that are searched for a remark.
const TAIL_CHARS: usize = 400;
/// Remarks of servers that cut their results, in lower case.
const REMARKS: &[&str] = &[
    "truncated",
    "truncation",
    "omitted for brevity",
    "output limit",
    "response too long",
    "response too large",
    "character limit",
    "characters omitted",
    "characters remaining",
    "content exceeds",
    "results shortened",
    "cut off",
];
/// Names of members that say that a result is not complete.
const FLAGS: &[&str] = &["truncated", "is_truncated", "isTruncated", "output_truncated", "wasTruncated"];
/// Length from which a round number of characters is a sign.
const MIN_ROUND_LENGTH: usize = 4_000;

/// A sign that a server has cut its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// The text is JSON without its end.
    InsideJson {
        /// Length of the text in characters.
        chars: usize,
    },
    /// The text ends with a remark.
    Remark {
        /// The word that says so.
        word: &'static str,
        /// Length of the text in characters.
        chars: usize,
    },
    /// A member is true.
    Flag {
        /// JSON Pointer of the member.
        pointer: String,
    },
    /// The length is a round number, and the text does not end like one.
    RoundLength {
        /// Length of the text in characters.
        chars: usize,
    },
}

impl Truncation {
    /// Finds a sign in a text. `json`: the text as JSON, if it is JSON.
    pub(crate) fn find(text: &str, json: Option<&Value>) -> Option<Self> {
        let chars = text.chars().count();
        if let Some(json) = json {
            return find_flag(json);
        }
        let remark = remark_at_end(text, chars);
        if let Some(word) = remark {
            return Some(Self::Remark { word, chars });
        }
        let begins_json = text.trim_start().starts_with(['{', '[']);
        let parsed = serde_json::from_str::<Value>(text);
        if begins_json && parsed.is_err_and(|error| error.is_eof()) {
            return Some(Self::InsideJson { chars });
        }
        let is_round = chars >= MIN_ROUND_LENGTH && (chars.is_multiple_of(1_000) || chars.is_power_of_two());
        let ends =
            text.trim_end().ends_with(['.', '!', '?', '}', ']', ')', '`', '>', '|']) || text.ends_with('\n');
        (is_round && !ends).then_some(Self::RoundLength { chars })
    }
}

impl fmt::Display for Truncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsideJson { chars } => write!(f, "the JSON ends after {chars} characters, before its end"),
            Self::Remark { word, chars } => {
                write!(f, "the end of the text ({chars} characters) says \"{word}\"")
            }
            Self::Flag { pointer } => write!(f, "{pointer} is true"),
            Self::RoundLength { chars } => {
                write!(f, "the text ends after exactly {chars} characters, within a sentence")
            }
        }
    }
}

fn remark_at_end(text: &str, chars: usize) -> Option<&'static str> {
    let tail: String = text.chars().skip(chars.saturating_sub(TAIL_CHARS)).collect();
    let tail = tail.to_lowercase();
    REMARKS.iter().find(|remark| tail.contains(*remark)).copied()
}

/// Finds a member that says so, at the root or in an object of it.
fn find_flag(json: &Value) -> Option<Truncation> {
    let root = json.as_object()?;
    let is_flag = |name: &str, value: &Value| FLAGS.contains(&name) && *value == Value::Bool(true);
    root.iter().find_map(|(name, value)| {
        if is_flag(name, value) {
            return Some(Truncation::Flag { pointer: format!("/{name}") });
        }
        let inner = value.as_object()?.iter().find(|(name, value)| is_flag(name, value))?;
        Some(Truncation::Flag { pointer: format!("/{name}/{}", inner.0) })
    })
}

#[cfg(test)]
mod tests {
    use super::Truncation;

    #[expect(clippy::needless_pass_by_value, reason = "a table of expected values")]
    fn check(text: &str, expect: Option<Truncation>) {
        let json = serde_json::from_str(text).ok();
        assert_eq!(Truncation::find(text, json.as_ref()), expect, "{} characters", text.len());
    }

    #[test]
    fn cut_results_are_recognized() {
        check(r#"[{"id":1},{"id":2"#, Some(Truncation::InsideJson { chars: 17 }));
        let cut = format!("{}\n... [Response truncated at 25000 characters]", "x".repeat(25_000));
        check(&cut, Some(Truncation::Remark { word: "truncated", chars: 25_045 }));
        check(
            r#"{"items":[],"meta":{"truncated":true}}"#,
            Some(Truncation::Flag { pointer: "/meta/truncated".into() }),
        );
        check(&"word ".repeat(5_000)[..24_999], None);
        check(&"words ".repeat(5_000)[..25_000], Some(Truncation::RoundLength { chars: 25_000 }));
    }

    #[test]
    fn whole_results_are_not() {
        check("[1,2]", None);
        check(r#"{"truncated":false,"text":"the list was truncated"}"#, None);
        check("A line about a door.\n", None);
        check("[note] a text in brackets", None);
        check("", None);
    }
}
