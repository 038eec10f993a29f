//! Where a page has to hold all of its items, nothing but what tells them apart is left of each.

use super::{Case, How, Stage};
use crate::projection::Fields;
use crate::snapshot::Rank;

pub(super) struct Identify;

impl Stage for Identify {
    fn name(&self) -> &'static str {
        "identify"
    }

    fn tighten(&self, how: &mut How, case: &Case<'_>) -> bool {
        if !case.may_condense || !case.must_hold {
            return false;
        }
        let fields = || case.rows.list.profile.fields.iter().filter(|field| !how.noise.takes(&field.path));
        let identity = fields().find(|field| field.rank == Rank::Identity).or_else(|| fields().next());
        let Some(identity) = identity else { return false };
        let keep: Fields = std::iter::once(identity.path.clone()).collect();
        if how.keep.as_ref() == Some(&keep) {
            return false;
        }
        how.keep = Some(keep);
        how.condensed = true;
        true
    }
}
