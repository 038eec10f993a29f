//! Finds values of required arguments: in schemas, and in the results of earlier calls.

use portion_text::names::split_name;
use serde_json::{Map, Value};

use crate::check::observation::Observation;
use crate::check::tool::Tool;

/// Words of arguments that identify a record.
const ID_WORDS: &[&str] = &["id", "ids", "key", "uuid", "slug", "number"];
/// Values of one tool that are remembered.
const MAX_VALUES: usize = 200;

/// Words of arguments that are paths.
const PATH_WORDS: &[&str] =
    &["path", "paths", "directory", "dir", "folder", "file", "files", "filename", "root"];
/// Words of arguments and tools that are about a file, not a directory.
const FILE_WORDS: &[&str] = &["file", "filename", "text", "document", "content"];
/// Words of tools that read all that is below the path.
const RECURSIVE_WORDS: &[&str] = &["tree", "recursive"];
/// Words of tools that read what is no text.
const MEDIA_WORDS: &[&str] = &["media", "image", "audio", "video"];
/// Words of arguments that names of files match.
const PATTERN_WORDS: &[&str] = &["pattern", "glob"];

/// Values seen in results, with the tools that returned them, and paths that the command of the server names.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    /// Words of the tool's name, name of the member, and its value.
    seen: Vec<(Vec<String>, String, Value)>,
    paths: KnownPaths,
}

/// Paths that the command of a server names.
#[derive(Clone, Debug, Default)]
pub struct KnownPaths {
    /// A directory.
    pub directory: Option<String>,
    /// A text in it.
    pub file: Option<String>,
    /// True if all that is below the directory can be read in a moment.
    pub is_small: bool,
}

impl From<KnownPaths> for KnownValues {
    fn from(paths: KnownPaths) -> Self {
        Self { paths, ..Self::default() }
    }
}

impl KnownValues {
    /// Remembers the plain members of the first record of a result.
    pub fn learn(&mut self, tool: &Tool, observation: &Observation) {
        let words: Vec<String> = split_name(&tool.name).iter().map(|word| singular(word)).collect();
        let record = observation.items().first().or(observation.json.as_ref());
        let members = record.and_then(Value::as_object).into_iter().flatten();
        let plain = members.filter(|(_, value)| value.is_string() || value.is_number());
        self.seen
            .extend(plain.take(MAX_VALUES).map(|(name, value)| (words.clone(), name.clone(), value.clone())));
    }

    /// Returns the path for an argument that is one: of the file, where the tool or the argument is about a file, or of the
    /// directory. A pattern is the name of the file, which every kind of pattern matches.
    fn find_path(&self, tool: &Tool, argument: &str, schema: &Value) -> Option<Value> {
        let (name, words) = (split_name(&tool.name), split_name(argument));
        let is = |words: &[String], known: &[&str]| {
            words
                .iter()
                .any(|word| known.contains(&word.as_str()) || known.contains(&singular(word).as_str()))
        };
        let KnownPaths { directory, file, is_small } = &self.paths;
        if is(&name, MEDIA_WORDS) || (is(&name, RECURSIVE_WORDS) && !is_small) {
            return None;
        }
        let lists = name.iter().any(|word| matches!(word.as_str(), "list" | "search" | "find"));
        let reads_file = is(&words, FILE_WORDS) || (is(&name, FILE_WORDS) && !lists);
        let path = match (is(&words, PATH_WORDS), reads_file) {
            (true, true) => file.as_deref()?,
            (true, false) => directory.as_deref()?,
            (false, _) if is(&words, PATTERN_WORDS) && lists && *is_small => {
                file.as_deref()?.rsplit(['/', '\\']).next()?
            }
            (false, _) => return None,
        };
        let path = Value::from(path);
        match schema.get("type").and_then(Value::as_str) {
            Some("array") => Some(Value::Array(vec![path])),
            Some("string") | None => Some(path),
            Some(_) => None,
        }
    }

    /// Finds a value for an argument: of a member of the same name, or the id of the record that the name mentions.
    fn find(&self, argument: &str) -> Option<&Value> {
        let exact = self.seen.iter().find(|(_, name, _)| name == argument && name != "id");
        let by_record = || {
            let words = split_name(argument);
            let (last, noun) = words.split_last()?;
            let noun: Vec<String> = noun.iter().map(|word| singular(word)).collect();
            (ID_WORDS.contains(&last.as_str()) && !noun.is_empty()).then_some(())?;
            self.seen
                .iter()
                .find(|(tool, name, _)| name == "id" && noun.iter().all(|word| tool.contains(word)))
        };
        exact.or_else(by_record).map(|(_, _, value)| value)
    }

    /// Finds the id of a record that a tool is named after: `get_booking(id)` after `list_bookings`.
    fn find_own_id(&self, tool: &Tool, argument: &str) -> Option<&Value> {
        if argument != "id" {
            return None;
        }
        let own: Vec<String> = split_name(&tool.name).iter().map(|word| singular(word)).collect();
        let shares_noun = |other: &[String]| other.last().is_some_and(|noun| own.contains(noun));
        self.seen.iter().find(|(tool, name, _)| name == "id" && shares_noun(tool)).map(|(_, _, value)| value)
    }
}

/// Returns arguments for a call that needs no person.
///
/// # Errors
/// Returns the names of the arguments for which no value is known.
pub fn fill_arguments(tool: &Tool, known: &KnownValues) -> Result<Map<String, Value>, Vec<String>> {
    let mut filled = Map::new();
    let mut missing = Vec::new();
    for name in &tool.required {
        let schema = tool.arguments.get(name).unwrap_or(&Value::Null);
        let value = from_schema(schema).or_else(|| {
            let value = known.find(name).or_else(|| known.find_own_id(tool, name))?;
            as_declared(value, schema)
        });
        let value = value.or_else(|| known.find_path(tool, name, schema));
        match value {
            Some(value) => {
                filled.insert(name.clone(), value);
            }
            None => missing.push(name.clone()),
        }
    }
    if missing.is_empty() { Ok(filled) } else { Err(missing) }
}

/// Returns the value that a schema names.
fn from_schema(schema: &Value) -> Option<Value> {
    let first = |key: &str| schema.get(key)?.as_array()?.first().cloned();
    let named = ["const", "default", "example"].into_iter().find_map(|key| schema.get(key).cloned());
    named.filter(|value| !value.is_null()).or_else(|| first("examples")).or_else(|| first("enum"))
}

/// Returns a value in the type that a schema declares; `None` if it cannot be written so.
fn as_declared(value: &Value, schema: &Value) -> Option<Value> {
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("string"), Value::Number(number)) => Some(Value::from(number.to_string())),
        (Some("integer" | "number"), Value::String(text)) => text.parse::<i64>().ok().map(Value::from),
        (Some("boolean" | "array" | "object"), _) => None,
        _ => Some(value.clone()),
    }
}

fn singular(word: &str) -> String {
    match word.strip_suffix("ies") {
        Some(stem) if !stem.is_empty() => format!("{stem}y"),
        _ => word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{KnownPaths, KnownValues, fill_arguments};
    use crate::check::observation::Observation;
    use crate::check::tool::Tool;

    fn tool(name: &str, properties: &Value, required: &Value) -> Tool {
        let schema = json!({"properties": properties, "required": required});
        Tool::parse(&json!({"name": name, "inputSchema": schema})).expect("a tool")
    }

    #[test]
    fn paths_come_from_the_command_line() {
        let paths = |is_small| KnownPaths {
            directory: Some("/data".into()),
            file: Some("/data/a.csv".into()),
            is_small,
        };
        let check_in = |is_small, name: &str, argument: &str, schema: Value, expect: Option<Value>| {
            let tool = tool(name, &json!({argument: schema}), &json!([argument]));
            let filled = fill_arguments(&tool, &paths(is_small).into()).ok();
            assert_eq!(filled.map(|mut filled| filled[argument].take()), expect, "{name}");
        };
        let check = |name: &str, argument: &str, schema: Value, expect: Option<Value>| {
            check_in(false, name, argument, schema, expect);
        };
        let text = || json!({"type": "string"});
        check("list_directory", "path", text(), Some("/data".into()));
        check("read_text_file", "path", text(), Some("/data/a.csv".into()));
        check("search_files", "path", text(), Some("/data".into()));
        check("read", "file_path", text(), Some("/data/a.csv".into()));
        check("read_multiple_files", "paths", json!({"type": "array"}), Some(json!(["/data/a.csv"])));
        check("directory_tree", "path", text(), None);
        check("search_files", "pattern", text(), None);
        check_in(true, "directory_tree", "path", text(), Some("/data".into()));
        check_in(true, "search_files", "pattern", text(), Some("a.csv".into()));
        check_in(true, "get_design", "pattern", text(), None);
        check("read_media_file", "path", text(), None);
        check("search", "query", text(), None);
        check("list_directory", "path", json!({"type": "integer"}), None);
        let tool = tool("list_directory", &json!({"path": text()}), &json!(["path"]));
        assert!(fill_arguments(&tool, &KnownValues::default()).is_err());
    }

    #[test]
    fn values_come_from_schemas_and_earlier_results() {
        let mut known = KnownValues::default();
        let list = tool("search_bookings", &json!({}), &json!([]));
        let result = json!({"structuredContent": {"result": [{"id": 7, "city": "Ronda"}], "count": 1}});
        known.learn(&list, &Observation::from_result(&result));
        let check = |name: &str, properties: Value, required: Value, expect: Result<Value, Vec<&str>>| {
            let filled = fill_arguments(&tool(name, &properties, &required), &known).map(Value::Object);
            let expect = expect.map_err(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(filled, expect, "{name}");
        };
        check("get_booking", json!({"id": {}}), json!(["id"]), Ok(json!({"id": 7})));
        check(
            "get_details",
            json!({"bookingId": {"type": "string"}}),
            json!(["bookingId"]),
            Ok(json!({"bookingId": "7"})),
        );
        check("get_listing", json!({"id": {}}), json!(["id"]), Err(vec!["id"]));
        check("get_weather", json!({"city": {}}), json!(["city"]), Ok(json!({"city": "Ronda"})));
        check(
            "get_rows",
            json!({"kind": {"enum": ["a", "b"]}, "year": {"default": 2020}}),
            json!(["kind", "year"]),
            Ok(json!({"kind": "a", "year": 2020})),
        );
        check("search", json!({"query": {"type": "string"}}), json!(["query"]), Err(vec!["query"]));
    }
}
