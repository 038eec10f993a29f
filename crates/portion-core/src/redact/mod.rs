//! Values that nobody downstream is to see: passwords, tokens, the codes of doors.
//!
//! What is hidden is told by the names of members, before a payload is indexed: nothing that is made of a snapshot
//! then has the values. A string becomes `"[redacted]"`; no value changes its type, so a value of another kind
//! is left out with its key, `null` excepted. All other bytes stay.

use std::borrow::Cow;
use std::collections::BTreeSet;

use thiserror::Error;

mod json;
mod pattern;
mod secret;
mod table;
mod text;

use crate::snapshot::locate_json;
use crate::spelling::find_misspelled;
use pattern::FieldPattern;

/// What stands in place of a string.
pub const REDACTED: &str = "[redacted]";
/// Names that are told; of more than these it is said only that there are more.
const MAX_REPORTED_NAMES: usize = 64;
/// Strings in one another in which JSON is looked for.
const MAX_STRING_DEPTH: usize = 4;
/// The preset that hides what usually is a secret.
const SECRETS_PRESET: &str = "secrets";
/// Words that are likely meant as the preset, and not as the name of a field.
const ENABLE_WORDS: &[&str] = &[
    "1",
    "all",
    "auto",
    "default",
    "defaults",
    "everything",
    "on",
    "pii",
    "preset",
    "sensitive",
    "standard",
    "true",
    "usual",
    "yes",
];
/// Words that are likely meant to hide nothing.
const DISABLE_WORDS: &[&str] = &["0", "false", "no", "none", "nothing", "off"];

/// Which members of JSON, and which settings in text, are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionRules {
    /// Whether names that usually mean secrets are.
    hides_secrets: bool,
    patterns: Vec<FieldPattern>,
}

/// Why patterns cannot be gone by.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RedactError {
    /// One of the names, or a step of one, is empty.
    #[error(
        "there is an empty name in `{0}`: write names between commas, such as password,guest.phone,*Code"
    )]
    EmptyName(String),
    /// One of them can match any member.
    #[error("`{0}` would hide everything: name the members, such as password,guest.phone,*Code")]
    MatchesEverything(String),
    /// One of them is no field but a preset that does not exist: it would hide nothing.
    #[error("`{given}` is not a preset; did you mean `{meant}`? A field of that name is written `{given}*`")]
    UnknownPreset {
        /// What was given.
        given: String,
        /// What was probably meant.
        meant: &'static str,
    },
}

impl RedactionRules {
    /// Members whose names usually mean secrets: `password`, `apiKey`, `doorCode`, `session_token`.
    pub fn default_secrets() -> Self {
        Self { hides_secrets: true, patterns: Vec::new() }
    }

    /// Hides nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// The members that a list names: names with `*` for any characters, dotted paths (`guest.phone` is the `phone` of
    /// any `guest`), or `secrets` for the [default](Self::default_secrets). Case does not matter.
    ///
    /// # Errors
    /// Where a name is empty, matches all names, or misspells a preset.
    pub fn parse(patterns: &str) -> Result<Self, RedactError> {
        let mut redact = Self::none();
        for name in patterns.split(',').map(str::trim) {
            if name == SECRETS_PRESET {
                redact.hides_secrets = true;
            } else if let Some(meant) = suggest_preset(name) {
                return Err(RedactError::UnknownPreset { given: name.to_owned(), meant });
            } else {
                redact.patterns.push(FieldPattern::parse(name)?);
            }
        }
        Ok(redact)
    }

    /// The JSON text, or text of JSON lines, with the values of such members replaced; `None` where there are none.
    ///
    /// The fields that were replaced are named by dotted paths without indices, each once, as they were seen first.
    pub fn redact_json(&self, json: &str) -> Option<(String, Vec<String>)> {
        self.redact_json_as(json, json, MAX_STRING_DEPTH)
    }

    /// Text with the values of such settings replaced (`password=…`, `Authorization: …`) and, where secrets are
    /// hidden, of what shows itself to be one; `None` where there are none. Work in proportion to the text.
    pub fn redact_text(&self, text: &str) -> Option<(String, Vec<String>)> {
        let (edits, names) = text::collect_edits(self, text);
        Some((apply_edits(text, edits)?, names.into_names()))
    }

    /// Whatever the text is: JSON, lines of it, or neither.
    pub fn redact(&self, text: &str) -> Option<(String, Vec<String>)> {
        if *self == Self::none() {
            return None;
        }
        if json::is_json(text) {
            return self.redact_json(text);
        }
        if let Some(found) = self.redact_embedded_json(text, MAX_STRING_DEPTH) {
            return found;
        }
        let Some((applied, mut names)) = self.redact_json(text) else { return self.redact_text(text) };
        match self.redact_text(&applied) {
            Some((again, more)) => {
                names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
                Some((again, names))
            }
            None => Some((applied, names)),
        }
    }

    /// The same of a text with JSON in it: that by its members, what stands around it as text. `None` where there is no JSON.
    #[expect(
        clippy::option_option,
        reason = "whether there is JSON, and whether something in the text is hidden"
    )]
    fn redact_embedded_json(&self, text: &str, strings: usize) -> Option<Option<(String, Vec<String>)>> {
        let located = locate_json(text)?;
        let json = located.span.slice(text);
        let (before, after) = (&text[..located.span.start as usize], &text[located.span.end as usize..]);
        // Numbers that JSON has no name for are read as others that are as long.
        let numbers = located.with_placeholder_numbers(text);
        let applied = self.redact_json_as(numbers.as_deref().unwrap_or(json), json, strings);
        let done = [self.redact_text(before), applied, self.redact_text(after)];
        if done.iter().all(Option::is_none) {
            return Some(None);
        }
        let (mut whole, mut all) = (String::with_capacity(text.len()), Vec::new());
        for (piece, done) in [before, json, after].into_iter().zip(done) {
            let (piece, names) = done.unwrap_or_else(|| (piece.to_owned(), Vec::new()));
            whole.push_str(&piece);
            all.extend(names.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
        }
        Some(Some((whole, all)))
    }

    /// The same of JSON that is read as other JSON, whose values stand at the same bytes.
    fn redact_json_as(&self, read: &str, json: &str, strings: usize) -> Option<(String, Vec<String>)> {
        let (edits, names) = json::collect_edits(self, read, strings)?;
        Some((apply_edits(json, edits)?, names.into_names()))
    }

    /// The same of the JSON in a string; so many strings may be in one another.
    fn redact_nested_string(&self, text: &str, strings: usize) -> Option<(String, Vec<String>)> {
        if json::is_json(text) {
            self.redact_json_as(text, text, strings)
        } else {
            self.redact_embedded_json(text, strings)?
        }
    }

    /// What is decided by a name alone.
    fn match_name(&self, name: &str) -> NameMatch {
        NameMatch {
            is_secret: self.hides_secrets && secret::is_secret_name(name),
            is_named: self
                .patterns
                .iter()
                .any(|pattern| pattern.is_single_name() && pattern.matches_name(name)),
            may_end_path: self
                .patterns
                .iter()
                .any(|pattern| !pattern.is_single_name() && pattern.matches_name(name)),
        }
    }
}

/// The preset that a name was probably meant as, where it is likely no field.
fn suggest_preset(name: &str) -> Option<&'static str> {
    if !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(name));
    if is(DISABLE_WORDS) {
        return Some("none");
    }
    (is(ENABLE_WORDS) || find_misspelled(name, [SECRETS_PRESET]).is_some()).then_some(SECRETS_PRESET)
}

/// What a name says of the member that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameMatch {
    /// Secrets are no booleans: `hasPassword`, `"password": true`.
    is_secret: bool,
    is_named: bool,
    /// Whether the members around it decide.
    may_end_path: bool,
}

/// What stands in place of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextEdit {
    start: usize,
    end: usize,
    replacement: Cow<'static, str>,
}

/// Names of what was hidden, each once, in order.
#[derive(Debug, Default)]
struct RedactedNames {
    unique_names: BTreeSet<String>,
    ordered_names: Vec<String>,
    is_truncated: bool,
}

impl RedactedNames {
    fn add(&mut self, name: String) {
        if self.ordered_names.len() >= MAX_REPORTED_NAMES {
            self.is_truncated |= !self.unique_names.contains(&name);
        } else if self.unique_names.insert(name.clone()) {
            self.ordered_names.push(name);
        }
    }

    fn into_names(mut self) -> Vec<String> {
        if self.is_truncated {
            self.ordered_names.push("…".into());
        }
        self.ordered_names
    }
}

/// A text after edits; of two that overlap the one that begins first, or is longer, counts.
fn apply_edits(text: &str, mut edits: Vec<TextEdit>) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| (edit.start, std::cmp::Reverse(edit.end)));
    let mut out = String::with_capacity(text.len() + edits.len() * REDACTED.len());
    let mut done = 0;
    for edit in edits {
        if let Some(kept) = text.get(done..edit.start) {
            out.push_str(kept);
            out.push_str(&edit.replacement);
            done = edit.end;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}
