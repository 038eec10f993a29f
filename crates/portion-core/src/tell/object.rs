//! The outline of an object: what its members are and how large.

use serde_json::{Map, Value};

use super::Taste;
use super::fit::fitted;
use crate::policy::Strip;
use crate::projection::is_within;
use crate::scan::{Kind, Reader, decoded};
use crate::snapshot::{Member, Members};
use crate::tokens::{TokenCounter, approximate};

/// Members that are told of at each level, the largest.
const MEMBERS: usize = 24;
/// Bytes of a value that is worth telling of.
const WORTH: usize = 200;
/// Bytes of a member, in percent of its object, from which it is looked into.
const DOMINANT: usize = 20;

/// The larger members of an object and, dotted, those of the members that make up much of it, as much as fits so many
/// tokens: name → what it is and its size. The largest come first, each followed by what is inside.
pub fn outline(
    text: &str,
    members: &Members,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Map<String, Value> {
    told(text, members, counter, tokens, &Taste::default())
}

/// The same, as an operator wants it.
pub(super) fn told(
    text: &str,
    members: &Members,
    counter: &dyn TokenCounter,
    tokens: usize,
    taste: &Taste<'_>,
) -> Map<String, Value> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let (mut upper, mut lower) = (Vec::new(), Vec::new());
    let parts = |members: &Members, prefix: &str| parts(text, members, prefix, counter, taste.strip);
    for part in parts(members, "") {
        let inner = part.members.as_ref().filter(|_| part.dominant);
        let inner: Vec<Part> = inner.map(|inner| parts(inner, &part.path)).unwrap_or_default();
        upper.push(lines.len());
        lines.push((part.path, part.words));
        lower.extend((lines.len()..).take(inner.len()));
        lines.extend(inner.into_iter().map(|part| (part.path, part.words)));
    }
    // What is wanted is paid for first, then the upper level.
    let wanted = |at: &usize| taste.first.iter().position(|name| is_within(&lines[*at].0, name));
    let mut order: Vec<usize> = upper.into_iter().chain(lower).collect();
    order.sort_by_key(|at| wanted(at).unwrap_or(usize::MAX));
    fitted(&lines, counter, tokens, order.into_iter())
}

/// A member that is told of.
struct Part {
    path: String,
    words: String,
    members: Option<Members>,
    dominant: bool,
}

/// The larger members of an object, the largest first.
fn parts(
    text: &str,
    members: &Members,
    prefix: &str,
    counter: &dyn TokenCounter,
    strip: Option<&Strip>,
) -> Vec<Part> {
    let path = |member: &Member| {
        let name = decoded(member.key.of(text));
        if prefix.is_empty() { name } else { format!("{prefix}.{name}") }
    };
    let mut largest: Vec<_> = members.list.iter().filter(|member| member.value.len() >= WORTH).collect();
    largest.retain(|member| strip.is_none_or(|strip| !strip.takes(&path(member))));
    largest.sort_by_key(|member| std::cmp::Reverse(member.value.len()));
    let told = largest.into_iter().take(MEMBERS).map(|member| {
        let value = member.value.of(text);
        let mut reader = Reader::resume(text, member.value.start as usize);
        let mut inside = None;
        let what = match member.kind {
            Kind::Object => {
                inside = Members::read(&mut reader).ok();
                format!("object of {} entries", inside.as_ref().map_or(0, Members::len))
            }
            Kind::Array => array(&mut reader),
            _ => format!("string of {} characters", decoded(value).chars().count()),
        };
        Part {
            path: path(member),
            words: format!("{what}, {} tokens", approximate(counter, value)),
            members: inside,
            dominant: member.value.len() * 100 >= members.span.len() * DOMINANT,
        }
    });
    told.collect()
}

/// `array of 12 objects`
fn array(reader: &mut Reader<'_>) -> String {
    let mut items = 0;
    let mut kinds: Option<Result<Kind, ()>> = None;
    if reader.enter_array().is_ok() {
        while reader.next_item() == Ok(true)
            && let Ok(kind) = reader.peek()
            && reader.skip().is_ok()
        {
            items += 1;
            kinds = Some(if items == 1 || kinds == Some(Ok(kind)) { Ok(kind) } else { Err(()) });
        }
    }
    let what = match kinds {
        Some(Ok(Kind::Object)) => "objects",
        Some(Ok(Kind::Array)) => "arrays",
        Some(Ok(Kind::String)) => "strings",
        Some(Ok(Kind::Number)) => "numbers",
        _ => "items",
    };
    format!("array of {items} {what}")
}
