//! Selects the fields that views leave out as noise, by name. `fields=all` and `raw` bring them back.

use std::sync::{Arc, LazyLock};

use portion_text::names::matches_pattern;

/// Names of noise fields. Cheap to clone; the default is [`StripRule::default_noise`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripRule {
    names: Arc<[String]>,
    compiled: Arc<CompiledNames>,
}

/// The given names, prepared for lookup.
#[derive(Debug, Default, PartialEq, Eq)]
struct CompiledNames {
    /// Names without a dot or a star, sorted.
    exact_names: Vec<String>,
    /// Names with a dot or a star.
    patterns: Vec<StripPattern>,
    /// Names of fields that are noise only if they are small beside others.
    minor_names: &'static [&'static str],
    strips_nulls: bool,
}

/// A name with dots or stars.
#[derive(Debug, PartialEq, Eq)]
struct StripPattern {
    text: String,
    /// Number of names in the path.
    name_count: usize,
    /// Offset of the text after the last star.
    suffix_start: usize,
}

impl StripPattern {
    fn new(text: &str) -> Self {
        let tail = text.rfind('*').map_or(0, |star| star + 1);
        Self { text: text.to_owned(), name_count: text.split('.').count(), suffix_start: tail }
    }

    fn matches_path(&self, path: &str) -> bool {
        path.ends_with(self.text.get(self.suffix_start..).unwrap_or_default())
            && last_names(path, self.name_count).is_some_and(|names| matches_pattern(&self.text, names))
    }
}

/// Noise for every reader: links between resources of an API, metadata of its protocol or framework, and
/// debugging data.
const DEFAULT_NOISE: [&str; 21] = [
    // HAL, GraphQL, OData 2 to 4; their counts and next links are not noise.
    "_links",
    "__typename",
    "__metadata",
    "@odata.context",
    "@odata.editLink",
    "@odata.etag",
    "@odata.id",
    "@odata.type",
    "$schema",
    "etag",
    // AWS, Kubernetes.
    "ResponseMetadata",
    "managedFields",
    "stackTrace",
    "stack_trace",
    "stacktrace",
    "_metadata",
    "_debug",
    "debug",
    "_trace",
    "trace",
    StripRule::NULL_ONLY,
];

/// Those of them that may as well name the content.
const MINOR_NOISE: &[&str] = &["_metadata", "_debug", "debug", "_trace", "trace"];

impl StripRule {
    /// Stands for fields that hold only `null`, in an object or in a sample of a list: they are removed
    /// wherever they are `null`.
    pub const NULL_ONLY: &'static str = "null-only";

    /// Creates a rule for fields of these names, at any depth. `*` stands for any characters; a dotted
    /// path is a field inside another, and [`StripRule::NULL_ONLY`] is not a name.
    pub fn from_names<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self::new(names.into_iter().map(Into::into).collect(), &[])
    }

    fn new(names: Arc<[String]>, minor_names: &'static [&'static str]) -> Self {
        let mut rules = CompiledNames { minor_names, ..CompiledNames::default() };
        for name in names.iter().filter(|name| !name.is_empty()) {
            match name.as_str() {
                name if minor_names.contains(&name) => {}
                Self::NULL_ONLY => rules.strips_nulls = true,
                name if name.contains(['.', '*']) => rules.patterns.push(StripPattern::new(name)),
                name => rules.exact_names.push(name.to_owned()),
            }
        }
        rules.exact_names.sort_unstable();
        Self { names, compiled: Arc::new(rules) }
    }

    /// Returns a rule that strips nothing.
    pub fn none() -> Self {
        Self::from_names::<String>([])
    }

    /// Returns the rule for the default noise.
    pub fn default_noise() -> Self {
        static USUAL: LazyLock<StripRule> =
            LazyLock::new(|| StripRule::new(DEFAULT_NOISE.map(String::from).into(), MINOR_NOISE));
        USUAL.clone()
    }

    /// Returns the given names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns true if nothing is stripped.
    pub fn is_empty(&self) -> bool {
        *self.compiled == CompiledNames::default()
    }

    /// Returns true if fields that hold only `null` are stripped.
    pub(crate) fn strips_nulls(&self) -> bool {
        self.compiled.strips_nulls
    }

    /// Returns true if the field at a dotted path is stripped where it is small beside other data.
    pub(crate) fn strips_if_minor(&self, path: &str) -> bool {
        self.compiled.minor_names.iter().any(|name| Some(*name) == path.rsplit('.').next())
    }

    /// Returns true if a member of `bytes` bytes at a dotted path is stripped from a text of `text_bytes` bytes.
    pub(crate) fn strips_member(&self, path: &str, bytes: usize, text_bytes: usize) -> bool {
        self.strips(path) || self.strips_if_minor(path) && bytes <= text_bytes / 2
    }

    /// Returns true if the field at a dotted path is stripped, regardless of the fields that contain it.
    pub(crate) fn strips(&self, path: &str) -> bool {
        let CompiledNames { exact_names: plain, patterns, .. } = &*self.compiled;
        let name = last_names(path, 1).unwrap_or(path);
        plain.binary_search_by(|own| own.as_str().cmp(name)).is_ok()
            || patterns.iter().any(|pattern| pattern.matches_path(path))
    }
}

impl Default for StripRule {
    fn default() -> Self {
        Self::default_noise()
    }
}

/// Returns the last `count` names of a dotted path; `None` if it has fewer.
fn last_names(path: &str, count: usize) -> Option<&str> {
    match path.rmatch_indices('.').nth(count.checked_sub(1)?) {
        Some((at, dot)) => path.get(at + dot.len()..),
        None => (path.split('.').count() == count).then_some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::StripRule;

    fn check(names: &[&str], path: &str, expect: bool) {
        let strip = StripRule::from_names(names.iter().copied());
        assert_eq!(strip.strips(path), expect, "{names:?} {path}");
    }

    #[test]
    fn names_match_at_any_depth() {
        check(&["debug", "a"], "debug", true);
        check(&["debug"], "room.debug", true);
        check(&["debug"], "debug.sql", false);
        check(&["debug"], "debugged", false);
        check(&["debug"], "Debug", false);
        check(&[], "debug", false);
        check(&[""], "", false);
    }

    #[test]
    fn stars_and_dotted_paths_match() {
        check(&["_*"], "room._links", true);
        check(&["_*"], "room.links_", false);
        check(&["*"], "anything", true);
        check(&["room.debug"], "room.debug", true);
        check(&["room.debug"], "hotel.room.debug", true);
        check(&["room.debug"], "bedroom.debug", false);
        check(&["room.debug"], "debug", false);
        check(&["*.x*.c"], "a.xb.c", true);
        check(&["*.x*.c"], "xb.c", false);
        // A name may contain a dot.
        check(&["@odata.etag"], "value.@odata.etag", true);
        check(&["*@odata.etag"], "Sales@odata.etag", true);
    }

    #[test]
    fn default_noise_is_not_empty() {
        assert_eq!(StripRule::default(), StripRule::default_noise());
        assert!(StripRule::default_noise().strips("_links") && StripRule::default_noise().strips_nulls());
        assert!(StripRule::default_noise().names().iter().any(|name| name == StripRule::NULL_ONLY));
        assert!(
            !StripRule::default_noise().strips("@odata.count")
                && !StripRule::default_noise().strips("_embedded")
        );
        assert!(StripRule::none().is_empty() && !StripRule::default_noise().is_empty());
        assert!(!StripRule::none().strips("_links") && !StripRule::none().strips_nulls());
    }
}
