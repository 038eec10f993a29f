//! Finds the value at a path, in a part with text or JSON, or in a block.

use std::sync::Arc;

use portion_json::scan::unescape;
use portion_json::span::Span;

use super::section::CustomSection;
use super::{Base64Source, Target, TargetValue, View, ViewError};
use crate::base64_text::{Base64Text, decode_text};
use crate::path::{ResolvedPath, UnresolvedPath, resolve_path};
use crate::payload::{BinaryInfo, UpstreamList};
use crate::snapshot::{IndexedText, Part, PartBody, Slice, Snapshot, Structure, main_lists};

/// Returns the value at a path. The path begins at the root of the result if it starts with a part's address,
/// otherwise at the root of the main part. The address of a block stands for its text.
pub(crate) fn target_at_path(snapshot: &Snapshot, view: &View, path: &str) -> Result<Target, ViewError> {
    let main = match &view.target {
        Target::Value(value) => Some(usize::from(value.part)),
        Target::Everything => snapshot.main_part(),
    };
    let addressed = snapshot.parts().iter().enumerate().find_map(|(i, part)| {
        let is_block = part.address.strip_suffix("/text") == Some(path);
        let rest = if is_block { "" } else { path.strip_prefix(part.address.as_str())? };
        (rest.is_empty() || rest.starts_with('/')).then_some((i, rest))
    });
    // A payload may contain keys that look like an address, so the main part comes first.
    let inside = main.and_then(|part| Some((part, snapshot.parts()[part].indexed_text()?)));
    let found = inside.map(|(part, subject)| target_in_part(snapshot, part, subject, path));
    match (found, addressed) {
        (Some(Ok(target)), _) => Ok(target),
        (_, Some((part, rest))) => {
            let body = &snapshot.parts()[part];
            match body.indexed_text() {
                Some(subject) => target_in_part(snapshot, part, subject, rest)
                    .map_err(|unresolved| path_error(snapshot, path, unresolved)),
                None => target_in_block(body, part, rest)
                    .map_err(|unresolved| path_error(snapshot, path, unresolved)),
            }
        }
        (Some(Err(unresolved)), None) => Err(path_error(snapshot, path, unresolved)),
        (None, None) => Err(path_error(snapshot, path, UnresolvedPath::default())),
    }
}

/// Returns the value at a path in a part. For JSON found in a string, the path may lead through the document
/// around it, or be relative to the JSON alone.
fn target_in_part(
    snapshot: &Snapshot,
    part: usize,
    subject: &IndexedText,
    path: &str,
) -> Result<Target, UnresolvedPath> {
    let origin = snapshot.parts().get(part).and_then(|part| part.json_origin.as_ref());
    if let Some((origin, holder)) =
        origin.and_then(|origin| Some((origin, origin.enclosing_string.as_ref()?)))
        && !path.is_empty()
    {
        let in_string = |reached: &ResolvedPath| {
            target_at(snapshot, part, &format!("{}{}", holder.pointer, reached.pointer), reached.span)
        };
        let outer = IndexedText::from_payload(origin.text.clone());
        if let Ok(ResolvedPath { pointer, span: value }) = resolve_path(&outer, path) {
            let source = origin.text.subslice(value);
            if value != holder.span {
                return Ok(target_from_source(part, pointer, source));
            }
            let stored = TargetValue::new(part as u16, pointer, subject.clone(), source, 0);
            return Ok(Target::Value(Arc::new(stored)));
        }
        let dotted = holder.pointer.trim_start_matches('/').replace('/', ".");
        let rest = path.strip_prefix(holder.pointer.as_str()).or_else(|| path.strip_prefix(dotted.as_str()));
        let rest = rest.filter(|rest| rest.starts_with(['/', '.', '[']) && !holder.pointer.is_empty());
        if let Some(reached) = rest.and_then(|rest| resolve_path(subject, rest.trim_start_matches('.')).ok())
        {
            return Ok(in_string(&reached));
        }
        return resolve_path(subject, path).map(|reached| in_string(&reached));
    }
    resolve_path(subject, path).map(|reached| target_at(snapshot, part, &reached.pointer, reached.span))
}

pub(super) fn target_at(snapshot: &Snapshot, part: usize, pointer: &str, value: Span) -> Target {
    let whole = snapshot.parts().get(part).and_then(|part| part.indexed_text());
    let Some(whole) = whole else { return Target::Everything };
    if pointer.is_empty()
        && let Some(value) = whole_part_value(snapshot, part)
    {
        return Target::Value(Arc::new(value));
    }
    let text = whole.text.subslice(value);
    let written = snapshot.parts().get(part).and_then(|part| part.original_text(value));
    let source = written.unwrap_or_else(|| text.clone());
    let subject = IndexedText::from_value(&text);
    let own_bytes =
        subject.heap_bytes().saturating_sub(if subject.is_json() { text.heap_bytes() } else { 0 });
    Target::Value(Arc::new(TargetValue::new(part as u16, pointer.to_owned(), subject, source, own_bytes)))
}

/// Returns all of a part, if it holds text.
pub(super) fn whole_part_value(snapshot: &Snapshot, part: usize) -> Option<TargetValue> {
    let part_of = snapshot.parts().get(part)?;
    let (subject, source) = (part_of.indexed_text()?.clone(), part_of.source().clone());
    Some(TargetValue::new(part as u16, String::new(), subject, source, 0))
}

/// Returns an operator-defined section of an object in a node.
pub(super) fn custom_section_value(
    snapshot: &Snapshot,
    of: &Arc<TargetValue>,
    made: &CustomSection,
    pointer: &str,
    object: Span,
) -> TargetValue {
    let subject = IndexedText::from_payload(Slice::new(made.project(object.slice(&of.subject.text))));
    let own_bytes = subject.heap_bytes() + of.extra_bytes;
    let written = snapshot.parts().get(usize::from(of.part));
    let written = written.and_then(|whole| whole.original_text(span_in_part(snapshot, of, object)?));
    let source = written.unwrap_or_else(|| of.subject.text.subslice(object));
    let pointer = joined_pointer(snapshot, of, pointer);
    let field_subset = Some((made.fields.clone(), Arc::clone(of)));
    TargetValue { field_subset, ..TargetValue::new(of.part, pointer, subject, source, own_bytes) }
}

/// Returns a value inside a node.
pub(super) fn target_below(snapshot: &Snapshot, of: &TargetValue, pointer: &str, value: Span) -> Target {
    let (part, pointer) = (usize::from(of.part), joined_pointer(snapshot, of, pointer));
    match span_in_part(snapshot, of, value) {
        Some(value) => target_at(snapshot, part, &pointer, value),
        None => target_from_source(part, pointer, of.subject.text.subslice(value)),
    }
}

/// Returns the pointer of a value inside a node.
fn joined_pointer(snapshot: &Snapshot, of: &TargetValue, pointer: &str) -> String {
    let holder = snapshot.parts().get(usize::from(of.part)).and_then(Part::enclosing_string);
    let root = holder.filter(|_| of.pointer.is_empty() && !pointer.is_empty());
    format!("{}{pointer}", root.map_or(of.pointer.as_str(), |holder| holder.pointer.as_str()))
}

/// Returns the span of a node's value in the JSON of its part, if both share one text.
fn span_in_part(snapshot: &Snapshot, of: &TargetValue, value: Span) -> Option<Span> {
    let whole = snapshot.parts().get(usize::from(of.part))?.indexed_text()?;
    let start = of.subject.text.start().checked_sub(whole.text.start())?;
    of.subject.text.shares_buffer(&whole.text).then(|| value.shifted_by(start))
}

/// Returns a value as the upstream wrote it.
fn target_from_source(part: usize, pointer: String, source: Slice) -> Target {
    let subject = IndexedText::from_value(&source);
    let own_bytes = subject.heap_bytes();
    Target::Value(Arc::new(TargetValue::new(part as u16, pointer, subject, source, own_bytes)))
}

/// Returns a value inside a block that is not text. The base64 of a text is decoded; of other base64, quotes and escapes are
/// removed.
fn target_in_block(part: &Part, index: usize, rest: &str) -> Result<Target, UnresolvedPath> {
    let PartBody::Atomic { json, binary, .. } = &part.body else { return Err(UnresolvedPath::default()) };
    let block = IndexedText::from_payload(json.clone());
    let reached = match (resolve_path(&block, rest), binary) {
        (Ok(reached), _) => reached,
        (Err(unresolved), Some(binary)) => {
            let below = rest.strip_prefix(binary.data_pointer).filter(|below| below.starts_with('/'));
            return target_in_blob(&block, index, binary, below.ok_or(unresolved)?);
        }
        (Err(unresolved), None) => return Err(unresolved),
    };
    let ResolvedPath { pointer, span: value } = reached;
    let source = json.subslice(value);
    let data = binary.as_ref().filter(|binary| binary.data_pointer == pointer);
    let data = data.map(|binary| (unquote(&source), &binary.mime_type));
    let is_media = binary.as_ref().is_some_and(|binary| binary.is_media);
    let data = data.map(|(inner, mime)| {
        let text = if is_media { None } else { decode_text(&inner, mime) };
        (inner, mime, text)
    });
    let (subject, source, base64) = match data.filter(|(inner, _, text)| text.is_some() || is_base64(inner)) {
        Some((inner, mime, text)) => {
            let text_encoding = text.as_ref().map(encoding_note);
            let subject = match text {
                Some(text) => IndexedText::from_payload(Slice::new(text.text)),
                None => IndexedText::from_text(inner.clone()),
            };
            (subject, inner, Some(Base64Source { mime_type: mime.clone(), text_encoding }))
        }
        None => (IndexedText::from_value(&source), source, None),
    };
    let is_decoded = base64.as_ref().is_some_and(|base64| base64.text_encoding.is_some());
    let own_bytes = source.len() + if is_decoded { subject.heap_bytes() } else { 0 };
    let value = TargetValue::new(index as u16, pointer, subject, source, own_bytes);
    Ok(Target::Value(Arc::new(TargetValue { base64, ..value })))
}

/// Returns a value in the JSON that the base64 of a block contains.
fn target_in_blob(
    block: &IndexedText,
    index: usize,
    binary: &BinaryInfo,
    below: &str,
) -> Result<Target, UnresolvedPath> {
    let data = resolve_path(block, binary.data_pointer)?.span;
    let text = decode_text(&unquote(&block.text.subslice(data)), &binary.mime_type)
        .ok_or_else(UnresolvedPath::default)?;
    let whole = IndexedText::from_payload(Slice::new(text.text));
    let ResolvedPath { pointer, span } = resolve_path(&whole, below)?;
    Ok(target_from_source(index, format!("{}{pointer}", binary.data_pointer), whole.text.subslice(span)))
}

/// Returns the encoding of a text in base64, as notices say it.
fn encoding_note(text: &Base64Text) -> String {
    let replaced = match text.invalid_count {
        0 => String::new(),
        1 => ", 1 invalid sequence replaced".to_owned(),
        count => format!(", {count} invalid sequences replaced"),
    };
    format!("base64, {}{replaced}", text.encoding)
}

/// Returns a JSON string without quotes and escapes. Without escapes, it is not copied.
fn unquote(quoted: &Slice) -> Slice {
    let inner = Span::new(1, quoted.len().saturating_sub(1).max(1));
    if quoted.contains('\\') || quoted.len() < 2 {
        Slice::new(unescape(quoted))
    } else {
        quoted.subslice(inner)
    }
}

/// Returns true if every group of four characters of a text can be decoded on its own.
fn is_base64(text: &str) -> bool {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_'))
}

pub(super) fn path_error(snapshot: &Snapshot, given: &str, unresolved: UnresolvedPath) -> ViewError {
    let UnresolvedPath {
        resolved_pointer: reached,
        missing_step: missing,
        closest_step: nearest,
        available_steps: available,
    } = unresolved;
    let gap = snapshot.upstream_list().and_then(UpstreamList::describe_gap).map(Into::into);
    let (given, reached, missing) = (given.to_owned(), reached.into(), missing.into());
    ViewError::Path { given, reached, missing, nearest, available, gap }
}

/// Returns the list that has most of the bytes of an object. Items of the object that are given by number are its items.
pub(super) fn largest_list(snapshot: &Snapshot, view: &View) -> Option<Target> {
    let value = focused_value(snapshot, view).ok()?;
    let Structure::Object(_) = value.subject.structure else { return None };
    let text = &value.subject.text;
    let lists = main_lists(text, Span::new(0, text.len())).into_iter().next()?;
    let reached = resolve_path(&value.subject, &lists.pattern).ok()?;
    (reached.span.len() * 2 > text.len())
        .then(|| target_below(snapshot, &value, &reached.pointer, reached.span))
}

/// Returns the single value that a view is about: its node, or the main part.
pub(super) fn focused_value(snapshot: &Snapshot, view: &View) -> Result<Arc<TargetValue>, ViewError> {
    if let Target::Value(value) = &view.target {
        return Ok(Arc::clone(value));
    }
    let part = snapshot.main_part().ok_or(ViewError::NoText("this result has no text or JSON"))?;
    Ok(Arc::new(whole_part_value(snapshot, part).ok_or(ViewError::NoText("this part has no text"))?))
}
