//! Expands references to secrets in texts: `Bearer ${TOKEN}`, `${file:/run/secrets/token}`.
//!
//! Secrets themselves are rejected in a configuration, so that a configuration file, or a log of its
//! changes, reveals none.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use portion_config::reference::expand;
//!
//! let variables = BTreeMap::from([("TOKEN".to_owned(), "abc".to_owned())]);
//! assert_eq!(expand("Bearer ${TOKEN}", &variables).unwrap(), "Bearer abc");
//! ```

use std::collections::BTreeMap;
use std::env::VarError;
use std::fmt;
use std::path::Path;

use portion_core::redact::RedactionRules;
use portion_policy::store_url::{split_at_credentials, split_at_scheme};
use thiserror::Error;

use crate::named_file::read_named_text;

/// Words in the names of secrets, in addition to those by which payloads are
/// [redacted](RedactionRules::default_secrets).
const SECRET_WORDS: &[&str] =
    &["authorization", "cookie", "key", "keys", "apikey", "secret", "token", "tokens"];

/// Largest file with a secret, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Characters of 32 bytes in base64, without padding.
const MIN_KEY_CHARACTERS: usize = 43;

/// Remedy for credentials in a URL.
pub(crate) const CREDENTIALS_FIX: &str = "remove it; for a server, set headers, such as {Authorization: \
                                          'Basic ${NAME}'}, for a collector OTEL_EXPORTER_OTLP_HEADERS";

/// Resolves references.
pub trait SecretResolver: Send + Sync {
    /// Returns the value of an environment variable.
    ///
    /// # Errors
    /// If it is not set or is not valid Unicode.
    fn variable(&self, name: &str) -> Result<String, ExpandError>;

    /// Returns the content of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    fn file(&self, path: &str) -> Result<String, ExpandError>;
}

/// Resolves references with the environment and the files of this process.
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
        read_named_text(Path::new(path), MAX_FILE_BYTES)
            .map_err(|error| ExpandError::Unreadable { path: path.to_owned(), reason: error.to_string() })
    }
}

/// Resolves variables only.
impl SecretResolver for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Result<String, ExpandError> {
        self.get(name).cloned().ok_or_else(|| ExpandError::Unset(name.to_owned()))
    }

    fn file(&self, path: &str) -> Result<String, ExpandError> {
        Err(ExpandError::Unreadable { path: path.to_owned(), reason: "there are no files".into() })
    }
}

/// A text with references, and its expansion.
#[derive(Clone)]
pub struct Secret {
    template: String,
    /// Shown instead of the template if that may itself be secret.
    masked: Option<String>,
    expanded: Option<String>,
}

/// The error for a text that cannot be expanded. It never contains the text, which may be secret.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExpandError {
    /// A variable is not set.
    #[error("refers to the environment variable {0}, which is not set")]
    Unset(String),
    /// A variable is not valid Unicode.
    #[error("refers to the environment variable {0}, which is not valid UTF-8")]
    NotUnicode(String),
    /// A file cannot be read.
    #[error("refers to the file {path}, which cannot be read: {reason}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Message of the system.
        reason: String,
    },
    /// A dollar sign does not begin a reference.
    #[error("has a $ without {{NAME}}; for a literal $, write $$")]
    StrayDollar,
    /// A secret is written literally.
    #[error("contains a secret")]
    LiteralSecret,
    /// A URL contains credentials, as values or as references.
    #[error("contains a user or password")]
    CredentialsInUrl,
}

impl ExpandError {
    /// Describes the problem with the value of this name.
    pub(crate) fn problem(&self, name: &str) -> String {
        match self {
            Self::StrayDollar => format!("has a $ in `{name}` that does not begin a reference"),
            Self::LiteralSecret => format!("contains a secret in `{name}`"),
            Self::CredentialsInUrl => self.to_string(),
            other => format!("{other}, for `{name}`"),
        }
    }

    /// Returns the remedy.
    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Unset(variable) => format!("set {variable}, or remove the reference"),
            Self::NotUnicode(variable) => format!("set {variable} to text"),
            Self::Unreadable { .. } => "make it readable, or remove the reference".into(),
            Self::StrayDollar => "write ${NAME} or ${file:/path}; for a literal $, $$".into(),
            Self::LiteralSecret => {
                "use a reference: ${NAME} for an environment variable, ${file:/path} for a file".into()
            }
            Self::CredentialsInUrl => CREDENTIALS_FIX.into(),
        }
    }
}

impl Secret {
    /// Creates a text for a name: if the name is that of a secret, the text must contain a reference.
    pub(crate) fn for_name(name: &str, text: &str) -> Result<Self, ExpandError> {
        let references = count_references(text)?;
        if references == 0 && is_secret(name, text) {
            return Err(ExpandError::LiteralSecret);
        }
        Ok(Self::new(text))
    }

    /// Creates a URL without user and password. Parameters with names of secrets must be references. The query is
    /// masked.
    pub(crate) fn in_url(text: &str) -> Result<Self, ExpandError> {
        count_references(text)?;
        if has_user(text) {
            return Err(ExpandError::CredentialsInUrl);
        }
        let parameters = text.split_once('?').map_or("", |(_, query)| query).split(['&', '#']);
        let mut pairs = parameters.filter_map(|pair| pair.split_once('='));
        if pairs.any(|(name, value)| count_references(value) == Ok(0) && is_secret(name, value)) {
            return Err(ExpandError::LiteralSecret);
        }
        let (place, query) = split_at_query(text);
        let masked = (!query.is_empty()).then(|| format!("{place}{}", mask_query(query)));
        Ok(Self { masked, ..Self::new(text) })
    }

    /// Creates a URL that is itself a credential for posting: of its path and query, only references are shown.
    pub(crate) fn in_webhook(text: &str) -> Result<Self, ExpandError> {
        let secret = Self::in_url(text)?;
        let (place, path) = split_at_path(text);
        let path = (!path.is_empty()).then(|| path.strip_prefix('/').unwrap_or(path));
        Ok(Self { masked: path.map(|path| format!("{place}/{}", mask_literals(path))), ..secret })
    }

    /// Creates the URL of a store. A literal password is allowed, and masked with its user name.
    pub(crate) fn in_store(text: &str) -> Result<Self, ExpandError> {
        count_references(text)?;
        let (scheme, rest) = split_at_scheme(text.trim());
        let masked = match split_at_credentials(rest) {
            (Some(credentials), rest) if has_literal_password(credentials)? => {
                Some(format!("{scheme}…@{rest}"))
            }
            _ => None,
        };
        Ok(Self { masked, ..Self::new(text) })
    }

    /// Creates the name of a file with keys, or the keys, which are masked.
    pub(crate) fn in_cursor_keys(text: &str) -> Result<Self, ExpandError> {
        count_references(text)?;
        let is_key_character = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
        let is_key = |word: &str| word.len() >= MIN_KEY_CHARACTERS && word.bytes().all(is_key_character);
        let has_key = text.split(|c: char| c.is_whitespace() || c == ',').any(is_key);
        Ok(Self { masked: has_key.then(|| "(set)".to_owned()), ..Self::new(text) })
    }

    /// Creates the words of a command: a word that is secret by its option's name or by its form must
    /// contain a reference.
    pub(crate) fn in_command(words: Vec<String>) -> Result<Vec<Self>, ExpandError> {
        let mut option = String::new();
        for word in &words {
            if count_references(word)? == 0 {
                let (name, value) = word.split_once('=').unwrap_or((&option, word));
                let is_secret_option = !name.is_empty()
                    && !value.starts_with('-')
                    && is_redacted(name.trim_start_matches('-'), value);
                if is_secret_option || RedactionRules::default_secrets().redact_text(word).is_some() {
                    return Err(ExpandError::LiteralSecret);
                }
            }
            option = if word.starts_with('-') && !word.contains('=') { word.clone() } else { String::new() };
        }
        Ok(words.into_iter().map(Self::new).collect())
    }

    fn new(text: impl Into<String>) -> Self {
        Self { template: text.into(), masked: None, expanded: None }
    }

    /// Returns the text as written, without parts that may be secret.
    pub fn masked_text(&self) -> &str {
        self.masked.as_deref().unwrap_or(&self.template)
    }

    /// Returns the expansion, or the text as written if references were not followed.
    pub fn reveal(&self) -> &str {
        self.expanded.as_deref().unwrap_or(&self.template)
    }

    /// Follows the references.
    pub(crate) fn expand(&mut self, resolver: &dyn SecretResolver) -> Result<(), ExpandError> {
        self.expanded = Some(expand(&self.template, resolver)?);
        Ok(())
    }
}

/// Equal if both the template and the revealed text are equal: a text without references is the same
/// before and after expansion.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        (&self.template, self.reveal()) == (&other.template, other.reveal())
    }
}

/// Hides both the template and the expansion.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Returns true if a value is a secret by its name or its form.
fn is_secret(name: &str, text: &str) -> bool {
    let word = |word: &str| SECRET_WORDS.contains(&word.to_ascii_lowercase().as_str());
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(word) || is_redacted(name, text)
}

/// Returns true if the value would be redacted in a payload.
fn is_redacted(name: &str, text: &str) -> bool {
    let redact = RedactionRules::default_secrets();
    ["=", ": "].iter().any(|between| redact.redact_text(&format!("{name}{between}{text}")).is_some())
}

/// Returns true if a text is a URL with a user or password.
pub(crate) fn has_credentials(text: &str) -> bool {
    text.contains("://") && has_user(text)
}

/// Returns true if a user or password stands before the host of a URL.
fn has_user(url: &str) -> bool {
    let (_, at_sign) = split_outside_references(split_at_path(url).0, 0, &['@']);
    !at_sign.is_empty()
}

/// Returns true if credentials have a password that is not only references. Without a colon, all of them may be one.
fn has_literal_password(credentials: &str) -> Result<bool, ExpandError> {
    let mut literal = String::new();
    for_each_part(credentials, |part| {
        match part {
            TemplatePart::Text(text) => literal.push_str(text),
            TemplatePart::Dollar => literal.push('$'),
            TemplatePart::Variable(_) | TemplatePart::File(_) => {}
        }
        Ok(())
    })?;
    let password = literal.split_once(':').map_or(literal.as_str(), |(_, password)| password);
    Ok(!password.is_empty())
}

/// Splits a URL before its path. A slash inside a reference does not begin the path.
fn split_at_path(url: &str) -> (&str, &str) {
    let before = url.find("://").map_or(0, |at| at + 3);
    split_outside_references(url, before, &['/', '?', '#'])
}

/// Splits a URL before its query or fragment.
fn split_at_query(url: &str) -> (&str, &str) {
    split_outside_references(url, 0, &['?', '#'])
}

/// Splits a text before the first of some characters from `start` on. Those inside a reference do not count.
fn split_outside_references<'a>(text: &'a str, start: usize, ends: &[char]) -> (&'a str, &'a str) {
    let mut rest = text;
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        if at >= start && rest.starts_with(ends) {
            return text.split_at(at);
        }
        rest = skip_unit(rest);
    }
    (text, "")
}

/// Returns a text without the `$$`, reference or other character with which it begins.
fn skip_unit(text: &str) -> &str {
    if let Some(after) = text.strip_prefix("$$") {
        return after;
    }
    if text.starts_with("${") {
        return text.split_once('}').map_or("", |(_, after)| after);
    }
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

/// Returns a query, or a fragment, with `…` in place of literal text. A parameter that is a reference keeps its name.
fn mask_query(query: &str) -> String {
    let Some(parameters) = query.strip_prefix('?') else { return mask_literals(query) };
    let mask = |parameter: &str| match parameter.split_once('=') {
        Some((_, value)) if is_reference(value) => parameter.to_owned(),
        _ => mask_literals(parameter),
    };
    format!("?{}", parameters.split('&').map(mask).collect::<Vec<_>>().join("&"))
}

/// Returns a text with `…` in place of literal text. References, and slashes beside them, stay.
fn mask_literals(text: &str) -> String {
    let mut shown = String::new();
    let masked = for_each_part(text, |part| {
        match part {
            TemplatePart::Text(text) => match text.trim_matches('/') {
                "" => shown.push_str(text),
                literal => shown.push_str(&text.replacen(literal, "…", 1)),
            },
            TemplatePart::Dollar => shown.push('…'),
            TemplatePart::Variable(name) => shown.extend(["${", name, "}"]),
            TemplatePart::File(path) => shown.extend(["${file:", path, "}"]),
        }
        Ok(())
    });
    // A piece of a text may end inside a reference.
    if masked.is_ok() { shown } else { "…".to_owned() }
}

/// Returns true if a piece of a valid template is one reference.
fn is_reference(text: &str) -> bool {
    text.starts_with("${") && text.find('}').is_some_and(|end| end + 1 == text.len())
}

/// A part of a template.
enum TemplatePart<'a> {
    Text(&'a str),
    Dollar,
    Variable(&'a str),
    File(&'a str),
}

/// Counts the references.
fn count_references(text: &str) -> Result<usize, ExpandError> {
    let mut count = 0;
    for_each_part(text, |part| {
        count += usize::from(matches!(part, TemplatePart::Variable(_) | TemplatePart::File(_)));
        Ok(())
    })?;
    Ok(count)
}

/// Replaces each `${NAME}` by the environment variable, each `${file:PATH}` by the content of the file
/// (without trailing newlines), and each `$$` by `$`. Replacements are not expanded again.
///
/// # Errors
/// The first reference that cannot be followed.
pub fn expand(text: &str, resolver: &dyn SecretResolver) -> Result<String, ExpandError> {
    let mut out = String::with_capacity(text.len());
    for_each_part(text, |part| {
        match part {
            TemplatePart::Text(text) => out.push_str(text),
            TemplatePart::Dollar => out.push('$'),
            TemplatePart::Variable(name) => out.push_str(&resolver.variable(name)?),
            TemplatePart::File(path) => out.push_str(resolver.file(path)?.trim_end_matches(['\r', '\n'])),
        }
        Ok(())
    })?;
    Ok(out)
}

fn for_each_part<'a>(
    text: &'a str,
    mut take: impl FnMut(TemplatePart<'a>) -> Result<(), ExpandError>,
) -> Result<(), ExpandError> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        take(TemplatePart::Text(before))?;
        rest = if let Some(after) = after.strip_prefix('$') {
            take(TemplatePart::Dollar)?;
            after
        } else {
            let (name, after) = after
                .strip_prefix('{')
                .and_then(|after| after.split_once('}'))
                .ok_or(ExpandError::StrayDollar)?;
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            match name.strip_prefix("file:") {
                Some(path) if !path.trim().is_empty() => take(TemplatePart::File(path))?,
                None if !name.is_empty() && name.chars().all(plain) => take(TemplatePart::Variable(name))?,
                _ => return Err(ExpandError::StrayDollar),
            }
            after
        };
    }
    take(TemplatePart::Text(rest))
}
