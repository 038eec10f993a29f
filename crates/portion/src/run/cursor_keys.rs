//! Keys that sign cursors, as configured: a file, or the keys themselves.

use std::path::Path;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use portion_config::named_file::read_named_text;
use portion_core::cursor::Scope;
use thiserror::Error;

/// Largest file of keys, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Fewest bytes of a key.
const MIN_KEY_BYTES: usize = 32;
/// Advice for making a key.
const MAKE_KEY: &str = "make one by: openssl rand -base64 32";

/// Keys, the newest first. There is at least one.
pub(crate) struct CursorKeys {
    newest: [u8; 32],
    earlier: Vec<[u8; 32]>,
}

/// The error for keys that cannot be used. It never contains a key.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum CursorKeyError {
    #[error("the file of cursorKeys cannot be read: {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("cursorKeys has no key; {MAKE_KEY}")]
    Empty,
    #[error("line {line} of cursorKeys is not a key in base64; {MAKE_KEY}")]
    NotBase64 { line: usize },
    #[error(
        "line {line} of cursorKeys has {bytes} bytes, and a key has at least {MIN_KEY_BYTES}; {MAKE_KEY}"
    )]
    TooShort { line: usize, bytes: usize },
}

impl CursorKeys {
    /// Reads keys from a file of this name, or from the text itself if there is no such file. The text may have
    /// commas between keys.
    ///
    /// # Errors
    /// If there is no key, or a line is not one.
    pub(crate) fn read(text: &str) -> Result<Self, CursorKeyError> {
        let path = Path::new(text.trim());
        match read_named_text(path, MAX_FILE_BYTES) {
            Ok(content) => {
                warn_if_public(path);
                Self::parse(&content)
            }
            Err(error) => Self::parse(&text.replace(',', "\n")).map_err(|_| CursorKeyError::Unreadable {
                // It may be a mistyped key.
                path: if text.contains(['/', '.', '\\']) {
                    path.display().to_string()
                } else {
                    "…".to_owned()
                },
                reason: error.to_string(),
            }),
        }
    }

    /// Parses a key on each line. Empty lines and those that begin with `#` are ignored.
    fn parse(text: &str) -> Result<Self, CursorKeyError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let keys = lines.filter(|(_, key)| !key.is_empty() && !key.starts_with('#'));
        let keys = keys.map(|(line, key)| parse_key(line, key)).collect::<Result<Vec<_>, _>>()?;
        let (newest, earlier) = keys.split_first().ok_or(CursorKeyError::Empty)?;
        Ok(Self { newest: *newest, earlier: earlier.to_vec() })
    }

    /// Returns a secret for a purpose from the newest key, and those from the earlier ones.
    pub(crate) fn secrets(&self, purpose: &str) -> ([u8; 32], Vec<[u8; 32]>) {
        let derive = |key: &[u8; 32]| *Scope::from_parts(key, [purpose.as_bytes()]).as_bytes();
        (derive(&self.newest), self.earlier.iter().map(derive).collect())
    }
}

/// Decodes a key of any length, and hashes it.
fn parse_key(line: usize, key: &str) -> Result<[u8; 32], CursorKeyError> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if key.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    let key = GeneralPurpose::new(alphabet, config).decode(key);
    let key = key.map_err(|_| CursorKeyError::NotBase64 { line })?;
    if key.len() < MIN_KEY_BYTES {
        return Err(CursorKeyError::TooShort { line, bytes: key.len() });
    }
    Ok(*Scope::from_parts(&[0; 32], [b"cursor key".as_slice(), &key]).as_bytes())
}

/// Warns if every user of this machine can read the keys.
fn warn_if_public(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0) {
            tracing::warn!(file = %path.display(), "every user can read the keys of cursors: run chmod 600");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(test)]
mod tests {
    use super::{CursorKeyError, CursorKeys};

    const NEW: &str = "bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE=";
    const OLD: &str = "b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE";

    fn error(text: &str) -> CursorKeyError {
        CursorKeys::read(text).err().expect("it is refused")
    }

    #[test]
    fn keys_come_from_a_file_or_the_text() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), format!("# keys\n{NEW}\r\n\n{OLD}\n")).expect("it can be written");
        let from_file = CursorKeys::read(&file.path().display().to_string()).expect("two keys");
        let from_text = CursorKeys::read(&format!("{NEW},{OLD}")).expect("two keys");
        assert_eq!(from_file.secrets("cursors"), from_text.secrets("cursors"));
        assert_ne!(from_file.secrets("cursors"), from_text.secrets("names"));
        let old = CursorKeys::read(OLD).expect("a key");
        assert_eq!(from_file.secrets("cursors").1, [old.secrets("cursors").0]);
    }

    #[test]
    fn other_texts_are_refused_without_their_content() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display().to_string();
        let check = |content: &str, expect: CursorKeyError| {
            std::fs::write(file.path(), content).expect("it can be written");
            assert_eq!(error(&path), expect);
        };
        check("", CursorKeyError::Empty);
        check("# none\n", CursorKeyError::Empty);
        check(&format!("{NEW}\nsecret!\n"), CursorKeyError::NotBase64 { line: 2 });
        check("c2hvcnQ=\n", CursorKeyError::TooShort { line: 1, bytes: 5 });
        assert!(error("/no/such/file.keys").to_string().contains("/no/such/file.keys"));
        assert!(!error("c2hvcnQ").to_string().contains("c2hvcnQ"));
    }
}
