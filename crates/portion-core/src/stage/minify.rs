//! White space between tokens goes first: it tells nothing.

use super::{Case, How, Stage};

pub(super) struct Minify;

impl Stage for Minify {
    fn name(&self) -> &'static str {
        "minify"
    }

    fn tighten(&self, how: &mut How, _case: &Case<'_>) -> bool {
        !std::mem::replace(&mut how.minified, true)
    }
}
