//! Sources of a configuration: a file, variables, options, in order of increasing priority.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::reference::SecretResolver;

/// The sources of a configuration. Later ones override earlier ones; keys in none of them come from the
/// profile or the default.
#[derive(Clone, Default)]
pub struct Sources {
    /// Path and content of the file.
    pub file: Option<(PathBuf, String)>,
    /// Environment variables; only those that begin with `PORTION_` are used.
    pub variables: Vec<(String, String)>,
    /// Keys and texts from the command line, in order. A key with a list may occur several times.
    pub options: Vec<(String, String)>,
    /// Resolver of references to secrets; `None` if they are not followed, as when only the form is
    /// checked.
    pub secret_resolver: Option<Arc<dyn SecretResolver>>,
}

impl Sources {
    /// Returns the sources with another file.
    pub(crate) fn with_file(&self, path: &Path, text: String) -> Self {
        Self { file: Some((path.to_owned(), text)), ..self.clone() }
    }
}

/// Shows names only, because values may be secret.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("Sources")
            .field("file", &self.file.as_ref().map(|(path, _)| path))
            .field("variables", &names(&self.variables))
            .field("options", &names(&self.options))
            .finish_non_exhaustive()
    }
}
