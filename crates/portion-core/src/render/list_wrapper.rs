//! What stands around a list: the objects that wrap it, with their other members as far as they are small.

use std::collections::{BTreeSet, HashMap};

use super::budget::RemainingBudget;
use crate::json_pointer::step_from_quoted;
use crate::noise::write_without_named;
use crate::policy::StripRule;
use crate::scan::{JsonKind, JsonReader, minify, unescape};
use crate::snapshot::{Layout, Member, ObjectIndex, OrderedList, cell_spans, key_matches};
use crate::stage::RowFormat;

/// The text before and after the items of a page.
#[derive(Default)]
pub(super) struct ListWrapper {
    /// Up to the first item.
    pub before: String,
    /// From the last item on.
    pub after: String,
    /// Members left out for their size: pointer and bytes.
    pub omitted_members: Vec<(String, usize)>,
    /// What was left out as noise, dotted paths.
    pub stripped_fields: BTreeSet<String>,
    /// The objects around the list without it, JSON; empty where nothing else is in them.
    pub outer_members: String,
}

/// Draws the shell of a list. Its members take at most a quarter of the room; the columns of a table
/// always stay, for without them rows tell nothing.
pub(super) fn render(
    rows: OrderedList<'_>,
    how: &RowFormat,
    strip: Option<&StripRule>,
    room: &RemainingBudget<'_>,
) -> ListWrapper {
    let mut stripped = BTreeSet::new();
    let mut lean = strip_members(rows, strip, &mut stripped);
    align_to_columns(rows, how, &mut lean);
    let small = fitting_members(rows, &lean, &room.with_max_tokens(room.tokens / 4));
    ListWrapper { stripped_fields: stripped, ..assemble(rows, how, &lean, &small) }
}

/// Draws the shell of a list with every member of it. Lists among them are shortened to whole items where they
/// take more than their share. `None` where that does not leave room for the list itself.
pub(super) fn render_with_all_members(
    rows: OrderedList<'_>,
    room: &RemainingBudget<'_>,
) -> Option<ListWrapper> {
    let mut left = room.with_max_tokens(room.tokens / 4 * 3);
    left.bytes = left.bytes / 4 * 3;
    let mut lists = Vec::new();
    let mut all = Vec::new();
    let mut text = String::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate().filter(|(at, _)| *at != level.list_member) {
            all.push((depth, at));
            if member.kind == JsonKind::Array {
                lists.push((depth, at, member));
                continue;
            }
            text.clear();
            text.push_str(member.key.slice(rows.text));
            text.push(':');
            minify(member.value.slice(rows.text), &mut text);
            if !left.spend(&text) {
                return None;
            }
        }
    }
    // What the smaller lists do not need is left to the larger ones; two thirds stay for the records.
    lists.sort_by_key(|(.., member)| member.value.len());
    let mut share = left.with_max_tokens(left.tokens / 3);
    share.bytes /= 3;
    let (mut lean, mut omitted) = (MemberOverrides::new(), Vec::new());
    for (i, (depth, at, member)) in lists.iter().enumerate() {
        let others = lists.len() - i;
        let mut own = share.with_max_tokens(share.tokens / others);
        own.bytes /= others;
        let value = member.value.slice(rows.text);
        let (short, missing) = truncate_array(value, &own);
        if missing > 0 {
            let innermost = rows.list.enclosing_objects[..*depth].iter();
            let outer = innermost.fold(String::new(), |outer, level| {
                format!("{outer}/{}", step_from_quoted(level.members[level.list_member].key.slice(rows.text)))
            });
            // Columns without which rows tell nothing are no list to be shortened.
            if is_header(rows, *at) && depth + 1 == rows.list.enclosing_objects.len() {
                return None;
            }
            omitted.push((format!("{outer}/{}", step_from_quoted(member.key.slice(rows.text))), missing));
            lean.insert((*depth, *at), Some(short.clone()));
        }
        share.spend(&short);
    }
    let shell = assemble(rows, &RowFormat::default(), &lean, &all);
    Some(ListWrapper { omitted_members: omitted, ..shell })
}

/// As many of the items of an array as fit, minified, and the bytes of those that do not.
fn truncate_array(array: &str, room: &RemainingBudget<'_>) -> (String, usize) {
    let mut short = String::new();
    minify(array, &mut short);
    if room.fits(&short) {
        return (short, 0);
    }
    let mut left = *room;
    let (mut out, mut missing) = (String::from("["), 0);
    let mut item = String::new();
    for span in cell_spans(array) {
        item.clear();
        item.push_str(if out.len() > 1 { "," } else { "" });
        minify(span.slice(array), &mut item);
        if missing > 0 || !left.spend(&item) {
            missing += span.len();
        } else {
            out.push_str(&item);
        }
    }
    out.push(']');
    (out, missing)
}

/// Draws the shell of a list with these members, some of them otherwise than they came.
fn assemble(
    rows: OrderedList<'_>,
    how: &RowFormat,
    lean: &MemberOverrides,
    small: &[(usize, usize)],
) -> ListWrapper {
    let mut shell = ListWrapper::default();
    let mut pointer = String::new();
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    let mut others = Vec::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        let (mut before, mut after) = (String::from("{"), String::new());
        let mut before_inner = String::new();
        for (at, member) in level.members.iter().enumerate() {
            let side = if at <= level.list_member { &mut before } else { &mut after };
            let key = member.key.slice(rows.text);
            if at == level.list_member {
                before_inner.clone_from(side);
                push_comma(side);
                side.push_str(key);
                side.push(':');
                continue;
            }
            let header = kept_columns(rows, how).filter(|_| depth == innermost && is_header(rows, at));
            let value = lean.get(&(depth, at));
            if header.is_none() && matches!(value, Some(None)) {
                continue;
            }
            if header.is_none() && !small.contains(&(depth, at)) {
                shell
                    .omitted_members
                    .push((format!("{pointer}/{}", step_from_quoted(key)), member.value.len()));
                continue;
            }
            if at < level.list_member {
                push_comma(side);
            } else {
                side.push(',');
            }
            side.push_str(key);
            side.push(':');
            match header {
                Some(columns) => write_header(rows, member, &columns, side),
                None => match value {
                    Some(Some(value)) => side.push_str(value),
                    _ => minify(member.value.slice(rows.text), side),
                },
            }
        }
        pointer =
            format!("{pointer}/{}", step_from_quoted(level.members[level.list_member].key.slice(rows.text)));
        others.push((before_inner, after.clone()));
        shell.before.push_str(&before);
        after.push('}');
        shell.after.insert_str(0, &after);
    }
    shell.outer_members = outer_members(rows, &others);
    let list = ListWrapper::brackets_only(&rows.list.layout);
    shell.before.push_str(&list.before);
    shell.after.insert_str(0, &list.after);
    shell
}

/// The objects around a list without it, by the members of each level before and after the one that leads on.
fn outer_members(rows: OrderedList<'_>, others: &[(String, String)]) -> String {
    let mut beside = String::new();
    for (level, (before, after)) in rows.list.enclosing_objects.iter().zip(others).rev() {
        let mut object = before.clone();
        if !beside.is_empty() {
            push_comma(&mut object);
            object.push_str(level.members[level.list_member].key.slice(rows.text));
            object.push(':');
            object.push_str(&beside);
        }
        // A comma stands before each of the members after.
        let after = if object.ends_with('{') { after.strip_prefix(',').unwrap_or(after) } else { after };
        object.push_str(after);
        beside = if object == "{" { String::new() } else { object + "}" };
    }
    beside
}

impl ListWrapper {
    /// The objects that lead to the list, without anything else in them.
    pub(super) fn path_only(rows: OrderedList<'_>) -> Self {
        let mut shell = Self::brackets_only(&rows.list.layout);
        for level in rows.list.enclosing_objects.iter().rev() {
            let key = level.members[level.list_member].key.slice(rows.text);
            shell.before = format!("{{{key}:{}", shell.before);
            shell.after.push('}');
        }
        shell
    }

    /// The same without the brackets of the list itself, where something else is to stand in its place.
    pub(super) fn without_brackets(mut self, layout: &Layout) -> Self {
        let list = Self::brackets_only(layout);
        self.before.truncate(self.before.len().saturating_sub(list.before.len()));
        self.after.drain(..list.after.len().min(self.after.len()));
        self
    }

    /// What stands around the items alone.
    pub(super) fn brackets_only(layout: &Layout) -> Self {
        let (before, after) = match layout {
            Layout::Array | Layout::Table { .. } => ("[", "]"),
            Layout::Map => ("{", "}"),
            Layout::Lines => ("", ""),
        };
        Self { before: before.to_owned(), after: after.to_owned(), ..Self::default() }
    }
}

fn push_comma(side: &mut String) {
    if !side.ends_with('{') {
        side.push(',');
    }
}

/// Members that are not as they came, by level and index: `None` where they are noise, else what they are without it.
type MemberOverrides = HashMap<(usize, usize), Option<String>>;

/// Bytes of a member that is looked into for noise: what is larger hardly ever fits.
const MAX_SCANNED_BYTES: usize = 4 << 10;

fn strip_members(
    rows: OrderedList<'_>,
    strip: Option<&StripRule>,
    gone: &mut BTreeSet<String>,
) -> MemberOverrides {
    let mut lean = MemberOverrides::new();
    let Some(strip) = strip else { return lean };
    let mut path = String::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        let before = path.len();
        for (at, member) in level.members.iter().enumerate() {
            path.truncate(before);
            path.push_str(if before > 0 { "." } else { "" });
            path.push_str(&unescape(member.key.slice(rows.text)));
            if at == level.list_member {
                continue;
            }
            if strip.strips(&path) {
                gone.insert(path.clone());
                lean.insert((depth, at), None);
            } else if matches!(member.kind, JsonKind::Object | JsonKind::Array)
                && member.value.len() <= MAX_SCANNED_BYTES
            {
                let (mut value, mut inside) = (String::new(), BTreeSet::new());
                write_without_named(strip, member.value.slice(rows.text), &path, &mut value, &mut inside);
                if !inside.is_empty() {
                    gone.append(&mut inside);
                    // Where nothing is left of it, it goes as a whole.
                    lean.insert((depth, at), Some(value).filter(|value| !value.is_empty()));
                }
            }
        }
        path.truncate(before);
        path.push_str(if before > 0 { "." } else { "" });
        path.push_str(&unescape(level.members[level.list_member].key.slice(rows.text)));
    }
    lean
}

/// Names of members that hold a value for each column, where a table has too few columns for their number to tell.
const PER_COLUMN_NAMES: [&str; 12] = [
    "totals",
    "total",
    "subtotals",
    "sums",
    "averages",
    "aggregates",
    "footer",
    "units",
    "types",
    "formats",
    "labels",
    "widths",
];
/// Columns from which an array of as many values is one with a value for each.
const MIN_ALIGNED_COLUMNS: usize = 4;

/// Leaves out of the members that hold a value for each column what belongs to the columns that are left out: else values
/// would stand under the headings of others.
fn align_to_columns(rows: OrderedList<'_>, how: &RowFormat, lean: &mut MemberOverrides) {
    let Layout::Table { columns, .. } = &rows.list.layout else { return };
    let Some(kept) = kept_columns(rows, how).filter(|kept| kept.len() < columns.len()) else { return };
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate() {
            let own = at == level.list_member || depth == innermost && is_header(rows, at);
            let named = PER_COLUMN_NAMES.iter().any(|name| key_matches(rows.text, member.key, name));
            if own
                || !named && columns.len() < MIN_ALIGNED_COLUMNS
                || member.value.len() > MAX_SCANNED_BYTES * 16
            {
                continue;
            }
            let value = match lean.get(&(depth, at)) {
                None => member.value.slice(rows.text).to_owned(),
                Some(Some(value)) => value.clone(),
                Some(None) => continue,
            };
            if let Some(aligned) = select_columns(&value, &kept, columns.len(), MAX_ALIGNED_DEPTH) {
                lean.insert((depth, at), Some(aligned));
            }
        }
    }
}

/// Levels of objects and arrays that are looked into for a value for each column.
const MAX_ALIGNED_DEPTH: usize = 3;

/// A value whose arrays of `width` values hold those of some columns only; `None` where it has no such arrays. Bounded by
/// `levels`, not by the input.
fn select_columns(value: &str, kept: &[usize], width: usize, levels: usize) -> Option<String> {
    let below =
        |inside: &str| levels.checked_sub(1).and_then(|levels| select_columns(inside, kept, width, levels));
    let mut any = false;
    let mut part = |inside: &str| match below(inside) {
        Some(text) => {
            any = true;
            text
        }
        None => inside.to_owned(),
    };
    match JsonKind::of_value(value) {
        JsonKind::Array => {
            let cells = cell_spans(value);
            let items: Vec<String> = if cells.len() == width {
                any = true;
                kept.iter().filter_map(|at| cells.get(*at)).map(|cell| cell.slice(value).to_owned()).collect()
            } else {
                cells.iter().map(|cell| part(cell.slice(value))).collect()
            };
            any.then(|| minified(&format!("[{}]", items.join(","))))
        }
        JsonKind::Object => {
            let members = ObjectIndex::parse(&mut JsonReader::new(value)).ok()?;
            let pair =
                |member: &Member| format!("{}:{}", member.key.slice(value), part(member.value.slice(value)));
            let pairs: Vec<String> = members.listed.iter().map(pair).collect();
            any.then(|| minified(&format!("{{{}}}", pairs.join(","))))
        }
        _ => None,
    }
}

fn minified(json: &str) -> String {
    let mut out = String::new();
    minify(json, &mut out);
    out
}

/// The members that fit the room, the smallest first, by level and index.
fn fitting_members(
    rows: OrderedList<'_>,
    lean: &MemberOverrides,
    room: &RemainingBudget<'_>,
) -> Vec<(usize, usize)> {
    let levels = rows.list.enclosing_objects.iter().enumerate();
    let mut members: Vec<(usize, usize, &Member)> = levels
        .flat_map(|(depth, level)| {
            let others = level.members.iter().enumerate().filter(move |(at, _)| *at != level.list_member);
            others.map(move |(at, member)| (depth, at, member))
        })
        .collect();
    members.sort_by_key(|(depth, at, member)| (member.value.len(), *depth, *at));
    let mut room = *room;
    let mut text = String::new();
    let mut small = Vec::new();
    for (depth, at, member) in members {
        if matches!(lean.get(&(depth, at)), Some(None)) {
            continue;
        }
        text.clear();
        text.push_str(member.key.slice(rows.text));
        if member.value.len() > 4 * room.bytes {
            break;
        }
        match lean.get(&(depth, at)) {
            Some(Some(value)) => text.push_str(value),
            _ => minify(member.value.slice(rows.text), &mut text),
        }
        text.push(',');
        if !room.spend(&text) {
            break;
        }
        small.push((depth, at));
    }
    small
}

fn is_header(rows: OrderedList<'_>, at: usize) -> bool {
    matches!(rows.list.layout, Layout::Table { header, .. } if header == at)
}

/// The indices of the columns that are kept; `None` where the list is no table.
pub(super) fn kept_columns(rows: OrderedList<'_>, how: &RowFormat) -> Option<Vec<usize>> {
    let Layout::Table { columns, .. } = &rows.list.layout else { return None };
    let wanted = |name: &str| how.kept_fields.as_ref().is_none_or(|fields| fields.selects(name));
    let kept = |name: &String| wanted(name) && !how.noise.contains(name);
    Some(columns.iter().enumerate().filter(|(_, name)| kept(name)).map(|(i, _)| i).collect())
}

fn write_header(rows: OrderedList<'_>, member: &Member, columns: &[usize], out: &mut String) {
    let header = member.value.slice(rows.text);
    let names = cell_spans(header);
    out.push('[');
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if let Some(name) = names.get(*column) {
            minify(name.slice(header), out);
        }
    }
    out.push(']');
}
