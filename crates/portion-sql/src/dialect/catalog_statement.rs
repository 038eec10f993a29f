//! Rewrites `DESCRIBE items` and `SHOW TABLES` to a SELECT over the table of all columns.

/// A statement about tables and columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CatalogStatement {
    /// The tables.
    Tables,
    /// The columns of the table of this name.
    Columns(String),
}

/// Reads a statement about tables and columns; `None` if it is another statement.
pub(crate) fn parse(sql: &str) -> Option<CatalogStatement> {
    let sql = sql.trim().trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let (first, rest) = next_word(sql);
    match first.as_str() {
        "show" => {
            let (word, after) = next_word(rest);
            let (word, rest) =
                if ["all", "full"].contains(&&*word) { next_word(after) } else { (word, after) };
            let (from, name) = next_word(rest);
            match (word.as_str(), from.as_str()) {
                ("tables", "") => Some(CatalogStatement::Tables),
                ("columns" | "fields", "from" | "in") => columns(name),
                _ => None,
            }
        }
        "pragma" => {
            let (function, name) = rest.strip_suffix(')')?.split_once('(')?;
            let is_columns = ["table_info", "table_xinfo"].contains(&&*function.trim().to_ascii_lowercase());
            if is_columns { columns(name) } else { None }
        }
        "describe" | "desc" | "summarize" => match next_word(rest) {
            (word, "") if word.is_empty() || word == "tables" => Some(CatalogStatement::Tables),
            (word, name) if word == "table" && !name.is_empty() => columns(name),
            _ => columns(rest),
        },
        _ => None,
    }
}

/// Returns the first word of a text in lower case, and the rest.
fn next_word(text: &str) -> (String, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (text[..end].to_ascii_lowercase(), text[end..].trim_start())
}

/// Returns the statement for the columns of a table; `None` if the text is no name.
fn columns(name: &str) -> Option<CatalogStatement> {
    let name = name.trim();
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    let quoted = ['"', '\'', '`'].iter().find_map(|quote| name.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.or(is_word.then_some(name)).map(|name| CatalogStatement::Columns(name.to_owned()))
}

impl CatalogStatement {
    /// Returns the SELECT; `fields`: the name of the table of all columns.
    pub(crate) fn to_select(&self, fields: &str) -> String {
        match self {
            Self::Tables => format!(
                "SELECT table_name AS name, max(present) AS \"rows\", count(*) AS columns FROM \"{fields}\" \
                 GROUP BY table_name ORDER BY min(rowid)"
            ),
            Self::Columns(table) => {
                let table = table.replace('\'', "''");
                format!("SELECT name, kind, present FROM \"{fields}\" WHERE table_name = '{table}'")
            }
        }
    }
}
