//! Columns of a table: names, forms and SQLite declarations.

use portion_text::column_form::{CellNumber, ColumnForm, DateOrder, FormLearner, is_missing};
use portion_text::names::UniqueNames;

use crate::cell::{Cell, ValueKinds};

/// One column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnDef {
    /// Name, unique within the table regardless of case.
    pub(crate) name: String,
    /// Kinds of its values as they are written.
    pub(crate) kinds: ValueKinds,
    /// Form of its texts, which decides what they are in SQL.
    pub(crate) form: ColumnForm,
    /// True if its texts may look like numbers beside numbers, without being numbers.
    pub(crate) has_codes: bool,
    /// True if texts are codes of digits for which people write numbers: `01005`.
    pub(crate) has_number_codes: bool,
    /// Number of rows with a value.
    pub(crate) present_count: usize,
    /// True if `SELECT *` leaves it out.
    pub(crate) is_hidden: bool,
    /// True if it is the record itself.
    pub(crate) is_record: bool,
    /// True if its texts are cells without types, whose plain numbers are numbers as they are written.
    pub(crate) is_cell: bool,
    /// True if plain numbers among its texts have fractions.
    pub(crate) has_fractions: bool,
    /// True if its times are written in forms that SQLite does not read.
    pub(crate) has_other_times: bool,
    /// True if fractions of its cells end in zeros, which the number itself does not have.
    pub(crate) has_padded_fractions: bool,
    /// True if its rows read texts as numbers themselves.
    pub(crate) is_written: bool,
    /// True if its values are computed for each row, so that they are not kept.
    pub(crate) is_computed: bool,
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
/// Of a column of booleans, with the affinity NUMERIC.
pub(crate) const BOOLEAN_TYPE: &str = "BOOLEAN";
pub(crate) const REDACTED_TYPE: &str = "REDACTED TEXT";

/// Beginning of the declared type of a column of which some values are redacted.
pub(crate) const NAMED_TYPE_PREFIX: &str = "LEAF ";

/// Beginning of the declared type of a column of numbers that are written as texts; the numbers of the table and of the
/// column follow.
pub(crate) const WRITTEN_TYPE_PREFIX: &str = "WRITTEN";

/// Beginning of the collation of a column of codes, by which a number equals the only code that it is written for. The
/// number of the column and the name of the table follow.
const CODE_COLLATION_PREFIX: &str = "codes ";

/// Collation of redacted columns: records that values were compared, sorted, grouped or made distinct.
pub(crate) const REDACTED_COLLATION: &str = "redacted";

/// The comparison of texts in a column, which is a collation of SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Binary,
    NoCase,
    /// As times, of which numeric dates have this order.
    Time(DateOrder),
}

/// The collations of times.
pub(crate) const TIME_COLLATIONS: [(&str, DateOrder); 3] = [
    ("time", DateOrder::Unknown),
    ("time_day_first", DateOrder::DayFirst),
    ("time_month_first", DateOrder::MonthFirst),
];

impl Comparison {
    /// Returns the comparison of a collation.
    pub(crate) fn of_collation(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "nocase" => Some(Self::NoCase),
            // Values of one column differ in these if their bytes differ.
            lower if lower == "binary" || name.starts_with(CODE_COLLATION_PREFIX) => Some(Self::Binary),
            lower => {
                TIME_COLLATIONS.iter().find(|(time, _)| *time == lower).map(|(_, order)| Self::Time(*order))
            }
        }
    }
}

impl ColumnDef {
    pub(crate) fn new(name: impl Into<String>, kinds: ValueKinds, present: usize) -> Self {
        Self { name: name.into(), kinds, present_count: present, has_codes: true, ..Self::default() }
    }

    /// Sets the form that its texts have.
    pub(crate) fn with_form(mut self, learner: &FormLearner) -> Self {
        // Texts beside arrays and objects stay texts.
        if !self.kinds.intersects(ValueKinds::CONTAINER) {
            let has_numbers = self.kinds.intersects(ValueKinds::NUMERIC);
            let has_marks = self.kinds.intersects(ValueKinds::TEXT) && learner.is_empty();
            self.form =
                if has_numbers && has_marks { ColumnForm::Number } else { learner.form_among(has_numbers) };
        }
        self.set_facts(learner);
        self
    }

    /// Sets what is known of its texts beside their form.
    pub(crate) fn set_facts(&mut self, learner: &FormLearner) {
        self.has_codes = learner.has_codes();
        self.has_number_codes = learner.has_number_codes();
        self.has_fractions = learner.has_fractions();
        self.has_other_times = learner.has_other_times();
    }

    /// Adds the columns that every list of records has: the record and its index.
    pub(crate) fn push_record_columns(columns: &mut Vec<Self>, names: &mut UniqueNames, rows: usize) {
        let mut record = Self::new(names.unique_builtin("item"), ValueKinds::OBJECT, rows).into_hidden();
        record.is_record = true;
        columns.push(record);
        columns.push(Self::new(names.unique_builtin("_index"), ValueKinds::INTEGER, rows).into_hidden());
    }

    pub(crate) fn into_hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// Returns the comparison of its texts.
    pub(crate) fn comparison(&self) -> Comparison {
        match self.form {
            ColumnForm::Time(order) => Comparison::Time(order),
            _ if self.ignores_case => Comparison::NoCase,
            _ => Comparison::Binary,
        }
    }

    /// Returns a value of the column in its storage class. A text for a missing value is none of a number or a time.
    pub(crate) fn typed<'a>(&self, cell: Cell<'a>) -> Cell<'a> {
        if self.form == ColumnForm::Text {
            return cell;
        }
        match cell {
            Cell::Text(text) if is_missing(&text) => Cell::Null,
            Cell::Text(text) => self.form.number(&text).map_or(Cell::Text(text), Cell::from),
            cell => cell,
        }
    }

    /// Returns true if answers have the numbers of the column as they are written. Words among numbers stay texts.
    pub(crate) fn has_written_numbers(&self) -> bool {
        let are_texts = self.form.is_numeric() && self.kinds.intersects(ValueKinds::TEXT) && !self.is_cell;
        self.is_written || are_texts || self.has_padded_fractions
    }

    /// Returns true if all values are booleans, as they are written or as texts.
    pub(crate) fn is_boolean(&self) -> bool {
        let is_text = self.kinds.intersects(ValueKinds::TEXT);
        let others = ValueKinds::INTEGER.union(ValueKinds::REAL).union(ValueKinds::ROUNDED);
        let has_others = self.kinds.intersects(others.union(ValueKinds::CONTAINER));
        !has_others
            && if is_text {
                self.form == ColumnForm::Boolean
            } else {
                self.kinds.intersects(ValueKinds::BOOL)
            }
    }

    /// Returns the collation of texts of which some are found by numbers; `table`: the name of the table.
    pub(crate) fn code_collation(&self, table: &str, column: usize) -> Option<String> {
        let is_wanted = self.has_number_codes
            && self.form == ColumnForm::Text
            && self.kinds.are_texts()
            && !self.ignores_case
            && self.redaction != Redaction::Whole;
        is_wanted.then(|| format!("{CODE_COLLATION_PREFIX}{column} {table}"))
    }

    /// Returns true if all values of the column are numbers in SQL.
    pub(crate) fn is_numeric(&self) -> bool {
        let is_text = self.kinds.intersects(ValueKinds::TEXT) && !self.has_written_numbers();
        !is_text && !self.kinds.intersects(ValueKinds::CONTAINER)
    }

    /// Returns the declaration for `CREATE TABLE`. The affinity follows the storage class of the values, so that
    /// `"zip" = 94105` finds texts and `"id" = '123'` finds numbers. `table` and `column`: their numbers.
    pub(crate) fn declaration(
        &self,
        (table, table_name): (usize, &str),
        column: usize,
        is_hidden: bool,
    ) -> String {
        let redacted = self.redaction == Redaction::Whole;
        let is_numeric = self.kinds.intersects(ValueKinds::NUMERIC);
        let kind: String = match self.kinds {
            _ if redacted => REDACTED_TYPE.into(),
            _ if self.is_record => RECORD_TYPE.into(),
            kinds if kinds.intersects(ValueKinds::CONTAINER) && !self.is_written => JSON_TYPE.into(),
            _ if self.has_written_numbers() => {
                let affinity = if self.has_affinity() { "" } else { " BLOB" };
                format!("{WRITTEN_TYPE_PREFIX}{affinity}({table},{column})")
            }
            kinds if kinds.intersects(ValueKinds::TEXT) && is_numeric => {
                if self.has_affinity() { "NUMERIC" } else { "BLOB" }.into()
            }
            kinds if is_numeric && kinds.intersects(ValueKinds::ROUNDED) => ROUNDED_TYPE.into(),
            _ if self.is_boolean() => BOOLEAN_TYPE.into(),
            _ if is_numeric => "NUMERIC".into(),
            kinds if kinds.intersects(ValueKinds::TEXT) => "TEXT".into(),
            _ => "BLOB".into(),
        };
        let hidden = if is_hidden { " HIDDEN" } else { "" };
        let named = if self.redaction == Redaction::ByName { NAMED_TYPE_PREFIX } else { "" };
        let name = self.name.replace('"', "\"\"");
        let collation = match self.comparison() {
            _ if redacted => format!(" COLLATE {REDACTED_COLLATION}"),
            Comparison::Binary => self
                .code_collation(table_name, column)
                .map_or_else(String::new, |name| format!(" COLLATE \"{}\"", name.replace('"', "\"\""))),
            Comparison::NoCase => " COLLATE NOCASE".into(),
            Comparison::Time(order) => {
                let named = TIME_COLLATIONS.iter().find(|(_, of)| *of == order);
                named.map_or_else(String::new, |(name, _)| format!(" COLLATE {name}"))
            }
        };
        format!("\"{name}\" {named}{kind}{hidden}{collation}")
    }

    /// Returns true if values are compared with the column in its type.
    pub(crate) fn has_affinity(&self) -> bool {
        let is_mixed = self.kinds.intersects(ValueKinds::TEXT) && self.kinds.intersects(ValueKinds::NUMERIC);
        let is_open = self.is_written || is_mixed && !self.has_written_numbers();
        !(self.has_codes && is_open || !self.is_written && self.kinds.intersects(ValueKinds::CONTAINER))
    }

    /// Returns the names of the kinds of its values: `integer|null`; of texts that are something else in SQL, what they are.
    pub(crate) fn kind_names(&self) -> String {
        let names = self.kinds.to_names();
        let meant = match self.form {
            ColumnForm::Text => return names,
            ColumnForm::Boolean => "boolean",
            ColumnForm::Time(_) => "time",
            ColumnForm::Number | ColumnForm::Amount | ColumnForm::DecimalComma => "number",
        };
        names.replace("text", &format!("{meant} in text"))
    }
}

impl From<CellNumber> for Cell<'_> {
    fn from(number: CellNumber) -> Self {
        match number {
            CellNumber::Integer(integer) => Self::Integer(integer),
            CellNumber::Real(real) => Self::Real(real),
        }
    }
}
