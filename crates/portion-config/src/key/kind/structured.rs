//! Values that are lists or maps.

use portion_core::redact::Redact;

use super::scalar::command;
use super::{Kind, Wrong, words};
use crate::document::{Node, Tree};
use crate::reference::Secret;
use crate::value::Value;

impl Kind {
    pub(super) fn structured(self, node: &Node, or: &[&str]) -> Result<Value, Vec<Wrong>> {
        match (self, &node.tree) {
            (Self::Names | Self::Redact, Tree::List(items)) => {
                self.names(node, items.iter().map(|item| (scalar(item), item)))
            }
            (Self::Command, Tree::List(items)) => {
                match Self::Names.names(node, items.iter().map(|item| (scalar(item), item)))? {
                    Value::Names(words) => command(node, words).map_err(|wrong| vec![wrong]),
                    other => Ok(other),
                }
            }
            (Self::Sections, Tree::Map(entries)) => {
                let (sections, wrong) =
                    apart(entries.iter().map(|(name, node)| match Self::Names.read(node, &[], "")? {
                        Value::Names(fields) if !fields.is_empty() => Ok((name.text.clone(), fields)),
                        _ => Err(vec![Wrong::new(node, "has an empty section", "name its fields")]),
                    }));
                if wrong.is_empty() { Ok(Value::Sections(sections)) } else { Err(wrong) }
            }
            (Self::Experiment, Tree::Map(entries)) => match entries.as_slice() {
                [(name, percent)] if name.text == "split" => match Self::Percent.read(percent, &[], "50")? {
                    Value::Number(percent) => Ok(Value::Split(percent)),
                    _ => Err(vec![]),
                },
                _ => Err(vec![Wrong::new(node, "is no experiment", "write none, shadow or {split: 50}")]),
            },
            (Self::Secrets, Tree::Map(entries)) => {
                let (secrets, wrong) = apart(entries.iter().map(|(name, node)| {
                    let Tree::Scalar { text, .. } = &node.tree else {
                        return Err(vec![Wrong::new(
                            node,
                            "has something else than text",
                            "write text for each name",
                        )]);
                    };
                    Secret::named(&name.text, text)
                        .map(|secret| (name.text.clone(), secret))
                        .map_err(|error| vec![Wrong::new(node, error.is(&name.text), error.fix())])
                }));
                if wrong.is_empty() { Ok(Value::Secrets(secrets)) } else { Err(wrong) }
            }
            _ => {
                let fix = match self {
                    Self::Word(known) => words(known, or),
                    _ => words(&[&self.what()], or),
                };
                Err(vec![Wrong::new(node, format!("is {}", node.what()), format!("write {fix}"))])
            }
        }
    }

    pub(super) fn names<'a>(
        self,
        whole: &Node,
        names: impl Iterator<Item = (&'a str, &'a Node)>,
    ) -> Result<Value, Vec<Wrong>> {
        let (names, wrong) = apart(names.map(|(name, node)| match Self::Text.text(node, name) {
            Ok(Value::Text(name)) => Ok(name),
            Ok(_) => Err(vec![]),
            Err(wrong) if matches!(node.tree, Tree::Scalar { .. }) => {
                Err(vec![Wrong { given: None, is: format!("has a name that {}", wrong.is), ..wrong }])
            }
            Err(wrong) => {
                let is = format!("has {} in place of a name", node.what());
                Err(vec![Wrong { given: None, is, fix: "write a list of names".into(), ..wrong }])
            }
        }));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        if self == Self::Redact
            && !names.is_empty()
            && let Err(error) = Redact::parse(&names.join(","))
        {
            let fix = "name the members, such as [password, guest.phone, '*Code'], or write none";
            return Err(vec![Wrong::new(whole, format!("cannot be obeyed: {error}"), fix)]);
        }
        Ok(Value::Names(names))
    }
}

/// The text of a scalar, else none at all.
fn scalar(node: &Node) -> &str {
    match &node.tree {
        Tree::Scalar { text, .. } => text,
        _ => "",
    }
}

/// What is right, and everything that is wrong.
fn apart<T>(results: impl Iterator<Item = Result<T, Vec<Wrong>>>) -> (Vec<T>, Vec<Wrong>) {
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => right.push(value),
            Err(more) => wrong.extend(more),
        }
    }
    (right, wrong)
}
