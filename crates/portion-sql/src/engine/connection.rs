//! Opens a connection that can only read the tables of a catalogue.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Result};

use crate::catalogue::Catalogue;
use crate::column::{REDACTED_COLLATION, TIME_COLLATIONS};
use crate::functions::Registry;
use crate::index::TimeComparison;
use crate::limits::{QueryDeadline, QueryLimits, StopReason};
use crate::table::VirtualTable;
use crate::usage::StatementUsage;
use crate::{functions, vtab};

/// Steps of the SQLite machine between two checks of deadline and memory: few, because one step may take
/// as long as writing the largest value.
const PROGRESS_STEPS: i32 = 10;

/// Limits of a statement, other than its length.
const STATEMENT_LIMITS: [(Limit, i32); 10] = [
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (Limit::SQLITE_LIMIT_PARSER_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
    (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 250),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Settings of the connection.
const DB_CONFIG: [(DbConfig, bool); 8] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    // A misspelt column in double quotes is an error, not a text.
    (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
    (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
];

/// A connection, and a count of the values in its prepared statements.
pub(super) struct QueryConnection {
    pub(super) connection: Connection,
    /// Use of columns by the statement.
    pub(super) usage: Arc<StatementUsage>,
    has_all_functions: Cell<bool>,
    tables: Vec<Arc<VirtualTable>>,
    value_count: Arc<AtomicUsize>,
    /// Dropped after the connection.
    _memory: ReleaseOnDrop,
}

/// Gives memory back when it is dropped.
struct ReleaseOnDrop;

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        vtab::release_memory();
    }
}

/// Minimum bytes that a value may have, however many values there are.
const MIN_VALUE_BYTES: usize = 16 << 10;

impl QueryConnection {
    /// Registers all functions, for a statement that was rewritten.
    pub(super) fn add_functions(&self, deadline: &Arc<QueryDeadline>, limits: &QueryLimits) -> Result<()> {
        if self.has_all_functions.replace(true) {
            return Ok(());
        }
        let registry = Registry { connection: &self.connection, wanted: None };
        functions::register(registry, deadline, limits, &self.usage)?;
        functions::text::register_as_written(&self.connection, &self.tables, deadline, &self.usage)
    }

    /// Limits the size of each value of a statement and returns the limit.
    ///
    /// SQLite checks deadline and memory only between steps of its program: a row of a thousand values of
    /// 16 MiB each is made in one step. So all values that one step can make must fit in memory together.
    pub(super) fn limit_value_bytes(&self, sql: &str, limits: &QueryLimits) -> Result<usize> {
        let made = self.value_count.load(Ordering::Relaxed) + sql.matches("||").count();
        let max = limits.max_value_bytes.min((limits.max_heap_bytes / made.max(1)).max(MIN_VALUE_BYTES));
        self.connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(max).unwrap_or(i32::MAX))?;
        Ok(max)
    }
}

/// Opens a connection in memory with the tables of a catalogue, and with the functions that a statement names.
pub(super) fn open(
    catalogue: &Catalogue,
    sql: &str,
    deadline: &Arc<QueryDeadline>,
    limits: &QueryLimits,
) -> Result<QueryConnection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_in_memory_with_flags(flags)?;
    // Sorting and grouping stay in memory: no file is ever opened.
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = OFF")?;
    for (switch, to) in DB_CONFIG {
        connection.set_db_config(switch, to)?;
    }
    let usage = Arc::new(StatementUsage::default());
    // Those in quotes too.
    let words = sql.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map(str::to_ascii_lowercase);
    let words: HashSet<String> = words.collect();
    let registry = Registry { connection: &connection, wanted: Some(&words) };
    functions::register(registry, deadline, limits, &usage)?;
    let compared = Arc::clone(&usage);
    connection.create_collation(REDACTED_COLLATION, move |a, b| {
        compared.columns.was_compared.store(true, Ordering::Relaxed);
        a.cmp(b)
    })?;
    for (name, order) in TIME_COLLATIONS {
        let times = TimeComparison::new(order);
        connection.create_collation(name, move |a, b| times.compare(a, b))?;
    }
    let mut names: HashSet<String> = ["json_each", "json_tree"].map(str::to_owned).into();
    let own = catalogue.tables.iter().map(|table| (&table.name, table));
    let mut tables = Vec::new();
    for (name, table) in own.chain(catalogue.aliases.iter().map(|(name, table)| (name, table))) {
        let number = catalogue.tables.iter().position(|own| Arc::ptr_eq(own, table)).unwrap_or(usize::MAX);
        vtab::register(&connection, name, (number, table), deadline, &usage)?;
        names.insert(name.to_lowercase());
        tables.push((name.clone(), Arc::clone(table)));
    }
    for (limit, max) in STATEMENT_LIMITS {
        connection.set_limit(limit, max)?;
    }
    install_progress_handler(&mut connection, Arc::clone(deadline), limits.max_heap_bytes)?;
    let values = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&values);
    let noted = Arc::clone(&usage);
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        // Called for every column and every function that is named.
        counted.fetch_add(1, Ordering::Relaxed);
        noted.columns.record_action(&context.action, &tables);
        authorize(&context.action, &names)
    }))?;
    let all = Cell::new(false);
    Ok(QueryConnection {
        connection,
        usage,
        has_all_functions: all,
        tables: catalogue.tables.clone(),
        value_count: values,
        _memory: ReleaseOnDrop,
    })
}

/// Stops the connection at the deadline or when it allocates too much. SQLite counts the memory of the
/// whole process, so other queries count as well, which can only stop a query earlier.
fn install_progress_handler(
    connection: &mut Connection,
    deadline: Arc<QueryDeadline>,
    heap: usize,
) -> Result<()> {
    let max = vtab::memory_used().saturating_add(i64::try_from(heap).unwrap_or(i64::MAX));
    connection.progress_handler(
        PROGRESS_STEPS,
        Some(move || {
            if vtab::memory_used() > max {
                deadline.stop(StopReason::Memory);
            }
            deadline.is_over()
        }),
    )
}

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
    adddate as_written date_add date_bin date_diff date_format date_minus date_part date_plus date_shift date_sub date_trunc dateadd datediff datepart \
    datetime_diff datetime_trunc datetrunc day dayname epoch from_unixtime hour last_day minute month monthname quarter \
    read_as second strptime subdate time_bucket time_format timestamp_diff timestamp_trunc timestampadd timestampdiff to_boolean to_char to_date \
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
            let name = table_name.to_ascii_lowercase();
            let is_internal = ["dbstat", "bytecode", "tables_used", "fts3tokenize"].contains(&&*name);
            !is_internal && !name.starts_with("sqlite_") && !name.starts_with("pragma_")
        }
        AuthAction::Read { table_name, .. } => tables.contains(&table_name.to_lowercase()),
        AuthAction::Function { function_name } => {
            allowed_functions().any(|name| name.eq_ignore_ascii_case(function_name))
        }
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}
