//! White space between tokens goes first: it tells nothing.

use super::{RowFormat, Stage, StageInput};

pub(super) struct Minify;

impl Stage for Minify {
    fn name(&self) -> &'static str {
        "minify"
    }

    fn tighten(&self, how: &mut RowFormat, _case: &StageInput<'_>) -> bool {
        !std::mem::replace(&mut how.is_minified, true)
    }
}
