//! Renders the objects around a list with all of their members.

use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::{JsonKind, minified, minify};

use super::columns::{is_header, is_per_column};
use super::overrides::MemberOverrides;
use super::paging::{ServedPage, rewritten_members};
use super::{ListWrapper, assemble};
use crate::render::budget::RemainingBudget;
use crate::render::row_format::RowFormat;
use crate::snapshot::{OrderedList, cell_spans};

/// Renders the wrapper of a list with all of its members. Other lists among them are shortened to whole items
/// if they exceed their share, except the header of a table and lists with a value for each of its columns. Returns `None`
/// if no budget remains for the list itself.
pub(in crate::render) fn render_with_all_members(
    rows: OrderedList<'_>,
    page: Option<&ServedPage<'_>>,
    room: &RemainingBudget<'_>,
) -> Option<ListWrapper> {
    let paging = page.map(|page| rewritten_members(rows, page)).unwrap_or_default();
    let mut left = room.with_max_tokens(room.tokens / 4 * 3);
    left.bytes = left.bytes / 4 * 3;
    let mut lists = Vec::new();
    let mut all = Vec::new();
    let mut text = String::new();
    let innermost = rows.list.enclosing_objects.len().wrapping_sub(1);
    for (depth, level) in rows.list.enclosing_objects.iter().enumerate() {
        for (at, member) in level.members.iter().enumerate().filter(|(at, _)| *at != level.list_member) {
            all.push((depth, at));
            let is_of_table = is_per_column(rows, member) || depth == innermost && is_header(rows, at);
            if member.kind == JsonKind::Array && !is_of_table {
                lists.push((depth, at, member));
                continue;
            }
            text.clear();
            text.push_str(rows.slice(member.key));
            text.push(':');
            minify(paging.get(&(depth, at)).map_or(rows.slice(member.value), String::as_str), &mut text);
            if !left.spend(&text) {
                return None;
            }
        }
    }
    // Larger lists get what smaller ones do not use. Two thirds remain for the records.
    lists.sort_by_key(|(.., member)| member.value.len());
    let mut share = left.with_max_tokens(left.tokens / 3);
    share.bytes /= 3;
    let states_page = !paging.is_empty();
    let mut lean: MemberOverrides =
        paging.into_iter().map(|(place, json)| (place, Some(minified(&json)))).collect();
    let mut omitted = Vec::new();
    for (i, (depth, at, member)) in lists.iter().enumerate() {
        let others = lists.len() - i;
        let mut own = share.with_max_tokens(share.tokens / others);
        own.bytes /= others;
        let value = rows.slice(member.value);
        let (short, missing) = truncate_array(value, &own);
        if missing > 0 {
            let innermost = rows.list.enclosing_objects[..*depth].iter();
            let outer = innermost.fold(String::new(), |outer, level| {
                format!("{outer}/{}", step_from_quoted(rows.slice(level.members[level.list_member].key)))
            });
            omitted.push((format!("{outer}/{}", step_from_quoted(rows.slice(member.key))), missing));
            lean.insert((*depth, *at), Some(short.clone()));
        }
        share.spend(&short);
    }
    let shell = assemble(rows, &RowFormat::default(), &lean, &all);
    Some(ListWrapper { omitted_members: omitted, states_page, ..shell })
}

/// Returns as many items of an array as fit, minified, and the bytes of the rest.
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
