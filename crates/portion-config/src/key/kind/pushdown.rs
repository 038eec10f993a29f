//! Parses the paging of a tool.

use portion_policy::pushdown::Pushdown;

use super::InvalidValue;
use crate::document::{MapKey, Node, NodeValue};
use crate::value::Value;

/// A setting: its name, its text, and its node.
type WrittenSetting<'a> = (String, String, &'a Node);

/// Parses a map of settings.
pub(super) fn parse_pushdown_map(
    whole: &Node,
    entries: &[(MapKey, Node)],
) -> Result<Value, Vec<InvalidValue>> {
    let mut settings = Vec::new();
    for (name, node) in entries {
        let NodeValue::Scalar { text, .. } = &node.value else {
            let problem = format!("has {} in {}", node.kind_name(), name.text);
            return Err(vec![InvalidValue::new(node, problem, "write a name, a path or a number")]);
        };
        settings.push((name.text.clone(), text.clone(), node));
    }
    parse_pushdown(whole, &settings)
}

/// Checks settings.
pub(super) fn parse_pushdown(
    whole: &Node,
    settings: &[WrittenSetting<'_>],
) -> Result<Value, Vec<InvalidValue>> {
    let pairs: Vec<(String, String)> =
        settings.iter().map(|(name, text, _)| (name.clone(), text.clone())).collect();
    match Pushdown::from_settings(&pairs) {
        Ok(_) => Ok(Value::Pushdown(pairs)),
        Err(error) => {
            let node =
                settings.iter().find(|(name, ..)| *name == error.setting).map_or(whole, |found| found.2);
            let problem = match error.setting.as_str() {
                "pushdown" => error.problem,
                setting => format!("is invalid: {setting} {}", error.problem),
            };
            Err(vec![InvalidValue::new(node, problem, error.fix)])
        }
    }
}
