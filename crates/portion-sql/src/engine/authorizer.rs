//! Decides what a statement may do: select, read Portion's tables, and call harmless functions.

use std::collections::HashSet;

use rusqlite::hooks::{AuthAction, Authorization};

/// Functions without side effects that finish quickly. Excluded are functions that are random, make blobs
/// of any size, load code, or take the product of two lengths.
const ALLOWED_FUNCTIONS: &str = "-> ->> abs acos asin atan atan2 avg ceil ceiling char coalesce compared concat concat_ws cos count cume_dist current_date current_time \
    current_timestamp date datetime degrees dense_rank exp first_value floor format glob group_concat hex if \
    ifnull iif instr json json_array json_array_length json_each json_error_position json_extract \
    json_group_array json_group_object json_insert json_object json_pretty json_quote json_remove \
    json_replace json_set json_tree json_type json_valid julianday lag last_value lead length like \
    likelihood likely ln log log10 log2 lower ltrim max min mod nth_value ntile nullif octet_length \
    percent_rank pi pow power printf quote radians rank regexp replace round row_number rtrim sign sin sorted sqrt strftime \
    string_agg substr substring sum tan time timediff total trim trunc typeof unicode unistr unixepoch \
    unlikely upper \
    any_value approx_percentile arg_max arg_min bool_and bool_or booland_agg boolor_agg corr count_if countif covar_pop \
    covar_samp every first last logical_and logical_or max_by median min_by mode most_common percentile \
    percentile_cont percentile_disc product quantile quantile_cont quantile_disc std stddev stddev_pop stddev_samp stdev \
    stdevp var_pop var_samp variance \
    adddate date_add date_diff date_format date_minus date_part date_plus date_shift date_sub date_trunc dateadd datediff datepart \
    datetime_diff datetime_trunc datetrunc day dayname epoch from_unixtime hour last_day minute month monthname quarter \
    second strptime subdate timestamp_diff timestamp_trunc timestampadd timestampdiff to_boolean to_char to_date \
    timezone to_integer to_number to_real to_timestamp unix_timestamp week year \
    array_join array_to_string charindex contains contains_substr ends_with endswith greatest initcap least left \
    list_contains locate lpad regexp_count regexp_extract regexp_full_match regexp_match regexp_matches regexp_replace \
    regexp_substr repeat reverse right rpad split_part starts_with startswith strpos suffix";

/// Yields the allowed functions.
pub(super) fn allowed_functions() -> impl Iterator<Item = &'static str> {
    ALLOWED_FUNCTIONS.split(' ')
}

/// Authorizes an action of a statement; the table names are in lower case.
pub(super) fn authorize(action: &AuthAction<'_>, tables: &HashSet<String>) -> Authorization {
    let allowed = match action {
        AuthAction::Select | AuthAction::Recursive => true,
        // For rows that are only counted, SQLite gives only the name, which may be that of a table or of
        // a WITH clause.
        AuthAction::Read { table_name, column_name: "" } => {
            !is_internal_table(&table_name.to_ascii_lowercase())
        }
        AuthAction::Read { table_name, .. } => tables.contains(&table_name.to_lowercase()),
        AuthAction::Function { function_name } => {
            allowed_functions().any(|name| name.eq_ignore_ascii_case(function_name))
        }
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

/// Returns true if a table is internal to SQLite.
fn is_internal_table(name: &str) -> bool {
    let own = ["dbstat", "bytecode", "tables_used", "fts3tokenize"];
    name.starts_with("sqlite_") || name.starts_with("pragma_") || own.contains(&name)
}
