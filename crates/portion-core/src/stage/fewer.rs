//! Serves fewer items than requested. This is the last stage.

use super::{RowFormat, Stage, StageInput};

pub(super) struct Fewer;

impl Stage for Fewer {
    fn name(&self) -> &'static str {
        "fewer"
    }

    fn tighten(&self, how: &mut RowFormat, _case: &StageInput<'_>) -> bool {
        !std::mem::replace(&mut how.allows_fewer, true)
    }
}
