//! Matches members by a name, or a dotted path of names, with `*` for any characters. Case does not matter, nor do separators of
//! words in a name without `*`: `guestEmail` is `guest_email`.

use portion_text::glob::matches;

use super::RedactError;

/// Names of members, the innermost last, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldPattern(Vec<String>);

impl FieldPattern {
    pub(super) fn parse(written: &str) -> Result<Self, RedactError> {
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
    pub(super) fn is_single_name(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns true if the last name of the pattern matches `name`.
    pub(super) fn matches_name(&self, name: &str) -> bool {
        self.0.last().is_some_and(|last| is_name_of(last, name))
    }

    /// Returns true if the enclosing members, the innermost first, match the rest of the path.
    pub(super) fn matches_ancestors(&self, around: impl Iterator<Item = String>) -> bool {
        let mut around = around;
        let mut wanted = self.0.iter().rev().skip(1);
        wanted.all(|name| around.next().is_some_and(|key| is_name_of(name, &key)))
    }

    /// Returns the number of enclosing members in the path.
    pub(super) fn ancestor_count(&self) -> usize {
        self.0.len() - 1
    }
}

/// Returns true if a pattern matches a name.
fn is_name_of(pattern: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_letter = |c: &char| !matches!(c, '_' | '-' | ' ');
    matches(pattern, &name)
        || !pattern.contains('*') && pattern.chars().filter(is_letter).eq(name.chars().filter(is_letter))
}
