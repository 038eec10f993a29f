//! What pages load, each under a name that changes with what is in it: a browser may keep it for good.

use std::fmt::Write as _;
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

use crate::answer::Answer;

/// A file that pages load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asset {
    /// How pages look.
    Style,
    /// What draws charts.
    Plot,
    /// How uPlot's parts look.
    PlotStyle,
    /// What a page does by itself.
    Script,
    /// What stands beside its title.
    Icon,
}

impl Asset {
    const ALL: [Self; 5] = [Self::Style, Self::Plot, Self::PlotStyle, Self::Script, Self::Icon];

    /// Its name without what is in it, its end, its media type, and what is in it.
    fn parts(self) -> (&'static str, &'static str, &'static str, &'static str) {
        let (css, js) = ("text/css; charset=utf-8", "text/javascript; charset=utf-8");
        match self {
            Self::Style => ("portion", "css", css, include_str!("../assets/portion.css")),
            Self::Plot => ("uplot", "js", js, include_str!("../assets/uplot/uPlot.iife.min.js")),
            Self::PlotStyle => ("uplot", "css", css, include_str!("../assets/uplot/uPlot.min.css")),
            Self::Script => ("portion", "js", js, include_str!("../assets/portion.js")),
            Self::Icon => ("portion", "svg", "image/svg+xml", include_str!("../assets/portion.svg")),
        }
    }

    /// Its path: `/assets/portion.0123456789abcdef.css`.
    pub(crate) fn path(self) -> &'static str {
        static PATHS: LazyLock<[String; 5]> = LazyLock::new(|| {
            Asset::ALL.map(|asset| {
                let (name, end, _, body) = asset.parts();
                let mut hash = String::new();
                for byte in &Sha256::digest(body)[..8] {
                    let _ = write!(hash, "{byte:02x}");
                }
                format!("/assets/{name}.{hash}.{end}")
            })
        });
        &PATHS[self as usize]
    }

    /// The one at a path.
    pub(crate) fn at(path: &str) -> Option<Answer> {
        let asset = Self::ALL.into_iter().find(|asset| asset.path() == path)?;
        let (_, _, kind, body) = asset.parts();
        Some(Answer::lasting(kind, body.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_own_path() {
        for (at, asset) in Asset::ALL.into_iter().enumerate() {
            assert_eq!(asset as usize, at);
            let answer = Asset::at(asset.path()).expect("it is there");
            assert_eq!(answer.body.as_ref(), asset.parts().3.as_bytes());
        }
        assert_eq!(Asset::at("/assets/portion.css"), None);
    }
}
