//! The one value that a path leads to, in a part of text or JSON or in a block.

use std::sync::Arc;

use super::section::Made;
use super::{Node, Target, View, ViewError};
use crate::path::{Astray, Reached, follow};
use crate::scan::decoded;
use crate::snapshot::{Part, PartBody, Slice, Snapshot, Subject};
use crate::span::Span;

/// The value at a path: from the root of the result where it begins with a part's address, else
/// from the root of the main part.
pub(super) fn at_path(snapshot: &Snapshot, view: &View, path: &str) -> Result<Target, ViewError> {
    let main = match &view.target {
        Target::Node(node) => Some(usize::from(node.part)),
        Target::Everything => snapshot.main_part(),
    };
    let addressed = snapshot.parts().iter().enumerate().find_map(|(i, part)| {
        let rest = path.strip_prefix(part.address.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then_some((i, rest))
    });
    // A payload may hold keys that look like an address: what the main part knows comes first.
    let inside = main.and_then(|part| Some((part, snapshot.parts()[part].subject()?)));
    let found = inside.map(|(part, subject)| (part, follow(subject, path)));
    match (found, addressed) {
        (Some((part, Ok(reached))), _) => Ok(node(snapshot, part, &reached.pointer, reached.value)),
        (_, Some((part, rest))) => {
            let body = &snapshot.parts()[part];
            match body.subject() {
                Some(subject) => {
                    let reached = follow(subject, rest).map_err(|astray| no_path(path, astray))?;
                    Ok(node(snapshot, part, &reached.pointer, reached.value))
                }
                None => at_block(body, part, rest).map_err(|astray| no_path(path, astray)),
            }
        }
        (Some((_, Err(astray))), None) => Err(no_path(path, astray)),
        (None, None) => Err(no_path(path, Astray::default())),
    }
}

pub(super) fn node(snapshot: &Snapshot, part: usize, pointer: &str, value: Span) -> Target {
    let whole = snapshot.parts().get(part).and_then(|part| part.subject());
    let Some(whole) = whole else { return Target::Everything };
    if pointer.is_empty()
        && let Some(node) = whole_part(snapshot, part)
    {
        return Target::Node(Arc::new(node));
    }
    let source = whole.text.part(value);
    let subject = Subject::of_value(&source);
    let own_bytes =
        subject.heap_bytes().saturating_sub(if subject.is_json() { source.heap_bytes() } else { 0 });
    Target::Node(Arc::new(Node {
        part: part as u16,
        pointer: pointer.to_owned(),
        subject,
        source,
        base64: None,
        fields: None,
        own_bytes,
    }))
}

/// All of a part, where it holds text.
pub(super) fn whole_part(snapshot: &Snapshot, part: usize) -> Option<Node> {
    let subject = snapshot.parts().get(part)?.subject()?.clone();
    let source = subject.text.clone();
    Some(Node {
        part: part as u16,
        pointer: String::new(),
        subject,
        source,
        base64: None,
        fields: None,
        own_bytes: 0,
    })
}

/// A section of a node that an operator made of an object in it.
pub(super) fn made(of: &Arc<Node>, made: &Made, pointer: &str, object: Span) -> Node {
    let subject = Subject::of_payload(Slice::new(made.of_object(object.of(&of.subject.text))));
    let (part, pointer, own_bytes) =
        (of.part, format!("{}{pointer}", of.pointer), subject.heap_bytes() + of.own_bytes);
    let (source, fields) = (of.source.part(object), Some((made.fields.clone(), Arc::clone(of))));
    Node { part, pointer, subject, source, base64: None, fields, own_bytes }
}

/// A value inside a block that is not text. What is the base64 of its bytes is taken out of its quotes and escapes.
fn at_block(part: &Part, index: usize, rest: &str) -> Result<Target, Astray> {
    let PartBody::Atomic { json, binary, .. } = &part.body else { return Err(Astray::default()) };
    let Reached { pointer, value } = follow(&Subject::of_payload(json.clone()), rest)?;
    let source = json.part(value);
    let data = binary.as_ref().filter(|binary| binary.data == pointer);
    let data = data.map(|binary| (unquoted(&source), &binary.mime)).filter(|(inner, _)| is_base64(inner));
    let (subject, source, base64) = match data {
        Some((inner, mime)) => (Subject::of_text(inner.clone()), inner, Some(mime.clone())),
        None => (Subject::of_value(&source), source, None),
    };
    let (part, own_bytes) = (index as u16, source.len());
    Ok(Target::Node(Arc::new(Node { part, pointer, subject, source, base64, fields: None, own_bytes })))
}

/// A JSON string out of its quotes and escapes; of one without escapes, no copy is made.
fn unquoted(quoted: &Slice) -> Slice {
    let inner = Span::new(1, quoted.len().saturating_sub(1).max(1));
    if quoted.contains('\\') || quoted.len() < 2 { Slice::new(decoded(quoted)) } else { quoted.part(inner) }
}

/// Whether every four characters of a text can be decoded by themselves.
fn is_base64(text: &str) -> bool {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_'))
}

pub(super) fn no_path(given: &str, astray: Astray) -> ViewError {
    let Astray { reached, missing, nearest, available } = astray;
    ViewError::Path { given: given.to_owned(), reached, missing, nearest, available }
}
