//! Makes names unique regardless of case, because SQL ignores case in names.

use std::collections::{HashMap, HashSet};

/// Names that are taken.
///
/// ```
/// use portion_text::unique_names::UniqueNames;
///
/// let mut names = UniqueNames::default();
/// assert_eq!([names.unique("Id"), names.unique("id")], ["Id", "id_2"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct UniqueNames {
    taken: HashSet<String>,
}

impl UniqueNames {
    /// Returns the name, with the first free number from 2 appended if it is taken.
    pub fn unique(&mut self, name: &str) -> String {
        // In C, a name ends at a NUL.
        let name = &name.replace('\0', "\u{fffd}");
        let free = |name: &str| !self.taken.contains(&name.to_lowercase());
        let name = if name.is_empty() { "_" } else { name };
        let name = if free(name) {
            name.to_owned()
        } else {
            // At least one of these is free.
            let numbered = (2..self.taken.len() + 3).map(|n| format!("{name}_{n}"));
            numbered.into_iter().find(|name| free(name)).unwrap_or_default()
        };
        self.taken.insert(name.to_lowercase());
        name
    }

    /// Numbers the names that differ in case only, from 1: `SQLite` would resolve each of them to the first.
    pub fn number_variants(names: &mut [String]) {
        let mut spellings: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            spellings.entry(name.to_lowercase()).or_default().push(at);
        }
        for places in spellings.into_values() {
            let differ = places.iter().any(|at| names[*at] != names[places[0]]);
            for (number, at) in places.into_iter().enumerate().filter(|_| differ) {
                names[at] = format!("{}_{}", names[at], number + 1);
            }
        }
    }

    /// Returns true if the name is not taken.
    pub fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(&name.to_lowercase())
    }

    /// Returns a free name for a built-in column: `item`, or `_item` if a field has that name.
    pub fn unique_builtin(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.taken.contains(&name.to_lowercase()) {
            name.insert(0, '_');
        }
        self.taken.insert(name.to_lowercase());
        name
    }
}
