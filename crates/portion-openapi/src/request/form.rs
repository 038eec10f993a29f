//! Writes bodies of `application/x-www-form-urlencoded`.

use serde_json::value::RawValue;

use super::styles;
use crate::arguments::{ArgumentError, Shape};
use crate::body::Body;
use crate::parameter::Style;
use crate::percent;

/// Returns the body. Members with a described style use it; otherwise lists repeat their name and objects are JSON text.
pub(super) fn write(body: &Body, fields: &[(&str, &RawValue)]) -> Result<String, ArgumentError> {
    let mut parts = Vec::new();
    for (name, value) in fields {
        for (name, value) in field_pairs(body, name, value)? {
            parts.push(format!("{}={}", percent::encode(&name), percent::encode(&value)));
        }
    }
    Ok(parts.join("&"))
}

/// Returns the names and values of one member.
pub(super) fn field_pairs(
    body: &Body,
    name: &str,
    value: &RawValue,
) -> Result<Vec<(String, String)>, ArgumentError> {
    let styled = body.styles.iter().find(|(other, _, _)| other == name);
    let is_object = matches!(Shape::of(value), Shape::Object(_));
    let has_nested = match Shape::of(value) {
        Shape::List(items) => {
            items.iter().any(|item| matches!(Shape::of(item), Shape::List(_) | Shape::Object(_)))
        }
        _ => false,
    };
    let (style, explode) = match styled {
        Some((_, style, explode)) => (*style, *explode),
        None if is_object => (Style::Json, false),
        None => (Style::Form, true),
    };
    let style = if has_nested && style != Style::DeepObject { Style::Json } else { style };
    styles::pairs(name, "form", name, style, explode, value)
}
