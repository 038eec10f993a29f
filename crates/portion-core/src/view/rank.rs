//! The order that nobody asked for: the one that an operator wants, or that of what retrieval brings, the best scores
//! first, and of those too many the ones that are chosen.

use std::sync::Arc;

use super::{Asked, Order, View, order};
use crate::path::value_at;
use crate::policy::{Fill, Policy, Strategy};
use crate::ranked::{Scores, descending, select, worth};
use crate::render::weigh;
use crate::scan::{Kind, decoded};
use crate::snapshot::{Form, Item, Rows, Snapshot};
use crate::tokens::TokenCounter;

/// Records that are weighed, the best first: no reply holds more of them.
const WEIGHED: usize = 1_000;

/// What was asked for, its records in the order of the policy's manner where it has one and the caller has none.
///
/// Else they are in the order of their scores where they are ranked by the policy's strategy and nothing else was asked than
/// how much the reply may cost.
///
/// Those that are chosen by the policy's [`Fill`] come first, then the others, so that a walk shows every record once. The
/// name of the view tells what the choice depends on.
#[must_use]
pub fn rank(snapshot: &Snapshot, asked: Asked, policy: &Policy, counter: &dyn TokenCounter) -> Asked {
    // What is left as it came has no order of ours.
    if asked.plain && !policy.manner.techniques.pagination {
        return asked;
    }
    let usual = policy.manner.sort.as_ref().filter(|_| !asked.goes_on);
    if let Some(order) = usual.and_then(|spec| order::usual(snapshot, &asked.view, spec)) {
        return Asked { view: View { order: Some(order), ..asked.view }.named(), ..asked };
    }
    let Some(order) = order(snapshot, &asked, policy, counter) else { return asked };
    // What is small passes as it came, unless an operator wants it in order.
    let plain = asked.plain && policy.strategy != Strategy::Ranked;
    Asked { view: View { order: Some(order), ..asked.view }.named(), plain, ..asked }
}

fn order(snapshot: &Snapshot, asked: &Asked, policy: &Policy, counter: &dyn TokenCounter) -> Option<Order> {
    // Beside other parts a list has its place among them.
    let mut own = snapshot.parts().iter().enumerate().filter(|(_, part)| part.twin.is_none());
    let ((at, part), None) = (own.next()?, own.next()) else { return None };
    let subject = part.subject().filter(|_| asked.bare)?;
    let Form::List(list) = &subject.form else { return None };
    let text: &str = &subject.text;
    let Scores { field, distance, text: passage, values } = Scores::of(text, list, policy.strategy)?;
    let mut ranks = descending(&values, list.len());
    let mut spec = format!("{field} {} ranked", if distance { "asc" } else { "desc" });
    let mut chosen = None;
    if policy.fill != Fill::Stop {
        let indices: Arc<[u32]> = ranks.iter().map(|at| *at as u32).collect();
        let rows = Rows { text, list, order: Some(&indices) };
        let (budget, costs) = weigh(snapshot, asked, rows, WEIGHED, policy, counter);
        let scores: Vec<f64> =
            ranks.iter().take(costs.len()).filter_map(|at| values.get(*at).copied()).collect();
        let passages = passage.filter(|_| policy.fill == Fill::Value);
        let worth = passages.map(|field| {
            let passage = |item: Item| {
                let value = value_at(text, item.value, &field).map(|value| value.of(text));
                value.filter(|value| Kind::of(value) == Kind::String).map(decoded).unwrap_or_default()
            };
            let texts: Vec<String> = rows.iter_from(0).take(costs.len()).map(passage).collect();
            worth(&texts.iter().map(String::as_str).collect::<Vec<_>>(), &scores)
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
    Some(Order { spec, part: at as u16, asked: false, ranks, ranked: Some(chosen.unwrap_or(u32::MAX)) })
}
