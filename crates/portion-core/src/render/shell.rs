//! What stands around a list: the objects that wrap it, with their other members as far as they are small.

use std::collections::{BTreeSet, HashMap};

use super::room::Room;
use crate::noise::without_named;
use crate::pointer::step;
use crate::policy::Strip;
use crate::scan::{Kind, Reader, decoded, minify};
use crate::snapshot::{Layout, Member, Members, Rows, cells, is_key};
use crate::stage::How;

/// The text before and after the items of a page.
#[derive(Default)]
pub(super) struct Shell {
    /// Up to the first item.
    pub before: String,
    /// From the last item on.
    pub after: String,
    /// Members left out for their size: pointer and bytes.
    pub omitted: Vec<(String, usize)>,
    /// What was left out as noise, dotted paths.
    pub stripped: BTreeSet<String>,
    /// The objects around the list without it, JSON; empty where nothing else is in them.
    pub beside: String,
}

/// Draws the shell of a list. Its members take at most a quarter of the room; the columns of a table
/// always stay, for without them rows tell nothing.
pub(super) fn draw(rows: Rows<'_>, how: &How, strip: Option<&Strip>, room: &Room<'_>) -> Shell {
    let mut stripped = BTreeSet::new();
    let mut lean = lean(rows, strip, &mut stripped);
    align(rows, how, &mut lean);
    let small = small_members(rows, &lean, &room.at_most(room.tokens / 4));
    Shell { stripped, ..drawn(rows, how, &lean, &small) }
}

/// Draws the shell of a list with every member of it. Lists among them are shortened to whole items where they
/// take more than their share. `None` where that does not leave room for the list itself.
pub(super) fn whole(rows: Rows<'_>, room: &Room<'_>) -> Option<Shell> {
    let mut left = room.at_most(room.tokens / 4 * 3);
    left.bytes = left.bytes / 4 * 3;
    let mut lists = Vec::new();
    let mut all = Vec::new();
    let mut text = String::new();
    for (depth, level) in rows.list.levels.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate().filter(|(at, _)| *at != level.inner) {
            all.push((depth, at));
            if member.kind == Kind::Array {
                lists.push((depth, at, member));
                continue;
            }
            text.clear();
            text.push_str(member.key.of(rows.text));
            text.push(':');
            minify(member.value.of(rows.text), &mut text);
            if !left.take(&text) {
                return None;
            }
        }
    }
    // What the smaller lists do not need is left to the larger ones; two thirds stay for the records.
    lists.sort_by_key(|(.., member)| member.value.len());
    let mut share = left.at_most(left.tokens / 3);
    share.bytes /= 3;
    let (mut lean, mut omitted) = (Lean::new(), Vec::new());
    for (i, (depth, at, member)) in lists.iter().enumerate() {
        let others = lists.len() - i;
        let mut own = share.at_most(share.tokens / others);
        own.bytes /= others;
        let value = member.value.of(rows.text);
        let (short, missing) = shortened(value, &own);
        if missing > 0 {
            let innermost = rows.list.levels[..*depth].iter();
            let outer = innermost.fold(String::new(), |outer, level| {
                format!("{outer}/{}", step(level.members[level.inner].key.of(rows.text)))
            });
            // Columns without which rows tell nothing are no list to be shortened.
            if is_header(rows, *at) && depth + 1 == rows.list.levels.len() {
                return None;
            }
            omitted.push((format!("{outer}/{}", step(member.key.of(rows.text))), missing));
            lean.insert((*depth, *at), Some(short.clone()));
        }
        share.take(&short);
    }
    let shell = drawn(rows, &How::default(), &lean, &all);
    Some(Shell { omitted, ..shell })
}

/// As many of the items of an array as fit, minified, and the bytes of those that do not.
fn shortened(array: &str, room: &Room<'_>) -> (String, usize) {
    let mut short = String::new();
    minify(array, &mut short);
    if room.fits(&short) {
        return (short, 0);
    }
    let mut left = *room;
    let (mut out, mut missing) = (String::from("["), 0);
    let mut item = String::new();
    for span in cells(array) {
        item.clear();
        item.push_str(if out.len() > 1 { "," } else { "" });
        minify(span.of(array), &mut item);
        if missing > 0 || !left.take(&item) {
            missing += span.len();
        } else {
            out.push_str(&item);
        }
    }
    out.push(']');
    (out, missing)
}

/// Draws the shell of a list with these members, some of them otherwise than they came.
fn drawn(rows: Rows<'_>, how: &How, lean: &Lean, small: &[(usize, usize)]) -> Shell {
    let mut shell = Shell::default();
    let mut pointer = String::new();
    let innermost = rows.list.levels.len().wrapping_sub(1);
    let mut others = Vec::new();
    for (depth, level) in rows.list.levels.iter().enumerate() {
        let (mut before, mut after) = (String::from("{"), String::new());
        let mut before_inner = String::new();
        for (at, member) in level.members.iter().enumerate() {
            let side = if at <= level.inner { &mut before } else { &mut after };
            let key = member.key.of(rows.text);
            if at == level.inner {
                before_inner.clone_from(side);
                separate(side);
                side.push_str(key);
                side.push(':');
                continue;
            }
            let header = header_columns(rows, how).filter(|_| depth == innermost && is_header(rows, at));
            let value = lean.get(&(depth, at));
            if header.is_none() && matches!(value, Some(None)) {
                continue;
            }
            if header.is_none() && !small.contains(&(depth, at)) {
                shell.omitted.push((format!("{pointer}/{}", step(key)), member.value.len()));
                continue;
            }
            if at < level.inner {
                separate(side);
            } else {
                side.push(',');
            }
            side.push_str(key);
            side.push(':');
            match header {
                Some(columns) => write_header(rows, member, &columns, side),
                None => match value {
                    Some(Some(value)) => side.push_str(value),
                    _ => minify(member.value.of(rows.text), side),
                },
            }
        }
        pointer = format!("{pointer}/{}", step(level.members[level.inner].key.of(rows.text)));
        others.push((before_inner, after.clone()));
        shell.before.push_str(&before);
        after.push('}');
        shell.after.insert_str(0, &after);
    }
    shell.beside = beside(rows, &others);
    let list = Shell::bare(&rows.list.layout);
    shell.before.push_str(&list.before);
    shell.after.insert_str(0, &list.after);
    shell
}

/// The objects around a list without it, by the members of each level before and after the one that leads on.
fn beside(rows: Rows<'_>, others: &[(String, String)]) -> String {
    let mut beside = String::new();
    for (level, (before, after)) in rows.list.levels.iter().zip(others).rev() {
        let mut object = before.clone();
        if !beside.is_empty() {
            separate(&mut object);
            object.push_str(level.members[level.inner].key.of(rows.text));
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

impl Shell {
    /// The objects that lead to the list, without anything else in them.
    pub(super) fn slim(rows: Rows<'_>) -> Self {
        let mut shell = Self::bare(&rows.list.layout);
        for level in rows.list.levels.iter().rev() {
            let key = level.members[level.inner].key.of(rows.text);
            shell.before = format!("{{{key}:{}", shell.before);
            shell.after.push('}');
        }
        shell
    }

    /// The same without the brackets of the list itself, where something else is to stand in its place.
    pub(super) fn opened(mut self, layout: &Layout) -> Self {
        let list = Self::bare(layout);
        self.before.truncate(self.before.len().saturating_sub(list.before.len()));
        self.after.drain(..list.after.len().min(self.after.len()));
        self
    }

    /// What stands around the items alone.
    pub(super) fn bare(layout: &Layout) -> Self {
        let (before, after) = match layout {
            Layout::Array | Layout::Table { .. } => ("[", "]"),
            Layout::Map => ("{", "}"),
            Layout::Lines => ("", ""),
        };
        Self { before: before.to_owned(), after: after.to_owned(), ..Self::default() }
    }
}

fn separate(side: &mut String) {
    if !side.ends_with('{') {
        side.push(',');
    }
}

/// Members that are not as they came, by level and index: `None` where they are noise, else what they are without it.
type Lean = HashMap<(usize, usize), Option<String>>;

/// Bytes of a member that is looked into for noise: what is larger hardly ever fits.
const LOOKED_INTO: usize = 4 << 10;

fn lean(rows: Rows<'_>, strip: Option<&Strip>, gone: &mut BTreeSet<String>) -> Lean {
    let mut lean = Lean::new();
    let Some(strip) = strip else { return lean };
    let mut path = String::new();
    for (depth, level) in rows.list.levels.iter().enumerate() {
        let before = path.len();
        for (at, member) in level.members.iter().enumerate() {
            path.truncate(before);
            path.push_str(if before > 0 { "." } else { "" });
            path.push_str(&decoded(member.key.of(rows.text)));
            if at == level.inner {
                continue;
            }
            if strip.takes(&path) {
                gone.insert(path.clone());
                lean.insert((depth, at), None);
            } else if matches!(member.kind, Kind::Object | Kind::Array) && member.value.len() <= LOOKED_INTO {
                let (mut value, mut inside) = (String::new(), BTreeSet::new());
                without_named(strip, member.value.of(rows.text), &path, &mut value, &mut inside);
                if !inside.is_empty() {
                    gone.append(&mut inside);
                    // Where nothing is left of it, it goes as a whole.
                    lean.insert((depth, at), Some(value).filter(|value| !value.is_empty()));
                }
            }
        }
        path.truncate(before);
        path.push_str(if before > 0 { "." } else { "" });
        path.push_str(&decoded(level.members[level.inner].key.of(rows.text)));
    }
    lean
}

/// Names of members that hold a value for each column, where a table has too few columns for their number to tell.
const ALIGNED: [&str; 12] = [
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
const TELLING: usize = 4;

/// Leaves out of the members that hold a value for each column what belongs to the columns that are left out: else values
/// would stand under the headings of others.
fn align(rows: Rows<'_>, how: &How, lean: &mut Lean) {
    let Layout::Table { columns, .. } = &rows.list.layout else { return };
    let Some(kept) = header_columns(rows, how).filter(|kept| kept.len() < columns.len()) else { return };
    let innermost = rows.list.levels.len().wrapping_sub(1);
    for (depth, level) in rows.list.levels.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate() {
            let own = at == level.inner || depth == innermost && is_header(rows, at);
            let named = ALIGNED.iter().any(|name| is_key(rows.text, member.key, name));
            if own || !named && columns.len() < TELLING || member.value.len() > LOOKED_INTO * 16 {
                continue;
            }
            let value = match lean.get(&(depth, at)) {
                None => member.value.of(rows.text).to_owned(),
                Some(Some(value)) => value.clone(),
                Some(None) => continue,
            };
            if let Some(aligned) = aligned(&value, &kept, columns.len(), ALIGNED_LEVELS) {
                lean.insert((depth, at), Some(aligned));
            }
        }
    }
}

/// Levels of objects and arrays that are looked into for a value for each column.
const ALIGNED_LEVELS: usize = 3;

/// A value whose arrays of `width` values hold those of some columns only; `None` where it has no such arrays. Bounded by
/// `levels`, not by the input.
fn aligned(value: &str, kept: &[usize], width: usize, levels: usize) -> Option<String> {
    let below = |inside: &str| levels.checked_sub(1).and_then(|levels| aligned(inside, kept, width, levels));
    let mut any = false;
    let mut part = |inside: &str| match below(inside) {
        Some(text) => {
            any = true;
            text
        }
        None => inside.to_owned(),
    };
    match Kind::of(value) {
        Kind::Array => {
            let cells = cells(value);
            let items: Vec<String> = if cells.len() == width {
                any = true;
                kept.iter().filter_map(|at| cells.get(*at)).map(|cell| cell.of(value).to_owned()).collect()
            } else {
                cells.iter().map(|cell| part(cell.of(value))).collect()
            };
            any.then(|| minified(&format!("[{}]", items.join(","))))
        }
        Kind::Object => {
            let members = Members::read(&mut Reader::new(value)).ok()?;
            let pair = |member: &Member| format!("{}:{}", member.key.of(value), part(member.value.of(value)));
            let pairs: Vec<String> = members.list.iter().map(pair).collect();
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
fn small_members(rows: Rows<'_>, lean: &Lean, room: &Room<'_>) -> Vec<(usize, usize)> {
    let levels = rows.list.levels.iter().enumerate();
    let mut members: Vec<(usize, usize, &Member)> = levels
        .flat_map(|(depth, level)| {
            let others = level.members.iter().enumerate().filter(move |(at, _)| *at != level.inner);
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
        text.push_str(member.key.of(rows.text));
        if member.value.len() > 4 * room.bytes {
            break;
        }
        match lean.get(&(depth, at)) {
            Some(Some(value)) => text.push_str(value),
            _ => minify(member.value.of(rows.text), &mut text),
        }
        text.push(',');
        if !room.take(&text) {
            break;
        }
        small.push((depth, at));
    }
    small
}

fn is_header(rows: Rows<'_>, at: usize) -> bool {
    matches!(rows.list.layout, Layout::Table { header, .. } if header == at)
}

/// The indices of the columns that are kept; `None` where the list is no table.
pub(super) fn header_columns(rows: Rows<'_>, how: &How) -> Option<Vec<usize>> {
    let Layout::Table { columns, .. } = &rows.list.layout else { return None };
    let wanted = |name: &str| how.keep.as_ref().is_none_or(|fields| fields.wants(name));
    let kept = |name: &String| wanted(name) && !how.noise.takes(name);
    Some(columns.iter().enumerate().filter(|(_, name)| kept(name)).map(|(i, _)| i).collect())
}

fn write_header(rows: Rows<'_>, member: &Member, columns: &[usize], out: &mut String) {
    let header = member.value.of(rows.text);
    let names = cells(header);
    out.push('[');
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if let Some(name) = names.get(*column) {
            minify(name.of(header), out);
        }
    }
    out.push(']');
}
