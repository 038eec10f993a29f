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

use crate::nearest::misspelt;
use crate::snapshot::locate;
use pattern::Pattern;

/// What stands in place of a string.
pub const REDACTED: &str = "[redacted]";
/// Names that are told; of more than these it is said only that there are more.
const TOLD: usize = 64;
/// Strings in one another in which JSON is looked for.
const STRINGS: usize = 4;
/// The preset that hides what usually is a secret.
const SECRETS: &str = "secrets";
/// Words that are likely meant as the preset, and not as the name of a field.
const MEANT_ON: &[&str] = &[
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
const MEANT_OFF: &[&str] = &["0", "false", "no", "none", "nothing", "off"];

/// Which members of JSON, and which settings in text, are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redact {
    /// Whether names that usually mean secrets are.
    secrets: bool,
    patterns: Vec<Pattern>,
}

/// Why patterns cannot be gone by.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RedactError {
    /// One of the names, or a step of one, is empty.
    #[error(
        "there is an empty name in `{0}`: write names between commas, such as password,guest.phone,*Code"
    )]
    Empty(String),
    /// One of them can match any member.
    #[error("`{0}` would hide everything: name the members, such as password,guest.phone,*Code")]
    Everything(String),
    /// One of them is no field but a preset that does not exist: it would hide nothing.
    #[error("`{given}` is not a preset; did you mean `{meant}`? A field of that name is written `{given}*`")]
    Preset {
        /// What was given.
        given: String,
        /// What was probably meant.
        meant: &'static str,
    },
}

impl Redact {
    /// Members whose names usually mean secrets: `password`, `apiKey`, `doorCode`, `session_token`.
    pub fn default_secrets() -> Self {
        Self { secrets: true, patterns: Vec::new() }
    }

    /// Hides nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The members that a list names: names with `*` for any characters, dotted paths (`guest.phone` is the `phone` of
    /// any `guest`), or `secrets` for the [default](Self::default_secrets). Case does not matter.
    ///
    /// # Errors
    /// Where a name is empty, matches all names, or misspells a preset.
    pub fn parse(patterns: &str) -> Result<Self, RedactError> {
        let mut redact = Self::nothing();
        for name in patterns.split(',').map(str::trim) {
            if name == SECRETS {
                redact.secrets = true;
            } else if let Some(meant) = preset_meant(name) {
                return Err(RedactError::Preset { given: name.to_owned(), meant });
            } else {
                redact.patterns.push(Pattern::parse(name)?);
            }
        }
        Ok(redact)
    }

    /// The JSON text, or text of JSON lines, with the values of such members replaced; `None` where there are none.
    ///
    /// The fields that were replaced are named by dotted paths without indices, each once, as they were seen first.
    pub fn apply(&self, json: &str) -> Option<(String, Vec<String>)> {
        self.apply_as(json, json, STRINGS)
    }

    /// Text with the values of such settings replaced (`password=…`, `Authorization: …`) and, where secrets are
    /// hidden, of what shows itself to be one; `None` where there are none. Work in proportion to the text.
    pub fn apply_text(&self, text: &str) -> Option<(String, Vec<String>)> {
        let (edits, names) = text::edits(self, text);
        Some((edited(text, edits)?, names.told()))
    }

    /// Whatever the text is: JSON, lines of it, or neither.
    pub fn hide(&self, text: &str) -> Option<(String, Vec<String>)> {
        if *self == Self::nothing() {
            return None;
        }
        if json::is_json(text) {
            return self.apply(text);
        }
        if let Some(found) = self.hide_in(text, STRINGS) {
            return found;
        }
        let Some((applied, mut names)) = self.apply(text) else { return self.apply_text(text) };
        match self.apply_text(&applied) {
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
    fn hide_in(&self, text: &str, strings: usize) -> Option<Option<(String, Vec<String>)>> {
        let located = locate(text)?;
        let json = located.span.of(text);
        let (before, after) = (&text[..located.span.start as usize], &text[located.span.end as usize..]);
        // Numbers that JSON has no name for are read as others that are as long.
        let numbers = located.with_numbers(text);
        let applied = self.apply_as(numbers.as_deref().unwrap_or(json), json, strings);
        let done = [self.apply_text(before), applied, self.apply_text(after)];
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
    fn apply_as(&self, read: &str, json: &str, strings: usize) -> Option<(String, Vec<String>)> {
        let (edits, names) = json::edits(self, read, strings)?;
        Some((edited(json, edits)?, names.told()))
    }

    /// The same of the JSON in a string; so many strings may be in one another.
    fn hide_in_string(&self, text: &str, strings: usize) -> Option<(String, Vec<String>)> {
        if json::is_json(text) { self.apply_as(text, text, strings) } else { self.hide_in(text, strings)? }
    }

    /// What is decided by a name alone.
    fn verdict(&self, name: &str) -> Verdict {
        Verdict {
            secret: self.secrets && secret::is_secret(name),
            named: self.patterns.iter().any(|pattern| pattern.is_name() && pattern.ends_with(name)),
            ends_path: self.patterns.iter().any(|pattern| !pattern.is_name() && pattern.ends_with(name)),
        }
    }
}

/// The preset that a name was probably meant as, where it is likely no field.
fn preset_meant(name: &str) -> Option<&'static str> {
    if !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(name));
    if is(MEANT_OFF) {
        return Some("none");
    }
    (is(MEANT_ON) || misspelt(name, [SECRETS]).is_some()).then_some(SECRETS)
}

/// What a name says of the member that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    /// Secrets are no booleans: `hasPassword`, `"password": true`.
    secret: bool,
    named: bool,
    /// Whether the members around it decide.
    ends_path: bool,
}

/// What stands in place of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    put: Cow<'static, str>,
}

/// Names of what was hidden, each once, in order.
#[derive(Debug, Default)]
struct Names {
    seen: BTreeSet<String>,
    order: Vec<String>,
    more: bool,
}

impl Names {
    fn add(&mut self, name: String) {
        if self.order.len() >= TOLD {
            self.more |= !self.seen.contains(&name);
        } else if self.seen.insert(name.clone()) {
            self.order.push(name);
        }
    }

    fn told(mut self) -> Vec<String> {
        if self.more {
            self.order.push("…".into());
        }
        self.order
    }
}

/// A text after edits; of two that overlap the one that begins first, or is longer, counts.
fn edited(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| (edit.start, std::cmp::Reverse(edit.end)));
    let mut out = String::with_capacity(text.len() + edits.len() * REDACTED.len());
    let mut done = 0;
    for edit in edits {
        if let Some(kept) = text.get(done..edit.start) {
            out.push_str(kept);
            out.push_str(&edit.put);
            done = edit.end;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}
