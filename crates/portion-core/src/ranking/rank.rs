//! Orders a list that the caller did not sort: in the operator's default order, or ranked by retrieval
//! scores, with the selected records first.

use std::sync::Arc;

use portion_json::path::value_at;
use portion_json::scan::{JsonKind, unescape};
use portion_tokens::TokenCounter;

use super::{RecordScores, order_by_score, select, smoothed_scores};
use crate::policy::{FillStrategy, OrderStrategy, Policy};
use crate::render::{Context, item_costs, needs_no_notice, passes_through};
use crate::snapshot::{ListItem, OrderedList, Snapshot, Structure};
use crate::view::{ResolvedRequest, SortOrder, order};

/// Largest number of records whose cost is measured. No reply holds more.
const MAX_COSTED_RECORDS: usize = 1_000;

/// Returns the request with an order for its records: the policy's default order if there is one and the
/// caller gave none.
///
/// Otherwise records are ranked by their scores if the policy's strategy ranks them. The order is that of the
/// plain call, whatever fields, limit or page are requested, so that every record keeps its position.
///
/// Records selected by the policy's [`FillStrategy`] come first, then the others, so that a walk shows every
/// record once. The id of the view covers everything that the selection depends on.
#[must_use]
pub fn rank(
    snapshot: &Snapshot,
    request: ResolvedRequest,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> ResolvedRequest {
    // A part of a list is not sorted: the order is of the whole list, or the upstream's.
    if snapshot.is_partial_list() {
        return request;
    }
    // A list that passes as received is not reordered.
    if request.is_plain && !policy.render_options.techniques.pagination {
        return request;
    }
    let usual = policy.render_options.default_sort.as_ref().filter(|_| !request.is_continuation);
    if let Some(order) = usual.and_then(|spec| order::default_order(snapshot, &request.view, spec)) {
        return ResolvedRequest { view: request.view.with_order(order), ..request };
    }
    let Some((order, ranked_budget)) = score_order(snapshot, &request, policy, counter) else {
        return request;
    };
    // A small payload passes as received, unless the policy always ranks.
    let plain = request.is_plain && policy.strategy != OrderStrategy::Ranked;
    let is_first = request.is_plain_except_budget && !plain_call_passes(snapshot, policy, counter);
    let token_budget = if is_first { request.token_budget.min(ranked_budget) } else { request.token_budget };
    ResolvedRequest {
        view: request.view.with_order(order),
        token_budget,
        ranked_budget,
        is_plain: plain,
        ..request
    }
}

/// Returns true if the request shows the list of a payload, in no order of its own, and the plain call does not show it
/// as received.
fn may_rank(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> bool {
    let view = &request.view;
    let keeps_order = view.order.is_some() || view.raw || view.range.is_some() || request.is_continuation;
    // The order of an answer is that of its query.
    if !view.target.is_whole() || keeps_order || snapshot.answer().is_some() {
        return false;
    }
    request.is_plain_except_budget
        || policy.strategy == OrderStrategy::Ranked
        || !plain_call_passes(snapshot, policy, counter)
}

/// Returns true if the plain call shows the payload as received.
fn plain_call_passes(snapshot: &Snapshot, policy: &Policy, counter: &dyn TokenCounter) -> bool {
    let plain = ResolvedRequest::for_plain_call(policy);
    let cx = Context {
        policy,
        counter,
        issue_cursor: &|_| None,
        read_call: "".into(),
        query_tool: None,
        read_uri: None,
    };
    needs_no_notice(snapshot) && passes_through(snapshot, &plain, &cx)
}

/// Returns the order of ranked records, and the tokens that a first reply with them may cost.
fn score_order(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> Option<(SortOrder, usize)> {
    // A list beside other parts is not ranked.
    let mut own = snapshot.parts().iter().enumerate().filter(|(_, part)| part.duplicate.is_none());
    let ((at, part), None) = (own.next()?, own.next()) else { return None };
    let subject = part.indexed_text().filter(|_| may_rank(snapshot, request, policy, counter))?;
    let Structure::List(list) = &subject.structure else { return None };
    let text: &str = &subject.text;
    let RecordScores { field, is_distance: distance, text_field: passage, values } =
        RecordScores::detect(text, list, policy.strategy)?;
    let mut ranks = order_by_score(&values, list.len());
    let mut spec = format!("{field} {} ranked", if distance { "asc" } else { "desc" });
    let mut chosen = None;
    let indices: Arc<[u32]> = ranks.iter().map(|at| *at as u32).collect();
    let rows = OrderedList { text: &subject.text, list, order: Some(&indices) };
    let costs = |token_budget: usize, count: usize| {
        let first = ResolvedRequest { token_budget, ..request.clone() };
        item_costs(snapshot, &first, rows, count, policy, counter)
    };
    let mut ranked_budget = request.ranked_budget;
    // The best record alone is shown whole where the reply has room for it.
    if ranked_budget < policy.reply_target && costs(ranked_budget, 1).1 == [usize::MAX] {
        (ranked_budget, chosen) = (policy.reply_target, Some(1));
        spec.push_str(" one");
    } else if policy.fill != FillStrategy::Stop {
        let (budget, costs) = costs(ranked_budget, MAX_COSTED_RECORDS);
        let scores: Vec<f64> =
            ranks.iter().take(costs.len()).filter_map(|at| values.get(*at).copied()).collect();
        let passages = passage.filter(|_| policy.fill == FillStrategy::Value);
        let worth = passages.map(|field| {
            let passage = |item: ListItem| {
                let value = value_at(text, item.value, &field).map(|value| value.slice(text));
                value
                    .filter(|value| JsonKind::of_value(value) == JsonKind::String)
                    .map(unescape)
                    .unwrap_or_default()
            };
            let texts: Vec<String> = rows.iter_from(0).take(costs.len()).map(passage).collect();
            smoothed_scores(&texts.iter().map(String::as_str).collect::<Vec<_>>(), &scores)
        });
        let kept = select(&costs, worth.as_ref().unwrap_or(&scores), budget, policy.fill);
        let mut is_kept = vec![false; ranks.len()];
        for at in &kept {
            if let Some(is_kept) = is_kept.get_mut(*at) {
                *is_kept = true;
            }
        }
        let (first, rest): (Vec<_>, Vec<_>) = ranks.iter().zip(&is_kept).partition(|(_, is_kept)| **is_kept);
        ranks = first.into_iter().chain(rest).map(|(at, _)| *at).collect();
        chosen = Some(kept.len() as u32).filter(|kept| *kept > 0);
        spec = format!("{spec} {} {budget} {}", policy.fill.name(), counter.name());
    }
    let ranks = ranks.into_iter().map(|at| at as u32).collect();
    let top_count = Some(chosen.unwrap_or(u32::MAX));
    let order = SortOrder { spec, part: at as u16, is_requested: false, item_indices: ranks, top_count };
    Some((order, ranked_budget))
}
