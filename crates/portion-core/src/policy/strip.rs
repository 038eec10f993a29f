//! What is left out of views as noise, by the names of fields. `fields=all` and `raw` bring it back.

use std::sync::{Arc, LazyLock};

use crate::glob::matches;

/// Which fields are noise. Cheap to clone; the default is [`Strip::noise`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    names: Arc<[String]>,
    rules: Arc<Rules>,
}

/// What was given, as it is looked up.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rules {
    /// Names without a dot or a star, sorted.
    plain: Vec<String>,
    /// The others.
    patterns: Vec<Pattern>,
    nulls: bool,
}

/// Names with dots between them or stars in them.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    text: String,
    /// How many names.
    names: usize,
    /// Where what follows the last star begins.
    tail: usize,
}

impl Pattern {
    fn of(text: &str) -> Self {
        let tail = text.rfind('*').map_or(0, |star| star + 1);
        Self { text: text.to_owned(), names: text.split('.').count(), tail }
    }

    fn takes(&self, path: &str) -> bool {
        path.ends_with(self.text.get(self.tail..).unwrap_or_default())
            && last_names(path, self.names).is_some_and(|names| matches(&self.text, names))
    }
}

/// What is noise to every reader: links between resources of an API, what its protocol or framework says of itself, and
/// what was left in for its developers.
const NOISE: [&str; 16] = [
    // HAL, GraphQL, OData 2 to 4; their counts and next links are no noise.
    "_links",
    "__typename",
    "__metadata",
    "@odata.context",
    "@odata.editLink",
    "@odata.etag",
    "@odata.id",
    "@odata.type",
    // AWS, Kubernetes.
    "ResponseMetadata",
    "managedFields",
    "_metadata",
    "_debug",
    "debug",
    "_trace",
    "trace",
    Strip::NULL_ONLY,
];

impl Strip {
    /// Stands for fields that hold nothing but `null`, in an object or in a sample of a list: they go where they do.
    pub const NULL_ONLY: &'static str = "null-only";

    /// Fields of these names, at any depth. `*` stands for any characters; a dotted path is a field inside another, and
    /// [`Strip::NULL_ONLY`] stands for no name.
    pub fn of<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let names: Arc<[String]> = names.into_iter().map(Into::into).collect();
        let mut rules = Rules::default();
        for name in names.iter().filter(|name| !name.is_empty()) {
            match name.as_str() {
                Self::NULL_ONLY => rules.nulls = true,
                name if name.contains(['.', '*']) => rules.patterns.push(Pattern::of(name)),
                name => rules.plain.push(name.to_owned()),
            }
        }
        rules.plain.sort_unstable();
        Self { names, rules: Arc::new(rules) }
    }

    /// Nothing.
    pub fn nothing() -> Self {
        Self::of::<String>([])
    }

    /// What is noise to every reader.
    pub fn noise() -> Self {
        static USUAL: LazyLock<Strip> = LazyLock::new(|| Strip::of(NOISE));
        USUAL.clone()
    }

    /// What was given.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether nothing is noise.
    pub fn is_empty(&self) -> bool {
        *self.rules == Rules::default()
    }

    /// Whether fields go that hold nothing but `null`.
    pub(crate) fn takes_nulls(&self) -> bool {
        self.rules.nulls
    }

    /// Whether the field at a dotted path goes, those around it aside.
    pub(crate) fn takes(&self, path: &str) -> bool {
        let Rules { plain, patterns, .. } = &*self.rules;
        let name = last_names(path, 1).unwrap_or(path);
        plain.binary_search_by(|own| own.as_str().cmp(name)).is_ok()
            || patterns.iter().any(|pattern| pattern.takes(path))
    }
}

impl Default for Strip {
    fn default() -> Self {
        Self::noise()
    }
}

/// The end of a dotted path that consists of so many names; `None` where it has fewer.
fn last_names(path: &str, count: usize) -> Option<&str> {
    match path.rmatch_indices('.').nth(count.checked_sub(1)?) {
        Some((at, dot)) => path.get(at + dot.len()..),
        None => (path.split('.').count() == count).then_some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::Strip;

    fn check(names: &[&str], path: &str, expect: bool) {
        let strip = Strip::of(names.iter().copied());
        assert_eq!(strip.takes(path), expect, "{names:?} {path}");
    }

    #[test]
    fn names_go_at_any_depth() {
        check(&["debug", "a"], "debug", true);
        check(&["debug"], "room.debug", true);
        check(&["debug"], "debug.sql", false);
        check(&["debug"], "debugged", false);
        check(&["debug"], "Debug", false);
        check(&[], "debug", false);
        check(&[""], "", false);
    }

    #[test]
    fn stars_stand_for_any_characters_and_paths_for_fields_inside_others() {
        check(&["_*"], "room._links", true);
        check(&["_*"], "room.links_", false);
        check(&["*"], "anything", true);
        check(&["room.debug"], "room.debug", true);
        check(&["room.debug"], "hotel.room.debug", true);
        check(&["room.debug"], "bedroom.debug", false);
        check(&["room.debug"], "debug", false);
        check(&["*.x*.c"], "a.xb.c", true);
        check(&["*.x*.c"], "xb.c", false);
        // A name may hold a dot.
        check(&["@odata.etag"], "value.@odata.etag", true);
        check(&["*@odata.etag"], "Sales@odata.etag", true);
    }

    #[test]
    fn the_usual_noise_is_some_and_nothing_is_none() {
        assert_eq!(Strip::default(), Strip::noise());
        assert!(Strip::noise().takes("_links") && Strip::noise().takes_nulls());
        assert!(Strip::noise().names().iter().any(|name| name == Strip::NULL_ONLY));
        assert!(!Strip::noise().takes("@odata.count") && !Strip::noise().takes("_embedded"));
        assert!(Strip::nothing().is_empty() && !Strip::noise().is_empty());
        assert!(!Strip::nothing().takes("_links") && !Strip::nothing().takes_nulls());
    }
}
