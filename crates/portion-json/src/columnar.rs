//! Tables that name their columns once: `{"columns":["id","name"],"rows":[[1,"Ann"]]}`.

use crate::containers::{items, members};
use crate::scan::{JsonKind, unescape};
use crate::span::Span;

/// Names of members that hold the columns.
pub const COLUMN_KEYS: [&str; 5] = ["columns", "fields", "headers", "header", "cols"];
/// Names of members that hold the rows.
pub const ROW_KEYS: [&str; 4] = ["rows", "data", "values", "records"];
/// Maximum columns.
const MAX_COLUMNS: usize = 4_096;

/// Returns the names of columns in an array: strings, or objects with a `name`. Returns `None` for other arrays.
///
/// ```
/// use portion_json::columnar::column_names;
///
/// assert_eq!(column_names(r#"["id",{"name":"city"}]"#), Some(vec!["id".to_owned(), "city".to_owned()]));
/// assert_eq!(column_names("[1]"), None);
/// ```
pub fn column_names(json: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for item in items(json, Span::new(0, json.len())) {
        let name = match JsonKind::of_value(item.slice(json)) {
            JsonKind::String => item,
            JsonKind::Object => {
                members(json, item).find(|member| unescape(member.key.slice(json)) == "name")?.value
            }
            _ => return None,
        };
        let is_name = JsonKind::of_value(name.slice(json)) == JsonKind::String && names.len() < MAX_COLUMNS;
        is_name.then(|| names.push(unescape(name.slice(json))))?;
    }
    (!names.is_empty()).then_some(names)
}
