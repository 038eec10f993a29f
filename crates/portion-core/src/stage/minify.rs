//! Removes white space between tokens. It carries no information, so this is the first stage.

use super::{RowFormat, Stage, StageInput};
use crate::stage_name::StageName;

pub(super) struct Minify;

impl Stage for Minify {
    fn name(&self) -> StageName {
        StageName::Minify
    }

    fn tighten(&self, how: &mut RowFormat, _case: &StageInput<'_>) -> bool {
        !std::mem::replace(&mut how.is_minified, true)
    }
}
