//! What a statement may do: select, read our tables, and call harmless functions.

use std::collections::HashSet;

use rusqlite::hooks::{AuthAction, Authorization};

/// Functions that neither reach out of the statement nor take long. Not among them: whatever is random, makes blobs of
/// any size, loads code, or takes the product of two lengths.
pub(super) const FUNCTIONS: &[&str] = &[
    "->",
    "->>",
    "abs",
    "avg",
    "ceil",
    "ceiling",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_each",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_tree",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "max",
    "min",
    "mod",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "pow",
    "power",
    "printf",
    "quote",
    "rank",
    "regexp",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sqrt",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "time",
    "timediff",
    "total",
    "trim",
    "trunc",
    "typeof",
    "unicode",
    "unistr",
    "unixepoch",
    "unlikely",
    "upper",
];

/// Whether a statement may do that; the tables are named in lower case.
pub(super) fn permit(action: &AuthAction<'_>, tables: &HashSet<String>) -> Authorization {
    let allowed = match action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Read { table_name, .. } => tables.contains(&table_name.to_lowercase()),
        AuthAction::Function { function_name } => {
            FUNCTIONS.binary_search(&function_name.to_ascii_lowercase().as_str()).is_ok()
        }
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

#[cfg(test)]
mod tests {
    #[test]
    fn functions_are_in_order() {
        assert!(super::FUNCTIONS.is_sorted());
    }
}
