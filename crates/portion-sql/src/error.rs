//! Errors of queries, with advice for the next attempt.

use portion_core::error_code::ErrorCode;
use portion_core::path::UnresolvedPath;
use thiserror::Error;

/// The error of a query.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QueryError {
    /// SQLite rejects the statement, or it is not permitted.
    #[error("{message}{}{}", within(" (at ", .token.as_deref(), ")"), within("; did you mean ", .nearest.as_deref(), "?"))]
    Invalid {
        /// Message of SQLite.
        message: String,
        /// Token at which the error occurred.
        token: Option<String>,
        /// Most similar existing name, quoted for SQL.
        nearest: Option<String>,
        /// Text to write instead, if that is known.
        hint: Option<String>,
        /// Existing tables with their columns, those that are meant first. Empty if they do not matter.
        tables: String,
    },
    /// The statement computes with redacted values.
    #[error(
        "{fields} {}: a redacted column cannot be counted, grouped, filtered, sorted, joined or used in expressions",
        if fields.contains(", ") { "are redacted" } else { "is redacted" }
    )]
    Redacted {
        /// Names of the fields.
        fields: String,
    },
    /// The statement names a redacted field whose values were left out.
    #[error("{field} is redacted, and no row has a value of it")]
    LeftOut {
        /// Name of the field.
        field: String,
    },
    /// The query reached a limit.
    #[error("{what}")]
    TooCostly {
        /// The limit that was reached.
        what: String,
        /// Advice for a cheaper query.
        advice: String,
    },
}

impl From<UnresolvedPath> for QueryError {
    fn from(path: UnresolvedPath) -> Self {
        Self::Invalid {
            message: match path.missing_step.as_str() {
                "" => "there is no member without a name; without a path, the table is items".to_owned(),
                step => format!("there is no {step} in {}", path.resolved_pointer),
            },
            token: None,
            nearest: path.closest_step,
            hint: Some(format!(
                "there is: {}",
                path.available_steps.iter().take(20).cloned().collect::<Vec<_>>().join(", ")
            )),
            tables: String::new(),
        }
    }
}

/// Returns a text with what is before and after it; an empty one for none.
fn within(before: &str, text: Option<&str>, after: &str) -> String {
    text.map(|text| format!("{before}{text}{after}")).unwrap_or_default()
}

impl QueryError {
    /// Returns the code for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } | Self::Redacted { .. } | Self::LeftOut { .. } => ErrorCode::QueryInvalid,
            Self::TooCostly { .. } => ErrorCode::QueryTooCostly,
        }
    }

    /// Creates the error of a statement that SQLite rejects.
    pub(crate) fn invalid(message: String, hint: Option<String>) -> Self {
        Self::Invalid { message, token: None, nearest: None, hint, tables: String::new() }
    }

    /// Creates the error of a statement that computes with redacted fields.
    pub(crate) fn redacted(fields: &[impl AsRef<str>]) -> Self {
        let fields: Vec<String> = fields.iter().map(|field| quote_identifier(field.as_ref())).collect();
        Self::Redacted { fields: fields.join(", ") }
    }

    /// Returns advice for the next attempt.
    pub fn advice(&self) -> String {
        match self {
            Self::TooCostly { advice, .. } => advice.clone(),
            Self::Redacted { .. } => {
                "omit it, or select it as a plain column of one SELECT; the operator configures redaction"
                    .into()
            }
            Self::LeftOut { .. } => "omit it; the operator configures redaction".into(),
            Self::Invalid { tables, hint, .. } => {
                let tables = (!tables.is_empty()).then(|| format!("there is: {tables}"));
                let advice: Vec<&str> = [hint.as_deref(), tables.as_deref()].into_iter().flatten().collect();
                if advice.is_empty() { "correct the statement".into() } else { advice.join("; ") }
            }
        }
    }
}

/// Quotes a name for SQL if it needs quotes.
pub(crate) fn quote_identifier(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && !RESERVED.split(' ').any(|word| word.eq_ignore_ascii_case(name));
    if plain { name.to_owned() } else { quoted_name(name) }
}

/// Quotes a name for SQL.
pub(crate) fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the name of a column as a statement may write it: `status.phase` needs no quotes.
pub(crate) fn written_name(name: &str) -> String {
    let is_plain = name.split('.').all(|part| quote_identifier(part) == part);
    if is_plain { name.to_owned() } else { quote_identifier(name) }
}

/// SQL keywords that must be quoted as names (<https://www.sqlite.org/lang_keywords.html>), limited to
/// those that occur as names of fields and tables.
const RESERVED: &str = "add all alter and as between case check collate commit constraint create default delete \
    distinct drop else exists foreign from group having in index insert is join limit not null on or order primary \
    references select set table then to transaction union unique update using values when where";
