//! Where a configuration comes from: a file, variables, options, in rising rank.

use std::collections::BTreeMap;
use std::env::VarError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::reference::ExpandError;

/// Where a configuration comes from. What comes later here counts more; what is in none is the profile's, or the default.
#[derive(Clone, Default)]
pub struct Sources {
    /// The file's path and what is in it.
    pub file: Option<(PathBuf, String)>,
    /// Variables of the environment; those that begin with `PORTION_` count.
    pub variables: Vec<(String, String)>,
    /// Keys and texts from the command line, in its order. A key of a list may come several times.
    pub options: Vec<(String, String)>,
    /// What references to secrets lead to; `None` where they are not to be followed, as when only the form is checked.
    pub secret_resolver: Option<Arc<dyn SecretResolver>>,
}

impl Sources {
    /// The same with that file.
    pub(crate) fn with_file(&self, path: &Path, text: String) -> Self {
        Self { file: Some((path.to_owned(), text)), ..self.clone() }
    }
}

/// What references lead to.
pub trait SecretResolver: Send + Sync {
    /// The value of an environment variable.
    ///
    /// # Errors
    /// Where it is not set, or is no text.
    fn variable(&self, name: &str) -> Result<String, ExpandError>;

    /// What is in a file.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn file(&self, path: &str) -> Result<String, ExpandError>;
}

/// The environment and the files of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl SecretResolver for ProcessEnvironment {
    fn variable(&self, name: &str) -> Result<String, ExpandError> {
        std::env::var(name).map_err(|error| match error {
            VarError::NotPresent => ExpandError::Unset(name.to_owned()),
            VarError::NotUnicode(_) => ExpandError::NotUnicode(name.to_owned()),
        })
    }

    fn file(&self, path: &str) -> Result<String, ExpandError> {
        std::fs::read_to_string(path)
            .map_err(|error| ExpandError::Unreadable { path: path.to_owned(), reason: error.to_string() })
    }
}

/// Variables alone.
impl SecretResolver for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Result<String, ExpandError> {
        self.get(name).cloned().ok_or_else(|| ExpandError::Unset(name.to_owned()))
    }

    fn file(&self, path: &str) -> Result<String, ExpandError> {
        Err(ExpandError::Unreadable { path: path.to_owned(), reason: "there are no files".into() })
    }
}

/// Names alone: values may be secret.
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
