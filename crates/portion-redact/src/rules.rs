//! Rules for names of members, and how operators write them.

use portion_text::names::{find_misspelled, matches_pattern};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::edit::REDACTED;
use super::name::{self, SecretKind};
use super::pattern::is_in;
use super::value::{Form, is_secret_value};

/// The word for no rules at all.
const NO_RULES: &str = "none";
/// Name of the preset for common secrets.
const SECRETS_PRESET: &str = "secrets";
/// Words that probably mean the preset rather than the name of a field.
const ENABLE_WORDS: &str =
    "1 all auto default defaults everything on pii preset sensitive standard true usual yes";
/// Words that probably mean that nothing is to be hidden.
const DISABLE_WORDS: &str = "0 false no none nothing off";

/// Characters between the names of a path: `guest.phone`, `/prod/db/password`, `guest[phone]`.
const PATH_SEPARATORS: [char; 5] = ['.', '/', ':', '[', ']'];

/// Rules for the members of JSON, and the settings in text, that are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionRules {
    /// True if names that usually mean secrets are hidden.
    pub(super) hides_secrets: bool,
    pub(super) patterns: Vec<FieldPattern>,
}

/// The result of matching the name of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NameMatch {
    /// True for the name of a secret. Secrets are never booleans: `hasPassword`, `"password": true`.
    pub is_secret: bool,
    /// Kind of the secret under such a name.
    pub kind: SecretKind,
    pub is_named: bool,
    /// True if the enclosing members decide.
    pub may_end_path: bool,
}

impl NameMatch {
    /// Returns true if the values under the name are hidden, wherever it stands.
    pub(super) fn is_hidden(self) -> bool {
        self.is_secret || self.is_named
    }

    /// Returns true if a value under the name is hidden. What the operator names is hidden unless it says that there is no value.
    pub(super) fn hides(self, name: &str, value: &str, form: Form<'_>) -> bool {
        if self.is_named {
            return !value.is_empty()
                && value != REDACTED
                && !matches!(value, "null" | "NULL" | "None" | "nil" | "N/A");
        }
        self.is_secret && is_secret_value(self.kind, name, value, form)
    }
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
    /// `none` beside other names.
    #[error(
        "`{0}` hides nothing, so it stands alone: leave it out of the list, or write none without others"
    )]
    NoneAmongOthers(String),
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
    /// matter, nor do separators of words in a name without `*`.
    ///
    /// # Errors
    /// If a name is empty, matches all names, or misspells a preset.
    pub fn parse(patterns: &str) -> Result<Self, RedactError> {
        let mut redact = Self::none();
        for name in patterns.split(',').map(str::trim) {
            if name == SECRETS_PRESET {
                redact.hides_secrets = true;
            } else if name == NO_RULES {
                return Err(RedactError::NoneAmongOthers(name.to_owned()));
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

    /// Matches a name against the rules.
    pub(super) fn match_name(&self, name: &str) -> NameMatch {
        let kind = if self.hides_secrets { name::secret_kind(name) } else { None };
        NameMatch {
            is_secret: kind.is_some(),
            kind: kind.unwrap_or_default(),
            is_named: self
                .patterns
                .iter()
                .any(|pattern| pattern.is_single_name() && pattern.matches_name(name))
                || self.matches_written_path(name),
            may_end_path: self.matches_end_of_path(last_step(name)),
        }
    }

    /// Returns true if a path ends with a name.
    pub(super) fn matches_end_of_path(&self, name: &str) -> bool {
        self.paths().any(|pattern| pattern.matches_name(name))
    }

    /// Returns true if a name is written as a path that is hidden: `guest.phone`.
    pub(super) fn matches_written_path(&self, name: &str) -> bool {
        name.contains(PATH_SEPARATORS) && self.matches_path_within(name, std::iter::empty)
    }

    /// Returns true if a path matches a name, which may be a path itself, and the names around it, the innermost first.
    pub(super) fn matches_path_within<I>(&self, name: &str, around: impl Fn() -> I) -> bool
    where
        I: Iterator<Item = String>,
    {
        let mut steps: Vec<&str> = name.split(PATH_SEPARATORS).filter(|step| !step.is_empty()).collect();
        let last = steps.pop().unwrap_or_default();
        let mut ends = self.paths().filter(|pattern| pattern.matches_name(last));
        ends.any(|pattern| {
            let own = steps.iter().rev().map(|step| (*step).to_owned());
            pattern.matches_ancestors(own.chain(around()))
        })
    }

    /// Yields the patterns of several names.
    fn paths(&self) -> impl Iterator<Item = &FieldPattern> {
        self.patterns.iter().filter(|pattern| !pattern.is_single_name())
    }
}

/// A name of members, or a dotted path of names, the innermost last, in lower case, with `*` for any characters. Case does not
/// matter, nor do separators of words in a name without `*`: `guestEmail` is `guest_email`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldPattern(Vec<String>);

impl FieldPattern {
    fn parse(written: &str) -> Result<Self, RedactError> {
        let names: Vec<_> = written.split('.').map(|name| name.trim().to_lowercase()).collect();
        if names.iter().any(String::is_empty) {
            return Err(RedactError::EmptyName(written.to_owned()));
        }
        if names.iter().all(|name| name.bytes().all(|b| b == b'*')) {
            return Err(RedactError::MatchesEverything(written.to_owned()));
        }
        Ok(Self(names))
    }

    /// Returns true if the pattern is a single name, without ancestors.
    fn is_single_name(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns true if the last name of the pattern matches `name`.
    fn matches_name(&self, name: &str) -> bool {
        self.0.last().is_some_and(|last| is_name_of(last, name))
    }

    /// Returns true if the enclosing members, the innermost first, match the rest of the path.
    fn matches_ancestors(&self, mut around: impl Iterator<Item = String>) -> bool {
        self.0.iter().rev().skip(1).all(|name| around.next().is_some_and(|key| is_name_of(name, &key)))
    }
}

/// Returns true if a pattern matches a name.
fn is_name_of(pattern: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_letter = |c: &char| !matches!(c, '_' | '-' | ' ');
    matches_pattern(pattern, &name)
        || !pattern.contains('*') && pattern.chars().filter(is_letter).eq(name.chars().filter(is_letter))
}

/// Returns the last name of a dotted name.
fn last_step(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Returns the preset that a name probably means, if it is unlikely to be a field.
fn suggest_preset(name: &str) -> Option<&'static str> {
    if !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let is = |words: &str| is_in(words, &name.to_ascii_lowercase());
    if is(DISABLE_WORDS) {
        return Some(NO_RULES);
    }
    (is(ENABLE_WORDS) || find_misspelled(name, [SECRETS_PRESET]).is_some()).then_some(SECRETS_PRESET)
}
