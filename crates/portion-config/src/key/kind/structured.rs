//! Parses values that are lists or maps.

use portion_core::redact::RedactionRules;
use portion_policy::pushdown::Pushdown;

use super::scalar::{parse_command, parse_token_hashes};
use super::{InvalidValue, ValueKind, join_choices};
use crate::document::{MapKey, Node, NodeValue};
use crate::reference::Secret;
use crate::value::Value;

impl ValueKind {
    pub(super) fn parse_structured(self, node: &Node, or: &[&str]) -> Result<Value, Vec<InvalidValue>> {
        match (self, &node.value) {
            (Self::Names | Self::Redact, NodeValue::List(items)) => {
                self.parse_names(node, items.iter().map(|item| (scalar_text(item), item)))
            }
            (Self::TokenHashes, NodeValue::List(items)) => {
                parse_token_hashes(items.iter().map(|item| (scalar_text(item), item)))
                    .map_err(|wrong| vec![wrong])
            }
            (Self::Command, NodeValue::List(items)) => {
                match Self::Names.parse_names(node, items.iter().map(|item| (scalar_text(item), item)))? {
                    Value::Names(words) => parse_command(node, words).map_err(|wrong| vec![wrong]),
                    other => Ok(other),
                }
            }
            (Self::Sections, NodeValue::Map(entries)) => {
                let (sections, wrong) = partition_results(entries.iter().map(|(name, node)| {
                    match Self::Names.parse(node, &[], "")? {
                        Value::Names(fields) if !fields.is_empty() => Ok((name.text.clone(), fields)),
                        _ => Err(vec![InvalidValue::new(
                            node,
                            "has a section without fields",
                            "name its fields",
                        )]),
                    }
                }));
                if wrong.is_empty() { Ok(Value::Sections(sections)) } else { Err(wrong) }
            }
            (Self::Tools, NodeValue::Map(entries)) => super::tools::parse_tools(entries),
            (Self::Pushdown, NodeValue::Map(entries)) => parse_pushdown_map(node, entries),
            (Self::Experiment, NodeValue::Map(entries)) => match entries.as_slice() {
                [(name, percent)] if name.text == "split" => match Self::Percent.parse(percent, &[], "50")? {
                    Value::Number(percent) => Ok(Value::Split(percent)),
                    _ => Err(vec![]),
                },
                _ => Err(vec![InvalidValue::new(
                    node,
                    "is not an experiment",
                    "write none, shadow or {split: 50}",
                )]),
            },
            (Self::Secrets, NodeValue::Map(entries)) => {
                let (secrets, wrong) = partition_results(entries.iter().map(|(name, node)| {
                    let NodeValue::Scalar { text, .. } = &node.value else {
                        return Err(vec![InvalidValue::new(
                            node,
                            "has a value that is not text",
                            "write text for each name",
                        )]);
                    };
                    Secret::for_name(&name.text, text).map(|secret| (name.text.clone(), secret)).map_err(
                        |error| vec![InvalidValue::new(node, error.problem(&name.text), error.fix())],
                    )
                }));
                if wrong.is_empty() { Ok(Value::Secrets(secrets)) } else { Err(wrong) }
            }
            _ => {
                let fix = match self {
                    Self::Choice(known) => join_choices(known, or),
                    _ => join_choices(&[&self.description()], or),
                };
                Err(vec![InvalidValue::new(node, format!("is {}", node.kind_name()), format!("write {fix}"))])
            }
        }
    }

    pub(super) fn parse_names<'a>(
        self,
        whole: &Node,
        names: impl Iterator<Item = (&'a str, &'a Node)>,
    ) -> Result<Value, Vec<InvalidValue>> {
        let (names, wrong) =
            partition_results(names.map(|(name, node)| match Self::Text.parse_text(node, name) {
                Ok(Value::Text(name)) => Ok(name),
                Ok(_) => Err(vec![]),
                Err(wrong) if matches!(node.value, NodeValue::Scalar { .. }) => Err(vec![InvalidValue {
                    raw_value: None,
                    problem: format!("has a name that {}", wrong.problem),
                    ..wrong
                }]),
                Err(wrong) => {
                    let is = format!("has {} instead of a name", node.kind_name());
                    Err(vec![InvalidValue {
                        raw_value: None,
                        problem: is,
                        fix: "write a list of names".into(),
                        ..wrong
                    }])
                }
            }));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        if self == Self::Redact
            && !names.is_empty()
            && let Err(error) = RedactionRules::parse(&names.join(","))
        {
            let fix = "list field names, such as [password, guest.phone, '*Code'], or write none";
            return Err(vec![InvalidValue::new(whole, format!("is invalid: {error}"), fix)]);
        }
        Ok(Value::Names(names))
    }
}

/// Returns the text of a scalar, or an empty text for other nodes.
fn scalar_text(node: &Node) -> &str {
    match &node.value {
        NodeValue::Scalar { text, .. } => text,
        _ => "",
    }
}

/// Separates valid values and errors.
fn partition_results<T>(
    results: impl Iterator<Item = Result<T, Vec<InvalidValue>>>,
) -> (Vec<T>, Vec<InvalidValue>) {
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => right.push(value),
            Err(more) => wrong.extend(more),
        }
    }
    (right, wrong)
}

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
