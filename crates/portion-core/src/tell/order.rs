//! What is told first: what a question would be about.

use super::field::Gathered;
use super::value::{Sort, Told};
use crate::snapshot::{Rank, salience};

/// Quantities and categories that come before moments and all else.
const FIRST: usize = 8;

/// The places of fields, the most useful to be told first.
pub(super) fn of(fields: &[Gathered], told: &[Told], records: usize) -> Vec<usize> {
    let weigh = |i: usize| {
        let field = &fields[i];
        let depth = field.path.matches('.').count();
        let own = match field.rank {
            Rank::Status => 100,
            Rank::Identity | Rank::Name => 85,
            _ => usize::from(salience::weight(&field.path)),
        };
        // Of two fields the fuller one tells more; a few gaps are nothing.
        let filled = (field.present() * 10 / records.max(1)).min(9);
        let weight = (1 + own.saturating_sub(10 * depth)) * filled;
        (std::cmp::Reverse(weight), i)
    };
    let of = |sort: Sort| {
        let mut fitting: Vec<usize> = (0..fields.len()).filter(|i| told[*i].sort == sort).collect();
        fitting.sort_by_key(|i| weigh(*i));
        fitting
    };
    let (quantities, categories) = (of(Sort::Quantity), of(Sort::Category));
    let mut order = of(Sort::Identity);
    for i in 0..FIRST {
        order.extend(quantities.get(i).into_iter().chain(categories.get(i)));
    }
    order.extend(of(Sort::Moment));
    let mut rest: Vec<usize> = quantities.into_iter().chain(categories).chain(of(Sort::Other)).collect();
    rest.retain(|i| !order.contains(i));
    rest.sort_by_key(|i| weigh(*i));
    order.extend(rest);
    order.extend(of(Sort::Constant));
    order
}
