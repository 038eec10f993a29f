//! Parses values that are lists or maps.

use portion_core::redact::RedactionRules;
use portion_policy::pushdown::Pushdown;

use super::scalar::{parse_command, parse_token_hashes};
use super::{InvalidValue, Structured, ValueKind, join_choices};
use crate::document::{MapKey, Node, NodeValue};
use crate::reference::Secret;
use crate::value::Value;

impl ValueKind {
    pub(super) fn parse_structured(self, node: &Node, or: &[&str]) -> Structured {
        match (self, &node.value) {
            (Self::Names | Self::Redact, NodeValue::List(items)) => self.parse_names(node, texts(items)),
            (Self::TokenHashes, NodeValue::List(items)) => {
                parse_token_hashes(texts(items)).map_err(|wrong| vec![wrong])
            }
            (Self::Command, NodeValue::List(items)) => {
                parse_command(node, parse_texts(texts(items))?).map_err(|wrong| vec![wrong])
            }
            (Self::Sections, NodeValue::Map(entries)) => {
                let sections = entries.iter().map(|(name, node)| match Self::Names.parse(node, &[], "")? {
                    Value::Names(fields) if !fields.is_empty() => Ok((name.text.clone(), fields)),
                    _ => {
                        Err(vec![InvalidValue::new(node, "has a section without fields", "name its fields")])
                    }
                });
                all_valid(sections).map(Value::Sections)
            }
            (Self::Tools, NodeValue::Map(entries)) => super::tools::parse_tools(entries),
            (Self::Pushdown, NodeValue::Map(entries)) => parse_pushdown_map(node, entries),
            (Self::Experiment, NodeValue::Map(entries)) => match entries.as_slice() {
                [(name, percent)] if name.text == "split" => match Self::Percent.parse(percent, &[], "50")? {
                    Value::Number(percent) => Ok(Value::Split(percent)),
                    _ => Err(vec![]),
                },
                _ => Err(no_experiment(node)),
            },
            (Self::Secrets, NodeValue::Map(entries)) => {
                let secrets = entries.iter().map(|(name, node)| {
                    let invalid = |is: String, fix: String| vec![InvalidValue::new(node, is, fix)];
                    let not_text =
                        || invalid("has a value that is not text".into(), "write text for each name".into());
                    let secret = Secret::for_name(&name.text, node.text().ok_or_else(not_text)?);
                    let secret = secret.map_err(|error| invalid(error.problem(&name.text), error.fix()))?;
                    Ok((name.text.clone(), secret))
                });
                all_valid(secrets).map(Value::Secrets)
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
    ) -> Structured {
        let names = parse_texts(names)?;
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

pub(super) fn no_experiment(node: &Node) -> Vec<InvalidValue> {
    vec![InvalidValue::new(node, "is not an experiment", "write none, shadow or {split: 50}")]
}

/// Returns the items of a list as texts; empty ones for what is none.
fn texts(items: &[Node]) -> impl Iterator<Item = (&str, &Node)> {
    items.iter().map(|item| (item.text().unwrap_or_default(), item))
}

fn parse_texts<'a>(
    names: impl Iterator<Item = (&'a str, &'a Node)>,
) -> Result<Vec<String>, Vec<InvalidValue>> {
    all_valid(names.map(|(name, node)| match ValueKind::Text.parse_text(node, name) {
        Ok(Value::Text(name)) => Ok(name),
        Ok(_) => Err(vec![]),
        Err(wrong) if node.text().is_some() => {
            let is = format!("has a name that {}", wrong.problem);
            Err(vec![InvalidValue::hidden(node, is, wrong.fix)])
        }
        Err(_) => {
            let is = format!("has {} instead of a name", node.kind_name());
            Err(vec![InvalidValue::hidden(node, is, "write a list of names")])
        }
    }))
}

/// Returns all values, or all errors.
pub(super) fn all_valid<T>(
    results: impl Iterator<Item = Result<T, Vec<InvalidValue>>>,
) -> Result<Vec<T>, Vec<InvalidValue>> {
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => right.push(value),
            Err(more) => wrong.extend(more),
        }
    }
    if wrong.is_empty() { Ok(right) } else { Err(wrong) }
}

/// A setting: its name, its text, and its node.
type WrittenSetting<'a> = (String, String, &'a Node);

/// Parses a map of settings.
pub(super) fn parse_pushdown_map(whole: &Node, entries: &[(MapKey, Node)]) -> Structured {
    let mut settings = Vec::new();
    for (name, node) in entries {
        let Some(text) = node.text() else {
            let problem = format!("has {} in {}", node.kind_name(), name.text);
            return Err(vec![InvalidValue::new(node, problem, "write a name, a path or a number")]);
        };
        settings.push((name.text.clone(), text.to_owned(), node));
    }
    parse_pushdown(whole, &settings)
}

/// Checks settings.
pub(super) fn parse_pushdown(whole: &Node, settings: &[WrittenSetting<'_>]) -> Structured {
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
