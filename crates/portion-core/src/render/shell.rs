//! What stands around a list: the objects that wrap it, with their other members as far as they are small.

use super::room::Room;
use crate::pointer::step;
use crate::projection::Fields;
use crate::scan::minify;
use crate::snapshot::{Layout, Member, Rows, cells};

/// The text before and after the items of a page.
#[derive(Default)]
pub(super) struct Shell {
    /// Up to the first item.
    pub before: String,
    /// From the last item on.
    pub after: String,
    /// Members left out for their size: pointer and bytes.
    pub omitted: Vec<(String, usize)>,
    /// The objects around the list without it, JSON; empty where nothing else is in them.
    pub beside: String,
}

/// Draws the shell of a list. Its members take at most a quarter of the room; the columns of a table
/// always stay, for without them rows tell nothing.
pub(super) fn draw(rows: Rows<'_>, keep: Option<&Fields>, room: &Room<'_>) -> Shell {
    let mut shell = Shell::default();
    let small = small_members(rows, &room.at_most(room.tokens / 4));
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
            let header = header_columns(rows, keep).filter(|_| depth == innermost && is_header(rows, at));
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
                None => minify(member.value.of(rows.text), side),
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

/// The members that fit the room, the smallest first, by level and index.
fn small_members(rows: Rows<'_>, room: &Room<'_>) -> Vec<(usize, usize)> {
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
        text.clear();
        text.push_str(member.key.of(rows.text));
        if member.value.len() > 4 * room.bytes {
            break;
        }
        minify(member.value.of(rows.text), &mut text);
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
pub(super) fn header_columns(rows: Rows<'_>, keep: Option<&Fields>) -> Option<Vec<usize>> {
    let Layout::Table { columns, .. } = &rows.list.layout else { return None };
    let kept = |name: &String| keep.is_none_or(|fields| fields.wants(name));
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
