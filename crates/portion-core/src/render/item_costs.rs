//! Measures what the items of a list cost in a first reply.

use portion_tokens::TokenCounter;

use super::list_wrapper;
use super::notice::Detail;
use super::reply_limits::{NoticeSize, ReplyLimits};
use super::row_format::RowFormat;
use crate::noise::NoiseFields;
use crate::policy::Policy;
use crate::snapshot::{ListItem, OrderedList, Snapshot};
use crate::view::ResolvedRequest;

/// Returns the tokens that the first reply has for the items of a list, and what each of the first `count`
/// items costs there, minified.
pub(super) fn item_costs(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    rows: OrderedList<'_>,
    count: usize,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> (usize, Vec<usize>) {
    let room = ReplyLimits::for_reply(snapshot, asked, policy, true).budget_without_notice(
        Detail::Full,
        NoticeSize::Plain,
        None,
        counter,
        0,
    );
    let mut left = room;
    let strip = &policy.render_options.strip_rule;
    let noise = NoiseFields::in_list(strip, rows.text, rows.list);
    let shell = list_wrapper::render(rows, &RowFormat::default(), Some(strip), None, &room);
    let room = if left.spend(&shell.before) && left.spend(&shell.after) { left } else { room };
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
