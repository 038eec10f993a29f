//! Reads a watched file within limits and detects changes during the read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::debounce::ReadAssessment;

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

/// The state of a file, as far as it is known without reading the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    bytes: u64,
    modified_at: Option<SystemTime>,
    /// Time of the last change of any kind; where the system has none, the modification time.
    changed_at: Option<SystemTime>,
    /// Device and inode number.
    #[cfg(unix)]
    inode: (u64, u64),
    readonly: bool,
}

/// The result of reading a file.
#[derive(Debug)]
pub(super) struct FileProbe {
    /// Content of the path; `None` if it changed during the read.
    pub(super) content: Option<FileContent>,
    /// State of the file.
    pub(super) identity: Option<FileIdentity>,
}

impl FileProbe {
    /// Reads the file at a path.
    pub(super) fn read(path: &Path) -> Self {
        match Self::try_read(path) {
            Ok(reading) => reading,
            Err(error) => {
                let seen = match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileContent::Missing,
                    _ => FileContent::Unreadable(error.to_string()),
                };
                Self { content: Some(seen), identity: FileIdentity::from_path(path) }
            }
        }
    }

    fn try_read(path: &Path) -> io::Result<Self> {
        // Opening a pipe would wait for its writer.
        let metadata = fs::metadata(path)?;
        let refused = |why: String| {
            let identity = Some(FileIdentity::from(&metadata));
            Ok(Self { content: Some(FileContent::Unreadable(why)), identity })
        };
        if !metadata.is_file() {
            return refused("it is not a regular file".to_owned());
        }
        let mut file = File::open(path)?;
        let before = FileIdentity::from(&file.metadata()?);
        if before.bytes > MAX_FILE_BYTES {
            return refused(format!("it has {} bytes; the maximum is {MAX_FILE_BYTES}", before.bytes));
        }
        let mut bytes = Vec::with_capacity(before.bytes as usize);
        (&mut file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        let after = FileIdentity::from(&file.metadata()?);
        let torn = before != after || bytes.len() as u64 != after.bytes;
        let seen = (!torn).then(|| match String::from_utf8(bytes) {
            Ok(text) => content_from_string(text),
            Err(error) => FileContent::Unreadable(format!(
                "it is not UTF-8 at byte {}; save it as UTF-8",
                error.utf8_error().valid_up_to()
            )),
        });
        Ok(Self { content: seen, identity: Some(after) })
    }

    /// Assesses the content, given the content that was reported last.
    pub(super) fn assess(&self, last_reported: Option<&FileContent>) -> ReadAssessment {
        match &self.content {
            None => ReadAssessment::Torn,
            seen if seen.as_ref() == last_reported => ReadAssessment::Unchanged,
            Some(FileContent::Text(text)) if is_complete(text) && !is_prefix_of_last(last_reported, text) => {
                ReadAssessment::Complete
            }
            Some(_) => ReadAssessment::Incomplete,
        }
    }
}

impl FileIdentity {
    /// Returns the state of the file at a path, if it exists.
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }

    /// Returns true if the file changed within `lately`. Times in the future come from wrong clocks and
    /// are ignored.
    pub(super) fn changed_within(&self, lately: Duration, now: SystemTime) -> bool {
        self.changed_at.and_then(|at| now.duration_since(at).ok()).is_some_and(|ago| ago < lately)
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            bytes: metadata.len(),
            modified_at: metadata.modified().ok(),
            #[cfg(unix)]
            changed_at: {
                let since = Duration::new(
                    u64::try_from(metadata.ctime()).unwrap_or(0),
                    u32::try_from(metadata.ctime_nsec()).unwrap_or(0),
                );
                SystemTime::UNIX_EPOCH.checked_add(since)
            },
            #[cfg(not(unix))]
            changed_at: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (metadata.dev(), metadata.ino()),
            readonly: metadata.permissions().readonly(),
        }
    }
}

/// Returns the content of a text.
pub(super) fn content_from_str(text: &str) -> FileContent {
    content_from_string(text.to_owned())
}

fn content_from_string(text: String) -> FileContent {
    let says_nothing = |line: &str| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let value = line.strip_prefix("---").unwrap_or(line).trim_start();
        // Null is written in four ways.
        matches!(value, "" | "..." | "~" | "null" | "Null" | "NULL")
    };
    if text.trim_start_matches('\u{feff}').lines().all(says_nothing) {
        FileContent::Empty
    } else {
        FileContent::Text(text)
    }
}

/// Returns true if a text looks complete: it ends with a newline, or it is one whole object.
fn is_complete(text: &str) -> bool {
    let object = || text.trim_start_matches('\u{feff}').trim_start().starts_with('{') && text.ends_with('}');
    text.ends_with('\n') || object()
}

/// Returns true if the text is a prefix of the previous one.
fn is_prefix_of_last(last_reported: Option<&FileContent>, text: &str) -> bool {
    matches!(last_reported, Some(FileContent::Text(before)) if before.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, last_reported: Option<&str>, expect: ReadAssessment) {
        let reading = FileProbe { content: Some(content_from_str(text)), identity: None };
        assert_eq!(
            reading.assess(last_reported.map(content_from_str).as_ref()),
            expect,
            "{text:?} after {last_reported:?}"
        );
    }

    #[test]
    fn a_complete_text_has_a_final_newline_or_brace() {
        check("hardCap: 8000\n", None, ReadAssessment::Complete);
        check("hardCap: 8000", None, ReadAssessment::Incomplete);
        check("", None, ReadAssessment::Incomplete);
        check("# comments\n\n---\n", None, ReadAssessment::Incomplete);
        check("\u{feff}", None, ReadAssessment::Incomplete);
        check("--- ~ # later\nnull\n", None, ReadAssessment::Incomplete);
        check("{\"hardCap\":8000}", None, ReadAssessment::Complete);
        check("{\"limits\":{\"hardCap\":8000}", None, ReadAssessment::Complete);
        check("{\"hardCap\":8000", None, ReadAssessment::Incomplete);
        check("hardCap: {}", None, ReadAssessment::Incomplete);
    }

    #[test]
    fn a_prefix_of_the_previous_text_looks_incomplete() {
        check("a: 1\n", Some("a: 1\nb: 2\n"), ReadAssessment::Incomplete);
        check("a: 1\nb: 2\n", Some("a: 1\n"), ReadAssessment::Complete);
        check("a: 1\n", Some("a: 1\n"), ReadAssessment::Unchanged);
        check("", Some("# nothing\n"), ReadAssessment::Unchanged);
    }
}
