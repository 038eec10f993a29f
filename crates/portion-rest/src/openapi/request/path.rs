//! Puts path parameters into the path of an operation; of a list of values, each makes a request of its own:
//! `{"grade": [9, 10]}`.

use serde_json::value::RawValue;

use super::styles;
use crate::openapi::arguments::{ArgumentError, Members, Result, Shape};
use crate::openapi::described::RequestTemplate;
use crate::openapi::parameter::{Parameter, Place, Style};
use crate::openapi::percent;

/// Replaces the names in braces. Each value stays within its own segment of the path.
pub(super) fn expand(template: &str, parameters: &[Parameter], members: &Members) -> Result<String> {
    let mut path = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        path.push_str(&percent::encode_template(before));
        let parameter = parameters.iter().find(|one| one.place == Place::Path && one.name == name);
        if let Some(parameter) = parameter {
            path.push_str(&segment(parameter, members)?);
        }
        rest = after;
    }
    path.push_str(&percent::encode_template(rest));
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    Ok(path)
}

fn segment(parameter: &Parameter, members: &Members) -> Result<String> {
    let argument = &parameter.argument;
    let value = members.get(argument).ok_or_else(|| ArgumentError::Missing(format!("`{argument}`")))?;
    for text in plain_texts(parameter, Shape::of(value))? {
        check(argument, &text)?;
    }
    let name = percent::encode(&parameter.name);
    let text = |separator: &str| styles::simple_text(parameter, value, percent::encode, separator);
    Ok(match (parameter.style, parameter.explode) {
        (Style::Label, true) => format!(".{}", text(".")?),
        (Style::Label, false) => format!(".{}", text(",")?),
        (Style::Matrix, true) if matches!(Shape::of(value), Shape::List(_)) => {
            format!(";{name}={}", text(&format!(";{name}="))?)
        }
        (Style::Matrix, true) if matches!(Shape::of(value), Shape::Object(_)) => format!(";{}", text(";")?),
        (Style::Matrix, _) => format!(";{name}={}", text(",")?),
        (Style::Json, _) => percent::encode(value.get()),
        _ => text(",")?,
    })
}

/// Returns the texts of a value and of its items.
fn plain_texts(parameter: &Parameter, shape: Shape) -> Result<Vec<String>> {
    let texts = match shape {
        _ if parameter.style == Style::Json => return Ok(Vec::new()),
        Shape::Object(members) => members.0.iter().map(|(_, value)| Shape::of(value).into_scalar()).collect(),
        shape => shape.into_texts(),
    };
    let texts = texts.ok_or_else(|| ArgumentError::TooDeep(parameter.argument.clone(), "path"))?;
    Ok(if texts.is_empty() { vec![String::new()] } else { texts })
}

/// Rejects a value that a server could read as another path, even if it decodes escapes before it splits.
pub(super) fn check(argument: &str, text: &str) -> Result<()> {
    let invalid = |why| Err(ArgumentError::InvalidPath(format!("`{argument}`"), why));
    if text.is_empty() {
        return invalid("is empty");
    }
    if text.chars().any(char::is_control) {
        return invalid("has a control character");
    }
    let is_dots = |part: &str| {
        let decoded = part.replace("%2e", ".").replace("%2E", ".");
        matches!(decoded.trim(), "." | "..")
    };
    let decoded = text.replace("%2f", "/").replace("%2F", "/").replace("%5c", "/").replace("%5C", "/");
    if decoded.split(['/', '\\', ';']).any(is_dots) {
        return invalid("has a part `.` or `..`");
    }
    Ok(())
}

/// Most requests of one call.
const MAX_REQUESTS: usize = 20;

impl RequestTemplate {
    /// Returns the arguments of each request of a call.
    pub(super) fn arguments_of_requests(&self, members: Members) -> Result<Vec<Members>> {
        let mut all = vec![members];
        for (argument, member) in self.path.repeated_members() {
            let mut expanded = Vec::new();
            for members in all {
                match listed(&members, argument, member) {
                    None => expanded.push(members),
                    Some(values) => expanded
                        .extend(values.iter().map(|value| members.with_member(argument, member, value))),
                }
                if expanded.len() > MAX_REQUESTS {
                    return Err(ArgumentError::TooManyRequests(format!("{argument}.{member}"), MAX_REQUESTS));
                }
            }
            all = expanded;
        }
        Ok(all)
    }
}

/// Returns the different values of a member that is a list with values.
fn listed(members: &Members, argument: &str, member: &str) -> Option<Vec<Box<RawValue>>> {
    let Shape::Object(object) = Shape::of(members.get(argument)?) else { return None };
    let Shape::List(values) = Shape::of(object.get(member)?) else { return None };
    let mut different: Vec<Box<RawValue>> = Vec::new();
    for value in values {
        if different.iter().all(|other| other.get() != value.get()) {
            different.push(value);
        }
    }
    (!different.is_empty()).then_some(different)
}
