//! The order of what retrieval brings: the best scores first, and of those too many the ones that are chosen.

use std::sync::Arc;

use super::{Asked, Order, View};
use crate::policy::{Fill, Policy};
use crate::ranked::{Scores, descending, select};
use crate::render::weigh;
use crate::snapshot::{Form, Rows, Snapshot};
use crate::tokens::TokenCounter;

/// Records that are weighed, the best first: no reply holds more of them.
const WEIGHED: usize = 1_000;

/// What was asked for, its records in the order of their scores where they are ranked by the policy's strategy and nothing
/// else was asked than how much the reply may cost.
///
/// Those that are chosen by the policy's [`Fill`] come first, then the others, so that a walk shows every record once. The
/// name of the view tells what the choice depends on.
#[must_use]
pub fn rank(snapshot: &Snapshot, asked: Asked, policy: &Policy, counter: &dyn TokenCounter) -> Asked {
    let Some(order) = order(snapshot, &asked, policy, counter) else { return asked };
    // What is small passes as it came, unless an operator wants it in order.
    let plain = asked.plain && policy.strategy != crate::policy::Strategy::Ranked;
    Asked { view: View { order: Some(order), ..asked.view }.named(), plain, ..asked }
}

fn order(snapshot: &Snapshot, asked: &Asked, policy: &Policy, counter: &dyn TokenCounter) -> Option<Order> {
    // Beside other parts a list has its place among them.
    let mut own = snapshot.parts().iter().filter(|part| part.twin.is_none());
    let (part, None) = (own.next()?, own.next()) else { return None };
    let subject = part.subject().filter(|_| asked.bare)?;
    let Form::List(list) = &subject.form else { return None };
    let text: &str = &subject.text;
    let Scores { field, distance, values } = Scores::of(text, list, policy.strategy)?;
    let mut ranks = descending(&values, list.len());
    let mut spec = format!("{field} {} ranked", if distance { "asc" } else { "desc" });
    let mut chosen = None;
    if policy.fill != Fill::Stop {
        let indices: Arc<[u32]> = ranks.iter().map(|at| *at as u32).collect();
        let rows = Rows { text, list, order: Some(&indices) };
        let (budget, costs) = weigh(snapshot, asked, rows, WEIGHED, policy, counter);
        let scores: Vec<f64> =
            ranks.iter().take(costs.len()).filter_map(|at| values.get(*at).copied()).collect();
        let kept = select(&costs, &scores, budget, policy.fill);
        let is_kept: Vec<bool> = (0..ranks.len()).map(|at| kept.binary_search(&at).is_ok()).collect();
        let (first, rest): (Vec<_>, Vec<_>) = ranks.iter().zip(&is_kept).partition(|(_, is_kept)| **is_kept);
        ranks = first.into_iter().chain(rest).map(|(at, _)| *at).collect();
        chosen = Some(kept.len() as u32).filter(|kept| *kept > 0);
        spec = format!("{spec} {} {budget} {}", policy.fill.name(), counter.name());
    }
    let ranks = ranks.into_iter().map(|at| at as u32).collect();
    Some(Order { spec, ranks, ranked: Some(chosen.unwrap_or(u32::MAX)) })
}
