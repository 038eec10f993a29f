//! Reads a file within bounds, and tells whether it stayed the same meanwhile.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::settle::Look;
use super::{LONGEST, Seen};

/// What tells one state of a file from another without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    bytes: u64,
    modified: Option<SystemTime>,
    /// When it was last changed in any way; where there is no such time, `modified`.
    changed: Option<SystemTime>,
    /// The device and the number on it.
    #[cfg(unix)]
    inode: (u64, u64),
    readonly: bool,
}

/// What a look at a file found.
#[derive(Debug)]
pub(super) struct Reading {
    /// What the path means; `None` where it changed while it was read.
    pub(super) seen: Option<Seen>,
    /// In what state the file was.
    pub(super) identity: Option<Identity>,
}

impl Reading {
    /// Reads what there is at a path.
    pub(super) fn of(path: &Path) -> Self {
        match Self::try_of(path) {
            Ok(reading) => reading,
            Err(error) => {
                let seen = match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Seen::Gone,
                    _ => Seen::Unreadable(error.to_string()),
                };
                Self { seen: Some(seen), identity: Identity::of(path) }
            }
        }
    }

    fn try_of(path: &Path) -> io::Result<Self> {
        // Opening a pipe would wait for who writes into it.
        let metadata = fs::metadata(path)?;
        let refused = |why: String| {
            let identity = Some(Identity::from(&metadata));
            Ok(Self { seen: Some(Seen::Unreadable(why)), identity })
        };
        if !metadata.is_file() {
            return refused("it is not a regular file".to_owned());
        }
        let mut file = File::open(path)?;
        let before = Identity::from(&file.metadata()?);
        if before.bytes > LONGEST {
            return refused(format!("it has {} bytes; a configuration has at most {LONGEST}", before.bytes));
        }
        let mut bytes = Vec::with_capacity(before.bytes as usize);
        (&mut file).take(LONGEST + 1).read_to_end(&mut bytes)?;
        let after = Identity::from(&file.metadata()?);
        let torn = before != after || bytes.len() as u64 != after.bytes;
        let seen = (!torn).then(|| match String::from_utf8(bytes) {
            Ok(text) => meaning_of(text),
            Err(error) => Seen::Unreadable(format!(
                "it is not UTF-8 from byte {} on; save it as UTF-8",
                error.utf8_error().valid_up_to()
            )),
        });
        Ok(Self { seen, identity: Some(after) })
    }

    /// What to make of it, given what was told last.
    pub(super) fn look(&self, told: Option<&Seen>) -> Look {
        match &self.seen {
            None => Look::Torn,
            seen if seen.as_ref() == told => Look::Same,
            Some(Seen::Text(text)) if complete(text) && !begins(told, text) => Look::Whole,
            Some(_) => Look::Doubtful,
        }
    }
}

impl Identity {
    /// The state of what there is at a path, if there is anything.
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }

    /// Whether the file was changed so lately. Times to come are of clocks that go wrong, and tell nothing.
    pub(super) fn changed_within(&self, lately: Duration, now: SystemTime) -> bool {
        self.changed.and_then(|at| now.duration_since(at).ok()).is_some_and(|ago| ago < lately)
    }
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            changed: {
                let since = Duration::new(
                    u64::try_from(metadata.ctime()).unwrap_or(0),
                    u32::try_from(metadata.ctime_nsec()).unwrap_or(0),
                );
                SystemTime::UNIX_EPOCH.checked_add(since)
            },
            #[cfg(not(unix))]
            changed: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (metadata.dev(), metadata.ino()),
            readonly: metadata.permissions().readonly(),
        }
    }
}

/// What a text means to whoever waits for a configuration.
pub(super) fn meaning(text: &str) -> Seen {
    meaning_of(text.to_owned())
}

fn meaning_of(text: String) -> Seen {
    let says_nothing = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---" || line == "..."
    };
    if text.trim_start_matches('\u{feff}').lines().all(says_nothing) { Seen::Empty } else { Seen::Text(text) }
}

/// Whether a text has its end: that of a line, or of the object that it is as a whole.
fn complete(text: &str) -> bool {
    let object = || text.trim_start_matches('\u{feff}').trim_start().starts_with('{') && text.ends_with('}');
    text.ends_with('\n') || object()
}

/// Whether the text is the beginning of the one before.
fn begins(told: Option<&Seen>, text: &str) -> bool {
    matches!(told, Some(Seen::Text(before)) if before.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, told: Option<&str>, expect: Look) {
        let reading = Reading { seen: Some(meaning(text)), identity: None };
        assert_eq!(reading.look(told.map(meaning).as_ref()), expect, "{text:?} after {told:?}");
    }

    #[test]
    fn a_text_is_believed_by_its_end() {
        check("hardCap: 8000\n", None, Look::Whole);
        check("hardCap: 8000", None, Look::Doubtful);
        check("", None, Look::Doubtful);
        check("# comments\n\n---\n", None, Look::Doubtful);
        check("\u{feff}", None, Look::Doubtful);
        check("{\"hardCap\":8000}", None, Look::Whole);
        check("{\"limits\":{\"hardCap\":8000}", None, Look::Whole);
        check("{\"hardCap\":8000", None, Look::Doubtful);
        check("hardCap: {}", None, Look::Doubtful);
    }

    #[test]
    fn the_beginning_of_what_was_there_is_doubtful() {
        check("a: 1\n", Some("a: 1\nb: 2\n"), Look::Doubtful);
        check("a: 1\nb: 2\n", Some("a: 1\n"), Look::Whole);
        check("a: 1\n", Some("a: 1\n"), Look::Same);
        check("", Some("# nothing\n"), Look::Same);
    }
}
