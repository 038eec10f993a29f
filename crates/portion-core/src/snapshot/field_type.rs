//! Types of the values of a field.

/// Type of the values of a field, over all records. `null` values do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// Numbers.
    Number,
    /// Strings.
    String,
    /// Strings that are dates or times.
    Date,
    /// `true` and `false`.
    Boolean,
    /// Arrays.
    Array,
    /// Objects.
    Object,
    /// Values of several types.
    Mixed,
    /// No value.
    Null,
}

impl FieldType {
    /// Returns the name, as in a notice.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::String => "string",
            Self::Date => "date",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Mixed => "mixed",
            Self::Null => "null",
        }
    }
}
