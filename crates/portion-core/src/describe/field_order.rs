//! Orders the fields of a description, with the likely subjects of questions first.

use super::field_description::{FieldDescription, FieldRole};
use super::field_stats::FieldStats;
use crate::snapshot::{FieldRank, field_names};

/// Quantities and categories that come before timestamps and other fields.
const MAX_LEADING_FIELDS: usize = 8;

/// Returns the indices of fields, the most useful first.
pub(super) fn field_order(
    fields: &[FieldStats],
    descriptions: &[FieldDescription],
    records: usize,
) -> Vec<usize> {
    let weigh = |i: usize| {
        let field = &fields[i];
        let own = match field.rank {
            FieldRank::Status => 100,
            FieldRank::Identity | FieldRank::Name => 85,
            _ => field_names::importance(&field.path),
        };
        // Of two fields, the one with fewer gaps comes first; a few gaps make no difference.
        let filled = (field.present_count() * 10 / records.max(1)).min(9);
        let weight = (1 + own.saturating_sub(10 * field.depth())) * filled;
        (std::cmp::Reverse(weight), i)
    };
    let of = |role: FieldRole| {
        let mut fitting: Vec<usize> = (0..fields.len()).filter(|i| descriptions[*i].role == role).collect();
        fitting.sort_by_key(|i| weigh(*i));
        fitting
    };
    let (quantities, categories) = (of(FieldRole::Quantity), of(FieldRole::Category));
    let mut order = of(FieldRole::Identity);
    for i in 0..MAX_LEADING_FIELDS {
        order.extend(quantities.get(i).into_iter().chain(categories.get(i)));
    }
    order.extend(of(FieldRole::Timestamp));
    let mut rest: Vec<usize> = quantities.into_iter().chain(categories).chain(of(FieldRole::Other)).collect();
    rest.retain(|i| !order.contains(i));
    rest.sort_by_key(|i| weigh(*i));
    order.extend(rest);
    order.extend(of(FieldRole::Constant));
    order
}
