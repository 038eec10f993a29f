//! The content of a watched path.

/// Maximum bytes of a configuration file.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Content of the path. The same content is never reported twice in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// A complete text that differs from the last one.
    Text(String),
    /// A file without content: only blank lines and comments, or no bytes.
    Empty,
    /// No file.
    Missing,
    /// Something that cannot be read as text, and the reason.
    Unreadable(String),
}
