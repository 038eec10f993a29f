//! Reads a file within bounds, and tells whether it stayed the same meanwhile.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::debounce::ReadAssessment;
use super::{FileContent, MAX_FILE_BYTES};

/// What tells one state of a file from another without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    bytes: u64,
    modified_at: Option<SystemTime>,
    /// When it was last changed in any way; where there is no such time, `modified`.
    changed_at: Option<SystemTime>,
    /// The device and the number on it.
    #[cfg(unix)]
    inode: (u64, u64),
    readonly: bool,
}

/// What a look at a file found.
#[derive(Debug)]
pub(super) struct FileProbe {
    /// What the path means; `None` where it changed while it was read.
    pub(super) content: Option<FileContent>,
    /// In what state the file was.
    pub(super) identity: Option<FileIdentity>,
}

impl FileProbe {
    /// Reads what there is at a path.
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
        // Opening a pipe would wait for who writes into it.
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
            return refused(format!(
                "it has {} bytes; a configuration has at most {MAX_FILE_BYTES}",
                before.bytes
            ));
        }
        let mut bytes = Vec::with_capacity(before.bytes as usize);
        (&mut file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        let after = FileIdentity::from(&file.metadata()?);
        let torn = before != after || bytes.len() as u64 != after.bytes;
        let seen = (!torn).then(|| match String::from_utf8(bytes) {
            Ok(text) => content_from_string(text),
            Err(error) => FileContent::Unreadable(format!(
                "it is not UTF-8 from byte {} on; save it as UTF-8",
                error.utf8_error().valid_up_to()
            )),
        });
        Ok(Self { content: seen, identity: Some(after) })
    }

    /// What to make of it, given what was told last.
    pub(super) fn assess(&self, told: Option<&FileContent>) -> ReadAssessment {
        match &self.content {
            None => ReadAssessment::Torn,
            seen if seen.as_ref() == told => ReadAssessment::Unchanged,
            Some(FileContent::Text(text)) if is_complete(text) && !is_prefix_of_last(told, text) => {
                ReadAssessment::Complete
            }
            Some(_) => ReadAssessment::Incomplete,
        }
    }
}

impl FileIdentity {
    /// The state of what there is at a path, if there is anything.
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }

    /// Whether the file was changed so lately. Times to come are of clocks that go wrong, and tell nothing.
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

/// What a text means to whoever waits for a configuration.
pub(super) fn content_from_str(text: &str) -> FileContent {
    content_from_string(text.to_owned())
}

fn content_from_string(text: String) -> FileContent {
    let says_nothing = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---" || line == "..."
    };
    if text.trim_start_matches('\u{feff}').lines().all(says_nothing) {
        FileContent::Empty
    } else {
        FileContent::Text(text)
    }
}

/// Whether a text has its end: that of a line, or of the object that it is as a whole.
fn is_complete(text: &str) -> bool {
    let object = || text.trim_start_matches('\u{feff}').trim_start().starts_with('{') && text.ends_with('}');
    text.ends_with('\n') || object()
}

/// Whether the text is the beginning of the one before.
fn is_prefix_of_last(told: Option<&FileContent>, text: &str) -> bool {
    matches!(told, Some(FileContent::Text(before)) if before.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, told: Option<&str>, expect: ReadAssessment) {
        let reading = FileProbe { content: Some(content_from_str(text)), identity: None };
        assert_eq!(reading.assess(told.map(content_from_str).as_ref()), expect, "{text:?} after {told:?}");
    }

    #[test]
    fn a_text_is_believed_by_its_end() {
        check("hardCap: 8000\n", None, ReadAssessment::Complete);
        check("hardCap: 8000", None, ReadAssessment::Incomplete);
        check("", None, ReadAssessment::Incomplete);
        check("# comments\n\n---\n", None, ReadAssessment::Incomplete);
        check("\u{feff}", None, ReadAssessment::Incomplete);
        check("{\"hardCap\":8000}", None, ReadAssessment::Complete);
        check("{\"limits\":{\"hardCap\":8000}", None, ReadAssessment::Complete);
        check("{\"hardCap\":8000", None, ReadAssessment::Incomplete);
        check("hardCap: {}", None, ReadAssessment::Incomplete);
    }

    #[test]
    fn the_beginning_of_what_was_there_is_doubtful() {
        check("a: 1\n", Some("a: 1\nb: 2\n"), ReadAssessment::Incomplete);
        check("a: 1\nb: 2\n", Some("a: 1\n"), ReadAssessment::Complete);
        check("a: 1\n", Some("a: 1\n"), ReadAssessment::Unchanged);
        check("", Some("# nothing\n"), ReadAssessment::Unchanged);
    }
}
