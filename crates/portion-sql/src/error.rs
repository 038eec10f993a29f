//! What is wrong with a question, in words that name the next move.

use std::fmt::Write as _;

use thiserror::Error;

/// A question that has no answer as it stands.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QueryError {
    /// SQLite does not understand it, or may not do what it says.
    #[error("{message}{}{}", at(.token.as_deref()), did_you_mean(.nearest.as_deref()))]
    Invalid {
        /// What SQLite says.
        message: String,
        /// The token that it stumbled over.
        token: Option<String>,
        /// The most similar name there is, as it is to be written.
        nearest: Option<String>,
        /// The tables there are, the main one first.
        tables: Vec<TableColumns>,
    },
    /// It computes with values that were redacted.
    #[error(
        "{fields} {}: every value is the same mark, so it cannot be counted, grouped, filtered, sorted, joined or computed by",
        if fields.contains(", ") { "are redacted" } else { "is redacted" }
    )]
    Redacted {
        /// The fields.
        fields: String,
    },
    /// It reached a limit before it had an answer.
    #[error("{what}")]
    TooCostly {
        /// Which limit.
        what: String,
        /// What to narrow.
        advice: String,
    },
}

/// A table and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumns {
    /// Its name.
    pub name: String,
    /// Its columns' names, the most telling first.
    pub columns: Vec<String>,
    /// How many fields have no column, because there are too many: they are reached through `item`.
    pub unlisted_field_count: usize,
}

fn at(token: Option<&str>) -> String {
    token.map(|token| format!(" (at {token})")).unwrap_or_default()
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// Characters that the tables take in a piece of advice.
const MAX_ADVICE_CHARS: usize = 900;

impl QueryError {
    /// The code a program can act on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::Redacted { .. } => "query_invalid",
            Self::TooCostly { .. } => "query_too_costly",
        }
    }

    /// The error of a statement that computes with redacted fields.
    pub(crate) fn redacted(fields: &[impl AsRef<str>]) -> Self {
        let fields: Vec<String> = fields.iter().map(|field| quote_identifier(field.as_ref())).collect();
        Self::Redacted { fields: fields.join(", ") }
    }

    /// What to do next.
    pub fn advice(&self) -> String {
        match self {
            Self::TooCostly { advice, .. } => advice.clone(),
            Self::Redacted { .. } => {
                "leave it out of the statement, or select it as a plain column of one SELECT; the operator decides what \
                 is redacted"
                    .into()
            }
            Self::Invalid { tables, .. } => {
                let mut text = String::from("give one SELECT over these tables (SQLite's SQL): ");
                let share = MAX_ADVICE_CHARS / tables.len().clamp(1, 4);
                for (i, table) in tables.iter().enumerate() {
                    if text.len() > MAX_ADVICE_CHARS + 100 {
                        let _ = write!(text, " and {} more", tables.len() - i);
                        break;
                    }
                    let sign = if i == 0 { "" } else { "; " };
                    let _ = write!(text, "{sign}{}({})", quote_identifier(&table.name), column_list(table, share));
                }
                text
            }
        }
    }
}

fn column_list(table: &TableColumns, most: usize) -> String {
    let mut text = String::new();
    for (i, name) in table.columns.iter().enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        if text.len() + name.len() > most {
            let _ = write!(text, "… {} more: SELECT name FROM fields", table.columns.len() - i);
            break;
        }
        text.push_str(&quote_identifier(name));
    }
    if table.unlisted_field_count > 0 {
        let _ = write!(text, "; {} more fields only through item ->> '$.name'", table.unlisted_field_count);
    }
    text
}

/// A name as it is written in SQL: in quotes where it is not plain.
pub(crate) fn quote_identifier(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && !RESERVED.split(' ').any(|word| word.eq_ignore_ascii_case(name));
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Words that are no names unless in quotes (<https://www.sqlite.org/lang_keywords.html>), of those that fields and
/// tables are called.
const RESERVED: &str = "add all alter and as between case check collate commit constraint create default delete \
    distinct drop else exists foreign from group having in index insert is join limit not null on or order primary \
    references select set table then to transaction union unique update using values when where";
