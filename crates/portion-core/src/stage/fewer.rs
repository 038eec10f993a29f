//! Last, fewer items than were asked for.

use super::{Case, How, Stage};

pub(super) struct Fewer;

impl Stage for Fewer {
    fn name(&self) -> &'static str {
        "fewer"
    }

    fn tighten(&self, how: &mut How, _case: &Case<'_>) -> bool {
        !std::mem::replace(&mut how.fewer, true)
    }
}
