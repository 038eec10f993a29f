//! Columns of a table: names and SQLite declarations.

use crate::value_kinds::ValueKinds;

/// One column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDef {
    /// Name, unique within the table regardless of case.
    pub(crate) name: String,
    /// Kinds of its values.
    pub(crate) kinds: ValueKinds,
    /// Number of rows with a value.
    pub(crate) present_count: usize,
    /// True if `SELECT *` leaves it out.
    pub(crate) is_hidden: bool,
    /// True if it is the record itself.
    pub(crate) is_record: bool,
    /// True if comparisons ignore case, so that `error` equals `ERROR`.
    pub(crate) ignores_case: bool,
    /// Extent to which its values were redacted.
    pub(crate) redaction: Redaction,
}

/// The extent to which a column was redacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Redaction {
    /// Nothing was redacted.
    #[default]
    Unredacted,
    /// The values were redacted.
    Whole,
    /// Fields of the objects in it, or values inside its texts, were redacted.
    Nested,
    /// Some values were redacted; names beside them say which.
    ByName,
}

/// Declared types that distinguish the columns of a result. Their words also determine the affinity: BLOB
/// has none, REAL is REAL (<https://www.sqlite.org/datatype3.html#determination_of_column_affinity>).
pub(crate) const RECORD_TYPE: &str = "JSON RECORD BLOB";
pub(crate) const JSON_TYPE: &str = "JSON BLOB";
pub(crate) const ROUNDED_TYPE: &str = "HUGE REAL";
pub(crate) const REDACTED_TYPE: &str = "REDACTED TEXT";

/// Beginning of the declared type of a column of which some values are redacted.
pub(crate) const NAMED_TYPE_PREFIX: &str = "LEAF ";

/// Collation of columns with texts of numbers: they are sorted by their numbers.
pub(crate) const NUMBERS_COLLATION: &str = "numbers";

/// Collation of redacted columns: records that values were compared, sorted, grouped or made distinct.
pub(crate) const REDACTED_COLLATION: &str = "redacted";

impl ColumnDef {
    pub(crate) fn new(name: impl Into<String>, kinds: ValueKinds, present: usize) -> Self {
        let name = name.into();
        let (hidden, record, ignores_case) = (false, false, false);
        Self {
            name,
            kinds,
            present_count: present,
            is_hidden: hidden,
            is_record: record,
            ignores_case,
            redaction: Redaction::Unredacted,
        }
    }

    pub(crate) fn into_hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// Returns the declaration for `CREATE TABLE`. The affinity follows the kinds, so that
    /// `"zip" = 94105` finds texts and `"id" = '123'` finds numbers. Texts of numbers are compared and sorted as numbers.
    pub(crate) fn declaration(&self) -> String {
        let redacted = self.redaction == Redaction::Whole;
        let kind = match self.kinds {
            _ if redacted => REDACTED_TYPE,
            _ if self.is_record => RECORD_TYPE,
            kinds if kinds.intersects(ValueKinds::CONTAINER) => JSON_TYPE,
            kinds if kinds.are_numbers_and_number_texts() => "NUMERIC",
            kinds if kinds.intersects(ValueKinds::NUMERIC) && !kinds.intersects(ValueKinds::TEXT) => {
                if kinds.intersects(ValueKinds::ROUNDED) { ROUNDED_TYPE } else { "NUMERIC" }
            }
            kinds if kinds.intersects(ValueKinds::TEXT) && !kinds.intersects(ValueKinds::NUMERIC) => "TEXT",
            _ => "BLOB",
        };
        let hidden = if self.is_hidden { " HIDDEN" } else { "" };
        let named = if self.redaction == Redaction::ByName { NAMED_TYPE_PREFIX } else { "" };
        let name = self.name.replace('"', "\"\"");
        let collation = match self.ignores_case {
            _ if redacted => format!(" COLLATE {REDACTED_COLLATION}"),
            true => " COLLATE NOCASE".into(),
            false if self.kinds.are_number_texts() => format!(" COLLATE {NUMBERS_COLLATION}"),
            false => String::new(),
        };
        format!("\"{name}\" {named}{kind}{hidden}{collation}")
    }
}
