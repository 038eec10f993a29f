//! A tool as its server lists it.

use std::collections::{BTreeMap, VecDeque};

use portion_policy::client::{MAX_DESCRIPTION_CHARS, MAX_INPUT_SCHEMA_BYTES};
use portion_text::names::split_name;
use serde_json::{Map, Value};

use super::arguments::{KnownValues, fill_arguments};

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::super::{KnownValues, Observation};
    use super::{CallPlan, ReadEvidence, Tool};

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
}
