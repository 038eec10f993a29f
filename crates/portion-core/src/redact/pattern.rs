//! A name, or a dotted path of names, with `*` for any characters.

use super::RedactError;

/// Names of members, the innermost last, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<String>);

impl Pattern {
    pub(super) fn parse(written: &str) -> Result<Self, RedactError> {
        let names: Vec<_> = written.split('.').map(|name| name.trim().to_lowercase()).collect();
        if names.iter().any(String::is_empty) {
            return Err(RedactError::Empty(written.to_owned()));
        }
        if names.iter().all(|name| name.bytes().all(|b| b == b'*')) {
            return Err(RedactError::Everything(written.to_owned()));
        }
        Ok(Self(names))
    }

    /// Whether the name alone decides.
    pub(super) fn is_name(&self) -> bool {
        self.0.len() == 1
    }

    /// Whether this can be the name of such a member.
    pub(super) fn ends_with(&self, name: &str) -> bool {
        self.0.last().is_some_and(|last| is_like(last, &name.to_lowercase()))
    }

    /// Whether the members around one of that name, the innermost first, are those of the path.
    pub(super) fn is_within(&self, around: impl Iterator<Item = String>) -> bool {
        let mut around = around;
        let mut wanted = self.0.iter().rev().skip(1);
        wanted.all(|name| around.next().is_some_and(|key| is_like(name, &key.to_lowercase())))
    }

    /// How many members around it the path names.
    pub(super) fn around(&self) -> usize {
        self.0.len() - 1
    }
}

/// Whether a name is of a pattern with `*` in it: the parts between them in order, the first and the last at the ends.
pub(crate) fn is_like(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}
