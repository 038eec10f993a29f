//! Reduces each item to its identity field, if a page must hold all of its items.

use portion_json::projection::FieldSelection;

use super::{RowFormat, Stage, StageInput};
use crate::snapshot::FieldRank;
use crate::stage_name::StageName;

pub(super) struct Identify;

impl Stage for Identify {
    fn name(&self) -> StageName {
        StageName::Identify
    }

    fn tighten(&self, how: &mut RowFormat, case: &StageInput<'_>) -> bool {
        if !case.may_condense || !case.must_hold_all {
            return false;
        }
        let fields = || case.rows.list.profile.fields.iter().filter(|field| !how.noise.contains(&field.path));
        let identity = fields().find(|field| field.rank == FieldRank::Identity).or_else(|| fields().next());
        let Some(identity) = identity else { return false };
        let keep: FieldSelection = std::iter::once(identity.path.clone()).collect();
        if how.kept_fields.as_ref() == Some(&keep) {
            return false;
        }
        how.kept_fields = Some(keep);
        how.is_condensed = true;
        true
    }
}
