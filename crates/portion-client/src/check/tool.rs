//! A tool as its server lists it, and values of its required arguments: from schemas, and from the results of
//! earlier calls.

use std::collections::{BTreeMap, VecDeque};

use portion_policy::client::{MAX_DESCRIPTION_CHARS, MAX_INPUT_SCHEMA_BYTES};
use portion_text::names::split_name;
use serde_json::{Map, Value};

use super::observation::Observation;

/// First words of tools that only read.
const READ_WORDS: &[&str] = &[
    "browse", "count", "describe", "fetch", "find", "get", "list", "lookup", "query", "read", "retrieve",
    "search", "show", "view",
];

/// Words of tools that may write, wherever they are in the name.
const WRITE_WORDS: &[&str] = &[
    "accept", "add", "apply", "approve", "archive", "assign", "book", "cancel", "clear", "close", "commit",
    "copy", "create", "delete", "deploy", "disable", "drop", "edit", "enable", "execute", "insert",
    "install", "invite", "kill", "lock", "mark", "merge", "modify", "move", "notify", "open", "patch", "pay",
    "post", "publish", "push", "put", "refund", "reject", "remove", "rename", "reset", "restart", "revoke",
    "run", "save", "send", "set", "start", "stop", "submit", "sync", "trigger", "unlock", "update", "upload",
    "upsert", "write",
];

/// Words before the verb: `hostaway_list_bookings`.
const MAX_PREFIX_WORDS: usize = 2;

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

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Name.
    pub name: String,
    /// Schemas of its arguments, in order.
    pub arguments: Map<String, Value>,
    /// Names of the arguments that it requires.
    pub required: Vec<String>,
    /// Bytes of its input schema, minified.
    pub schema_bytes: usize,
    /// Characters of its description.
    pub description_chars: usize,
    /// Evidence that it only reads; the reason for doubt if there is none.
    pub reads: Result<ReadEvidence, &'static str>,
}

/// Evidence that a tool only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadEvidence {
    /// Its annotations say so.
    Annotation,
    /// Its name says so, and its annotations do not contradict.
    Name,
}

impl Tool {
    /// Reads the result of `tools/list`.
    ///
    /// # Errors
    /// Returns an error if it is no JSON.
    pub fn parse_list(list: &str) -> serde_json::Result<Vec<Self>> {
        let list: Value = serde_json::from_str(list)?;
        let tools = list.get("tools").and_then(Value::as_array).into_iter().flatten();
        Ok(tools.filter_map(Self::parse).collect())
    }

    /// Reads a tool of a list of tools. Returns `None` if it has no name.
    pub fn parse(listed: &Value) -> Option<Self> {
        let name = listed.get("name")?.as_str()?.to_owned();
        let schema = listed.get("inputSchema");
        let member = |key: &str| schema.and_then(|schema| schema.get(key));
        let arguments = member("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let required = member("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(str::to_owned).collect();
        let reads = read_evidence(&name, listed.get("annotations"));
        let schema_bytes = schema.map_or(0, |schema| schema.to_string().len());
        let description = listed.get("description").and_then(Value::as_str).unwrap_or_default();
        let description_chars = description.chars().count();
        Some(Self { name, arguments, required, schema_bytes, description_chars, reads })
    }

    /// Returns what a client leaves out of it because it is too long, as sentences without a subject.
    pub fn excesses(&self) -> Vec<String> {
        let schema = (self.schema_bytes > MAX_INPUT_SCHEMA_BYTES).then(|| {
            format!(
                "has an input schema of {} bytes; claude.ai drops a tool with more than {MAX_INPUT_SCHEMA_BYTES}",
                self.schema_bytes
            )
        });
        let description = (self.description_chars > MAX_DESCRIPTION_CHARS).then(|| {
            format!(
                "has a description of {} characters; Claude Code shows its model {MAX_DESCRIPTION_CHARS}",
                self.description_chars
            )
        });
        schema.into_iter().chain(description).collect()
    }

    /// Returns true if it has an argument of this name.
    pub fn has(&self, argument: &str) -> bool {
        self.arguments.contains_key(argument)
    }
}

/// The tools to call.
#[derive(Clone, Debug, Default)]
pub struct CallPlan {
    given: BTreeMap<String, Map<String, Value>>,
    waiting: VecDeque<Tool>,
    /// Tools of the next round, with the arguments that they lack.
    later: Vec<(Tool, Vec<String>)>,
    has_called: bool,
}

impl CallPlan {
    /// Creates a plan for these tools. `given`: arguments by tool, for those that are not to be filled.
    pub fn new(tools: impl IntoIterator<Item = Tool>, given: BTreeMap<String, Map<String, Value>>) -> Self {
        Self { given, waiting: tools.into_iter().collect(), ..Self::default() }
    }

    /// Returns the next tool with its arguments, or `None` if the others lack some.
    pub fn next(&mut self, known: &KnownValues) -> Option<(Tool, Map<String, Value>)> {
        loop {
            while let Some(tool) = self.waiting.pop_front() {
                let given = self.given.get(&tool.name).cloned().map(Ok);
                match given.unwrap_or_else(|| fill_arguments(&tool, known)) {
                    Ok(arguments) => {
                        self.has_called = true;
                        return Some((tool, arguments));
                    }
                    Err(missing) => self.later.push((tool, missing)),
                }
            }
            if !std::mem::take(&mut self.has_called) {
                return None;
            }
            self.waiting = self.later.drain(..).map(|(tool, _)| tool).collect();
        }
    }

    /// Returns the tools that were not called, with the arguments that they lack.
    pub fn into_uncalled(self) -> Vec<(Tool, Vec<String>)> {
        let waiting = self.waiting.into_iter().map(|tool| (tool, Vec::new()));
        waiting.chain(self.later).collect()
    }
}

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

fn read_evidence(name: &str, annotations: Option<&Value>) -> Result<ReadEvidence, &'static str> {
    let hint = |key: &str| annotations.and_then(|hints| hints.get(key)).and_then(Value::as_bool);
    if hint("readOnlyHint") == Some(true) {
        return Ok(ReadEvidence::Annotation);
    }
    if hint("readOnlyHint") == Some(false) || hint("destructiveHint") == Some(true) {
        return Err("its annotations say that it may write");
    }
    let words = split_name(name);
    let is = |known: &[&str], word: &String| known.contains(&word.as_str());
    if words.iter().any(|word| is(WRITE_WORDS, word)) {
        return Err("its name says that it may write");
    }
    let reads = words.iter().take(1 + MAX_PREFIX_WORDS).any(|word| is(READ_WORDS, word));
    if reads { Ok(ReadEvidence::Name) } else { Err("nothing says that it only reads") }
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
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::super::observation::Observation;
    use super::{CallPlan, KnownPaths, KnownValues, ReadEvidence, Tool, fill_arguments};

    fn check(name: &str, annotations: &Value, expect: Result<ReadEvidence, &str>) {
        let listed = json!({"name": name, "annotations": annotations});
        let tool = Tool::parse(&listed).expect("a tool");
        match (tool.reads, expect) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
            (Err(found), Err(part)) => assert!(found.contains(part), "{name}: {found}"),
            (found, _) => panic!("{name}: {found:?}"),
        }
    }

    #[test]
    fn only_tools_that_read_are_called() {
        check("anything", &json!({"readOnlyHint": true}), Ok(ReadEvidence::Annotation));
        check("list_bookings", &json!({}), Ok(ReadEvidence::Name));
        check("hostaway_search_bookings", &json!(null), Ok(ReadEvidence::Name));
        check("getListing", &json!({"openWorldHint": true}), Ok(ReadEvidence::Name));
        check("list_bookings", &json!({"readOnlyHint": false}), Err("annotations"));
        check("get_and_delete", &json!({}), Err("may write"));
        check("search_and_replace_all", &json!({"destructiveHint": true}), Err("annotations"));
        check("get_or_create_user", &json!({}), Err("may write"));
        check("echo", &json!({}), Err("nothing says"));
        check("", &json!({}), Err("nothing says"));
        assert_eq!(Tool::parse(&json!({"title": "x"})), None);
    }

    #[test]
    fn results_fill_the_arguments_of_later_calls() {
        let tool = |name: &str, required: &[&str]| {
            Tool::parse(&json!({"name": name, "inputSchema": {"required": required}})).expect("a tool")
        };
        let tools = [
            tool("get_booking", &["booking_id"]),
            tool("find_by_word", &["word"]),
            tool("list_bookings", &[]),
        ];
        let mut plan = CallPlan::new(tools, BTreeMap::new());
        let mut known = KnownValues::default();
        let mut called = Vec::new();
        while let Some((tool, arguments)) = plan.next(&known) {
            known.learn(
                &tool,
                &Observation::from_result(&json!({"content": [{"type": "text", "text": "[{\"id\":7}]"}]})),
            );
            called.push((tool.name, json!(arguments)));
        }
        let expect =
            [("list_bookings".to_owned(), json!({})), ("get_booking".to_owned(), json!({"booking_id": 7}))];
        assert_eq!(called, expect);
        let uncalled = plan.into_uncalled();
        assert!(
            matches!(&uncalled[..], [(tool, missing)] if tool.name == "find_by_word" && missing == &["word"])
        );
    }

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
