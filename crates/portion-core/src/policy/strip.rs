//! What is left out of views as noise, by the names of fields. `fields=all` and `raw` bring it back.

use std::sync::Arc;

/// Which fields are noise. Cheap to clone; the default leaves nothing out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    names: Arc<[String]>,
}

impl Strip {
    /// Fields of these names: whole names, with `*` for any characters, or dotted paths.
    pub fn of<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect() }
    }

    /// What was given.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
