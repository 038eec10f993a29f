//! Finding the list in a JSON text.
//!
//! APIs wrap their lists: `{"status":"ok","data":{"total":500,"items":[…]}}`. The list is the largest
//! array on the way down, where it makes up most of the object around it; an object with an identity of its
//! own is a record that happens to hold a list, and asks for a larger share.

use std::sync::{Arc, OnceLock};

use super::form::Form;
use super::list::{Layout, Level, List};
use super::object::{Member, Members, is_key, items};
use super::profile::Profile;
use crate::pointer::step;
use crate::scan::{Kind, Offsets, Reader, ScanError, decoded};
use crate::span::Span;

/// Objects around a list that are looked through.
const MAX_LEVELS: usize = 4;
/// Members from which an object of like objects is a map.
const MAP_FROM: usize = 8;
/// Names of a member that identify the object around it.
const IDENTITY: [&str; 8] = ["id", "_id", "Id", "ID", "uuid", "uid", "guid", "key"];
/// Names of columns and of the rows under them.
pub(crate) const HEADERS: [&str; 4] = ["columns", "fields", "headers", "cols"];
pub(crate) const ROWS: [&str; 4] = ["rows", "data", "values", "records"];

/// The form of a text that is one JSON value; `None` where it is not.
pub(super) fn of_json(text: &str) -> Option<Form> {
    let mut reader = Reader::new(text);
    match reader.peek().ok()? {
        Kind::Array => {
            let start = reader.at();
            let found = Found::array(items(&mut reader).ok()?, Span::new(start, reader.at()));
            reader.end().ok()?;
            Some(found.into_form(text))
        }
        Kind::Object => {
            let members = Members::read(&mut reader).ok()?;
            reader.end().ok()?;
            Some(of_object(text, members))
        }
        _ => None,
    }
}

/// The form of a text of one JSON object or array a line; `None` where it is not.
pub(super) fn of_lines(text: &str) -> Option<Form> {
    let mut offsets = Offsets::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if !trimmed.is_empty() {
            let mut reader = Reader::new(trimmed);
            reader.peek().ok().filter(|kind| kind.is_container())?;
            reader.skip().ok()?;
            reader.end().ok()?;
            offsets.push(at);
        }
        at += line.len();
    }
    if offsets.len() < 2 {
        return None;
    }
    offsets.shrink();
    let found = Found {
        layout: Layout::Lines,
        items: offsets,
        span: Span::new(0, text.len()),
        levels: Vec::new(),
        pointer: String::new(),
    };
    Some(found.into_form(text))
}

/// A list as it was found, before its items are looked at.
pub(super) struct Found {
    pub layout: Layout,
    pub items: Offsets,
    pub span: Span,
    pub levels: Vec<Level>,
    pub pointer: String,
}

impl Found {
    fn array(items: Offsets, span: Span) -> Self {
        Self { layout: Layout::Array, items, span, levels: Vec::new(), pointer: String::new() }
    }

    pub(super) fn into_form(self, text: &str) -> Form {
        let Self { layout, items, span, levels, pointer } = self;
        let mut list = List {
            layout,
            items,
            span,
            levels,
            pointer,
            profile: Profile::default(),
            facts: OnceLock::new(),
            null_columns: OnceLock::new(),
        };
        list.profile = Profile::of(text, &list);
        Form::List(Arc::new(list))
    }
}

fn of_object(text: &str, root: Members) -> Form {
    let mut levels = Vec::new();
    let mut pointer = String::new();
    let mut members = root;
    let mut outermost = None;
    loop {
        if let Some((inner, layout)) = table(text, &members).or_else(|| dominant_array(text, &members)) {
            let member = members.list[inner];
            if let Some(items) = members.items(text, inner) {
                pointer = format!("{pointer}/{}", step(member.key.of(text)));
                levels.push(Level { members: members.list, inner });
                return Found { layout, items, span: member.value, levels, pointer }.into_form(text);
            }
            break;
        }
        if is_map(text, &members) {
            let (items, span) = (members.keys, members.span);
            return Found { layout: Layout::Map, items, span, levels, pointer }.into_form(text);
        }
        let inner = dominant(text, &members, |member| member.kind == Kind::Object);
        let Some(inner) = inner.filter(|_| levels.len() + 1 < MAX_LEVELS) else { break };
        let member = members.list[inner];
        let Ok(next) = Members::read(&mut Reader::resume(text, member.value.start as usize)) else { break };
        pointer = format!("{pointer}/{}", step(member.key.of(text)));
        levels.push(Level { members: members.list.clone(), inner });
        outermost.get_or_insert(members);
        members = next;
    }
    let mut whole = outermost.unwrap_or(members);
    whole.largest_array = None;
    Form::Object(Arc::new(whole))
}

/// The member that makes up most of an object, among those that qualify.
fn dominant(text: &str, members: &Members, fits: impl Fn(&Member) -> bool) -> Option<usize> {
    if members.len() > Members::AT_HAND {
        return None;
    }
    let (at, member) = members.list.iter().enumerate().max_by_key(|(_, member)| member.value.len())?;
    // Half is most of an envelope; a record keeps its list unless next to nothing else is in it.
    let percent = if has_identity(text, members) { 90 } else { 50 };
    let most = member.value.len() * 100 >= members.span.len() * percent;
    // A path means the first of duplicate keys, so only that one can be led to.
    let name = decoded(member.key.of(text));
    let first = || members.list.iter().position(|other| is_key(text, other.key, &name)) == Some(at);
    (fits(member) && most && first()).then_some(at)
}

fn dominant_array(text: &str, members: &Members) -> Option<(usize, Layout)> {
    let at = dominant(text, members, |member| member.kind == Kind::Array)?;
    // An array of bare numbers is one value of a record: a vector, a series. So is one that only nests another.
    let first = Reader::resume(text, members.list[at].value.start as usize + 1).peek().ok()?;
    let several = members.largest_array.as_ref().is_some_and(|(_, items)| items.len() > 1);
    let is_list = match first {
        Kind::Object | Kind::String => true,
        Kind::Array => several,
        Kind::Number | Kind::Bool | Kind::Null => false,
    };
    is_list.then_some((at, Layout::Array))
}

/// Whether an object has a name of its own for programs.
pub(crate) fn has_identity(text: &str, members: &Members) -> bool {
    members.list.iter().any(|member| {
        matches!(member.kind, Kind::String | Kind::Number)
            && IDENTITY.iter().any(|name| is_key(text, member.key, name))
    })
}

/// The member that holds the rows of a columnar table.
pub(super) fn table(text: &str, members: &Members) -> Option<(usize, Layout)> {
    if members.len() > Members::AT_HAND {
        return None;
    }
    let find = |names: &[&str]| {
        let named = |member: &Member| names.iter().any(|name| is_key(text, member.key, name));
        members.list.iter().position(|member| member.kind == Kind::Array && named(member))
    };
    let (header, rows) = (find(&HEADERS)?, find(&ROWS)?);
    let columns = column_names(members.list[header].value.of(text))?;
    let mut reader = Reader::resume(text, members.list[rows].value.start as usize);
    reader.enter_array().ok()?;
    // Every row: a column cannot be left out of a row that has more or fewer cells, or none.
    while reader.next_item().ok()? {
        if width(&mut reader).ok()? != columns.len() {
            return None;
        }
    }
    let some = !members.list[rows].value.of(text).trim_matches(['[', ']', ' ', '\n', '\r', '\t']).is_empty();
    (rows != header && some).then_some((rows, Layout::Table { columns, header }))
}

/// How many items the array has that the reader is at.
fn width(reader: &mut Reader<'_>) -> Result<usize, ScanError> {
    reader.enter_array()?;
    let mut width = 0;
    while reader.next_item()? {
        reader.skip()?;
        width += 1;
    }
    Ok(width)
}

/// Column names: strings, or objects that have a `name`.
pub(crate) fn column_names(json: &str) -> Option<Vec<String>> {
    let mut reader = Reader::new(json);
    reader.enter_array().ok()?;
    let mut names = Vec::new();
    while reader.next_item().ok()? {
        if names.len() > 4 * Members::AT_HAND {
            return None;
        }
        match reader.peek().ok()? {
            Kind::String => {
                let span = reader.skip_string().ok()?;
                names.push(decoded(reader.text(span)));
            }
            Kind::Object => {
                let members = Members::read(&mut reader).ok()?;
                let name = members.get(json, "name").filter(|member| member.kind == Kind::String)?;
                names.push(decoded(name.value.of(json)));
            }
            _ => return None,
        }
    }
    (!names.is_empty()).then_some(names)
}

/// Whether an object is a map: too many members to be a record, or like objects under keys.
fn is_map(text: &str, members: &Members) -> bool {
    if members.len() > Members::AT_HAND {
        return true;
    }
    if members.len() < MAP_FROM || members.list.iter().any(|member| member.kind != Kind::Object) {
        return false;
    }
    let mut shapes: Vec<Vec<&str>> = Vec::new();
    for member in members.list.iter().take(64) {
        let Ok(inner) = Members::read(&mut Reader::resume(text, member.value.start as usize)) else {
            return false;
        };
        let mut keys: Vec<&str> = inner.list.iter().map(|m| m.key.of(text)).collect();
        keys.sort_unstable();
        if !shapes.iter().any(|shape| alike(shape, &keys)) {
            shapes.push(keys);
        }
    }
    shapes.len() <= 2.max(members.len().min(64) / 5)
}

/// Whether two sorted sets of keys share at least half of the larger.
fn alike(a: &[&str], b: &[&str]) -> bool {
    let shared = a.iter().filter(|key| b.binary_search(key).is_ok()).count();
    shared * 2 >= a.len().max(b.len())
}
