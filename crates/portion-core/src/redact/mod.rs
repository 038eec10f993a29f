//! Hides values that no client may see: passwords, tokens, door codes.
//!
//! Values are selected by the names of members, before a payload is indexed, so nothing that is made from
//! a snapshot contains them. A string becomes `"[redacted]"`. No value changes its type, so a value of
//! another type is removed together with its key, except `null`. All other bytes stay the same.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

mod delimited;
mod fragment;
mod json;
mod pattern;
mod secret;
mod table;
mod text;

use portion_text::spelling::find_misspelled;

use crate::payload::Redact;
use crate::snapshot::locate_json;
use pattern::FieldPattern;

/// Replacement for a string.
pub const REDACTED: &str = "[redacted]";
/// Maximum names that are reported; further ones are reported as `…`.
const MAX_REPORTED_NAMES: usize = 64;
/// Maximum levels of nested strings that are searched for JSON.
const MAX_STRING_DEPTH: usize = 4;
/// Name of the preset for common secrets.
const SECRETS_PRESET: &str = "secrets";
/// Words that probably mean the preset rather than the name of a field.
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
/// Words that probably mean that nothing is to be hidden.
const DISABLE_WORDS: &[&str] = &["0", "false", "no", "none", "nothing", "off"];

/// Rules for the members of JSON, and the settings in text, that are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionRules {
    /// True if names that usually mean secrets are hidden.
    hides_secrets: bool,
    patterns: Vec<FieldPattern>,
}

/// The error for invalid patterns.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RedactError {
    /// A name, or a step of one, is empty.
    #[error("`{0}` has an empty name: separate names with commas, such as password,guest.phone,*Code")]
    EmptyName(String),
    /// A name matches every member.
    #[error("`{0}` matches everything: name the members, such as password,guest.phone,*Code")]
    MatchesEverything(String),
    /// A name looks like a preset that does not exist, so it would hide nothing.
    #[error(
        "`{given}` is not a preset; did you mean `{meant}`? To redact a field of that name, write `{given}*`"
    )]
    UnknownPreset {
        /// The given name.
        given: String,
        /// The name that was probably meant.
        meant: &'static str,
    },
}

impl Redact for RedactionRules {
    fn redact(&self, text: &str) -> Option<(String, Vec<String>)> {
        Self::redact(self, text)
    }

    fn hides_nothing(&self) -> bool {
        *self == Self::none()
    }
}

impl RedactionRules {
    /// Returns rules for names that usually mean secrets: `password`, `apiKey`, `doorCode`,
    /// `session_token`.
    pub fn default_secrets() -> Self {
        Self { hides_secrets: true, patterns: Vec::new() }
    }

    /// Returns rules that hide nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Parses a comma-separated list of names with `*` for any characters, dotted paths (`guest.phone` is
    /// the `phone` of any `guest`), or `secrets` for the [default](Self::default_secrets). Case does not
    /// matter.
    ///
    /// # Errors
    /// If a name is empty, matches all names, or misspells a preset.
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

    /// Returns an id of the rules, so that a stored snapshot is only served under the rules of its capture. It may
    /// differ between versions of this program; then such snapshots are not served.
    pub fn fingerprint(&self) -> [u8; 16] {
        let digest = Sha256::digest(format!("{self:?}"));
        std::array::from_fn(|i| digest[i])
    }

    /// Redacts JSON, or text of JSON lines; `None` if nothing is hidden.
    ///
    /// Also returns the dotted paths of the redacted fields, without indices, each once, in order of
    /// occurrence.
    pub fn redact_json(&self, json: &str) -> Option<(String, Vec<String>)> {
        self.redact_json_as(json, json, MAX_STRING_DEPTH)
    }

    /// Redacts text: the members of JSON in it, the columns of its tables, the values of settings (`password=…`,
    /// `Authorization: …`) and, if secrets are hidden, tokens that are recognizable by themselves. JSON that is cut off or
    /// faulty is read as far as possible. Returns `None` if nothing is hidden. The work is proportional to
    /// the text.
    pub fn redact_text(&self, text: &str) -> Option<(String, Vec<String>)> {
        let mut found = json::collect_edits(self, text, MAX_STRING_DEPTH);
        let without_json = apply_edits(text, found.edits, &mut found.ranges);
        let text = without_json.as_deref().unwrap_or(text);
        let mut cells = Vec::new();
        delimited::collect_edits(self, text, &mut cells, &mut found.names);
        let without_cells = apply_edits(text, cells, &mut found.ranges);
        let text = without_cells.as_deref().unwrap_or(text);
        let (edits, names) = text::collect_edits(self, text, &found.ranges);
        let applied = apply_edits(text, edits, &mut []);
        names.into_names().into_iter().for_each(|name| found.names.add(name));
        Some((applied.or(without_cells).or(without_json)?, found.names.into_names()))
    }

    /// Redacts any text: JSON, JSON lines, or other text.
    pub fn redact(&self, text: &str) -> Option<(String, Vec<String>)> {
        if *self == Self::none() {
            return None;
        }
        if json::is_json(text) {
            return self.redact_json(text);
        }
        self.redact_embedded_json(text, MAX_STRING_DEPTH).unwrap_or_else(|| self.redact_text(text))
    }

    /// Redacts a text that contains JSON: the JSON by its members, the rest as text. Returns `None` if it
    /// contains no JSON, or only a part of JSON that is cut off.
    #[expect(
        clippy::option_option,
        reason = "whether there is JSON, and whether something in the text is hidden"
    )]
    fn redact_embedded_json(&self, text: &str, strings: usize) -> Option<Option<(String, Vec<String>)>> {
        let located = locate_json(text)?;
        if fragment::contains_offset(text, located.span.start as usize) {
            return None;
        }
        let json = located.span.slice(text);
        let (before, after) = (&text[..located.span.start as usize], &text[located.span.end as usize..]);
        // Non-finite numbers are read as valid ones of the same length.
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

    /// Redacts `json`, given the same text as valid JSON in `read`, with equal offsets.
    fn redact_json_as(&self, read: &str, json: &str, strings: usize) -> Option<(String, Vec<String>)> {
        let found = json::collect_edits(self, read, strings);
        Some((apply_edits(json, found.edits, &mut [])?, found.names.into_names()))
    }

    /// Redacts the JSON in a string; `strings` is the number of string levels still allowed.
    fn redact_nested_string(&self, text: &str, strings: usize) -> Option<(String, Vec<String>)> {
        let embedded = if json::is_json(text) { None } else { self.redact_embedded_json(text, strings) };
        embedded.unwrap_or_else(|| self.redact_json_as(text, text, strings))
    }

    /// Matches a name against the rules.
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

/// Returns the preset that a name probably means, if it is unlikely to be a field.
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

/// The result of matching the name of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameMatch {
    /// True for the name of a secret. Secrets are never booleans: `hasPassword`, `"password": true`.
    is_secret: bool,
    is_named: bool,
    /// True if the enclosing members decide.
    may_end_path: bool,
}

/// A replacement for a range of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextEdit {
    start: usize,
    end: usize,
    replacement: Cow<'static, str>,
}

/// Names of redacted fields, each once, in order.
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

    /// Returns the number of names, for [`revert`](Self::revert).
    fn mark(&self) -> (usize, bool) {
        (self.ordered_names.len(), self.is_truncated)
    }

    /// Removes the names that were added after a mark.
    fn revert(&mut self, (len, is_truncated): (usize, bool)) {
        for name in self.ordered_names.drain(len..) {
            self.unique_names.remove(&name);
        }
        self.is_truncated = is_truncated;
    }

    fn into_names(mut self) -> Vec<String> {
        if self.is_truncated {
            self.ordered_names.push("…".into());
        }
        self.ordered_names
    }
}

/// Applies edits to a text, or returns `None` if there are none. Of overlapping edits, the replacement of
/// the one that begins first counts, then of the longer one; all their ranges are removed. Adapts `ranges`
/// of the text, which are in order, to the result.
fn apply_edits(text: &str, mut edits: Vec<TextEdit>, ranges: &mut [Range<usize>]) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| (edit.start, std::cmp::Reverse(edit.end)));
    let mut out = String::with_capacity(text.len() + edits.len() * REDACTED.len());
    let mut done = 0;
    let mut bounds = ranges.iter_mut().flat_map(|range| [&mut range.start, &mut range.end]).peekable();
    for edit in edits {
        if let Some(kept) = text.get(done..edit.start) {
            while let Some(bound) = bounds.next_if(|bound| **bound <= edit.start) {
                *bound = out.len() + bound.saturating_sub(done);
            }
            out.push_str(kept);
            out.push_str(&edit.replacement);
        }
        done = done.max(edit.end);
    }
    bounds.for_each(|bound| *bound = out.len() + bound.saturating_sub(done));
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}
