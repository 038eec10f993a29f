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
    let found = inside.map(|(part, subject)| reach(snapshot, part, subject, path));
    match (found, addressed) {
        (Some(Ok(target)), _) => Ok(target),
        (_, Some((part, rest))) => {
            let body = &snapshot.parts()[part];
            match body.subject() {
                Some(subject) => reach(snapshot, part, subject, rest).map_err(|astray| no_path(path, astray)),
                None => at_block(body, part, rest).map_err(|astray| no_path(path, astray)),
            }
        }
        (Some(Err(astray)), None) => Err(no_path(path, astray)),
        (None, None) => Err(no_path(path, Astray::default())),
    }
}

/// The value at a path in a part. In JSON that was found in a string, the path is one of the document around it, through the
/// string, or one of the JSON alone.
fn reach(snapshot: &Snapshot, part: usize, subject: &Subject, path: &str) -> Result<Target, Astray> {
    let origin = snapshot.parts().get(part).and_then(|part| part.origin.as_ref());
    if let Some((origin, holder)) = origin.and_then(|origin| Some((origin, origin.holder.as_ref()?)))
        && !path.is_empty()
    {
        let in_string = |reached: &Reached| {
            node(snapshot, part, &format!("{}{}", holder.pointer, reached.pointer), reached.value)
        };
        let outer = Subject::of_payload(origin.text.clone());
        if let Ok(Reached { pointer, value }) = follow(&outer, path) {
            let source = origin.text.part(value);
            if value != holder.value {
                return Ok(of_bytes(part, pointer, source));
            }
            let (subject, part) = (subject.clone(), part as u16);
            let held = Node { part, pointer, subject, source, base64: None, fields: None, own_bytes: 0 };
            return Ok(Target::Node(Arc::new(held)));
        }
        let dotted = holder.pointer.trim_start_matches('/').replace('/', ".");
        let rest = path.strip_prefix(holder.pointer.as_str()).or_else(|| path.strip_prefix(dotted.as_str()));
        let rest = rest.filter(|rest| rest.starts_with(['/', '.', '[']) && !holder.pointer.is_empty());
        if let Some(reached) = rest.and_then(|rest| follow(subject, rest.trim_start_matches('.')).ok()) {
            return Ok(in_string(&reached));
        }
        return follow(subject, path).map(|reached| in_string(&reached));
    }
    follow(subject, path).map(|reached| node(snapshot, part, &reached.pointer, reached.value))
}

pub(super) fn node(snapshot: &Snapshot, part: usize, pointer: &str, value: Span) -> Target {
    let whole = snapshot.parts().get(part).and_then(|part| part.subject());
    let Some(whole) = whole else { return Target::Everything };
    if pointer.is_empty()
        && let Some(node) = whole_part(snapshot, part)
    {
        return Target::Node(Arc::new(node));
    }
    let text = whole.text.part(value);
    let written = snapshot.parts().get(part).and_then(|part| part.written(value));
    let source = written.unwrap_or_else(|| text.clone());
    let subject = Subject::of_value(&text);
    let own_bytes =
        subject.heap_bytes().saturating_sub(if subject.is_json() { text.heap_bytes() } else { 0 });
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
    let part_of = snapshot.parts().get(part)?;
    let (subject, source) = (part_of.subject()?.clone(), part_of.source().clone());
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
pub(super) fn made(snapshot: &Snapshot, of: &Arc<Node>, made: &Made, pointer: &str, object: Span) -> Node {
    let subject = Subject::of_payload(Slice::new(made.of_object(object.of(&of.subject.text))));
    let (part, pointer, own_bytes) =
        (of.part, pointer_below(snapshot, of, pointer), subject.heap_bytes() + of.own_bytes);
    let written = snapshot.parts().get(usize::from(part));
    let written = written.and_then(|whole| whole.written(inside(snapshot, of, object)?));
    let source = written.unwrap_or_else(|| of.subject.text.part(object));
    let fields = Some((made.fields.clone(), Arc::clone(of)));
    Node { part, pointer, subject, source, base64: None, fields, own_bytes }
}

/// A value in a node.
pub(super) fn below(snapshot: &Snapshot, of: &Node, pointer: &str, value: Span) -> Target {
    let (part, pointer) = (usize::from(of.part), pointer_below(snapshot, of, pointer));
    match inside(snapshot, of, value) {
        Some(value) => node(snapshot, part, &pointer, value),
        None => of_bytes(part, pointer, of.subject.text.part(value)),
    }
}

/// The pointer of a value in a node.
fn pointer_below(snapshot: &Snapshot, of: &Node, pointer: &str) -> String {
    let holder = snapshot.parts().get(usize::from(of.part)).and_then(Part::holder);
    let root = holder.filter(|_| of.pointer.is_empty() && !pointer.is_empty());
    format!("{}{pointer}", root.map_or(of.pointer.as_str(), |holder| holder.pointer.as_str()))
}

/// Where a value of a node is in the JSON of the node's part, where that is the same text.
fn inside(snapshot: &Snapshot, of: &Node, value: Span) -> Option<Span> {
    let whole = snapshot.parts().get(usize::from(of.part))?.subject()?;
    let start = of.subject.text.start().checked_sub(whole.text.start())?;
    of.subject.text.shares(&whole.text).then(|| value.shifted(start))
}

/// A value as it was written.
fn of_bytes(part: usize, pointer: String, source: Slice) -> Target {
    let subject = Subject::of_value(&source);
    let own_bytes = subject.heap_bytes();
    let part = part as u16;
    Target::Node(Arc::new(Node { part, pointer, subject, source, base64: None, fields: None, own_bytes }))
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
