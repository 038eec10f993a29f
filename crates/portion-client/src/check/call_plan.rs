//! The order in which the tools of a server are called: results of a round fill the arguments of the next one.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use crate::check::arguments::{KnownValues, fill_arguments};
use crate::check::tool::Tool;

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::CallPlan;
    use crate::check::{KnownValues, Observation, Tool};

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
