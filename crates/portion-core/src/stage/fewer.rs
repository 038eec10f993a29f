//! Serves fewer items than requested. This is the last stage.

use super::{RowFormat, Stage, StageInput};
use crate::stage_name::StageName;

pub(super) struct Fewer;

impl Stage for Fewer {
    fn name(&self) -> StageName {
        StageName::Fewer
    }

    fn tighten(&self, how: &mut RowFormat, _case: &StageInput<'_>) -> bool {
        !std::mem::replace(&mut how.allows_fewer, true)
    }
}
