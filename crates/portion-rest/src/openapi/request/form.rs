//! Writes bodies of forms: `application/x-www-form-urlencoded` and `multipart/form-data`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::styles::{self, Pairs};
use crate::openapi::arguments::{ArgumentError, Result, Shape};
use crate::openapi::body::Body;
use crate::openapi::parameter::Style;
use crate::openapi::percent;

/// Returns the body. Members with a described style use it; otherwise lists repeat their name and objects are JSON text.
pub(super) fn write_urlencoded(body: &Body, fields: &[(&str, &RawValue)]) -> Result<String> {
    let mut parts = Vec::new();
    for (name, value) in fields {
        for (name, value) in field_pairs(body, name, value)? {
            parts.push(format!("{}={}", percent::encode(&name), percent::encode(&value)));
        }
    }
    Ok(parts.join("&"))
}

/// Returns the names and values of one member.
pub(super) fn field_pairs(body: &Body, name: &str, value: &RawValue) -> Pairs {
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

/// Returns the media type with its boundary, and the body.
pub(super) fn write_multipart(body: &Body, fields: &[(&str, &RawValue)]) -> Result<(String, Vec<u8>)> {
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, value) in fields {
        let quoted = quoted(name);
        if body.files.iter().any(|file| file == name) {
            let head = format!(
                "Content-Disposition: form-data; name=\"{quoted}\"; filename=\"{quoted}\"\r\nContent-Type: application/octet-stream"
            );
            parts.push((head, decoded(name, value)?));
            continue;
        }
        for (name, value) in field_pairs(body, name, value)? {
            let head = format!("Content-Disposition: form-data; name=\"{}\"", self::quoted(&name));
            parts.push((head, value.into_bytes()));
        }
    }
    let boundary = boundary(&parts);
    let mut bytes = Vec::new();
    for (head, content) in &parts {
        bytes.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        bytes.extend_from_slice(content);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((format!("multipart/form-data; boundary={boundary}"), bytes))
}

/// Decodes bytes that were given in base64.
pub(super) fn decoded(argument: &str, value: &RawValue) -> Result<Vec<u8>> {
    let Shape::Scalar(text) = Shape::of(value) else {
        return Err(ArgumentError::NotBase64(argument.to_owned()));
    };
    let text: String = text.split_whitespace().collect();
    STANDARD.decode(text).map_err(|_| ArgumentError::NotBase64(argument.to_owned()))
}

/// Escapes a name as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns a boundary that no part contains.
fn boundary(parts: &[(String, Vec<u8>)]) -> String {
    let mut number = 0_u64;
    loop {
        let boundary = format!("portion-boundary-{number:016x}");
        let needle = boundary.as_bytes();
        if parts.iter().all(|(_, content)| content.windows(needle.len()).all(|window| window != needle)) {
            return boundary;
        }
        number += 1;
    }
}
