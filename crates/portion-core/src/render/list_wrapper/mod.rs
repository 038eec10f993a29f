//! Renders the objects around a list, with those of their other members that are small.

mod columns;
mod paging;

pub(super) use columns::{kept_columns, render_with_all_members};
pub(super) use paging::{ServedPage, rewritten_text};

use std::collections::{BTreeSet, HashMap};

use portion_json::path::step_from_quoted;
use portion_json::scan::{JsonKind, minified, minify, unescape};
use portion_tokens::TokenCounter;

use super::budget::{Detail, NoticeSize, RemainingBudget, ReplyLimits};
use super::rendering::RowFormat;
use crate::noise::{NoiseFields, write_without_named};
use crate::policy::{Policy, StripRule};
use crate::snapshot::{Layout, ListItem, Member, OrderedList, Snapshot};
use crate::view::ResolvedRequest;
use columns::{align_to_columns, is_header, write_header};
use paging::{added_member, leads_to_page, rewritten_members};

/// Text before and after the items of a page.
#[derive(Default)]
pub(super) struct ListWrapper {
    /// Text before the first item.
    pub before: String,
    /// Text after the last item.
    pub after: String,
    /// Members omitted for their size: pointer and bytes.
    pub omitted_members: Vec<(String, usize)>,
    /// Dotted paths of members stripped as noise.
    pub stripped_fields: BTreeSet<String>,
    /// True if members state which page of the list is served.
    pub states_page: bool,
    /// Objects around the list without the list, as JSON; empty if they have no other members.
    pub outer_members: String,
}

impl ListWrapper {
    /// Returns the objects that lead to the list, without other members.
    pub(super) fn path_only(rows: OrderedList<'_>) -> Self {
        let mut wrapper = Self::brackets_only(&rows.list.layout);
        for level in rows.list.enclosing_objects.iter().rev() {
            let key = rows.slice(level.members[level.list_member].key);
            wrapper.before = format!("{{{key}:{}", wrapper.before);
            wrapper.after.push('}');
        }
        wrapper
    }

    /// Returns the same wrapper without the brackets of the list, for other content in place of the list.
    pub(super) fn without_brackets(mut self, layout: &Layout) -> Self {
        let list = Self::brackets_only(layout);
        self.before.truncate(self.before.len().saturating_sub(list.before.len()));
        self.after.drain(..list.after.len().min(self.after.len()));
        self
    }

    /// Returns the wrapper of a page once its items are known, if it states which page that is. `wrap` renders it.
    pub(super) fn of_page(self, wrap: impl FnOnce() -> Option<Self>) -> Self {
        let wrapped = if self.states_page { wrap() } else { None };
        wrapped.unwrap_or(self)
    }

    /// Returns the brackets around the items, without enclosing objects.
    pub(super) fn brackets_only(layout: &Layout) -> Self {
        let (before, after) = match layout {
            Layout::Array | Layout::Table { .. } => ("[", "]"),
            Layout::Map => ("{", "}"),
            Layout::Lines => ("", ""),
        };
        Self { before: before.to_owned(), after: after.to_owned(), ..Self::default() }
    }
}

/// Renders the wrapper of a list. Its members take at most a quarter of the budget. The columns of a table
/// are always kept: rows have no meaning without them. Members about the page of the upstream describe `page`.
pub(super) fn render(
    rows: OrderedList<'_>,
    format: &RowFormat,
    strip: Option<&StripRule>,
    page: Option<&ServedPage<'_>>,
    room: &RemainingBudget<'_>,
) -> ListWrapper {
    let mut stripped = BTreeSet::new();
    let paging = page.map(|page| rewritten_members(rows, page)).unwrap_or_default();
    let mut lean = strip_members(rows, strip, &paging, &mut stripped);
    align_to_columns(rows, format, &mut lean);
    let small = fitting_members(rows, &lean, &room.with_max_tokens(room.tokens / 4));
    let mut wrapper = assemble(rows, format, &lean, &small);
    let added = page.and_then(|page| added_member(rows, page));
    let states_page = !paging.is_empty() || added.is_some();
    wrapper.after.insert_str(wrapper.after.len().saturating_sub(1), &added.unwrap_or_default());
    ListWrapper { stripped_fields: stripped, states_page, ..wrapper }
}

/// Assembles the wrapper from these members, some of them with replaced values.
fn assemble(
    rows: OrderedList<'_>,
    format: &RowFormat,
    lean: &MemberOverrides,
    small: &[(usize, usize)],
) -> ListWrapper {
    let mut wrapper = ListWrapper::default();
    let mut pointer = String::new();
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    let mut others = Vec::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        let (mut before, mut after) = (String::from("{"), String::new());
        let mut before_inner = String::new();
        for (at, member) in level.members.iter().enumerate() {
            let side = if at <= level.list_member { &mut before } else { &mut after };
            let key = rows.slice(member.key);
            if at == level.list_member {
                before_inner.clone_from(side);
                push_comma(side);
                side.push_str(key);
                side.push(':');
                continue;
            }
            let header = kept_columns(rows, format).filter(|_| depth == innermost && is_header(rows, at));
            let value = lean.get(&(depth, at));
            if header.is_none() && matches!(value, Some(None)) {
                continue;
            }
            if header.is_none() && !small.contains(&(depth, at)) {
                wrapper
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
                    _ => minify(rows.slice(member.value), side),
                },
            }
        }
        pointer = format!("{pointer}/{}", step_from_quoted(rows.slice(level.members[level.list_member].key)));
        others.push((before_inner, after.clone()));
        wrapper.before.push_str(&before);
        after.push('}');
        wrapper.after.insert_str(0, &after);
    }
    wrapper.outer_members = outer_members(rows, &others);
    let list = ListWrapper::brackets_only(&rows.list.layout);
    wrapper.before.push_str(&list.before);
    wrapper.after.insert_str(0, &list.after);
    wrapper
}

/// Returns the objects around a list without the list, given the members of each level before and after it.
fn outer_members(rows: OrderedList<'_>, others: &[(String, String)]) -> String {
    let mut beside = String::new();
    for (level, (before, after)) in rows.list.enclosing_objects.iter().zip(others).rev() {
        let mut object = before.clone();
        if !beside.is_empty() {
            push_comma(&mut object);
            object.push_str(rows.slice(level.members[level.list_member].key));
            object.push(':');
            object.push_str(&beside);
        }
        // Each of the members after it begins with a comma.
        let after = if object.ends_with('{') { after.strip_prefix(',').unwrap_or(after) } else { after };
        object.push_str(after);
        beside = if object == "{" { String::new() } else { object + "}" };
    }
    beside
}

/// Returns the members that fit the budget, the smallest first, by level and index.
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
        text.push_str(rows.slice(member.key));
        if member.value.len() > 4 * room.bytes {
            break;
        }
        match lean.get(&(depth, at)) {
            Some(Some(value)) => text.push_str(value),
            _ => minify(rows.slice(member.value), &mut text),
        }
        text.push(',');
        if !room.spend(&text) {
            break;
        }
        small.push((depth, at));
    }
    small
}

fn push_comma(side: &mut String) {
    if !side.ends_with('{') {
        side.push(',');
    }
}

/// Replaced members by level and index: `None` for a stripped member, otherwise its value without noise.
type MemberOverrides = HashMap<(usize, usize), Option<String>>;

/// Largest member, in bytes, that is searched for noise. Larger ones rarely fit.
const MAX_SCANNED_BYTES: usize = 4 << 10;

/// Returns the members that the rule strips, or whose values it shortens, and those about the page, which stay. `gone`
/// receives the paths of what is stripped.
fn strip_members(
    rows: OrderedList<'_>,
    strip: Option<&StripRule>,
    paging: &HashMap<(usize, usize), String>,
    gone: &mut BTreeSet<String>,
) -> MemberOverrides {
    let mut lean: MemberOverrides =
        paging.iter().map(|(place, json)| (*place, Some(minified(json)))).collect();
    let Some(strip) = strip else { return lean };
    let mut path = String::new();
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        let before = path.len();
        for (at, member) in level.members.iter().enumerate() {
            path.truncate(before);
            path.push_str(if before > 0 { "." } else { "" });
            path.push_str(&unescape(rows.slice(member.key)));
            if at == level.list_member || paging.contains_key(&(depth, at)) {
                continue;
            }
            if strip.strips_member(&path, member.value.len(), rows.text.len()) {
                // What leads to the next page is no noise.
                if leads_to_page(rows, member) {
                    continue;
                }
                gone.insert(path.clone());
                lean.insert((depth, at), None);
            } else if matches!(member.kind, JsonKind::Object | JsonKind::Array)
                && member.value.len() <= MAX_SCANNED_BYTES
            {
                let (mut value, mut inside) = (String::new(), BTreeSet::new());
                write_without_named(strip, rows.slice(member.value), &path, &mut value, &mut inside);
                if !inside.is_empty() {
                    gone.append(&mut inside);
                    // A member without remaining content is stripped whole.
                    lean.insert((depth, at), Some(value).filter(|value| !value.is_empty()));
                }
            }
        }
        path.truncate(before);
        path.push_str(if before > 0 { "." } else { "" });
        path.push_str(&unescape(rows.slice(level.members[level.list_member].key)));
    }
    lean
}

/// Returns the tokens that the first reply has for the items of a list, and what each of the first `count`
/// items costs there, minified.
pub(crate) fn item_costs(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    rows: OrderedList<'_>,
    count: usize,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> (usize, Vec<usize>) {
    let room = ReplyLimits::for_reply(snapshot, request, policy, true).budget_without_notice(
        Detail::Full,
        NoticeSize::Plain,
        (0, 0),
        counter,
        0,
    );
    let mut left = room;
    let strip = &policy.render_options.strip_rule;
    let noise = NoiseFields::in_list(strip, rows.text, rows.list);
    let wrapper = render(rows, &RowFormat::default(), Some(strip), None, &room);
    let room = if left.spend(&wrapper.before) && left.spend(&wrapper.after) { left } else { room };
    let mut text = String::new();
    let cost = |item: ListItem| {
        text.clear();
        text.push(',');
        if let Some(key) = item.key {
            text.push_str(rows.slice(key));
            text.push(':');
        }
        // Minifying cannot shorten an item that far.
        if noise.is_empty() && item.value.len() / 4 > room.bytes {
            return usize::MAX;
        }
        noise.write_without(rows.slice(item.value), &mut text);
        counter.count_within(&text, room.tokens).unwrap_or(usize::MAX)
    };
    (room.tokens, rows.iter_from(0).take(count).map(cost).collect())
}
