//! Queries of requests: SQL over the records of a result, or a search in it.

use portion_json::containers::read_members;
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use super::error::ViewError;
use super::request::is_absent;

/// Largest number of results that a query joins.
const MAX_JOINED_RESULTS: usize = 4;
/// Largest number of characters of the name of a joined result.
const MAX_NAME_CHARS: usize = 30;
/// Largest number of context lines around a match.
const MAX_CONTEXT_LINES: u32 = 100;

/// Query whose answer is served in place of the content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// SQL statement over the records.
    pub sql: Option<String>,
    /// Text to find, or a regex between slashes.
    pub find: Option<String>,
    /// Values of `:name` parameters of the statement, as JSON.
    pub params: Vec<(String, String)>,
    /// Other results that the statement joins: the name and the cursor of each.
    pub with: Vec<(String, String)>,
    /// Lines around each match; chosen automatically if `None`.
    pub context: Option<u32>,
    /// True to search the names of members, and not their values.
    pub keys: bool,
}

impl Query {
    /// Creates a query in SQL.
    pub fn from_sql(sql: impl Into<String>) -> Self {
        Self { sql: Some(sql.into()), ..Self::default() }
    }

    /// Creates a search.
    pub fn from_pattern(pattern: impl Into<String>) -> Self {
        Self { find: Some(pattern.into()), ..Self::default() }
    }

    /// Returns true if there is a statement or a pattern.
    pub fn is_given(&self) -> bool {
        self.sql.is_some() || self.find.is_some()
    }

    /// Sets an argument from a JSON value, or from a JSON string of a query string. `query` is a statement if it reads like
    /// one, else a pattern. Returns `false` if there is no argument of this name.
    ///
    /// # Errors
    /// Returns an error if the value has the wrong type.
    pub fn set_argument(&mut self, name: &str, json: &str) -> Result<bool, ViewError> {
        let kind = JsonKind::of_value(json);
        let is_known = matches!(name, "query" | "sql" | "find" | "params" | "with" | "context" | "keys");
        if !is_known || kind == JsonKind::Null {
            return Ok(is_known);
        }
        match name {
            "query" | "sql" | "find" => self.set_text(name, json)?,
            "params" => self.params = members_of(json).ok_or_else(|| invalid("params must be an object"))?,
            "with" => self.with = joined_cursors(json).ok_or_else(|| invalid(INVALID_WITH))?,
            "keys" => match unquoted(json).as_str() {
                "true" => self.keys = true,
                "false" => self.keys = false,
                _ => return Err(invalid("keys must be true or false")),
            },
            _ => {
                let lines = unquoted(json).trim().parse().ok().filter(|lines| *lines <= MAX_CONTEXT_LINES);
                self.context = Some(lines.ok_or_else(|| invalid("context must be a number from 0 to 100"))?);
            }
        }
        Ok(true)
    }

    fn set_text(&mut self, name: &str, json: &str) -> Result<(), ViewError> {
        // A search pattern may look like a number.
        let is_text = match JsonKind::of_value(json) {
            JsonKind::String => true,
            JsonKind::Number | JsonKind::Bool => name != "sql",
            _ => false,
        };
        if !is_text {
            return Err(invalid(&format!("{name} is not text")));
        }
        let text = unquoted(json);
        let fenced = statement_in_fence(&text).filter(|_| name != "find").map(str::to_owned);
        let text = fenced.unwrap_or(text);
        // Models fill arguments that they do not use.
        if name == "query" && text.trim().is_empty() {
            return Ok(());
        }
        let is_sql = name == "sql" || name == "query" && is_statement(&text);
        if self.is_given() {
            return Err(invalid("two queries given"));
        }
        *(if is_sql { &mut self.sql } else { &mut self.find }) = Some(text);
        Ok(())
    }

    /// Checks that the arguments can be combined.
    ///
    /// # Errors
    /// Returns [`ViewError::Query`] for an argument of a statement beside a pattern, or without a query.
    pub(super) fn check(&self) -> Result<(), ViewError> {
        if self.find.is_some() && !self.with.is_empty() {
            return Err(invalid("with joins results in sql, not in find"));
        }
        if !self.is_given() && *self != Self::default() {
            return Err(invalid("no query is given"));
        }
        Ok(())
    }
}

/// Returns true if a query reads like a statement of SQL, and not like a text to find: `with love`, `select committee`.
pub fn is_statement(query: &str) -> bool {
    let text = without_comments(query).trim_end_matches(|c: char| c.is_whitespace() || c == ';');
    let mut words = text.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let (Some(first), second) = (words.next(), words.next().unwrap_or_default()) else { return false };
    let has_word = |wanted: &str| text.split_whitespace().any(|word| word.eq_ignore_ascii_case(wanted));
    let is_upper = first.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_single_name = text.split_whitespace().count() == 2;
    match first.to_ascii_lowercase().as_str() {
        "select" => is_upper || has_word("from") || text.contains(['(', '*', '\'']),
        "values" => text.contains('('),
        "with" => has_word("as") && text.to_ascii_lowercase().contains("select"),
        "show" => ["tables", "columns"].iter().any(|what| second.eq_ignore_ascii_case(what)),
        "describe" | "desc" | "pragma" | "summarize" => is_single_name,
        "from" => text.split_whitespace().nth(2).is_some_and(|third| third.eq_ignore_ascii_case("select")),
        // A text of a log may begin so, but not name the table.
        "alter" | "delete" | "drop" | "insert" | "update" => has_word("items"),
        "explain" => ["select", "with", "query"].iter().any(|what| second.eq_ignore_ascii_case(what)),
        _ => false,
    }
}

/// Returns the statement in a Markdown fence.
fn statement_in_fence(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let statement = inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim();
    is_statement(statement).then_some(statement)
}

/// Returns a statement without the comments and parentheses at its beginning.
fn without_comments(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let end = match rest.get(..2) {
            Some("--") => rest.find('\n'),
            Some("/*") => rest.find("*/").map(|at| at + 2),
            _ => return rest,
        };
        let Some(end) = end else { return "" };
        rest = &rest[end..];
    }
}

const INVALID_WITH: &str =
    "with must be an object of at most 4 different plain names and cursors: {\"b\":\"cursor\"}";

fn invalid(reason: &str) -> ViewError {
    ViewError::Query(reason.to_owned())
}

/// Returns the text of a scalar, quoted or not.
fn unquoted(json: &str) -> String {
    if JsonKind::of_value(json) == JsonKind::String { unescape(json) } else { json.trim().to_owned() }
}

/// Returns the members of an object as names and JSON values.
fn members_of(object: &str) -> Option<Vec<(String, String)>> {
    if JsonKind::of_value(object) != JsonKind::Object {
        return None;
    }
    let members = read_members(object, Span::new(0, object.len())).ok()?;
    let text = |span: Span| span.slice(object);
    Some(members.iter().map(|m| (unescape(text(m.key)), text(m.value).to_owned())).collect())
}

/// Parses `with`: an object of names and cursors, which models also write as a text, or `b:cursor,c:cursor` of a query string.
fn joined_cursors(json: &str) -> Option<Vec<(String, String)>> {
    let text = unquoted(json);
    let pair = |pair: &str| {
        pair.split_once([':', '=']).map(|(name, cursor)| (name.trim().to_owned(), cursor.trim().to_owned()))
    };
    let joined: Vec<(String, String)> = if text.trim().is_empty() {
        Vec::new()
    } else if text.trim_start().starts_with('{') {
        let members = members_of(text.trim())?.into_iter();
        let cursor = |(name, value): (String, String)| {
            (JsonKind::of_value(&value) == JsonKind::String).then(|| (name, unescape(&value)))
        };
        members.filter(|(_, value)| !is_absent(value)).map(cursor).collect::<Option<_>>()?
    } else {
        text.split(',').map(pair).collect::<Option<_>>()?
    };
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= MAX_NAME_CHARS
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let is_new = |at: usize| !joined[..at].iter().any(|(known, _)| known.eq_ignore_ascii_case(&joined[at].0));
    let is_valid = joined.len() <= MAX_JOINED_RESULTS
        && joined.iter().enumerate().all(|(at, (name, _))| is_name(name) && is_new(at));
    is_valid.then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::{Query, is_statement};

    fn query(arguments: &[(&str, &str)]) -> Result<Query, String> {
        let mut query = Query::default();
        for (name, json) in arguments {
            query.set_argument(name, json).map_err(|error| error.to_string())?;
        }
        query.check().map(|()| query).map_err(|error| error.to_string())
    }

    #[test]
    fn statements_are_told_from_texts() {
        for sql in [
            "SELECT 1",
            "select id from items",
            "select count(*)",
            " -- how many\n/* all */ (SELECT 1)",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "with recursive n(i) as (select 1) select * from n",
            "VALUES (1)",
            "show tables",
            "SHOW TABLES;",
            "DESCRIBE items",
            "SUMMARIZE items",
            "FROM items SELECT count(*)",
            "explain query plan select 1",
            "PRAGMA table_info(items)",
        ] {
            assert!(is_statement(sql), "{sql}");
        }
        for text in [
            "",
            "select committee",
            "selected works",
            "with love",
            "show me errors",
            "describe the outage in detail",
            "from the desk of Ann",
            "values",
            "explain yourself",
            "/SELECT/",
            "-- only a comment",
            "error",
        ] {
            assert!(!is_statement(text), "{text}");
        }
    }

    #[test]
    fn arguments_are_parsed_in_all_spellings() {
        let check = |arguments: &[(&str, &str)], expect: Query| {
            assert_eq!(query(arguments), Ok(expect), "{arguments:?}");
        };
        check(&[("query", "\"SELECT \\u0031\"")], Query::from_sql("SELECT 1"));
        check(&[("query", "\"select committee\"")], Query::from_pattern("select committee"));
        let fenced = r#""```sql\nSELECT 1\n```""#;
        check(&[("query", fenced)], Query::from_sql("SELECT 1"));
        check(&[("sql", fenced)], Query::from_sql("SELECT 1"));
        check(&[("query", r#""```sql```""#)], Query::from_pattern("```sql```"));
        check(&[("query", "10.50")], Query::from_pattern("10.50"));
        check(&[("sql", "\"S\""), ("find", "null"), ("context", "null")], Query::from_sql("S"));
        check(&[("find", "true")], Query::from_pattern("true"));
        check(&[("query", "\" \""), ("with", "\"\"")], Query::default());
        let with = vec![("b".to_owned(), "d".to_owned()), ("C_2".to_owned(), "e".to_owned())];
        for json in [r#"{"b":"d","C_2":"e"}"#, r#""{\"b\": \"d\", \"C_2\": \"e\"}""#, "\"b:d, C_2=e\""] {
            check(&[("with", json), ("sql", "\"S\"")], Query { with: with.clone(), ..Query::from_sql("S") });
        }
        let params = [("id", r#""a\"b""#), ("n", "1.50"), ("l", "[1, 2]")];
        let params = params.iter().map(|(name, json)| ((*name).to_owned(), (*json).to_owned())).collect();
        check(
            &[("sql", "\"S\""), ("params", r#"{"id":"a\"b", "n": 1.50 ,"l":[1, 2]}"#)],
            Query { params, ..Query::from_sql("S") },
        );
        check(
            &[("find", "\"x\""), ("context", "\"3\""), ("keys", "true")],
            Query { context: Some(3), keys: true, ..Query::from_pattern("x") },
        );
        assert_eq!(Query::default().set_argument("colour", "1"), Ok(false));
    }

    #[test]
    fn invalid_arguments_are_errors() {
        let check = |arguments: &[(&str, &str)], expect: &str| {
            let error = query(arguments).expect_err(expect);
            assert!(error.contains(expect), "{arguments:?}: {error}");
        };
        check(&[("sql", "\"S\""), ("find", "\"x\"")], "two queries given");
        check(&[("query", "\"S\""), ("query", "\"x\"")], "two queries given");
        check(&[("sql", "7")], "sql is not text");
        check(&[("query", "{}")], "query is not text");
        check(&[("params", "[1]")], "params must be an object");
        check(&[("params", "\"x\"")], "params must be an object");
        check(&[("find", "\"x\""), ("with", "{\"b\":\"d\"}")], "with joins results in sql");
        check(&[("with", "{\"b\":\"d\"}")], "no query is given");
        check(&[("keys", "7")], "keys must be");
        let five = r#"{"a":"1","b":"2","c":"3","d":"4","e":"5"}"#;
        for with in
            ["[]", "\"b\"", r#"{"b":7}"#, r#"{"":"d"}"#, r#"{"b c":"d"}"#, r#"{"b":"d","B":"e"}"#, five]
        {
            check(&[("sql", "\"S\""), ("with", with)], "with must be an object");
        }
        for context in ["-1", "101", "2.5", "\"three\"", "[3]", "{}", "true", "99999999999999999999"] {
            check(&[("find", "\"x\""), ("context", context)], "context must be a number");
        }
    }
}
