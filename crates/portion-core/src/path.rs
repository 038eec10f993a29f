//! Resolves paths into a payload: JSON Pointers (RFC 6901) and the dotted form that people type.
//!
//! ```
//! use portion_core::path::resolve_path;
//! use portion_core::snapshot::{IndexedText, Slice};
//!
//! let order = IndexedText::from_payload(Slice::new(r#"{"guest":{"name":"Ada"}}"#.to_owned()));
//! let found = resolve_path(&order, "guest.name").unwrap();
//! assert_eq!((found.pointer.as_str(), found.span.slice(&order.text)), ("/guest/name", "\"Ada\""));
//! let missing = resolve_path(&order, "guest.nam").unwrap_err();
//! assert_eq!(missing.closest_step.as_deref(), Some("name"));
//! ```

use portion_json::path::{PathSteps, child_steps, escape_step, find_child, index_range_label};
use portion_json::span::Span;
use portion_text::names::closest_name;

use crate::snapshot::{IndexedText, Layout, Structure};

/// The value that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Span of the value.
    pub span: Span,
    /// The path as a JSON Pointer.
    pub pointer: String,
}

/// The part of a path that could be followed, where the whole path leads nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnresolvedPath {
    /// Pointer of the last value that exists on the path.
    pub resolved_pointer: String,
    /// First step that does not exist.
    pub missing_step: String,
    /// Existing step most similar to the missing one.
    pub closest_step: Option<String>,
    /// Steps that exist at that value, at most 100.
    pub available_steps: Vec<String>,
}

/// Follows a path from the root of a text.
///
/// `/a/0/b` is a JSON Pointer; `a.0.b` and `a[0].b` are the dotted form, which also finds keys that
/// contain dots. Of duplicate keys, the first one counts.
///
/// # Errors
/// [`UnresolvedPath`] where the path leads nowhere.
pub fn resolve_path(subject: &IndexedText, path: &str) -> Result<ResolvedPath, UnresolvedPath> {
    let text: &str = &subject.text;
    let mut at = trimmed_span(text);
    let mut pointer = String::new();
    let mut rest = PathSteps::parse(path);
    if let Structure::List(list) = &subject.structure
        && let Some(index) = rest.index_after(&list.pointer)
        && !matches!(list.layout, Layout::Map)
    {
        // The index of the list finds an item directly, however long the list is.
        let Some(item) = list.iter_from(text, index.value).next() else {
            return Err(UnresolvedPath {
                resolved_pointer: display_pointer(&list.pointer),
                missing_step: index.value.to_string(),
                closest_step: list.len().checked_sub(1).map(|last| last.to_string()),
                available_steps: Vec::new(),
            });
        };
        at = item.value;
        pointer = list.pointer_to(text, &item);
        rest = index.rest;
    }
    if let Structure::List(list) = &subject.structure
        && list.layout == Layout::Lines
        && pointer.is_empty()
        && !rest.is_empty()
    {
        // Lines have no enclosing value with members to step into.
        let missing = rest.next_candidates().pop().map_or_else(String::new, |step| step.name);
        let available = index_range_label(list.len());
        return Err(UnresolvedPath {
            resolved_pointer: display_pointer(""),
            missing_step: missing,
            closest_step: None,
            available_steps: available,
        });
    }
    while !rest.is_empty() {
        let Some((value, step)) = find_child(text, at, rest) else {
            return Err(unresolved_path(text, at, &pointer, rest));
        };
        pointer.push('/');
        pointer.push_str(&escape_step(&step.name));
        at = value;
        rest = step.rest;
    }
    Ok(ResolvedPath { span: at, pointer })
}

fn display_pointer(pointer: &str) -> String {
    if pointer.is_empty() { "the root".to_owned() } else { pointer.to_owned() }
}

/// Returns the span of a text without surrounding white space.
fn trimmed_span(text: &str) -> Span {
    let lead = text.len() - text.trim_start().len();
    Span::new(lead, text.trim_end().len().max(lead))
}

fn unresolved_path(text: &str, at: Span, pointer: &str, rest: PathSteps<'_>) -> UnresolvedPath {
    let missing = rest.next_candidates().pop().map_or_else(String::new, |step| step.name);
    let available = child_steps(text, at);
    let nearest = closest_name(&missing, available.iter().map(String::as_str));
    UnresolvedPath {
        resolved_pointer: display_pointer(pointer),
        missing_step: missing,
        closest_step: nearest,
        available_steps: available,
    }
}
